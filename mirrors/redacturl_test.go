package mirrors_test

import (
	"testing"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// What it does in every case, the tests of package redact say.
func TestRedactURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://m.example.com/v2":                      "https://m.example.com/v2",
		"https://u:made-up@m.example.com/v2?token=made": "https://[redacted]@m.example.com/v2?[redacted]",
		"ghcr.io#made":                                  "ghcr.io#[redacted]",
	} {
		if got := mirrors.RedactURL(in); got != want {
			t.Errorf("RedactURL(%q) = %q, want %q", in, got, want)
		}
	}
}
