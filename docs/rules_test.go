// Package docs_test keeps the pages of this folder true.
package docs_test

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/cozystack"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/dockerconfig"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/registriesconf"
	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

var update = flag.Bool("update", false, "write rules.md")

// concerns says whom a rule concerns, and from which release on where there is one.
var concerns = map[string]string{
	mirrors.RuleSyntax:             "whoever reads the file",
	mirrors.RuleInputSize:          "this library",
	mirrors.RuleUnknownKey:         "Talos, which loads it",
	mirrors.RuleRepeatedKey:        "whoever reads the file",
	mirrors.RuleWrongKind:          "Talos, which loads it",
	mirrors.RuleOverrideConflict:   "this library",
	mirrors.RuleImageReference:     "containerd",
	mirrors.RuleMissingKey:         "readers of other formats",
	mirrors.RuleWrongValue:         "readers of other formats",
	mirrors.RuleEncoding:           "writers of other formats",
	mirrors.RuleFileName:           "writers of other formats",
	mirrors.RuleEmptySet:           "both pullers",
	mirrors.RuleEndpointSyntax:     "both pullers",
	mirrors.RuleEndpointScheme:     "both pullers",
	mirrors.RuleEndpointUserinfo:   "both pullers",
	mirrors.RuleEndpointQuery:      "both pullers",
	mirrors.RuleEndpointCanonical:  "Talos, which writes documents (1.12.0 and later)",
	mirrors.RuleEndpointDuplicate:  "containerd",
	mirrors.RuleEndpointPath:       "both pullers",
	mirrors.RuleOverridePath:       "both pullers (Talos 1.3 and later)",
	mirrors.RuleTLSOnHttp:          "machined",
	mirrors.RuleTLSWildcard:        "containerd",
	mirrors.RuleAuthWildcard:       "both pullers",
	mirrors.RuleRegistryName:       "both pullers",
	mirrors.RuleRegistryAlias:      "both pullers",
	mirrors.RuleConfigKey:          "both pullers",
	mirrors.RuleConfigUnused:       "both pullers",
	mirrors.RuleHubAuthKey:         "machined; containerd too before Talos 1.9.6",
	mirrors.RuleAuthIncomplete:     "machined",
	mirrors.RuleAuthConflict:       "Talos, which loads documents (1.12.0 and later)",
	mirrors.RuleAuthEncoding:       "both pullers",
	mirrors.RulePEMInvalid:         "both pullers",
	mirrors.RuleClientIdentity:     "both pullers",
	mirrors.RuleCertificateExpired: "both pullers",
	mirrors.RuleSkipFallbackAlone:  "both pullers (Talos 1.9 and later)",
	mirrors.RuleWildcardBypassed:   "containerd",
	mirrors.RuleFallbackTLS:        "containerd",
	mirrors.RulePullerDiffers:      "both pullers",
	mirrors.RuleVersionFeature:     "Talos, which loads it",
	mirrors.RuleLegacyOverride:     "Talos, which loads it",
	mirrors.RuleSharedEndpoint:     "the cache",
	mirrors.RuleHttpCredentials:    "both pullers",
	mirrors.RuleInsecureSkipVerify: "both pullers",
	mirrors.RulePlaceholderSecret:  "both pullers",
	mirrors.RuleNodeUnreachable:    "both pullers",
}

// optionsOf are what the When of a rule says.
var optionsOf = map[string][]mirrors.CheckOption{
	"":                   nil,
	"in document form":   {mirrors.InForm("documents")},
	"in the legacy form": {mirrors.InForm("legacy")},
	"for Talos 1.8.4":    {mirrors.ForTalos("v1.8.4")},
}

// A pair is what has the finding, and what has not.
type pair struct {
	language      string
	about         string // said before the two
	before, after string // as the page shows them
	found         []string
	fixed         []string // the changes of Fix
	fix           string   // what it gives, where that is not after
}

