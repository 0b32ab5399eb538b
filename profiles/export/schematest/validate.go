package schematest

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validate returns why a document is not one of the schema of a name in docs/schema; nil if it is.
// Fields that the schema does not name are an error here, which it allows: later versions may have more.
func Validate(name string, document []byte) error {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.UseLoader(siblings{})
	compiled, err := compiler.Compile(origin + name + ".json")
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return fmt.Errorf("not one JSON value: %w", err)
	}
	return compiled.Validate(value)
}

// origin begins the identifiers of the schemas, so that they can refer to one another by their files' names.
const origin = "prismtop:///schema/"

// siblings loads schemas from docs/schema.
type siblings struct{}

// Load returns the schema of an address, closed.
func (siblings) Load(address string) (any, error) {
	name := strings.TrimSuffix(strings.TrimPrefix(address, origin), ".json")
	text, err := os.ReadFile(file(name))
	if err != nil {
		return nil, err
	}
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("docs/schema/%s.json: %w", name, err)
	}
	closed(schema)
	return schema, nil
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
