package hosts_test

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
)

// table is a host or the root of a hosts.toml.
type table struct {
	url            string
	override, skip bool
	basic          string // of the header
}

// hostsFile is a hosts.toml with the order of its tables.
type hostsFile struct {
	root   table
	tables []table
}

func (f hostsFile) text() string {
	var b strings.Builder
	settings := func(t table, name string) {
		if t.override {
			b.WriteString("override_path = true\n")
		}
		if t.skip {
			b.WriteString("skip_verify = true\n")
		}
		if t.basic != "" {
			fmt.Fprintf(&b, "[%sheader]\nAuthorization = 'Basic %s'\n", name, t.basic)
		}
	}
	if f.root.url != "" {
		fmt.Fprintf(&b, "server = %q\n", f.root.url)
	}
	settings(f.root, "")
	for _, t := range f.tables {
		fmt.Fprintf(&b, "[host.%q]\n", t.url)
		settings(t, fmt.Sprintf("host.%q.", t.url))
	}
	return b.String()
}

// parse reads what Write makes, line by line.
func parse(text string) hostsFile {
	var f hostsFile
	t := &f.root
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, _ := strings.Cut(line, " = ")
		switch {
		case key == "server":
			f.root.url = strings.Trim(value, "'")
		case key == "override_path":
			t.override = true
		case key == "skip_verify":
			t.skip = true
		case strings.HasPrefix(line, "[host."):
			f.tables = append(f.tables, table{url: strings.Trim(line, "[host.]'")})
			t = &f.tables[len(f.tables)-1]
			t.url = strings.TrimSuffix(strings.TrimPrefix(line, "[host.'"), "']")
		}
	}
	return f
}

// hops is the list of places that containerd 2.3.3 asks for a registry: the hosts
// in their order, then the server or the registry itself.
func (f hostsFile) hops(registry string) []table {
	var hops []table
	add := func(t table) {
		if !strings.HasPrefix(t.url, "http") {
			t.url = "https://" + t.url
		}
		u, err := url.Parse(t.url)
		if err != nil {
			panic(err)
		}
		p := u.Path
		if p != "" {
			p = path.Clean(p)
		}
		if !t.override && !strings.HasSuffix(p, "/v2") {
			p += "/v2"
		}
		h := table{url: u.Scheme + "://" + u.Host + strings.Replace(p, "//", "/", 1), skip: t.skip}
		if !slices.Contains(hops, h) {
			hops = append(hops, h)
		}
	}
	for _, t := range f.tables {
		add(t)
	}
	root := f.root
	if root.url == "" {
		root = table{url: "https://" + strings.Replace(registry, "docker.io", "registry-1.docker.io", 1), skip: root.skip}
	}
	if root.url == "https://*" {
		root.url = "https://upstream"
	}
	add(root)
	return hops
}

func generateDir(c *goldentest.Choices) map[string]hostsFile {
	dir := map[string]hostsFile{}
	for range 1 + c.Int(3) {
		folder := c.Pick("docker.io", "ghcr.io", "_default", "reg.example.com_5000_", "[fd00::1]_5000_", "a.example.com")
		var f hostsFile
		one := func() table {
			t := table{url: c.Pick("", "http://", "https://") + c.Pick("a.example.com", "b.example.com:5000", "[fd00::2]:5000", "registry-1.docker.io", "ghcr.io")}
			t.url += c.Pick("", "/", "/v2", "/v2/p", "/p/v2", "/p")
			t.override = c.Bool(3)
			// Settings that follow from the host: Talos has one set for each.
			t.skip = strings.Contains(t.url, "b.example.com") && strings.HasPrefix(t.url, "https")
			if strings.Contains(t.url, "fd00") {
				t.basic = "dXNlcjptYWRlLXVw"
			}
			return t
		}
		if c.Bool(2) {
			f.root = one()
			f.root.override = f.root.override && f.root.url != ""
		} else if c.Bool(3) {
			f.root.skip = true
		}
		for range c.Int(4) {
			t := one()
			if !slices.ContainsFunc(f.tables, func(o table) bool { return o.url == t.url }) {
				f.tables = append(f.tables, t)
			}
		}
		dir[folder] = f
	}
	return dir
}