// long is a certificate, of which the page shows the beginning.
var long = regexp.MustCompile(`LS0tLS1[A-Za-z0-9+/=]{100,}`)

// shown is the text with its certificates shortened, and how long they are valid.
func shown(t *testing.T, text string) string {
	t.Helper()
	return long.ReplaceAllStringFunc(text, func(encoded string) string {
		b, err := base64.StdEncoding.DecodeString(encoded)
		require.NoError(t, err)
		block, _ := pem.Decode(b)
		require.NotNil(t, block)
		if block.Type != "CERTIFICATE" {
			return "LS0tLS1CRUdJTi…"
		}
		c, err := x509.ParseCertificate(block.Bytes)
		require.NoError(t, err)
		return fmt.Sprintf("LS0tLS1CRUdJTi…(valid until %d)", c.NotAfter.Year())
	})
}

func findingsOf(t *testing.T, err error, src *mirrors.Source, opts []mirrors.CheckOption) mirrors.Findings {
	t.Helper()
	if err == nil {
		return src.Check(opts...)
	}
	var e *mirrors.Error
	require.True(t, errors.As(err, &e), "%v", err)
	return e.Findings
}

// example is a rule's own pair. Before has findings of the rule only, after none at all; what
// Fix makes of before has none of the rule, where it mends it.
func example(t *testing.T, r mirrors.Rule) pair {
	t.Helper()
	opts, ok := optionsOf[r.When]
	require.True(t, ok, r.When)
	read := func(text string) (*mirrors.Source, mirrors.Findings) {
		src, err := mirrors.Decode([]byte(text))
		return src, findingsOf(t, err, src, opts)
	}
	p := pair{language: "yaml", about: r.When, before: shown(t, r.Bad), after: shown(t, r.Good)}
	src, found := read(r.Bad)
	require.NotEmpty(t, found, r.Name)
	for _, f := range found {
		assert.Equal(t, r.Name, f.Rule, "%v", f)
		p.found = append(p.found, fmt.Sprintf("%d:%d: %s: %s [%s]", f.Line, f.Column, f.Severity, f, f.Rule))
	}
	_, after := read(r.Good)
	assert.Empty(t, after, r.Name)
	if src == nil {
		return p
	}
	fixed, changes := src.Set.Fix(opts...)
	for _, c := range changes {
		if c.Rule == r.Name {
			p.fixed = append(p.fixed, c.String())
		}
	}
	if p.fixed == nil {
		return p
	}
	require.Len(t, changes, len(p.fixed), "%v", changes)
	for _, f := range fixed.Check(opts...) {
		assert.NotEqual(t, r.Name, f.Rule, "%v after Fix", f)
	}
	good, err := mirrors.Decode([]byte(r.Good))
	require.NoError(t, err)
	if !fixed.Equal(good.Set) {
		var b bytes.Buffer
		enc := yaml.NewEncoder(&b)
		enc.SetIndent(2)
		require.NoError(t, enc.Encode(fixed))
		p.fix = shown(t, b.String())
	}
	return p
}

