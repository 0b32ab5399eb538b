package schematest

import (
	"bytes"
	"fmt"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validate returns why a document is not one of the schema of a name in docs/schema; nil if it is.
// Fields that the schema does not name are an error here, which it allows: later versions may have more.
func Validate(name string, document []byte) error {
	text, err := os.ReadFile(file(name))
	if err != nil {
		return err
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("docs/schema/%s.json: %w", name, err)
	}
	closed(schema)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(name+".json", schema); err != nil {
		return err
	}
	compiled, err := compiler.Compile(name + ".json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return fmt.Errorf("not one JSON value: %w", err)
	}
	return compiled.Validate(value)
}

// closed forbids in a schema all properties that it does not name.
func closed(part any) {
	switch v := part.(type) {
	case map[string]any:
		_, object := v["type"]
		if _, named := v["properties"]; named && object && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closed(inner)
		}
	case []any:
		for _, inner := range v {
			closed(inner)
		}
	}
}
