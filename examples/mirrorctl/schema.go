package main

import (
	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors/schema"
)

func (t *tool) schemaCommand() *cobra.Command {
	kind := choice{value: "json-schema", allowed: []string{"json-schema", "crd"}}
	output := choice{value: "json", allowed: []string{"json", "yaml"}}
	var part, imageCache bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print a schema of the input, for editors, charts and CRDs",
		Long: `Schema prints what of the rules a schema can state: an editor, Helm or an API
server then refuses most mistakes where they are made.

json-schema is JSON Schema, draft 2020-12, of what the other commands read. With
--part it has no $schema and no $id, and means the same in any draft since 07: put
it into a chart's values.schema.json, as the schema of the value that has the
registries. Of a value that has the mirrors alone it is .properties.mirrors.

crd is the structural OpenAPI schema of an object with mirrors and config, with
CEL rules, for the openAPIV3Schema of a CustomResourceDefinition: endpoints are
objects, and credentials are references to Secrets.`,
		Example: `  mirrorctl schema > registries.schema.json
  mirrorctl schema --part
  mirrorctl schema --for crd -o yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if part && kind.value == "crd" {
				return wrongCall("--part is for json-schema: the schema for a CRD is always a part")
			}
			return t.do(func() error { return t.schema(kind.value, output.value, part, imageCache) })(cmd, args)
		},
	}
	cmd.Flags().Var(&kind, "for", "json-schema or crd")
	complete(cmd, "for", kind.allowed)
	cmd.Flags().VarP(&output, "output", "o", "json or yaml")
	complete(cmd, "output", output.allowed)
	cmd.Flags().BoolVar(&part, "part", false, "a part of a larger schema: no $schema, no $id")
	cmd.Flags().BoolVar(&imageCache, "image-cache", false, "the nodes have Talos's image cache enabled")
	return cmd
}

func (t *tool) schema(kind, output string, part, imageCache bool) error {
	var opts []schema.Option
	if imageCache {
		opts = append(opts, schema.WithImageCache())
	}
	s := schema.JSONSchema(opts...)
	if kind == "crd" {
		s = schema.OpenAPI(opts...)
	}
	if part {
		delete(s, "$schema")
		delete(s, "$id")
	}
	if output == "yaml" {
		return t.encode(encoding{choice{value: output}}, s)
	}
	text, err := schema.Encode(s)
	if err != nil {
		return err
	}
	t.put(text)
	return nil
}
