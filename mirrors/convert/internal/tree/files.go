package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

// maxFile is the size of a certificate file above which it is not read.
const maxFile = 1 << 20

var errTooLarge = fmt.Errorf("the file has more than %d bytes", maxFile)

// ReadFile reads a certificate or key. name is as fs.FS has it.
func ReadFile(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errTooLarge
	}
	return string(data), err
}

// Why says in a few words why a file could not be read. The text of an error of
// the operating system has the path that the caller's FS made of the name.
func Why(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read"
	case errors.Is(err, errTooLarge):
		return err.Error()
	}
	return "it cannot be read"
}

// FailFile reports a file of the format itself that could not be read.
func (b *Builder) FailFile(path string, err error) {
	if errors.Is(err, errTooLarge) {
		b.Fail("input-size", path, &Node{}, Why(err), "want a smaller file")
	} else {
		b.Fail("syntax", path, &Node{}, Why(err), "want a file that can be read")
	}
}

// Named reads a file that the input names by an absolute path. Without a file
// system, or when it cannot be read, that is in the report.
func (b *Builder) Named(fsys fs.FS, f Field, name string) (string, bool) {
	const fix = "write its content into the result by hand, or give the files"
	if fsys == nil {
		b.Note(convert.Loss, f.Path, f.Value, "the content of the file "+Quote(name)+" is not known here", fix)
		return "", false
	}
	text, err := ReadFile(fsys, path.Clean(strings.TrimPrefix(name, "/")))
	if err != nil {
		b.Note(convert.Loss, f.Path, f.Value, "the file "+Quote(name)+": "+Why(err), fix)
		return "", false
	}
	return text, true
}

// Writable refuses keys that cannot stand in a file name.
func Writable(set mirrors.Set) error {
	var fs mirrors.Findings
	check := func(section, key string) {
		if key == "" || key == "." || key == ".." || strings.ContainsAny(key, "/\\\x00\n") {
			fs = append(fs, mirrors.Finding{Rule: "file-name", Severity: mirrors.SeverityError, Path: mirrors.Place{Section: section, Key: key}.String(),
				Message: "the key cannot be part of a file name", Fix: "want host[:port]"})
		}
	}
	for _, key := range Keys(set.Mirrors) {
		check("mirrors", key)
	}
	for _, key := range Keys(set.Config) {
		check("config", key)
	}
	return fs.Err()
}
