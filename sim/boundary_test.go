package sim

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// apart are the types at the boundary between two iterations. Each reads what the loop gives it and answers.
var apart = map[string]string{
	"Comparison": "experiment/comparison.go", "Fork": "experiment/fork.go", "checkpointClock": "clock.go", "layerProfile": "layers.go", "pace": "pace.go",
}

// mentioned lists the identifiers of a type's declaration and methods in a file; it is nil if the file does not
// declare it.
func mentioned(t *testing.T, file, name string) (all []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	list := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				all = append(all, id.Name)
			}
			return true
		})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if s, ok := s.(*ast.TypeSpec); ok && s.Name.Name == name {
					list(s)
				}
			}
		case *ast.FuncDecl:
			if d.Recv == nil {
				continue
			}
			if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
				if id, ok := star.X.(*ast.Ident); ok && id.Name == name {
					list(d)
				}
			}
		}
	}
	return all
}

// No experiment, clock or profile can reach another or the loop: none has one, is given one, or makes one.
func TestTheTypesAtTheBoundaryKnowNeitherTheLoopNorEachOther(t *testing.T) {
	for name, file := range apart {
		names := mentioned(t, file, name)
		if len(names) == 0 {
			t.Errorf("%s declares no %s", file, name)
		}
		for _, of := range []string{"Comparison", "Fork", "checkpointClock", "layerProfile", "pace", "loop", "Run", "command"} {
			if of != name && slices.Contains(names, of) {
				t.Errorf("%s mentions %s", name, of)
			}
		}
	}
	if !slices.Contains(mentioned(t, "pace.go", "loop"), "pace") {
		t.Error("the loop's own mention is not found")
	}
}
