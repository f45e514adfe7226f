package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// outFile is one file that --out DIR writes.
type outFile struct {
	name string
	data []byte
}

// writeFiles writes all files or none. Each is written beside its place and
// then renamed, so that nobody sees half a file. A file that is there already
// with the same bytes stays; one with other bytes is an error unless force is
// set, since a directory that mixes the patches of two inputs is worse than
// none. The files are readable by their owner only: a patch may hold
// credentials.
func writeFiles(dir string, files []outFile, force bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var todo []outFile
	var taken []string
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		switch old, err := os.ReadFile(path); {
		case err == nil && bytes.Equal(old, f.data):
			continue
		case err == nil && !force:
			taken = append(taken, fmt.Sprintf("%s: exists with other content (want --force to replace it)", path))
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		todo = append(todo, f)
	}
	if taken != nil {
		return errors.New(strings.Join(taken, "\n"))
	}

	var temps []string
	defer func() {
		for _, name := range temps {
			os.Remove(name) // after the rename there is none
		}
	}()
	for _, f := range todo {
		folder := filepath.Dir(filepath.Join(dir, filepath.FromSlash(f.name)))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		tmp, err := os.CreateTemp(folder, ".mirrorctl-*")
		if err != nil {
			return err
		}
		temps = append(temps, tmp.Name())
		_, err = tmp.Write(f.data)
		if err == nil {
			err = tmp.Sync()
		}
		if err := errors.Join(err, tmp.Close()); err != nil {
			return err
		}
	}
	for i, f := range todo {
		if err := os.Rename(temps[i], filepath.Join(dir, filepath.FromSlash(f.name))); err != nil {
			return err
		}
	}
	return nil
}
