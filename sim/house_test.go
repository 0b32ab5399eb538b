package sim_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
)

// module is the path in front of every package of the program.
const module = "prismtop"

// layers is the house from the top down: a line is a layer, a word a room. A package imports
// packages of lower layers and of its own room; rooms on one line do not know each other.
// A room is one package, or with "/..." a folder's packages but for those with a room of their own.
// The first line is for tests and generators: nothing imports it.
const layers = `
	gpu/emulator/... gpu/library/librarytest gpu/kernels/gen profiles/await/awaittest profiles/export/exporttest profiles/export/schematest profiles/loop/looptest profiles/profilestest sim/cpu/vec/internal/gen/... sim/cpu/vec/internal/vectest sim/nn/nntest/... sim/npy/npytest sim/prism/prismtest tui/tuitest tui/ptytest
	tui/screenshot .
	tui/command
	tui/command/bench tui/command/runs tui/command/sessions
	tui/command/cli tui/command/helptext
	sim/workloads sim/bench/suite sim/verify/... gpu gpu/check gpu/monitor
	sim/bench/executor
	sim/bench sim/bench/builds sim/bench/peer sim/ptycho/throughput
	sim sim/prism sim/curve sim/outside sim/ptycho/... sim/cyto/... sim/cpu/... gpu/cuda
	sim/experiment sim/learning
	sim/optics sim/ptycho/scan sim/cyto/stack sim/cyto/tasks/... sim/workload
	sim/ablation sim/bench/apart sim/cache sim/checkpoint sim/picture sim/weights
	sim/npy sim/tiff
	profiles/attach
	profiles/recording/replay profiles/stream profiles/export/files
	profiles/aggregate profiles/compare/recorded profiles/export/runreport
	profiles/export/figure
	profiles/effect profiles/alert profiles/watching profiles/adviser profiles/recording profiles/export profiles/export/digest profiles/export/openmetrics profiles/export/steps profiles/export/table profiles/export/tensorboard profiles/export/trace
	tui/screen tui/lines
	tui/pane/imaging tui/pane/ablation tui/pane/throughput tui/pane/tasks tui/comparison tui/runs tui/sessions tui/sweep
	tui/pane tui/page tui/notice tui/transport
	tui/widget tui/program tui/doctor tui/serve
	tui/terminal
	tui/chart tui/words tui/control
	tui/theme tui/keys
	tui/layout tui/monospace
	profiles/compare profiles/recommend profiles/criteria profiles/sweep
	profiles
	profiles/history profiles/kineto profiles/preset sim/cpu/square sim/cpu/pairconv sim/cpu/winograd sim/cpu/telescope
	sim/cpu/banded sim/cpu/fft sim/cpu/volume
	profiles/settings profiles/loop profiles/report sim/nn sim/nn/fold sim/cpu/vec/... gpu/driver/installed
	profiles/atomicfile profiles/inputfile sim/cpu/features sim/tensor gpu/driver/... gpu/nvml gpu/kernels
	profiles/machine profiles/stats profiles/unit profiles/visible profiles/await gpu/library gpu/driver
`

// A wall keeps packages of its rooms from importing what stands behind it, but for its doors.
type wall struct{ rooms, behind, doors, why string }

// walls are the rules that the order of the layers does not give.
var walls = []wall{
	{"profiles/... sim/... gpu/...", "tui/...", "", "data flows to the screen; nothing else knows it"},
	{"profiles/... sim/...", "gpu/...", "", "only the command line has a GPU"},
	{"gpu/...", "sim/...", "sim/nn sim/tensor", "a backend knows plans only"},
	{"sim/nn/... sim/cpu/vec/... gpu/driver/... gpu/library gpu/nvml", "profiles/...", "profiles/machine", "the engine knows no record"},
	{"sim sim/workload sim/experiment sim/ablation", "sim/optics sim/picture sim/nn", "", "a run knows tasks, neither what they compute nor how"},
	{"tui/pane/...", "tui/control tui/notice", "", "a pane does not know who shows it"},
	{"tui/lines tui/page tui/runs tui/comparison tui/sessions tui/sweep", "tui/pane/... tui/layout", "", "only the screen of a run has panes"},
	{"tui/terminal tui/layout tui/serve", "profiles/...", "profiles/visible profiles/unit profiles/inputfile profiles/await", "what carries a screen does not know its contents"},
}

