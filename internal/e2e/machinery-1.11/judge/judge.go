// Package judge applies the patches of package configpatch with the version of
// machinery that the program is built with: Talos 1.11.6 in this module, 1.12.5
// in the one beside it. The client's version decides how a patch is applied, so
// what holds for the machinery of the library has to be shown for others.
package judge

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/encoder"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

// A Case is a configuration, sequences of patches, and the configuration that
// machinery 1.13.9 makes of the first.
type Case struct {
	Name      string     `json:"name"`
	Base      string     `json:"base"`
	Sequences [][]string `json:"sequences"`
	Want      string     `json:"want"`
}

// Run lets the library, whose module is at root, write cases for Talos 1.minor,
// and judges each.
func Run(t *testing.T, root string, minor, cases int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "cases")
	write := exec.Command("go", "test", "./configpatch", "-count=1", "-run", "^TestWriteCases$",
		"-write-cases", file, "-minor", fmt.Sprint(minor), "-cases", fmt.Sprint(cases))
	write.Dir = root
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("cannot write the cases: %v\n%s", err, out)
	}
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	judged := map[string]int{} // by kind
	for lines := json.NewDecoder(bufio.NewReader(in)); ; {
		var c Case
		if err := lines.Decode(&c); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(c.Name, " ")
		judged[kind]++
		if err := c.Judge(); err != nil {
			t.Errorf("%s: %v\n%s", c.Name, err, c.Base)
		}
	}
	kinds := []string{"replace", "merge", "converge", "own"}
	if minor >= 12 {
		kinds = append(kinds, "migrate")
	}
	for _, kind := range kinds {
		if want := max(1, cases/8); judged[kind] < want {
			t.Errorf("%d cases of %s were judged, want %d at least", judged[kind], kind, want)
		}
	}
	of := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		of = append(of, fmt.Sprintf("%d of %s", judged[kind], kind))
	}
	verdict.Proved(t, "machinery of Talos 1.%d makes of the patches what machinery 1.13.9 makes of them: %s", minor, strings.Join(of, ", "))
}

// Judge applies each sequence and compares what the result says about
// registries, that it says nothing else than before otherwise, and that it
// Validate finds nothing that it did not find before.
func (c Case) Judge() error {
	want, _, err := parts([]byte(c.Want))
	if err != nil {
		return err
	}
	before, err := encode(c.Base)
	if err != nil {
		return err
	}
	_, rest, err := parts(before)
	if err != nil {
		return err
	}
	knownWrong, whole, err := invalid(before)
	if err != nil {
		return err
	}
	for i, patches := range c.Sequences {
		result, err := apply(c.Base, patches)
		if err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		wrong, _, err := invalid(result)
		if err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		for _, line := range wrong {
			// Without a machine Validate stops early: what it says about an empty one is new.
			if !slices.Contains(knownWrong, line) && (whole || strings.Contains(strings.ToLower(line), "registr")) {
				return fmt.Errorf("sequence %d: does not validate any more: %s", i, line)
			}
		}
		got, gotRest, err := parts(result)
		if err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("sequence %d: got %v, want %v", i, got, want)
		}
		if !reflect.DeepEqual(gotRest, rest) {
			return fmt.Errorf("sequence %d: the rest was %v and is %v", i, rest, gotRest)
		}
	}
	return nil
}

func encode(config string) ([]byte, error) {
	cfg, err := configloader.NewFromBytes([]byte(config))
	if err != nil {
		return nil, err
	}
	return cfg.EncodeBytes(encoder.WithComments(encoder.CommentsDisabled))
}

func apply(base string, patches []string) (result []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("machinery panics: %v", r)
		}
	}()
	loaded, err := configpatcher.LoadPatches(patches)
	if err != nil {
		return nil, err
	}
	out, err := configpatcher.Apply(configpatcher.WithBytes([]byte(base)), loaded)
	if err != nil {
		return nil, err
	}
	return out.Bytes()
}

// metalMode is the mode in which Talos validates a configuration for bare metal.
type metalMode struct{}

func (metalMode) String() string        { return "metal" }
func (metalMode) RequiresInstall() bool { return true }
func (metalMode) InContainer() bool     { return false }

// invalid returns what Validate says about a configuration, and whether there
// is a machine in it.
func invalid(data []byte) (lines []string, machine bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("machinery panics: %v", r)
		}
	}()
	cfg, err := configloader.NewFromBytes(data)
	if err != nil {
		return nil, false, err
	}
	raw := cfg.RawV1Alpha1()
	if _, err := cfg.Validate(metalMode{}); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			line = strings.TrimPrefix(strings.TrimSpace(line), "* ")
			if line != "" && !strings.HasSuffix(line, "occurred:") {
				lines = append(lines, line)
			}
		}
	}
	return lines, raw != nil && raw.MachineConfig != nil, nil
}

// parts takes a configuration apart: what counts about registries, a document
// before the legacy entry of its name, and all the rest.
func parts(data []byte) (registries map[string]any, rest []any, err error) {
	registries = map[string]any{}
	documents := map[string]any{}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc map[string]any
		if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, err
		}
		name := fmt.Sprint(doc["name"])
		switch doc["kind"] {
		case "RegistryMirrorConfig":
			var endpoints []any
			for _, e := range list(doc["endpoints"]) {
				endpoint := fields(e)
				endpoints = append(endpoints, []any{endpoint["url"], endpoint["overridePath"] == true})
			}
			documents["mirror "+name] = []any{endpoints, doc["skipFallback"] == true}
		case "RegistryAuthConfig":
			documents["auth "+name] = auth(doc)
		case "RegistryTLSConfig":
			id := fields(doc["clientIdentity"])
			documents["tls "+name] = []any{doc["ca"], id["cert"], id["key"], doc["insecureSkipVerify"] == true}
		case nil:
			machine := fields(doc["machine"])
			section := fields(machine["registries"])
			delete(machine, "registries")
			// A patch of the registries brings a machine where there is none. It is
			// encoded with fields that are empty.
			for key, v := range machine {
				if v == nil || v == "" || reflect.DeepEqual(v, []any{}) {
					delete(machine, key)
				}
			}
			doc["machine"] = machine
			for name, v := range fields(section["mirrors"]) {
				mirror := fields(v)
				var endpoints []any
				for _, e := range list(mirror["endpoints"]) {
					endpoints = append(endpoints, []any{e, mirror["overridePath"] == true})
				}
				registries["mirror "+name] = []any{endpoints, mirror["skipFallback"] == true}
			}
			for host, v := range fields(section["config"]) {
				config := fields(v)
				if a, ok := config["auth"]; ok {
					registries["auth "+host] = auth(fields(a))
				}
				if x, ok := config["tls"]; ok {
					tls := fields(x)
					id := fields(tls["clientIdentity"])
					registries["tls "+host] = []any{decode(tls["ca"]), decode(id["crt"]), decode(id["key"]), tls["insecureSkipVerify"] == true}
				}
			}
			rest = append(rest, doc)
		default:
			rest = append(rest, doc)
		}
	}
	for k, v := range documents {
		registries[k] = v
	}
	return registries, rest, nil
}

func auth(m map[string]any) []any {
	return []any{m["username"], m["password"], m["auth"], m["identityToken"]}
}

func fields(v any) map[string]any {
	if m, ok := v.(map[string]any); ok {
		return m
	}
	return map[string]any{}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func decode(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	text, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return s
	}
	return string(text)
}
