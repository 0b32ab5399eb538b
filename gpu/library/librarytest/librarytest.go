// Package librarytest compiles the C libraries that stand in for the driver's in tests.
package librarytest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Build compiles a C source into a shared library and returns its path: libcuda.c becomes libcuda.so.1 in a directory
// of the test. It skips the test if there is no C compiler.
func Build(t testing.TB, source string, flags ...string) string {
	t.Helper()
	var compiler []string
	if out, err := exec.Command("go", "env", "CC").Output(); err == nil {
		compiler = strings.Fields(string(out))
	}
	if len(compiler) == 0 {
		compiler = []string{"cc"}
	}
	if _, err := exec.LookPath(compiler[0]); err != nil {
		t.Skip("no C compiler to build the library that stands in for the driver's:", err)
	}
	path := filepath.Join(t.TempDir(), strings.TrimSuffix(filepath.Base(source), ".c")+".so.1")
	arguments := append(compiler[1:], "-shared", "-fPIC", "-pthread", "-o", path)
	arguments = append(append(arguments, flags...), source)
	if out, err := exec.Command(compiler[0], arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", compiler[0], err, out)
	}
	return path
}

// Renamed is the flag that compiles a function under another name, such as the one it has in older libraries.
func Renamed(symbol, name string) string { return "-D" + symbol + "=" + name }

// Without is the flag that compiles a library without a function.
func Without(symbol string) string { return Renamed(symbol, "without_"+symbol) }