// elsewhere has the pairs of the rules that no text for Decode can show.
var elsewhere = map[string]struct {
	language, about, before, after string
	judge                          func(text string) error
}{
	mirrors.RuleImageReference: {"text", "an image that PullOrder is asked about", "ghcr.io/Siderolabs/kubelet:v1.36.3\n", "ghcr.io/siderolabs/kubelet:v1.36.3\n", func(text string) error {
		_, err := mirrors.Set{}.PullOrder(strings.TrimSpace(text))
		return err
	}},
	mirrors.RuleMissingKey: {"yaml", "the values of a cozystack chart", "talos:\n  extensions: []\n", "talos:\n  registryMirrors: {}\n", func(text string) error {
		_, _, err := cozystack.Read([]byte(text))
		return err
	}},
	mirrors.RuleWrongValue: {"toml", "a registries.conf", "[[registry]]\nlocation = \"https://ghcr.io\"\n", "[[registry]]\nlocation = \"ghcr.io\"\n", func(text string) error {
		_, _, err := registriesconf.Read([]byte(text))
		return err
	}},
	mirrors.RuleFileName: {"yaml", "to be written as hosts files", "config:\n  \"..\":\n    tls: {insecureSkipVerify: true}\n", "config:\n  cache.example.com:\n    tls: {insecureSkipVerify: true}\n", func(text string) error {
		src, err := mirrors.Decode([]byte(text))
		if err == nil {
			_, _, err = hosts.Write(src.Set)
		}
		return err
	}},
	mirrors.RuleEncoding: {"go", "the token of a Set that a program made, to be written as a config.json", "mirrors.NewSecret(\"made-up\\xff\")\n", "mirrors.NewSecret(\"made-up\")\n", func(text string) error {
		token := "made-up"
		if strings.Contains(text, `\xff`) {
			token += "\xff"
		}
		_, _, err := dockerconfig.Write(mirrors.Set{Config: map[string]mirrors.HostConfig{"ghcr.io": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret(token)}}}})
		return err
	}},
}

func pairOf(t *testing.T, r mirrors.Rule) (pair, bool) {
	t.Helper()
	if r.Bad != "" {
		return example(t, r), true
	}
	e, ok := elsewhere[r.Name]
	if !ok {
		// More than 4 MiB are no example for a page.
		require.Equal(t, mirrors.RuleInputSize, r.Name, "it has no example")
		_, err := mirrors.Decode(bytes.Repeat([]byte("#"), mirrors.MaxSize+1))
		assert.Equal(t, r.Name, findingsOf(t, err, nil, nil)[0].Rule)
		return pair{}, false
	}
	p := pair{language: e.language, about: e.about, before: e.before, after: e.after}
	for _, f := range findingsOf(t, e.judge(e.before), nil, nil) {
		assert.Equal(t, r.Name, f.Rule, "%v", f)
		p.found = append(p.found, fmt.Sprintf("%s: %s [%s]", f.Severity, f, f.Rule))
	}
	require.NotEmpty(t, p.found, r.Name)
	assert.NoError(t, e.judge(e.after), r.Name)
	return p, true
}

const head = `# The rules

What ` + "`mirrors.Decode` and `Check`" + ` look for, and what a node does where they are not kept. ` + "`mirrorctl check -f FILE`" + ` prints the findings,
` + "`mirrorctl rules RULE`" + ` explains one.

A Talos node has two pullers. **machined**, Talos's own, pulls the installer, the kubelet and etcd; **containerd** pulls everything else, from hosts files
that Talos writes for it. What is said of them here is what the code of Talos 1.13.9 and containerd 2.3.3 does, compared with containerd 2.4.2; where an
older release does otherwise, it is named.

An *error* means that a node would not do what was meant. A *warning* means that it may not. Every example is checked by a test: what stands
before has this finding and no other, what stands after has none. Certificates are shortened here, to ` + "`LS0tLS1CRUdJTi…`" + ` and the year they are
valid until: write yours there, as PEM or base64 of PEM. ` + "`Set.Fix`" + ` makes the changes whose outcome is certain.

This page is made by ` + "`go test ./docs -update`" + `.

- [Index](#index)
- [What a schema states](#what-a-schema-states)
- [Rule by rule](#rule-by-rule)

`

