package servers

import (
	"errors"
	"os"
	"testing"
)

// MissingError says what the tests need and this machine does not have: a
// program, a file, or root.
type MissingError struct {
	Reason string
}

func (e *MissingError) Error() string { return e.Reason }

// End ends the test for an error: as [Missing] does for a [MissingError], and
// as a failure for any other.
func End(t testing.TB, err error) {
	t.Helper()
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		Missing(t, err.Error())
	}
	t.Fatal(err)
}

// Missing ends the test for a reason that lies in the machine: it fails where
// CI asks for everything, and is skipped elsewhere.
func Missing(t testing.TB, reason string) {
	t.Helper()
	if os.Getenv("MIRRORPATCH_REQUIRE_SERVERS") == "1" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
