// Package verdict has the end-to-end tests say what they proved, a line each.
package verdict

import (
	"fmt"
	"strings"
	"testing"
)

// Proved says when the test is over what it proved, unless it failed or was
// skipped by then. It is called once in a test, behind all that it asserts, and
// in no subtest: the line is that of a whole test. The
// line begins with "proved: " and the test's name, and .ci/run shows it:
//
//	verdict.Proved(t, "kubectl takes all %d manifests", n)
func Proved(t testing.TB, format string, args ...any) {
	t.Helper()
	if strings.Contains(t.Name(), "/") {
		t.Fatalf("%s says what it proved, and only the test around it may", t.Name())
	}
	line := "proved: " + t.Name() + ": " + fmt.Sprintf(format, args...)
	t.Cleanup(func() {
		t.Helper()
		if !t.Failed() && !t.Skipped() {
			t.Log(line)
		}
	})
}
