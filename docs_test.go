package mirrorpatch_test

import (
	"go/ast"
	"go/build"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documented returns the packages that users import, with their examples.
func documented(t *testing.T) []*doc.Package {
	t.Helper()
	var packages []*doc.Package
	for _, root := range []string{"mirrors", "configpatch", "escape"} {
		err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				return err
			}
			if d.Name() == "internal" || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			built, err := build.ImportDir(dir, 0)
			if _, none := err.(*build.NoGoError); none {
				return nil
			} else if err != nil {
				return err
			}
			fset := token.NewFileSet()
			var files []*ast.File
			for _, names := range [][]string{built.GoFiles, built.TestGoFiles, built.XTestGoFiles} {
				for _, name := range names {
					f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
					if err != nil {
						return err
					}
					files = append(files, f)
				}
			}
			p, err := doc.NewFromFiles(fset, files, path.Join(module, filepath.ToSlash(dir)))
			if err != nil {
				return err
			}
			packages = append(packages, p)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(packages) < 13 {
		t.Fatalf("found %d packages", len(packages))
	}
	return packages
}

// symbol is something exported, with its doc comment.
type symbol struct {
	name, doc string
	examples  []*doc.Example
	fn        *ast.FuncDecl // nil for other things
}

func symbols(p *doc.Package) []symbol {
	var all []symbol
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			if v.Doc != "" {
				all = append(all, symbol{name: strings.Join(v.Names, ", "), doc: v.Doc})
			}
			for _, spec := range v.Decl.Specs {
				s := spec.(*ast.ValueSpec)
				text := s.Doc.Text()
				if text == "" {
					text = s.Comment.Text()
				}
				if text == "" {
					text = v.Doc
				}
				all = append(all, symbol{name: s.Names[0].Name, doc: text})
			}
		}
	}
	funcs := func(fs []*doc.Func, prefix string) {
		for _, f := range fs {
			all = append(all, symbol{name: prefix + f.Name, doc: f.Doc, examples: f.Examples, fn: f.Decl})
		}
	}
	values(p.Consts)
	values(p.Vars)
	funcs(p.Funcs, "")
	for _, typ := range p.Types {
		all = append(all, symbol{name: typ.Name, doc: typ.Doc, examples: typ.Examples})
		values(typ.Consts)
		values(typ.Vars)
		funcs(typ.Funcs, "")
		funcs(typ.Methods, typ.Name+".")
	}
	return all
}

// TestDocsFit: a package's doc is one screen of "go doc".
func TestDocsFit(t *testing.T) {
	const most = 55
	for _, p := range documented(t) {
		text := string(p.Text(p.Doc))
		if n := strings.Count(text, "\n"); n > most {
			t.Errorf("%s: %d lines of package doc, want at most %d: detail belongs to the functions and types", p.ImportPath, n, most)
		}
		if !strings.HasPrefix(text, "Package "+p.Name+" ") {
			t.Errorf("%s: the doc begins with %.40q", p.ImportPath, text)
		}
	}
}

// brokenLink is what the doc tools print of a [Name] that they do not find.
var brokenLink = regexp.MustCompile(`\[\*?([a-z][a-zA-Z0-9/]*\.)?[A-Z][A-Za-z0-9]*(\.[A-Z][A-Za-z0-9]*)?\]`)

// TestDocsLinks: whatever looks like a link in a doc comment is one.
func TestDocsLinks(t *testing.T) {
	for _, p := range documented(t) {
		parser := p.Parser()
		for _, s := range append(symbols(p), symbol{name: "package doc", doc: p.Doc}) {
			for _, plain := range plainText(parser.Parse(s.doc)) {
				for _, link := range brokenLink.FindAllString(plain, -1) {
					t.Errorf("%s: %s: %s is no link", p.ImportPath, s.name, link)
				}
			}
		}
	}
}

