package mirrorpatch_test

import (
	"os"
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
