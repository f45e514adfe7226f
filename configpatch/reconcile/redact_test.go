package reconcile

import (
	"bytes"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// Nothing that is printed or logged holds a patch, a skeleton, a script or a value of the environment.
func TestNothingIsPrinted(t *testing.T) {
	const marker = "made-up-password"
	bytesOf := func(text string) string { s := fmt.Sprint([]byte(text)); return s[1 : len(s)-1] }
	j := patchesJob()
	j.Template.StrategicPatches = [][]byte{[]byte("password: " + marker + "\n")}
	j.Template.Skeleton = "password: " + marker + "\na: ${A}\nb: ${B}\n"
	j.Template.Inputs = []Input{
		{"A", escape.Any, FromEnv{Value: marker}}, {"B", escape.Any, FromEnv{Secret: "secret-b", Key: "key-b"}},
	}
	objects := mustManifests(t, j)
	require.Contains(t, string(objects.Bytes()), marker)
	nodes := Nodes{Addresses: []string{"192.0.2.1"}, Patches: j.Template.StrategicPatches}
	type around struct{ V any }
	for _, v := range []any{
		j, &j, j.Template, &j.Template, objects, &objects, nodes, &nodes, j.Template.Inputs[0], j.Template.Inputs[0].From, &j.Template.Inputs[0], j.Template.Inputs,
		[]Template{j.Template}, []Objects{objects}, map[string]Job{"a": j}, around{j}, around{objects}, around{j.Template.Inputs[0].From}, struct{ Job }{j},
	} {
		for _, verb := range []string{"%s", "%q", "%v", "%+v", "%#v", "%x", "%X", "%d"} {
			text := fmt.Sprintf(verb, v)
			if s, ok := v.(fmt.Stringer); ok {
				require.Equal(t, s.String(), text, "%s of %T", verb, v)
			}
			for _, hidden := range []string{marker, bytesOf(marker), fmt.Sprintf("%x", marker), fmt.Sprintf("%X", marker)} {
				require.NotContains(t, text, hidden, "%s of %T", verb, v)
			}
		}
	}
	for _, v := range []any{j, &j, j.Template, &j.Template, objects, &objects, nodes, &nodes, j.Template.Inputs[0], j.Template.Inputs[0].From} {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v)
		require.NotContains(t, log.String(), marker, "%T", v)
		require.NotContains(t, log.String(), b64(string(j.Template.StrategicPatches[0])), "%T", v)
	}
	require.Equal(t, "TalosConfigTemplate tenant-a/tenant-a-md0", j.Template.String())
	require.Equal(t, "Job tenant-a/tenant-a-md0", fmt.Sprint(j))
	require.Equal(t, fmt.Sprintf("Job %s, %d bytes, the script in a secret", objects.JobName(), len(objects.Bytes())), fmt.Sprintf("%+v", objects))
	require.Equal(t, "[A from the environment: a text B from the environment: key key-b of Secret secret-b]", fmt.Sprint(j.Template.Inputs))
	require.Equal(t, "1 patches for 1 nodes", nodes.String())
	require.Equal(t, "the environment", FromEnv{}.String())
}
