package mirrors

import "github.com/mirrorpatch/mirrorpatch/mirrors/internal/redact"

// RedactURL returns a URL, or a key, for showing: what may be userinfo, all
// before the last @, and what stands after the first ? or #, which may be a
// token, is "[redacted]". It need not parse.
func RedactURL(url string) string { return redact.URL(url) }
