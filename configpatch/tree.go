package configpatch

import "github.com/mirrorpatch/mirrorpatch/mirrors"

// A tree is YAML to be written: maps in the order in which their entries were
// added, and leaves that write themselves. It is for the patches that only say a
// difference; whole Sets are written by the appenders of render.go, which are
// faster.
type tree []entry

type entry struct {
	key  string
	sub  tree
	leaf func(dst []byte, indent int) []byte // what follows the colon
	gone bool                                // a deletion
}

func (t tree) append(dst []byte, indent int) []byte {
	for _, e := range t {
		dst = appendKey(dst, indent, e.key)
		switch {
		case e.leaf != nil:
			dst = e.leaf(dst, indent)
		case len(e.sub) == 0:
			dst = append(dst, " {}\n"...)
		default:
			dst = append(dst, '\n')
			dst = e.sub.append(dst, indent+1)
		}
	}
	return dst
}

func deletion(key string) entry {
	return entry{key: key, gone: true, leaf: func(dst []byte, indent int) []byte {
		dst = append(dst, '\n')
		dst = appendIndent(dst, indent+1)
		return append(dst, deleteLine...)
	}}
}

// deleteLine is how Talos is told to delete the map that it stands in.
const deleteLine = "$patch: delete\n"

func word(s string) func([]byte, int) []byte {
	return func(dst []byte, _ int) []byte {
		dst = append(dst, ' ')
		dst = append(dst, s...)
		return append(dst, '\n')
	}
}

func flag(b bool) func([]byte, int) []byte {
	if b {
		return word("true")
	}
	return word("false")
}

func scalar(s string) func([]byte, int) []byte {
	return func(dst []byte, _ int) []byte {
		dst = append(dst, ' ')
		dst = appendScalar(dst, s)
		return append(dst, '\n')
	}
}

func base64Text(s string) func([]byte, int) []byte {
	return func(dst []byte, _ int) []byte { return appendBase64Value(append(dst, ' '), s) }
}

func text(s string) func([]byte, int) []byte {
	return func(dst []byte, indent int) []byte { return appendTextValue(append(dst, ' '), indent, s) }
}

func stringList(list []string) func([]byte, int) []byte {
	return func(dst []byte, indent int) []byte {
		if len(list) == 0 {
			return append(dst, " []\n"...)
		}
		dst = append(dst, '\n')
		for _, s := range list {
			dst = appendIndent(dst, indent+1)
			dst = append(dst, "- "...)
			dst = appendScalar(dst, s)
			dst = append(dst, '\n')
		}
		return dst
	}
}

// endpointList deletes some endpoints of a document by their URL, and appends others.
func endpointList(gone, added []mirrors.Endpoint) func([]byte, int) []byte {
	return func(dst []byte, indent int) []byte {
		dst = append(dst, '\n')
		for _, e := range gone {
			dst = appendIndent(dst, indent+1)
			dst = append(dst, "- url: "...)
			dst = appendScalar(dst, e.URL)
			dst = append(dst, '\n')
			dst = appendIndent(dst, indent+1)
			dst = append(dst, "  "+deleteLine...)
		}
		return appendEndpoints(dst, indent+1, added)
	}
}

func mirrorTree(m mirrors.Mirror) (t tree) {
	if len(m.Endpoints) > 0 {
		t = append(t, entry{key: "endpoints", leaf: endpointList(nil, m.Endpoints)})
	}
	if m.SkipFallback {
		t = append(t, entry{key: "skipFallback", leaf: flag(true)})
	}
	return t
}

type authField struct{ key, value string }

func authFields(a mirrors.Auth) [4]authField {
	return [4]authField{
		{"username", a.Username},
		{"password", a.Password.Reveal()},
		{"auth", a.Auth.Reveal()},
		{"identityToken", a.IdentityToken.Reveal()},
	}
}

func authTree(a mirrors.Auth) (t tree) {
	for _, f := range authFields(a) {
		if f.value != "" {
			t = append(t, entry{key: f.key, leaf: scalar(f.value)})
		}
	}
	return t
}

func identityEntry(id mirrors.ClientIdentity) entry {
	return entry{key: "clientIdentity", sub: tree{
		{key: "cert", leaf: text(string(id.Certificate))},
		{key: "key", leaf: text(id.Key.Reveal())},
	}}
}

func tlsTree(tls mirrors.TLS) (t tree) {
	if tls.ClientIdentity != nil {
		t = append(t, identityEntry(*tls.ClientIdentity))
	}
	if tls.CA != "" {
		t = append(t, entry{key: "ca", leaf: text(string(tls.CA))})
	}
	if tls.InsecureSkipVerify {
		t = append(t, entry{key: "insecureSkipVerify", leaf: flag(true)})
	}
	return t
}