// rules.md is made of the rules, and of what the schemas state of them.
func TestRules(t *testing.T) {
	rules := mirrors.Rules()
	assert.Len(t, concerns, len(rules))
	pairs := map[string]pair{}
	var b strings.Builder
	b.WriteString(head)

	b.WriteString("## Index\n\n| rule | severity | finds | concerns | Fix |\n|---|---|---|---|---|\n")
	fixes := 0
	for _, r := range rules {
		require.NotEmpty(t, concerns[r.Name], r.Name)
		p, ok := pairOf(t, r)
		if ok {
			pairs[r.Name] = p
		}
		fix := ""
		if p.fixed != nil {
			fix = "mends it"
			fixes++
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s |\n", r.Name, r.Name, r.Severity, cell(r.Finds), concerns[r.Name], fix)
	}
	assert.Greater(t, fixes, 5)

	b.WriteString(`
## What a schema states

` + "`mirrorctl schema`" + ` prints a JSON Schema of the input, for editors and for a chart's values.schema.json; ` + "`mirrorctl schema --for crd`" + ` prints an OpenAPI
schema with CEL rules, for a CustomResourceDefinition. Neither refuses what is a warning only. [schemas.md](schemas.md) says how to use them.

| rule | JSON Schema | CRD |
|---|---|---|
`)
	coverage := map[string]schema.Coverage{}
	none := []string{}
	for _, c := range schema.Coverages() {
		coverage[c.Rule] = c
		if c.JSON.Extent == schema.None && c.OpenAPI.Extent == schema.None {
			none = append(none, fmt.Sprintf("[%s](#%s)", c.Rule, c.Rule))
			continue
		}
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", c.Rule, c.Rule, statement(c.JSON), statement(c.OpenAPI))
	}
	fmt.Fprintf(&b, "\nNo schema states: %s.\n", strings.Join(none, ", "))

	b.WriteString("\n## Rule by rule\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "\n### %s\n\n*%s*, concerns %s. It finds %s.\n\n%s\n", r.Name, r.Severity, concerns[r.Name], prose(r.Finds), prose(r.Reason))
		fmt.Fprintf(&b, "\n**What to do.** %s\n", prose(r.Fix))
		p, ok := pairs[r.Name]
		if !ok {
			continue
		}
		about := ""
		if p.about != "" {
			about = " (" + p.about + ")"
		}
		fmt.Fprintf(&b, "\nBefore%s:\n\n%s\n%s\nAfter:\n\n%s", about, fence(p.language, p.before), fence("text", strings.Join(p.found, "\n")+"\n"), fence(p.language, p.after))
		if p.fixed != nil {
			fmt.Fprintf(&b, "\nFix says:\n\n%s", fence("text", strings.Join(p.fixed, "\n")+"\n"))
			if p.fix != "" {
				fmt.Fprintf(&b, "\nand gives:\n\n%s", fence(p.language, p.fix))
			}
		}
	}

	if *update {
		require.NoError(t, os.WriteFile("rules.md", []byte(b.String()), 0o644))
	}
	got, err := os.ReadFile("rules.md")
	require.NoError(t, err)
	assert.True(t, b.String() == string(got), "run go test ./docs -update")
}

// prose is a text in which a bare * or < would be markup.
func prose(text string) string {
	return strings.NewReplacer("*", `\*`, "<", "&lt;").Replace(text)
}

// cell is prose in a table.
func cell(text string) string { return strings.ReplaceAll(prose(text), "|", `\|`) }

func statement(s schema.Statement) string {
	text := s.Extent.String()
	if s.Extent == schema.None {
		text = "no"
	}
	if s.Note != "" {
		text += ": " + cell(s.Note)
	}
	return text
}

func fence(language, text string) string { return "```" + language + "\n" + text + "```\n" }

var link = regexp.MustCompile(`\]\(([^)]+)\)`)

// Each link of the pages leads to a heading or to a file.
func TestLinks(t *testing.T) {
	n := 0
	for _, page := range []string{"rules.md", "schemas.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			n++
			if strings.Contains(m[1], "://") {
				continue
			}
			file, heading, has := strings.Cut(m[1], "#")
			target := text
			if file != "" {
				if target, err = os.ReadFile(file); !assert.NoError(t, err, "%s in %s", m[1], page) {
					continue
				}
			}
			if has {
				assert.Regexp(t, `(?im)^#+ `+strings.ReplaceAll(regexp.QuoteMeta(heading), "-", "[- ]")+`$`, string(target), "%s in %s", m[1], page)
			}
		}
	}
	assert.Greater(t, n, 90)
}