// owners names the packages of the program that may import a library: the owner
// of the format that it reads, and of zstd also the kernels packed with it.
var owners = map[string]string{
	"archive/zip":                         "sim/npy",
	"modernc.org/sqlite":                  "profiles/recording",
	"modernc.org/sqlite/lib":              "profiles/recording",
	"github.com/google/pprof/profile":     "profiles/export/steps",
	"github.com/prometheus/common/expfmt": "profiles/export/openmetrics",
	"golang.org/x/image/vector":           "profiles/export/figure",
	"golang.org/x/image/tiff/lzw":         "sim/tiff",
	"golang.org/x/image/ccitt":            "sim/tiff",
	"github.com/klauspost/compress/zstd":  "sim/tiff gpu/kernels",
	"github.com/pierrec/lz4/v4":           "sim/cyto/stack",
	"charm.land/ssh":                      "tui/serve",
	"charm.land/wish/v2":                  "tui/serve",
}

// pkg is the output of `go list` for a package.
type pkg struct {
	ImportPath string
	Imports    []string
}

// in reports whether a package is in a room.
func in(path, room string) bool {
	folder, all := strings.CutSuffix(room, "/...")
	return path == folder || all && strings.HasPrefix(path, folder+"/")
}

// inAny reports whether a package is in one of the rooms, which spaces separate.
func inAny(path, rooms string) bool {
	return slices.ContainsFunc(strings.Fields(rooms), func(room string) bool { return in(path, room) })
}

// place returns the room of a package and its layer, counted from the top: of the rooms that hold it,
// the one with the longest name. An unknown package has no room.
func place(path string) (room string, layer int) {
	longest := 0
	for i, line := range strings.Split(strings.TrimSpace(layers), "\n") {
		for _, r := range strings.Fields(line) {
			if length := len(strings.TrimSuffix(r, "/...")); in(path, r) && length >= longest {
				room, layer, longest = r, i, length
			}
		}
	}
	return room, layer
}

// inside returns a package's path within the module: "." for main.
func inside(path string) (string, bool) {
	if path == module {
		return ".", true
	}
	return strings.CutPrefix(path, module+"/")
}

// violations returns a line for each package without a room and for each import that runs up, across or through a wall.
func violations(pkgs []pkg) []string {
	var found []string
	for _, p := range pkgs {
		from, _ := inside(p.ImportPath)
		room, layer := place(from)
		if room == "" {
			found = append(found, from+" has no room: name it in layers")
			continue
		}
		for _, path := range p.Imports {
			to, ours := inside(path)
			if !ours {
				continue
			}
			other, lower := place(to)
			switch {
			case other == room:
			case lower == layer:
				found = append(found, from+" → "+to+": rooms of one layer do not know each other")
			case lower < layer:
				found = append(found, from+" → "+to+": imports go down")
			}
			for _, w := range walls {
				if inAny(from, w.rooms) && inAny(to, w.behind) && !inAny(to, w.rooms) && !inAny(to, w.doors) {
					found = append(found, from+" → "+to+": "+w.why)
				}
			}
		}
	}
	return found
}

// listed asks the go command once for every package of the module.
var listed = sync.OnceValues(func() (pkgs []pkg, err error) {
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p pkg
		if err := decoder.Decode(&p); err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
})

