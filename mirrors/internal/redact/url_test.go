package redact

import "testing"

func TestURL(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"https://m.internal:5000/v2", "https://m.internal:5000/v2"},
		{"https://u:p@m.internal/v2/@scope", "https://[redacted]@scope"},
		{"https://u:p@m.internal", "https://[redacted]@m.internal"},
		{"https://u:p/q@m.internal", "https://[redacted]@m.internal"},
		{"https://u:123/q@m.internal", "https://[redacted]@m.internal"},
		{"https://u:p%@m.internal/v2", "https://[redacted]@m.internal/v2"},
		{"https://m.internal/v2?token=p", "https://m.internal/v2?[redacted]"},
		{"https://m.internal/v2#p", "https://m.internal/v2#[redacted]"},
		{"https://m.internal/v2?", "https://m.internal/v2?"},
		{"m.internal?token=p", "m.internal?[redacted]"},
		{"ghcr.io#p", "ghcr.io#[redacted]"},
		{"u:p@m.internal", "[redacted]@m.internal"},
		{"https:u:p@m.internal", "[redacted]@m.internal"},
		{"//u:p@m.internal", "//[redacted]@m.internal"},
		{"p://u:q@m.internal", "p://[redacted]@m.internal"},
		{"1p://u:q@m.internal", "[redacted]@m.internal"},
		{"@", "[redacted]@"},
	} {
		if got := URL(c.in); got != c.want {
			t.Errorf("URL(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}
