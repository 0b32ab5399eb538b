// Package schematest makes the JSON schemas of docs/schema from the types that the program writes, and
// checks documents against them. It is for tests.
package schematest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update-schemas", false, "write the JSON schemas of docs/schema anew")

// Schema is a JSON schema, or a part of one.
type Schema = map[string]any

// Document is a document that the program writes.
type Document struct {
	Name  string // of the file in docs/schema
	Title string
	Value any // of the type that is written
	// Special makes the schemas of types that write themselves, by means of those of other types.
	Special map[reflect.Type]func(of func(reflect.Type) Schema) Schema
	// Adds has what the types do not say, by "Type.field": the values of an enumeration.
	Adds map[string]Schema
	// Nulls is true if lists may be null.
	Nulls bool
}

// Check compares the schema of a document with its file in docs/schema, or writes that.
func Check(t *testing.T, d Document) {
	t.Helper()
	g := generator{Document: d, definitions: Schema{}, comments: map[string]map[string]string{}}
	var root Schema
	if t := reflect.TypeOf(d.Value); t.Kind() == reflect.Slice {
		root = g.of(t)
	} else {
		root = g.object(t)
		root["properties"].(Schema)["schema"] = Schema{"const": 1, "description": "version of this form"}
	}
	root["$schema"], root["title"] = "https://json-schema.org/draft/2020-12/schema", d.Title
	root["$id"] = origin + d.Name + ".json"
	if len(g.definitions) > 0 {
		root["$defs"] = g.definitions
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		t.Fatal(err)
	}
	path := file(d.Name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, b.Bytes()) {
		t.Errorf("docs/schema/%s.json is not that of the type (%v); go test with -update-schemas writes it anew",
			d.Name, err)
	}
}

// root returns the folder of the module.
func root() string {
	folder, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		if folder == filepath.Dir(folder) {
			panic("schematest: there is no go.mod above the test")
		}
		folder = filepath.Dir(folder)
	}
}

func file(name string) string { return filepath.Join(root(), "docs", "schema", name+".json") }

// generator makes a schema.
type generator struct {
	Document
	definitions Schema
	comments    map[string]map[string]string // by type and field
}

// of returns the schema of a type, with structs among the definitions.
func (g *generator) of(t reflect.Type) Schema {
	if special := g.Special[t]; special != nil {
		return special(g.of)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return OrNull(g.of(t.Elem()))
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Schema{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Schema{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return Schema{"type": "number"}
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Array:
		return Schema{"type": "array", "items": g.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Slice:
		list := Schema{"type": "array", "items": g.of(t.Elem())}
		if g.Nulls {
			return OrNull(list)
		}
		return list
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": g.of(t.Elem())}
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return Schema{"type": "string", "format": "date-time"}
		}
		if t.Name() == "" {
			return g.object(t)
		}
		name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
		if _, known := g.definitions[name]; !known {
			g.definitions[name] = nil // while it is made
			g.definitions[name] = g.object(t)
		}
		return Schema{"$ref": "#/$defs/" + name}
	}
	panic(fmt.Sprintf("schematest: %s: a type without a schema", t))
}

// Settings returns the schema of the settings of any workload.
func Settings(func(reflect.Type) Schema) Schema {
	return Schema{"type": "object", "additionalProperties": Schema{"type": []string{"string", "number", "boolean",
		"array"}, "items": Schema{"type": "integer"}}}
}

// Named returns the schema of an object with a value of a type for each name that the schema of the
// workload gives, and the reasons why some are null.
func Named[T any](of func(reflect.Type) Schema) Schema {
	return Schema{"type": "object", "additionalProperties": of(reflect.TypeFor[T]()),
		"patternProperties": Schema{"_reason$": Schema{"type": "string"}}}
}

// OrNull returns a schema that allows null too.
func OrNull(s Schema) Schema {
	if kind, simple := s["type"].(string); simple {
		s["type"] = []string{kind, "null"}
		return s
	}
	return Schema{"anyOf": []Schema{s, {"type": "null"}}}
}

// object returns the schema of a struct.
func (g *generator) object(t reflect.Type) Schema {
	properties, required := Schema{}, []string{}
	g.fields(t, properties, &required)
	s := Schema{"type": "object", "properties": properties, "required": required}
	var rules []Schema
	for _, name := range slices.Sorted(maps.Keys(properties)) { // null has a reason
		if _, explained := properties[name+"_reason"]; explained {
			rules = append(rules, Schema{
				"if":   Schema{"properties": Schema{name: Schema{"type": "null"}}, "required": []string{name}},
				"then": Schema{"required": []string{name + "_reason"}},
			})
		}
	}
	if rules != nil {
		s["allOf"] = rules
	}
	return s
}

// fields adds the fields of a struct, as encoding/json writes them.
func (g *generator) fields(t reflect.Type, properties Schema, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && tag == "" {
			embedded := f.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			g.fields(embedded, properties, required)
			continue
		}
		if !f.IsExported() || tag == "-" {
			continue
		}
		if tag == "" {
			tag = f.Name
		}
		optional, of := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"), f.Type
		if optional && of.Kind() == reflect.Pointer {
			of = of.Elem() // it is left out instead of null
		}
		property := g.of(of)
		if text := g.comment(t, f.Name); text != "" {
			property["description"] = text
		}
		maps.Copy(property, g.Adds[t.Name()+"."+tag])
		properties[tag] = property
		if !optional && !slices.Contains(*required, tag) { // of an embedded struct, whose field it may hide
			*required = append(*required, tag)
		}
	}
}

// comment returns what the source says about a field.
func (g *generator) comment(t reflect.Type, field string) string {
	if t.Name() == "" {
		return ""
	}
	key := t.PkgPath() + "." + t.Name()
	if g.comments[key] == nil {
		g.comments[key] = commentsOf(filepath.Join(root(), strings.TrimPrefix(t.PkgPath(), "prismtop/")), t.Name())
	}
	return g.comments[key][field]
}

// commentsOf returns the comments of the fields of a struct in a package.
func commentsOf(folder, name string) map[string]string {
	comments := map[string]string{}
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		panic(err)
	}
	for _, path := range paths {
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			panic(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			spec, isType := n.(*ast.TypeSpec)
			if !isType || spec.Name.Name != name {
				return true
			}
			if s, isStruct := spec.Type.(*ast.StructType); isStruct {
				for _, f := range s.Fields.List {
					for _, id := range f.Names {
						comments[id.Name] = strings.Join(strings.Fields(f.Doc.Text()+" "+f.Comment.Text()), " ")
					}
				}
			}
			return true
		})
	}
	return comments
}