// list returns the packages of the module.
func list(t *testing.T) []pkg {
	t.Helper()
	pkgs, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

func TestImportsGoDown(t *testing.T) {
	pkgs := list(t)
	for _, v := range violations(pkgs) {
		t.Error(v)
	}
	for _, room := range strings.Fields(layers) {
		if !slices.ContainsFunc(pkgs, func(p pkg) bool {
			path, _ := inside(p.ImportPath)
			at, _ := place(path)
			return at == room
		}) {
			t.Errorf("the room %s is empty", room)
		}
	}
}

func TestMainKnowsTheCommandLineOnly(t *testing.T) {
	pkgs := list(t)
	i := slices.IndexFunc(pkgs, func(p pkg) bool { return p.ImportPath == module })
	if want := []string{"embed", "os", module + "/tui/command"}; i < 0 || !slices.Equal(pkgs[i].Imports, want) {
		t.Errorf("main must import %q, nothing else", want)
	}
}

func TestFormatsHaveOneOwner(t *testing.T) {
	for _, p := range list(t) {
		for library, owner := range owners {
			if slices.Contains(p.Imports, library) && !inAny(strings.TrimPrefix(p.ImportPath, module+"/"), owner) {
				t.Errorf("%s imports %s: only %s may", p.ImportPath, library, owner)
			}
		}
	}
}

func TestViolationsAreFound(t *testing.T) {
	for _, test := range []struct{ from, to, want string }{
		{"sim/nn", "sim/cpu", "imports go down"},
		{"profiles", "profiles/alert", "imports go down"},
		{"tui/screen", "tui/command", "imports go down"},
		{"tui/pane", "sim/prism", "imports go down"},
		{"tui/pane", "tui/pane/imaging", "imports go down"},
		{"tui/screen", "profiles/recording", "imports go down"},
		{"tui/command", "tui/tuitest", "imports go down"},
		{"gpu/cuda", "gpu/emulator", "imports go down"},
		{"sim", "sim/prism", "do not know each other"},
		{"sim/cyto", "sim/prism", "do not know each other"},
		{"sim/ptycho", "sim/cpu", "do not know each other"},
		{"profiles/effect", "profiles/alert", "do not know each other"},
		{"tui/screen", "tui/lines", "do not know each other"},
		{"sim", "tui/words", "nothing else knows it"},
		{"profiles/recording", "tui/words", "nothing else knows it"},
		{"sim/bench", "gpu/cuda", "only the command line has a GPU"},
		{"gpu/cuda", "sim/npy", "a backend knows plans only"},
		{"sim/nn", "profiles/unit", "the engine knows no record"},
		{"sim", "sim/nn", "a run knows tasks"},
		{"tui/pane", "tui/control", "a pane does not know who shows it"},
		{"tui/lines", "tui/pane", "only the screen of a run has panes"},
		{"tui/terminal", "profiles", "what carries a screen"},
		{"sim/nnx", "sim/nn", "has no room"},

		{"gpu/cuda", "sim/nn", ""},
		{"sim/workloads", "sim/prism", ""},
		{"sim/cyto/benchmark", "sim/cyto/im2im", ""},
		{"profiles/aggregate", "profiles/effect", ""},
		{"tui/command", "gpu", ""},
		{"tui/command", "sim", ""},
		{"tui/pane/imaging", "tui/pane", ""},
		{"tui/terminal", "profiles/visible", ""},
		{".", "tui/command", ""},
	} {
		found := violations([]pkg{{ImportPath: module + "/" + test.from, Imports: []string{"os", module + "/" + test.to}}})
		if test.from == "." {
			found = violations([]pkg{{ImportPath: module, Imports: []string{module + "/" + test.to}}})
		}
		if test.want == "" && len(found) > 0 || test.want != "" && !slices.ContainsFunc(found, func(v string) bool { return strings.Contains(v, test.want) }) {
			t.Errorf("%s → %s: found %q, want %q", test.from, test.to, found, test.want)
		}
	}
}
