package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// outFile is one file that --out DIR writes.
type outFile struct {
	name string
	data []byte
}

// folders makes folders, and takes away those that it made when it is undone.
type folders struct{ made []string }

func (f *folders) make(dir string) error {
	var missing []string
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			missing = append(missing, at)
			continue
		}
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			return fmt.Errorf("%s: a file (want a directory)", shown(at))
		}
		break // it is there, or MkdirAll says why not
	}
	for _, at := range slices.Backward(missing) {
		f.made = append(f.made, at)
	}
	return os.MkdirAll(dir, 0o755)
}

func (f *folders) undo() {
	for _, dir := range slices.Backward(f.made) {
		os.Remove(dir) // not one that somebody put something into
	}
}

// writeFiles writes all files, or none as far as can be known before the first rename.
// Each is written beside its place and then renamed, so that nobody sees half a file. A file that is there already
// with the same bytes stays; one with other bytes is an error unless force is
// set, since a directory that mixes the patches of two inputs is worse than
// none. For the same reason a file of a name in others, which go with other
// files, is an error, or removed when force is set. The files are readable by
// their owner only, also those that stay: a patch may hold credentials.
func writeFiles(dir string, files []outFile, force bool, others ...string) (err error) {
	var made folders
	defer func() {
		if err != nil {
			made.undo()
		}
	}()
	if err := made.make(dir); err != nil {
		return err
	}
	var todo []outFile
	var open, stale []string // to be closed to others, to be removed
	var taken []string
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		switch old, err := os.ReadFile(path); {
		case err == nil && bytes.Equal(old, f.data):
			open = append(open, path)
			continue
		case err == nil && !force:
			taken = append(taken, fmt.Sprintf("%s: exists with other content (want --force to replace it)", shown(path)))
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		todo = append(todo, f)
	}
	for _, name := range others {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		if stale = append(stale, path); !force {
			taken = append(taken, fmt.Sprintf("%s: exists and is not one of these patches (want --force to remove it)", shown(path)))
		}
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
		if err := made.make(folder); err != nil {
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
	for _, path := range open {
		if info, err := os.Stat(path); err != nil {
			return err
		} else if mode := info.Mode().Perm(); mode&0o077 != 0 {
			if err := os.Chmod(path, mode&0o700); err != nil {
				return err
			}
		}
	}
	for _, path := range stale {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}
