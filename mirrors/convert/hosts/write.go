package hosts

import (
	"bytes"
	"path"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// entry is the settings of one host, in the order in which Talos writes them.
type entry struct {
	Capabilities []string    `toml:"capabilities,omitempty"`
	OverridePath bool        `toml:"override_path,omitempty"`
	CA           string      `toml:"ca,omitempty"`
	Client       [][2]string `toml:"client,omitempty"`
	SkipVerify   bool        `toml:"skip_verify,omitempty"`
}

// Write makes the directory: FOLDER/hosts.toml for each registry, certificates
// and keys beside it.
func Write(set mirrors.Set, opts ...Option) (convert.Files, convert.Report, error) {
	if err := mirrors.Join(set.Check().Err(), tree.Writable(set)); err != nil {
		return nil, convert.Report{}, err
	}
	w := &writer{options: collect(opts), set: set, files: convert.Files{}}
	used := map[string]bool{} // hosts whose TLS settings a file has
	folders := map[string]bool{}
	for _, key := range tree.Keys(set.Mirrors) {
		m := set.Mirrors[key]
		folder := folderOf(key)
		folders[folder] = true
		var urls []string
		var entries []entry
		for _, e := range m.Endpoints {
			host := tree.HostOf(e.URL)
			used[host] = true
			urls = append(urls, e.URL)
			entries = append(entries, w.tls(host, folder, entry{Capabilities: []string{"pull", "resolve"}, OverridePath: e.OverridePath}))
		}
		var out []byte
		if n := len(urls); m.SkipFallback && n > 0 {
			out = root(urls[n-1], entries[n-1])
			urls, entries = urls[:n-1], entries[:n-1]
		}
		for i, url := range urls {
			table := encode(struct {
				Host map[string]entry `toml:"host"`
			}{map[string]entry{url: entries[i]}})
			if i > 0 {
				table = bytes.TrimPrefix(table, []byte("[host]\n"))
			}
			out = append(out, table...)
		}
		w.files[folder+"/hosts.toml"] = out
	}

	for _, key := range tree.Keys(set.Config) {
		c := set.Config[key]
		if c.Auth != nil {
			w.Add(convert.Loss, "config", key, "auth", "hosts.toml has no credentials; Talos gives them to containerd in its configuration of the CRI plugin",
				"configure them there, plugins.'io.containerd.cri.v1.images'.registry.configs")
		}
		if c.TLS == nil || c.TLS.CA == "" && c.TLS.ClientIdentity == nil && !c.TLS.InsecureSkipVerify {
			continue
		}
		folder := folderOf(key)
		switch {
		case !folders[folder]:
			w.files[folder+"/hosts.toml"] = root("https://"+tree.UpstreamHost(key), w.tls(key, folder, entry{}))
		case !used[key]:
			w.Add(convert.Loss, "config", key, "tls", "the registry has mirrors and is not one of their endpoints; containerd does not apply TLS settings to the fallback, so Talos does not write them",
				"want https://"+tree.UpstreamHost(key)+" as the last endpoint of its mirror")
		}
	}
	return w.files, w.Report, nil
}

type writer struct {
	tree.Losses
	options
	set   mirrors.Set
	files convert.Files
}

// tls adds the TLS settings of a host to its entry, and their files to the folder.
func (w *writer) tls(host, folder string, e entry) entry {
	t := w.set.Config[host].TLS
	if t == nil {
		return e
	}
	file := func(kind, content string) string {
		name := host + "-" + kind
		w.files[folder+"/"+name] = []byte(content)
		if w.base == "" {
			return name
		}
		return path.Join(w.base, folder, name)
	}
	e.SkipVerify = t.InsecureSkipVerify
	if t.CA != "" {
		e.CA = file("ca.crt", string(t.CA))
	}
	if id := t.ClientIdentity; id != nil {
		e.Client = [][2]string{{file("client.crt", string(id.Certificate)), file("client.key", id.Key.Reveal())}}
	}
	return e
}

func root(server string, e entry) []byte {
	return encode(struct {
		Server string `toml:"server,omitempty"`
		entry
	}{server, e})
}

func encode(v any) []byte {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).SetIndentTables(true).Encode(v); err != nil {
		panic(err) // the types above are all that it is called with
	}
	return b.Bytes()
}

// folderOf is the name of the folder of a registry, as containerd and Talos have it.
func folderOf(registry string) string {
	if registry == "*" {
		return "_default"
	}
	if i := strings.LastIndex(registry, ":"); i > 0 {
		return registry[:i] + "_" + registry[i+1:] + "_"
	}
	return registry
}

// registryOf is the registry of a folder.
func registryOf(folder string) string {
	if folder == "_default" {
		return "*"
	}
	if name, ok := strings.CutSuffix(folder, "_"); ok {
		if i := strings.LastIndex(name, "_"); i > 0 {
			return name[:i] + ":" + name[i+1:]
		}
	}
	return folder
}
