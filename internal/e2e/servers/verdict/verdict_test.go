package verdict

import (
	"fmt"
	"slices"
	"testing"
)

// trial is a test that keeps what it logs.
type trial struct {
	testing.TB
	name            string
	failed, skipped bool
	cleanup         func()
	logged          []string
	fatal           string
}

func (tr *trial) Helper()          {}
func (tr *trial) Name() string     { return tr.name }
func (tr *trial) Failed() bool     { return tr.failed }
func (tr *trial) Skipped() bool    { return tr.skipped }
func (tr *trial) Cleanup(f func()) { tr.cleanup = f }
func (tr *trial) Log(args ...any)  { tr.logged = append(tr.logged, fmt.Sprint(args...)) }
func (tr *trial) Fatalf(format string, args ...any) {
	tr.fatal = fmt.Sprintf(format, args...)
}

// TestProved: the line comes at the end, and of a test that passed only.
func TestProved(t *testing.T) {
	for _, tt := range []struct {
		failed, skipped bool
		want            []string
	}{
		{want: []string{"proved: TestX: 3 things hold"}},
		{failed: true},
		{skipped: true},
	} {
		tr := &trial{name: "TestX"}
		Proved(tr, "%d things hold", 3)
		if tr.logged != nil {
			t.Errorf("%q came before the test was over", tr.logged)
		}
		tr.failed, tr.skipped = tt.failed, tt.skipped // after the call, as in a subtest that still runs
		tr.cleanup()
		if !slices.Equal(tr.logged, tt.want) {
			t.Errorf("failed %t, skipped %t: logged %q, want %q", tt.failed, tt.skipped, tr.logged, tt.want)
		}
	}
	subtest := &trial{name: "TestX/dash"}
	if Proved(subtest, "x"); subtest.fatal != "TestX/dash says what it proved, and only the test around it may" {
		t.Errorf("a subtest: %q", subtest.fatal)
	}
	Proved(t, "a line comes from a test that passed, from no other")
}
