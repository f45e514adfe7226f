package schema

import "github.com/mirrorpatch/mirrorpatch/mirrors"

// Extent is how far a schema states a rule.
type Extent int

const (
	None  Extent = iota // the schema refuses nothing for this rule
	Part                // it refuses some of what the rule finds
	Whole               // it refuses all that the rule finds as an error
)

// String returns "no", "in part" or "whole".
func (e Extent) String() string { return [...]string{"no", "in part", "whole"}[e] }

// Statement is what a schema makes of a rule.
type Statement struct {
	Extent Extent
	Note   string // which part, or why not the whole; may be empty where it is whole
}

// Coverage is what the two schemas make of a rule of package mirrors.
type Coverage struct {
	Rule    string // its name
	JSON    Statement
	OpenAPI Statement
}

// Coverages returns all rules, in the order of [mirrors.Rules]. Rules that have
// warnings only are stated by no schema.
func Coverages() []Coverage {
	var all []Coverage
	for _, r := range mirrors.Rules() {
		s, ok := stated[r.Name]
		if !ok {
			s = [2]Statement{{None, warning}, {None, warning}}
		}
		all = append(all, Coverage{r.Name, s[0], s[1]})
	}
	return all
}

const warning = "not an error"

var (
	whole   = Statement{Whole, ""}
	byShape = Statement{Whole, "cannot be written"}
	secrets = Statement{None, "credentials are in a Secret"}
)

func no(why string) Statement     { return Statement{None, why} }
func part(which string) Statement { return Statement{Part, which} }
func both(s Statement) [2]Statement {
	return [2]Statement{s, s}
}

var stated = map[string][2]Statement{
	mirrors.RuleSyntax:           both(no("a schema sees values, not the text")),
	mirrors.RuleInputSize:        {no("a schema sees values, not the text"), no("it has maxima of its own")},
	mirrors.RuleUnknownKey:       {whole, part("such a field is dropped, or refused where the request asks for strict field validation, as kubectl's do")},
	mirrors.RuleRepeatedKey:      both(no("a schema sees values, not the text")),
	mirrors.RuleWrongKind:        {part("all that JSON can hold: no tags, dates, merge keys, and keys that are no strings"), part("the same; endpoints are objects only, and an entry that is null counts as not there")},
	mirrors.RuleOverrideConflict: {whole, byShape},
	mirrors.RuleImageReference:   both(no("there is no image in it")),
	mirrors.RuleMissingKey:       both(no("of other formats")),
	mirrors.RuleWrongValue:       both(no("of other formats")),
	mirrors.RuleEncoding:         both(no("of other formats")),
	mirrors.RuleFileName:         both(no("of other formats")),

	mirrors.RuleEndpointSyntax:    {part("all but characters beyond U+FFFF that cannot be seen"), whole},
	mirrors.RuleEndpointScheme:    both(whole),
	mirrors.RuleEndpointUserinfo:  both(whole),
	mirrors.RuleEndpointQuery:     both(whole),
	mirrors.RuleEndpointCanonical: {no("an error in document form only"), part("characters beyond ASCII, and a scheme in upper case")},
	mirrors.RuleEndpointDuplicate: {part("items that are the same; not a string beside an object, or another overridePath"), whole},
	mirrors.RuleEndpointPath:      both(part("paths without escapes and without . and .. segments")),
	mirrors.RuleOverridePath:      both(part("paths without escapes and without . and .. segments")),
	mirrors.RuleTLSOnHttp:         {no("a JSON Schema cannot compare a key with a URL"), whole},
	mirrors.RuleTLSWildcard:       both(whole),
	mirrors.RuleAuthWildcard:      both(whole),
	mirrors.RuleRegistryName:      both(whole),
	mirrors.RuleRegistryAlias:     both(whole),
	mirrors.RuleConfigKey: {
		part("all but characters beyond U+FFFF that cannot be seen"), part("all but characters beyond ASCII that cannot be seen")},
	mirrors.RuleAuthIncomplete:    {whole, secrets},
	mirrors.RuleAuthConflict:      {whole, secrets},
	mirrors.RuleAuthEncoding:      {part("what is not base64"), secrets},
	mirrors.RulePEMInvalid:        {part("what is neither PEM nor base64"), part("a ca that has no certificate as PEM, and is not base64")},
	mirrors.RuleClientIdentity:    {part("crt without key, or key without crt"), secrets},
	mirrors.RuleSkipFallbackAlone: both(Statement{Whole, "unless the image cache is said to be there"}),
	mirrors.RuleVersionFeature:    both(no("it depends on the version of Talos")),
	mirrors.RuleLegacyOverride:    both(no("it depends on the form that Talos gets")),
}
