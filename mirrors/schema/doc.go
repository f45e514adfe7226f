// Package schema states, as schemas, what of the rules of package mirrors a schema
// can state: so that an editor, Helm or an API server refuses a mistake where it is
// made.
//
//	JSONSchema   JSON Schema, draft 2020-12, of what mirrors.Decode reads
//	OpenAPI      an OpenAPI v3 schema with CEL rules, for a CustomResourceDefinition
//	Coverages    for each rule of mirrors.Rules, how far each of the two states it
//	Encode       either of them as JSON
//
// JSONSchema belongs into a chart's values.schema.json, as the schema of the value
// that has the registries:
//
//	{"$schema": …, "properties": {"registries": HERE}}
//
// Its part properties.mirrors is the schema of a value that has the mirrors alone. It
// has no $ref, and no keyword that draft-07 does not have, so it means the same in a
// schema of any draft since; leave its $schema and $id out there. OpenAPI belongs into
// a CRD, at spec or at a property of it.
//
// Promised: what a schema refuses, mirrors.Decode or mirrors.Check finds an error in,
// never a warning only (OpenAPI: or it is above one of the maxima). What Coverages
// calls stated whole is refused whenever Decode or Check finds it. The patterns mean
// the same to ECMA-262 and to Go. Tests compare the schemas with Decode and Check by
// github.com/santhosh-tekuri/jsonschema 6.0.3, Helm 3.22.0 and kube-apiserver 1.36.3.
//
// What Helm and such validators say of a mistake has no value in it, which may be secret:
// what belongs there is a constant text of the schema, and ends in the rule's name.
//
// A schema does not replace Check: it cannot compare keys with hosts, decode a
// certificate, or warn, and its messages say less.
package schema
