package configpatch

import "fmt"

// Form is one of the two shapes in which Talos reads its registry
// configuration.
type Form int

const (
	// Legacy is machine.registries of the v1alpha1 document: every Talos
	// version, deprecated since 1.12.
	Legacy Form = iota + 1
	// Documents are RegistryMirrorConfig, RegistryAuthConfig and
	// RegistryTLSConfig: Talos 1.12.0 and later.
	Documents
)

// ParseForm reads "legacy" or "documents".
func ParseForm(s string) (Form, error) {
	switch s {
	case "legacy":
		return Legacy, nil
	case "documents":
		return Documents, nil
	}
	return 0, &Error{Path: "form", Reason: fmt.Sprintf("unknown form %q", clip(s)), Fix: "legacy or documents"}
}

// String returns "legacy" or "documents".
func (f Form) String() string {
	switch f {
	case Legacy:
		return "legacy"
	case Documents:
		return "documents"
	}
	return fmt.Sprintf("Form(%d)", int(f))
}

// MarshalText writes what String returns.
func (f Form) MarshalText() ([]byte, error) {
	if f != Legacy && f != Documents {
		return nil, &Error{Path: "form", Reason: fmt.Sprintf("unknown form %d", int(f)), Fix: "Legacy or Documents"}
	}
	return []byte(f.String()), nil
}

// UnmarshalText is [ParseForm]. When it fails, f is as it was.
func (f *Form) UnmarshalText(text []byte) error {
	parsed, err := ParseForm(string(text))
	if err != nil {
		return err
	}
	*f = parsed
	return nil
}

// FormFor returns the form that is used for a version when none is asked for:
// Legacy below 1.12.2, Documents from there on. The documents exist since
// 1.12.0, but a RegistryTLSConfig without clientIdentity panics Talos 1.12.0
// and 1.12.1.
func FormFor(v Version) Form {
	if v.below(1, 12, 2) {
		return Legacy
	}
	return Documents
}
