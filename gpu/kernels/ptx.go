// Package kernels holds the CUDA backend's kernels: their sources (*.cu, dev.h) and the PTX that clang-19 compiles them
// to, which the driver compiles for its device when it loads them. The program has the PTX as an archive, kernels.zst,
// and none with the build tag nogpu. Running the program needs neither clang nor a toolkit.
//
// Every kernel has one parameter, a struct by value, which package cuda fills in. There is a set of PTX for devices of
// compute capability 7.5, and one for 8.0 and later, whose kernels also multiply bfloat16 and TF32 by matrix
// instructions.
package kernels

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/tools/txtar"
)

//go:generate go run ./gen

// Set is the kernels compiled for devices of a compute capability and later ones.
type Set struct {
	Name       string // "sm_80"
	Capability int    // 10·major + minor
}

// Sets lists every set, the newest first.
func Sets() []Set { return []Set{{"sm_80", 80}, {"sm_75", 75}} }

// For returns the newest set that a device of a compute capability, 10·major + minor, can run.
func For(capability int) (Set, error) {
	for _, s := range Sets() {
		if capability >= s.Capability {
			return s, nil
		}
	}
	return Set{}, fmt.Errorf("compute capability %d.%d: the kernels need 7.5 or later", capability/10, capability%10)
}

// Module is the PTX of one source file.
type Module struct {
	Name string // of the source without its ending: "elementwise"
	Text []byte // ends in a NUL byte, as the driver expects
}

// Modules lists the modules of the set by name.
func (s Set) Modules() ([]Module, error) {
	if len(archive) == 0 {
		return nil, errors.New("this program was built without kernels (build tag nogpu)")
	}
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer unpack.Close()
	text, err := unpack.DecodeAll(archive, nil)
	if err != nil {
		return nil, err
	}
	var modules []Module
	for _, file := range txtar.Parse(text).Files {
		if folder, name := path.Split(file.Name); path.Clean(folder) == s.Name {
			modules = append(modules, Module{strings.TrimSuffix(name, ".ptx"), slices.Concat(file.Data, []byte{0})})
		}
	}
	return modules, nil
}

// Kernels lists the kernels of a module.
func (m Module) Kernels() []string {
	var names []string
	for line := range strings.Lines(string(m.Text)) {
		if rest, ok := strings.CutPrefix(line, ".visible .entry "); ok {
			name, _, _ := strings.Cut(rest, "(")
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}
