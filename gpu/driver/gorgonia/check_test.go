package gorgonia

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// listed is a package as `go list` describes it.
type listed struct {
	ImportPath, Dir, Export string
	Standard                bool
	GoFiles, CgoFiles       []string
}

// list returns the packages of a pattern and all that they import. Nothing is compiled unless the arguments ask for it.
func list(t *testing.T, environment string, arguments ...string) map[string]listed {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,Export,Standard,GoFiles,CgoFiles"}, arguments...)...)
	command.Env = append(os.Environ(), "GOOS=linux", environment)
	var failure strings.Builder
	command.Stderr = &failure
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, failure.String())
	}
	packages := map[string]listed{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
}

// checker type-checks packages without CUDA's headers: everything from C has any type. That leaves errors in packages
// that use C, which are not ours; what they declare in Go types is known.
type checker struct {
	files    *token.FileSet
	packages map[string]listed
	standard types.Importer
	done     map[string]*types.Package
}

func newChecker(t *testing.T) *checker {
	c := &checker{files: token.NewFileSet(), done: map[string]*types.Package{}}
	c.packages = list(t, "CGO_ENABLED=1", "-tags", "cuda", "prismtop/gpu/driver/installed")
	if _, ok := c.packages["gorgonia.org/cu"]; !ok {
		t.Fatal("with the tag cuda, the driver does not import gorgonia.org/cu")
	}
	var standard []string
	for path, p := range c.packages {
		if p.Standard && path != "unsafe" {
			standard = append(standard, path)
		}
	}
	exports := list(t, "CGO_ENABLED=0", append([]string{"-export"}, standard...)...)
	c.standard = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path].Export) })
	return c
}

// Import implements types.Importer.
func (c *checker) Import(path string) (*types.Package, error) {
	p, ok := c.packages[path]
	if !ok || p.Standard {
		return c.standard.Import(path)
	}
	if c.done[path] == nil {
		imported, err := c.check(p, func(source string) string { return source }, func(error) {})
		if err != nil {
			return nil, err
		}
		c.done[path] = imported
	}
	return c.done[path], nil
}

// check reports each error in a package to report.
func (c *checker) check(p listed, edit func(source string) string, report func(error)) (*types.Package, error) {
	var files []*ast.File
	for _, name := range append(p.GoFiles, p.CgoFiles...) {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(c.files, name, edit(string(text)), parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	config := types.Config{FakeImportC: true, Importer: c, Error: report, Sizes: types.SizesFor("gc", "amd64")}
	checked, _ := config.Check(p.ImportPath, c.files, files, nil)
	return checked, nil
}

// errors returns the errors of our package with a change made to its source.
func (c *checker) errors(t *testing.T, path string, edit func(source string) string) []string {
	t.Helper()
	var found []string
	if _, err := c.check(c.packages[path], edit, func(err error) { found = append(found, err.Error()) }); err != nil {
		t.Fatal(err)
	}
	return found
}

// The tag cuda needs CUDA's headers to compile, which the machine that runs the tests need not have.
func TestTypesWithTheTagCUDA(t *testing.T) {
	c := newChecker(t)
	for _, path := range []string{"prismtop/gpu/driver/installed", "prismtop/gpu/driver/gorgonia"} {
		if found := c.errors(t, path, func(source string) string { return source }); found != nil {
			t.Errorf("%s:\n%s", path, strings.Join(found, "\n"))
		}
	}
	methods(t, c)
	for _, mistake := range []struct{ in, out, want string }{
		{"cu.MemAlloc(bytes)", "cu.MemAlloc(bytes, 0)", "too many arguments in call to cu.MemAlloc"},
		{"cu.MemAlloc(bytes)", "cu.MemAllocate(bytes)", "undefined: cu.MemAllocate"},
		{"cu.DevicePtr(dst), value", "uint64(dst), value", "cannot use uint64(dst)"},
		{"return through{d}, nil", "return &cu.Ctx{}, nil", "(missing method ContextSetCurrent)"},
		{"event(e).Record(stream(s))", "event(e).Record(s)", "cannot use s"},
	} {
		found := c.errors(t, "prismtop/gpu/driver/gorgonia", func(source string) string { return strings.ReplaceAll(source, mistake.in, mistake.out) })
		if !strings.Contains(fmt.Sprint(found), mistake.want) {
			t.Errorf("%s for %s: %q, want %q among them", mistake.out, mistake.in, found, mistake.want)
		}
	}
}

// A method that is not in the interface would never be called: libcuda's would.
func methods(t *testing.T, c *checker) {
	t.Helper()
	ours, err := c.Import("prismtop/gpu/driver/gorgonia")
	if err != nil {
		t.Fatal(err)
	}
	through := ours.Scope().Lookup("through").Type().(*types.Named)
	driver := c.done["prismtop/gpu/driver"].Scope().Lookup("Driver").Type().Underlying().(*types.Interface)
	if through.NumMethods() == 0 {
		t.Error("nothing is called through cu")
	}
	for method := range through.Methods() {
		if object, _, _ := types.LookupFieldOrMethod(driver, false, ours, method.Name()); object == nil {
			t.Errorf("driver.Driver has no method %s", method.Name())
		}
	}
}
