package mirrors

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
)

// JSON of a field of its own has PEM as Decode takes it.
func TestPEMFromJSON(t *testing.T) {
	for _, c := range []struct{ in, want, err string }{
		{in: `"` + exampleCA + `"`, want: decodePEM(exampleCA)},
		{in: `"` + exampleCA[:64] + `\n` + exampleCA[64:] + `"`, want: decodePEM(exampleCA)},
		{in: `"-----BEGIN made-up\n"`, want: "-----BEGIN made-up\n"},
		{in: `"/etc/ssl/ca.pem"`, want: "/etc/ssl/ca.pem"},
		{in: `""`},
		{in: `null`, want: "as before"},
		{in: `5`, want: "as before", err: "cannot unmarshal number"},
	} {
		p := PEM("as before")
		err := json.Unmarshal([]byte(c.in), &p)
		assert.Equal(t, PEM(c.want), p, c.in)
		if c.err != "" {
			assert.ErrorContains(t, err, c.err)
		} else {
			assert.NoError(t, err, c.in)
		}
	}
}