// plainText returns the text of a doc comment that is neither a link nor code.
func plainText(d *comment.Doc) []string {
	var all []string
	var inline func([]comment.Text)
	inline = func(texts []comment.Text) {
		for _, x := range texts {
			switch x := x.(type) {
			case comment.Plain:
				all = append(all, string(x))
			case comment.Italic:
				all = append(all, string(x))
			case *comment.Link:
				inline(x.Text)
			}
		}
	}
	var blocks func([]comment.Block)
	blocks = func(bs []comment.Block) {
		for _, b := range bs {
			switch b := b.(type) {
			case *comment.Paragraph:
				inline(b.Text)
			case *comment.Heading:
				inline(b.Text)
			case *comment.List:
				for _, item := range b.Items {
					blocks(item.Content)
				}
			}
		}
	}
	blocks(d.Content)
	return all
}

// TestDocsComplete: nothing exported is without a doc comment.
func TestDocsComplete(t *testing.T) {
	for _, p := range documented(t) {
		for _, s := range symbols(p) {
			if s.doc == "" {
				t.Errorf("%s.%s has no doc comment", p.ImportPath, s.name)
			}
		}
	}
}

// methods are those that a user calls first.
var methods = map[string][]string{
	"mirrors":               {"Set.Check", "Set.Fix", "Set.PullOrder", "Set.PullOrders", "Set.AirGapped", "Set.UnmarshalYAML", "Source.Check"},
	"mirrors/probe":         {"Prober.Ask", "Prober.AskAll"},
	"configpatch":           {"Effective.Check", "Patch.Bytes", "Patches.Load"},
	"configpatch/reconcile": nil,
	"escape":                {"Script.Kubelet", "Script.KubeletBase64", "Script.HelmCommand", "Variable.Word", "Variable.YAML"},
}

// without are functions that need no example, and why.
var without = map[string]string{
	"mirrors.Join":                     "for readers of other formats; errors.Join is known",
	"mirrors.ReadDocument":             "ExampleDecodeNode begins with it",
	"mirrors.DecodeMirrors":            "DecodeNode, for a part of the document",
	"mirrors/accesslog.DefaultIgnored": "a list of strings",
	"mirrors/schema.Encode":            "the examples of JSONSchema and OpenAPI end in it",
	"configpatch.ParseForm":            "two words",
	"escape.Join":                      "every example of a script has it",
	"escape.Text":                      "every example of a here-document has it",
	"escape.AppendHelm":                "as AppendWord",
	"escape.AppendHeredoc":             "as AppendWord",
	"escape.AppendKubelet":             "as AppendWord",
	"escape.AppendYAML":                "as AppendWord",
}

// TestDocsExamples: what a user calls first has an example with checked output:
// every function that is no option, and the methods above.
func TestDocsExamples(t *testing.T) {
	unknown := maps.Clone(without)
	for _, p := range documented(t) {
		folder := strings.TrimPrefix(p.ImportPath, module+"/")
		wanted := map[string]bool{}
		for _, m := range methods[folder] {
			wanted[m] = true
		}
		for _, s := range symbols(p) {
			if s.fn == nil || s.fn.Recv != nil && !wanted[s.name] || isOption(s.fn) {
				continue
			}
			delete(wanted, s.name)
			name := folder + "." + s.name
			delete(unknown, name)
			checked := slices.ContainsFunc(s.examples, func(e *doc.Example) bool { return e.Output != "" })
			if _, none := without[name]; none == checked {
				t.Errorf("%s: an example with output is there: %v; in the list of functions without: %v", name, checked, none)
			}
		}
		for m := range wanted {
			t.Errorf("%s has no method %s", folder, m)
		}
	}
	for name := range unknown {
		t.Errorf("%s, which needs no example, is not there", name)
	}
}

// isOption tells whether a function returns an option of its package.
func isOption(fn *ast.FuncDecl) bool {
	results := fn.Type.Results
	if results == nil || len(results.List) != 1 {
		return false
	}
	name, ok := results.List[0].Type.(*ast.Ident)
	return ok && strings.HasSuffix(name.Name, "Option")
}
