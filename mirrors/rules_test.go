package mirrors

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// findingsOf reads and checks; what is wrong with the reading counts as a finding.
func findingsOf(t testing.TB, text string, opts ...CheckOption) Findings {
	t.Helper()
	src, err := Decode([]byte(text))
	if err != nil {
		var e *Error
		require.ErrorAs(t, err, &e)
		return e.Findings
	}
	return src.Check(opts...)
}

func byRule(fs Findings, rule string) (of Findings) {
	for _, f := range fs {
		if f.Rule == rule {
			of = append(of, f)
		}
	}
	return of
}

// A rule's example shows the rule and nothing else.
func TestRuleExamples(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			assert.False(t, seen[r.Name])
			seen[r.Name] = true
			for _, s := range []string{r.Severity, r.Finds, r.Reason, r.Fix} {
				assert.NotEmpty(t, s)
			}
			if r.Bad != "" {
				fs := findingsOf(t, r.Bad, r.options...)
				require.NotEmpty(t, fs, "the bad example has no finding")
				for _, f := range fs {
					assert.Equal(t, r.Name, f.Rule, "%v", f)
					assert.True(t, strings.HasPrefix(r.Severity, f.Severity.String()), "%s: severity %s", f, f.Severity)
					assert.NotEmpty(t, f.Message)
					assert.NotZero(t, f.Line, "%v", f)
					if f.Severity != SeverityInfo {
						assert.NotEmpty(t, f.Fix)
					}
				}
			}
			if r.Good != "" {
				assert.Empty(t, findingsOf(t, r.Good, r.options...), "the good example has findings")
			}
		})
	}
}