// FuzzRoundTrip: after it was read and written, a directory sends containerd to
// the same places in the same order, for all registries that no report names.
func FuzzRoundTrip(f *testing.F) {
	for i := range 300 {
		seed := make([]byte, 40)
		for j := range seed {
			seed[j] = byte(i*29 + j*j*11 + j*i)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		c := goldentest.Choices(choices)
		dir := generateDir(&c)
		before := fstest.MapFS{}
		var all strings.Builder
		for folder, file := range dir {
			before[folder+"/hosts.toml"] = &fstest.MapFile{Data: []byte(file.text())}
			fmt.Fprintf(&all, "-- %s --\n%s", folder, file.text())
		}
		src, read, err := hosts.Read(before)
		if err != nil {
			t.Fatalf("%v\n%s", err, all.String())
		}
		files, written, err := hosts.Write(src.Set)
		if err != nil {
			var e *mirrors.Error
			if !errors.As(err, &e) || src.Check().Err() == nil {
				t.Fatal(err)
			}
			return // the Set has errors, which Check reports
		}
		for folder, file := range dir {
			registry := strings.TrimSuffix(folder, "_")
			if i := strings.LastIndex(registry, "_"); i > 0 {
				registry = registry[:i] + ":" + registry[i+1:]
			}
			if folder == "_default" {
				registry = "*"
			}
			// Where the directory named no settings, and Talos writes some since the
			// registry is a host with settings elsewhere, the report says so.
			want, got := file.hops(registry), parse(string(files[folder+"/hosts.toml"])).hops(registry)
			if slices.Equal(want, got) || listed(want, got, folder, read.String()+written.String()) {
				continue
			}
			t.Errorf("%s:\nwant %v\ngot  %v\n%s\nwritten:\n%s\nreports:\n%s\n%s", folder, want, got, all.String(), files[folder+"/hosts.toml"], read, written)
		}
		for _, h := range []string{"[fd00::2]:5000"} {
			if uses := strings.Contains(all.String(), "Basic"); uses != (src.Set.Config[h].Auth != nil) {
				t.Errorf("credentials of %s: %v\n%s", h, src.Set.Config[h].Auth, all.String())
			}
		}
	})
}

// listed reports whether the lists differ only in what a report names.
func listed(want, got []table, folder, report string) bool {
	for _, h := range append(slices.Clone(want), got...) {
		if slices.Contains(want, h) && slices.Contains(got, h) {
			continue
		}
		u, err := url.Parse(h.url)
		if err == nil && u.Host == "upstream" {
			u.Host = "every registry that has no folder"
		}
		if err != nil || !strings.Contains(report, u.Host) {
			return false
		}
	}
	// The order of the others stays.
	others := func(hops []table) []table {
		return slices.DeleteFunc(slices.Clone(hops), func(h table) bool {
			u, err := url.Parse(h.url)
			return err != nil || strings.Contains(report, u.Host) || u.Host == "upstream"
		})
	}
	return slices.Equal(others(want), others(got))
}

// FuzzRead: whatever hosts.toml holds, there is a result or an error with
// findings, and no panic.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"server = 'https://a'\n[host.'https://b']\nca = ['a.crt', 'b.crt']\nclient = [['a.crt', 'a.key']]\n", "client = 'both.pem'", "[host]\n", "host = 1",
		"[[host]]\n", "[host.'https://b'.header]\nAuthorization = 'Basic dXNlcjpwYXNz'\n", "a = [[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
		"[host.\"\\u0000\"]", "server = 'http://[::1'", "[a.b]\nc.d = {e = {f = 1}, g = [{h = 1979-05-27}]}\n", "dial_timeout = '1h'\ncapabilities = ['PULL']",
	} {
		f.Add([]byte(s))
	}
	for _, c := range shelltest.Hostile(f) {
		if len(c.Data) < 4096 {
			f.Add(append([]byte("server = "), c.Data...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := fstest.MapFS{"r.example.com/hosts.toml": {Data: data}, "r.example.com/a.crt": {Data: []byte("not PEM")},
			"r.example.com/a.key": {Data: []byte("-----BEGIN X PRIVATE KEY-----\nAA==\n-----END X PRIVATE KEY-----\n")}}
		src, report, err := hosts.Read(dir)
		goldentest.Invariants(t, data, src, report, err)
		if err == nil {
			if files, _, err := hosts.Write(src.Set); err == nil && len(files) > 0 {
				if _, _, err := hosts.Read(asFS(files)); err != nil {
					t.Errorf("what was written is refused: %v\n%q\n%s", err, data, files["r.example.com/hosts.toml"])
				}
			}
		}
	})
}

func TestLimits(t *testing.T) {
	goldentest.Limits(t, "server = 'https://a'\n", "# a comment that goes on\n", "", func(data []byte) error {
		_, _, err := hosts.Read(fstest.MapFS{"r.example.com/hosts.toml": {Data: data}})
		return err
	})
}

func TestMany(t *testing.T) {
	read := func(data []byte) error {
		_, _, err := hosts.Read(fstest.MapFS{"r.example.com/hosts.toml": {Data: data}})
		return err
	}
	goldentest.Many(t, "", func(i int) string { return fmt.Sprintf("[host.'m%d']\nskip_verify = true\n", i) }, "", read)
	goldentest.Many(t, "", func(i int) string { return fmt.Sprintf("x%d = 1\n", i) }, "", read)
	goldentest.Many(t, "capabilities = [", func(i int) string { return "'pull'," }, "]", read)
}

func TestSecrets(t *testing.T) {
	const secret = "Zw9KqLx7Yb3NmT5v"
	goldentest.Secrets(t, "server = 'https://m.example.com'\n[host.'https://n.example.com'.header]\nAuthorization = 'Basic dTpw"+secret+"'\n", secret, func(data []byte) (*mirrors.Source, convert.Report, error) {
		return hosts.Read(fstest.MapFS{"r.example.com/hosts.toml": {Data: data}})
	})
}
