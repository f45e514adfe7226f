package mirrorpatch_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReadme keeps the Go code of the README equal to Example, and the output
// beside it equal to what Example is checked against.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, function, _ := strings.Cut(string(source), "func Example() {\n")
	code, output, _ := strings.Cut(strings.TrimSuffix(function, "}\n"), "\n\t// Output:\n")

	if got, want := block(t, string(readme), "go"), unindent(code, "\t"); got != want {
		t.Errorf("the README's Go code is\n%s\nand Example is\n%s", got, want)
	}
	if got, want := block(t, string(readme), "sh output"), unindent(output, "\t// "); got != want {
		t.Errorf("the README's output is\n%s\nand that of Example is\n%s", got, want)
	}
}

// block returns the first fenced block with this info string.
func block(t *testing.T, text, info string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, "```"+info+"\n")
	if !ok {
		t.Fatalf("the README has no block of %q", info)
	}
	content, _, _ := strings.Cut(rest, "\n```")
	return content
}

func unindent(text, prefix string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], prefix)
	}
	return strings.TrimPrefix(strings.Join(lines, "\n"), strings.TrimSpace(prefix)+" ")
}

// TestConsole runs what the Markdown files show as done at a prompt, from the
// root of the tree, and compares what it says.
func TestConsole(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("MIRRORPATCH_REQUIRE_SHELLS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", bin, "./examples/...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}

	blocks := regexp.MustCompile("(?ms)^```console\n(.*?)^```$")
	ran := 0
	for _, file := range markdown(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
			for shown := range strings.SplitSeq(strings.TrimPrefix(block[1], "$ "), "\n$ ") {
				line, want, _ := strings.Cut(shown, "\n")
				command := strings.ReplaceAll(line, "go run ./examples/", bin+"/")
				// The exit code is not shown; check has one where it finds something.
				out, _ := exec.Command(shell, "-c", command).CombinedOutput()
				if got := string(out); strings.TrimSpace(got) != strings.TrimSpace(want) {
					t.Errorf("%s: %s\nprints\n%s\nand is said to print\n%s", file, line, got, want)
				}
				ran++
			}
		}
	}
	if ran < 3 {
		t.Errorf("only %d commands were found", ran)
	}
}

// TestLinks looks for what the Markdown files link to in the tree.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	found := 0
	for _, file := range markdown(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
	}
	if found == 0 {
		t.Error("no link was found")
	}
}

// markdown returns the Markdown files of the tree.
func markdown(t *testing.T) (files []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(path) == ".md":
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
