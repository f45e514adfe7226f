package escape

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const importPath = "github.com/mirrorpatch/mirrorpatch/escape"

// TestConstantsOnly: a string that was not encoded for its place does not compile.
func TestConstantsOnly(t *testing.T) {
	fset := token.NewFileSet()
	// One importer for all cases: it reads this package and the standard library once.
	source := importer.ForCompiler(fset, "source", nil)
	for _, c := range []struct {
		body string
		ok   bool
	}{
		{`_ = escape.Lit("echo ")`, true},
		{"_ = escape.Lit(`echo `)", true},
		{`_ = escape.Lit("a" + "b")`, true},
		{`const c = "echo "; _ = escape.Lit(c)`, true},
		{`const c = "echo "; _ = escape.Lit(c + "x")`, true},
		{`_ = escape.Chars("abc")`, true},
		{`_ = escape.Word(s)`, true},
		{`_ = escape.Join(escape.Lit("echo "), escape.Word(s))`, true},
		{`_, _ = escape.Heredoc(escape.Lit("cat"), escape.Text(s), escape.Live(s, escape.Address))`, true},
		{`_, _ = escape.HeredocQuoted(escape.Lit("cat"), s)`, true},
		{`var x escape.Shell; _ = x`, true},

		{`_ = escape.Lit(s)`, false},
		{`_ = escape.Lit("echo " + s)`, false},
		{`_ = escape.Lit(s + "")`, false},
		{`_ = escape.Lit(fmt.Sprintf("echo %s", s))`, false},
		{`x := "echo "; _ = escape.Lit(x)`, false},
		{`var x string = "echo "; _ = escape.Lit(x)`, false},
		{`const c string = "echo "; _ = escape.Lit(c)`, false},
		{`type mine string; const c mine = "echo "; _ = escape.Lit(c)`, false},
		{`type mine string; _ = escape.Lit(mine(s))`, false},
		{`_ = escape.Lit(string("echo "))`, false},
		{`_ = escape.Lit([]byte(s))`, false},
		{`_ = escape.Lit(escape.constant(s))`, false},
		{`_ = escape.Lit(any(s))`, false},
		{`_ = escape.Lit(s[:1])`, false},
		{`_ = escape.Lit([]string{"a"}[0])`, false},
		{`_ = escape.Chars(s)`, false},
		{`_ = escape.Shell(s)`, false},
		{`_ = escape.Shell{s}`, false},
		{`_ = escape.Shell{segments: nil}`, false},
		{`_ = escape.Script{text: s}`, false},
		{`_ = escape.Script(s)`, false},
		{`_ = escape.Form{want: s}`, false},
		{`_ = escape.Join(s)`, false},
		{`_ = escape.Join("echo ")`, false},
		{`_, _ = escape.Program(s)`, false},
		{`_, _ = escape.Heredoc(s)`, false},
		{`_, _ = escape.Heredoc("cat")`, false},
		{`_, _ = escape.Heredoc(escape.Lit("cat"), s)`, false},
		{`_, _ = escape.HeredocQuoted(s, s)`, false},
		{`_ = escape.Assign(escape.Live("A_B", escape.Port), s)`, false},
		{`_ = escape.Live("A_B", s)`, false},
		{`var p escape.Part = part{}; _ = p`, false},
	} {
		src := "package p\nimport (\n\"fmt\"\n\"" + importPath + "\"\n)\ntype part struct{}\nfunc f(s string) {\n" + c.body + "\n_ = fmt.Sprint(s)\n}\nvar _ escape.Shell\n"
		file, err := parser.ParseFile(fset, "p.go", src, 0)
		if err != nil {
			t.Fatalf("%s: %v", c.body, err)
		}
		config := types.Config{Importer: source}
		_, err = config.Check("p", fset, []*ast.File{file}, nil)
		if (err == nil) != c.ok {
			t.Errorf("%s: compiles is %v: %v", c.body, err == nil, err)
		}
	}
}

// TestLitIsCalledOnly: in this module Lit and Chars stand only where they are
// called. A type parameter takes the constant's type from a function value (in
// apply(escape.Lit, s) it converts s), and that is the one way around it.
func TestLitIsCalledOnly(t *testing.T) {
	if err := calledOnly("p.go", "package p\nimport \""+importPath+"\"\nfunc g[T ~string](f func(T) escape.Shell, s string) escape.Shell { return f(T(s)) }\nvar x = g(escape.Lit, \"a\")\n"); err == nil {
		t.Error("Lit as a value is not found")
	}
	if err := calledOnly("p.go", "package p\nimport e \""+importPath+"\"\nvar x = (e.Chars)\n"); err == nil {
		t.Error("Chars as a value is not found")
	}
	if err := calledOnly("p.go", "package p\nimport . \""+importPath+"\"\nvar x = Lit(\"a\")\n"); err == nil {
		t.Error("a dot import is not found")
	}
	if err := calledOnly("p.go", "package p\nimport \""+importPath+"\"\nvar x = escape.Lit(\"a\")\n"); err != nil {
		t.Error(err)
	}

	root := ".."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || filepath.Clean(filepath.Dir(path)) == filepath.Join(root, "escape") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		return calledOnly(path, string(src))
	})
	if err != nil {
		t.Error(err)
	}
	if n == 0 {
		t.Error("no file was read")
	}
}

func calledOnly(name, src string) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	local := ""
	for _, spec := range file.Imports {
		if spec.Path.Value == `"`+importPath+`"` {
			local = "escape"
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	switch local {
	case "", "_":
		return nil
	case ".":
		return fmt.Errorf("%s: imports escape with a dot, which hides its Lit", name)
	}
	called := map[ast.Node]bool{}
	var found error
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			called[call.Fun] = true
		}
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "Lit" && sel.Sel.Name != "Chars" || called[sel] {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && found == nil {
			found = fmt.Errorf("%s: %s.%s is not called here; it may be nothing but called", fset.Position(sel.Pos()), local, sel.Sel.Name)
		}
		return true
	})
	return found
}
