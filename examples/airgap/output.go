package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// file is one of the results.
type file struct {
	name string
	data []byte
}

// writeFolder makes a new folder with the files in it, or nothing at all: it is
// filled under another name and then renamed.
func writeFolder(dir string, files []file) error {
	dir = filepath.Clean(dir)
	// Lstat: the rename replaces a link, not what it leads to.
	switch info, err := os.Lstat(dir); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("--out: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("--out: %s is a symbolic link (want a new folder)", dir)
	case !info.IsDir():
		return fmt.Errorf("--out: %s is not a directory (want a new folder)", dir)
	default:
		if here, err := os.Stat("."); err == nil && os.SameFile(info, here) {
			return fmt.Errorf("--out: %s is the current folder, which cannot be replaced (want a new one, such as ./airgap)", dir)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		if len(entries) > 0 {
			return fmt.Errorf("--out: %s is not empty (want a new folder)", dir)
		}
	}
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	temporary, err := os.MkdirTemp(parent, ".airgap-")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer os.RemoveAll(temporary) // after the rename there is none
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(temporary, f.name), f.data, 0o644); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--out: %w", err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// printAll writes all files to one stream, each behind a line with its name.
func printAll(w io.Writer, files []file) error {
	for i, f := range files {
		blank := "\n"
		if i == 0 {
			blank = ""
		}
		if _, err := fmt.Fprintf(w, "%s# ---- %s ----\n%s", blank, f.name, f.data); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
	return nil
}
