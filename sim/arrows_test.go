package sim_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// module is the path in front of every package of the program.
const module = "prismtop"

// An arrow is a rule about imports: no package in the rooms from may depend on a
// package in the rooms never, directly or not. Tests are free: they may put a
// package to the packages it must not import.
type arrow struct {
	from   []string
	but    []string // rooms inside from that are free
	never  []string
	except []string // rooms inside never that are allowed
	why    string
}

// arrows are the imports of the house: data flows from sim through profiles to
// tui, and only tui/command knows them all.
var arrows = []arrow{
	{from: []string{"sim"}, never: []string{"tui", "gpu"}, why: "the engine knows no screen and no device"},
	{from: []string{"=sim", "sim/workload", "sim/ablation"}, never: []string{"sim/prism", "sim/ptycho", "sim/cyto", "sim/curve", "sim/optics", "sim/picture", "sim/cpu", "sim/nn", "sim/workloads"}, why: "a run knows tasks, no workload and no backend"},
	{from: []string{"profiles"}, never: []string{"sim", "tui", "gpu"}, why: "records know neither who wrote nor who draws them"},
	{from: []string{"=profiles"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/effect", "profiles/alert", "profiles/watching", "profiles/export", "profiles/recording", "profiles/compare"}, why: "the data model knows none of its rooms"},
	{from: []string{"profiles/recommend"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export", "profiles/recording", "profiles/compare"}, why: "a recommendation is of a table, wherever it comes from"},
	{from: []string{"profiles/checklist"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export", "profiles/recording", "profiles/compare", "profiles/history"}, why: "a list is judged by numbers, wherever they come from"},
	{from: []string{"profiles/history"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export", "profiles/recording", "profiles/compare"}, why: "a history of benchmarks knows no run"},
	{from: []string{"profiles/stream", "profiles/effect", "profiles/alert", "profiles/watching", "profiles/adviser"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/effect", "profiles/alert", "profiles/watching", "profiles/export"}, why: "rooms know the data model, not each other"},
	{from: []string{"profiles/aggregate"}, never: []string{"profiles/stream", "profiles/export"}, why: "an aggregator takes any source"},
	{from: []string{"profiles/recording"}, but: []string{"profiles/recording/replay"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export"}, why: "a recorder is a tape that is handed to an aggregator"},
	{from: []string{"profiles/recording/replay"}, never: []string{"profiles/stream", "profiles/export"}, why: "a replay is a source beside the stream of a live run"},
	{from: []string{"profiles/attach"}, never: []string{"profiles/export", "profiles/recording/replay"}, why: "a session sends what an aggregator consumes, as a recording keeps it"},
	{from: []string{"profiles/recording", "profiles/aggregate", "profiles/stream", "profiles/export"}, never: []string{"profiles/attach"}, why: "what a run says does not depend on who attaches"},
	{from: []string{"tui"}, but: []string{"tui/command"}, never: []string{"profiles/recording", "profiles/attach"}, why: "the screen cannot tell a replay from a run"},
	{from: []string{"=profiles/compare"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/recording", "profiles/export"}, why: "a comparison knows events, not where they come from"},
	{from: []string{"profiles/compare/files"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export"}, why: "recordings are read without a replay"},
	{from: []string{"profiles/export/trace", "profiles/export/table", "profiles/export/tensorboard", "profiles/export/steps", "profiles/export/openmetrics"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export", "profiles/atomicfile"}, why: "a format knows events and snapshots, neither where they come from, nor other formats, nor files"},
	{from: []string{"profiles/export/digest"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export", "profiles/atomicfile"}, why: "a digest is of any events"},
	{from: []string{"profiles/export/figure"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export", "profiles/atomicfile"}, except: []string{"=profiles/export", "profiles/export/digest"}, why: "a figure knows a digest and a summary, no other format"},
	{from: []string{"profiles/export/report"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export", "profiles/atomicfile"}, except: []string{"=profiles/export", "profiles/export/digest", "profiles/export/figure"}, why: "a report knows a digest, a summary and its charts, no other format"},
	{from: []string{"=profiles/export"}, never: []string{"profiles/stream", "profiles/aggregate", "profiles/export/digest", "profiles/export/figure", "profiles/export/report", "profiles/export/files"}, why: "a summary is of a snapshot"},
	{from: []string{"profiles/export/files"}, never: []string{"profiles/stream", "profiles/aggregate"}, why: "files are written from any source"},
	{from: []string{"profiles", "tui", "sim", "gpu"}, but: []string{"profiles/export/exporttest", "profiles/export/schematest"}, never: []string{"profiles/export/exporttest", "profiles/export/schematest"}, why: "fixtures are for tests"},
	{from: []string{"sim/nn"}, never: []string{"sim/cpu", "gpu"}, why: "plans know no backend"},
	{from: []string{"sim/nn", "sim/tensor"}, never: []string{"profiles", "sim/prism", "sim/ptycho", "sim/cyto", "sim/optics"}, why: "the engine knows no record and no workload"},
	{from: []string{"sim/cyto"}, never: []string{"sim/prism", "sim/ptycho", "sim/optics", "sim/curve", "sim/cpu", "gpu"}, why: "workloads know neither each other nor what computes"},
	{from: []string{"sim/cyto/tasks"}, never: []string{"sim", "profiles/stream", "profiles/aggregate", "profiles/recording"}, except: []string{"sim/cyto/tasks", "sim/bench/apart"}, why: "a list of tasks knows neither what computes it nor what watches"},
	{from: []string{"=sim/cyto/tasks"}, never: []string{"sim/cyto/tasks/branches", "sim/bench/apart"}, why: "a list of tasks starts no program"},
	{from: []string{"sim/cyto/experiment"}, never: []string{"sim/cyto/tasks", "sim/cyto/benchmark"}, why: "an experiment knows no list that it is in"},
	{from: []string{"sim/cyto/stack"}, never: []string{"sim"}, except: []string{"sim/cyto/stack", "sim/npy", "sim/tensor"}, why: "a format knows none of its users"},
	{from: []string{"sim/ptycho"}, never: []string{"sim/prism", "sim/cyto", "sim/curve", "sim/cpu", "gpu"}, why: "workloads know neither each other nor what computes"},
	{from: []string{"=sim/ptycho/sweep"}, never: []string{"sim/ptycho/sweep/report", "profiles/export"}, why: "a sweep does not know how it is reported"},
	{from: []string{"sim/ptycho/sweep/trial"}, never: []string{"sim/ptycho/sweep"}, except: []string{"sim/ptycho/sweep/trial"}, why: "a trial knows no sweep"},
	{from: []string{"sim/bench/apart"}, never: []string{"sim", "profiles"}, except: []string{"sim/bench/apart"}, why: "how a program is started does not depend on who measures it"},
	{from: []string{"sim/prism", "sim/optics"}, never: []string{"sim/ptycho", "sim/cyto"}, why: "workloads do not know each other"},
	{from: []string{"sim/curve"}, never: []string{"sim/prism", "sim/ptycho", "sim/cyto", "sim/cpu", "gpu"}, why: "workloads know neither each other nor what computes"},
	{from: []string{"sim/cpu"}, never: []string{"sim/prism", "sim/ptycho", "sim/cyto", "sim/curve"}, why: "a backend knows no workload"},
	{from: []string{"sim/cpu/telescope", "sim/cpu/volume", "sim/cpu/fft", "sim/cpu/vec", "sim/cpu/winograd", "sim/cpu/square"}, never: []string{"sim/nn", "sim/optics", "profiles"}, except: []string{"profiles/machine"}, why: "kernels know neither plans nor the instrument"},
	{from: []string{"sim/cpu/vec"}, but: []string{"sim/cpu/vec/internal/vectest"}, never: []string{"sim/cpu"}, except: []string{"sim/cpu/vec", "sim/cpu/features"}, why: "kernels know nothing that calls them"},
	{from: []string{"sim/cpu"}, but: []string{"sim/cpu/vec/internal/vectest"}, never: []string{"sim/cpu/vec/internal/vectest"}, why: "fixtures are for tests"},
	{from: []string{"sim/optics", "sim/prism"}, never: []string{"sim/cpu", "gpu"}, why: "workloads get what computes from outside"},
	{from: []string{"tui"}, but: []string{"tui/command", "tui/tuitest"}, never: []string{"sim", "gpu"}, why: "the screen sees snapshots only"},
	{from: []string{"tui", "sim", "profiles", "gpu"}, but: []string{"sim/nn/nntest"}, never: []string{"sim/nn/nntest"}, why: "fixtures are for tests"},
	{from: []string{"tui", "sim", "profiles", "gpu"}, but: []string{"gpu/emulator"}, never: []string{"gpu/emulator"}, why: "an emulated GPU is for tests"},
	{from: []string{"gpu/driver", "gpu/ptx", "gpu/library", "gpu/nvml", "gpu/check"}, never: []string{"sim", "gpu/cuda"}, why: "the driver knows no plans"},
	{from: []string{"tui", "sim", "profiles", "gpu"}, but: []string{"tui/tuitest"}, never: []string{"tui/tuitest"}, why: "fixtures are for tests"},
	{from: []string{"tui", "sim", "profiles", "gpu"}, but: []string{"gpu/library/librarytest"}, never: []string{"gpu/library/librarytest"}, why: "fixtures are for tests"},
	{from: []string{"=tui/pane"}, never: []string{"tui/screen", "tui/lines", "tui/pane/imaging", "tui/pane/ablation", "tui/pane/throughput", "tui/pane/tasks", "tui/control", "tui/notice"}, why: "a pane knows neither the screen that it is on nor what only some workloads have"},
	{from: []string{"tui/pane/imaging", "tui/pane/ablation", "tui/pane/throughput"}, never: []string{"tui/screen", "tui/lines", "tui/control", "tui/notice"}, why: "rooms of panes know panes, not who shows them"},
	{from: []string{"tui/pane/throughput"}, never: []string{"tui/pane/imaging", "tui/pane/ablation"}, why: "rooms of panes do not know each other"},
	{from: []string{"tui/pane/tasks"}, never: []string{"tui/screen", "tui/lines", "tui/control", "tui/notice", "tui/pane/imaging", "tui/pane/ablation", "tui/pane/throughput"}, why: "rooms of panes know panes, neither each other nor who shows them"},
	{from: []string{"tui/pane/imaging"}, never: []string{"tui/pane/ablation", "tui/pane/throughput", "tui/pane/tasks"}, why: "rooms of panes do not know each other"},
	{from: []string{"tui/pane/ablation"}, never: []string{"tui/pane/imaging", "tui/pane/throughput"}, why: "rooms of panes do not know each other"},
	{from: []string{"tui/lines"}, never: []string{"tui/screen", "tui/pane", "tui/layout"}, why: "lines of text need no screen"},
	{from: []string{"tui"}, but: []string{"tui/command"}, never: []string{"profiles/adviser"}, why: "the screen quotes what it is given"},
	{from: []string{"tui/screen"}, never: []string{"tui/lines"}, why: "the screen gets its last words from outside"},
	{from: []string{"tui/program"}, never: []string{"tui", "profiles"}, except: []string{"tui/program", "tui/terminal", "tui/control", "tui/monospace", "profiles"}, why: "who shows a program does not know what it shows"},
	{from: []string{"tui/widget"}, never: []string{"tui", "sim"}, except: []string{"tui/widget", "tui/chart", "tui/theme", "tui/words", "tui/monospace"}, why: "parts of screens know no screen"},
	{from: []string{"tui/page", "tui/runs", "tui/comparison"}, never: []string{"tui/screen", "tui/lines", "tui/pane", "tui/notice"}, why: "pages without a run know no screen of one"},
	{from: []string{"tui/serve"}, never: []string{"tui", "profiles", "sim"}, except: []string{"tui/serve", "tui/terminal", "tui/monospace", "profiles/visible", "profiles/unit", "profiles/inputfile", "profiles/await"}, why: "a server of terminals knows neither runs nor screens"},
	{from: []string{"tui/sessions"}, never: []string{"tui/screen", "tui/lines", "tui/pane", "tui/notice"}, why: "pages without a run know no screen of one"},
	{from: []string{"tui/words"}, never: []string{"tui", "sim"}, except: []string{"tui/words", "tui/monospace"}, why: "wording does not depend on drawing"},
	{from: []string{"tui/control"}, never: []string{"tui", "sim"}, except: []string{"tui/control"}, why: "what a run can be asked for does not depend on who asks"},
	{from: []string{"tui"}, but: []string{"tui/command"}, never: []string{"tui/command"}, why: "only main knows the command line"},
	{from: []string{"tui/command/cli"}, never: []string{"tui/command"}, except: []string{"tui/command/cli"}, why: "what commands share knows no command"},
	{from: []string{"tui/command/bench"}, never: []string{"tui/command"}, except: []string{"tui/command/bench", "tui/command/cli"}, why: "rooms of commands do not know each other"},
	{from: []string{"tui/command/runs"}, never: []string{"tui/command"}, except: []string{"tui/command/runs", "tui/command/cli"}, why: "rooms of commands do not know each other"},
	{from: []string{"tui/command/sessions"}, never: []string{"tui/command"}, except: []string{"tui/command/sessions", "tui/command/cli"}, why: "rooms of commands do not know each other"},
	{from: []string{"tui/terminal"}, never: []string{"tui", "profiles", "sim"}, except: []string{"tui/terminal", "tui/monospace", "profiles/visible"}, why: "the way to the terminal knows neither the screen nor what it shows"},
	{from: []string{"tui/layout"}, never: []string{"tui", "profiles", "sim"}, except: []string{"tui/layout"}, why: "where panes stand depends on their names and sizes alone"},
	{from: []string{"profiles/unit"}, never: []string{"profiles"}, except: []string{"profiles/unit"}, why: "formats of numbers know no record"},
	{from: []string{"sim/npy"}, never: []string{"sim"}, except: []string{"sim/npy", "sim/tensor"}, why: "a format knows none of its users"},
	{from: []string{"sim/checkpoint"}, never: []string{"sim"}, except: []string{"sim/checkpoint", "sim/npy", "sim/tensor"}, why: "a checkpoint is of any workload"},
	{from: []string{"sim/learning"}, never: []string{"sim/prism", "sim/ptycho", "sim/cyto", "sim/curve", "sim/optics", "sim/cpu", "sim/workloads"}, why: "what trainings share knows no network and no backend"},
	{from: []string{"sim/weights"}, never: []string{"sim"}, except: []string{"sim/weights", "sim/npy", "sim/tensor"}, why: "a format knows none of its users"},
	{from: []string{"gpu"}, never: []string{"sim", "tui"}, except: []string{"sim/nn", "sim/tensor"}, why: "a backend knows plans only"},
	{from: []string{"gpu/driver", "gpu/library", "gpu/nvml"}, never: []string{"sim", "profiles"}, why: "a driver knows neither plans nor records"},
}

// owners names the one package of the program that may import a library: the owner
// of the format that it reads.
var owners = map[string]string{
	"archive/zip":                     "sim/npy",
	"modernc.org/sqlite":              "profiles/recording",
	"modernc.org/sqlite/lib":          "profiles/recording",
	"github.com/google/pprof/profile": "profiles/export/steps",
	"golang.org/x/image/vector":       "profiles/export/figure",
	"golang.org/x/image/tiff/lzw":     "sim/cyto/stack",
	"charm.land/ssh":                  "tui/serve",
	"charm.land/wish/v2":              "tui/serve",
}

// pkg is the output of `go list` for a package.
type pkg struct {
	ImportPath string
	Imports    []string
}

// inRoom reports whether a package is in one of the rooms: only the room itself if its name
// follows "=".
func inRoom(path string, rooms []string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool {
		if exact, ok := strings.CutPrefix(room, "="); ok {
			return path == module+"/"+exact
		}
		full := module + "/" + room
		return path == full || strings.HasPrefix(path, full+"/")
	})
}

// violations returns a line for each package that reaches where an arrow
// forbids, with the chain of imports that leads there.
func violations(pkgs []pkg, rules []arrow) []string {
	byPath := map[string]pkg{}
	for _, p := range pkgs {
		byPath[p.ImportPath] = p
	}
	var found []string
	for _, rule := range rules {
		for _, p := range pkgs {
			if !inRoom(p.ImportPath, rule.from) || inRoom(p.ImportPath, rule.but) {
				continue
			}
			if chain := reach(byPath, p, rule); chain != nil {
				found = append(found, strings.Join(chain, " → ")+": "+rule.why)
			}
		}
	}
	return found
}

// reach searches breadth first for a forbidden package and returns the chain.
func reach(byPath map[string]pkg, start pkg, rule arrow) []string {
	came := map[string]string{}
	queue := []string{}
	visit := func(from string, imports []string) {
		for _, to := range imports {
			if _, seen := came[to]; !seen && to != start.ImportPath && strings.HasPrefix(to, module+"/") {
				came[to] = from
				queue = append(queue, to)
			}
		}
	}
	visit(start.ImportPath, start.Imports)
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if inRoom(at, rule.never) && !inRoom(at, rule.except) {
			chain := []string{at}
			for at != start.ImportPath {
				at = came[at]
				chain = append([]string{at}, chain...)
			}
			return chain
		}
		visit(at, byPath[at].Imports)
	}
	return nil
}

// list asks the go command for every package of the module; no chain between
// two of them can pass through another module.
func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Imports", module+"/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p pkg
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

func TestImportArrows(t *testing.T) {
	pkgs := list(t)
	for _, room := range []string{"sim/ptycho/inference", "sim/cyto/tasks", "sim/cyto/tasks/branches", "sim/cyto/stack", "sim/cyto/loader", "sim/cyto/experiment", "sim/cyto/benchmark", "sim/nn", "sim/npy", "sim/checkpoint", "sim/weights", "sim/learning", "sim/tensor", "sim/cpu/host", "sim/cpu/telescope", "sim/cpu/vec", "sim/cpu/vec/internal/vectest", "profiles", "profiles/stream", "profiles/aggregate", "profiles/effect", "profiles/alert", "profiles/watching", "profiles/export", "profiles/export/trace", "profiles/export/table", "profiles/export/tensorboard", "profiles/export/steps", "profiles/export/openmetrics", "profiles/export/files", "profiles/export/exporttest", "profiles/export/digest", "profiles/export/figure", "profiles/export/report", "profiles/export/schematest", "profiles/recording", "profiles/recording/replay", "profiles/compare", "profiles/compare/files", "profiles/checklist", "profiles/recommend", "profiles/history", "profiles/attach", "profiles/unit", "tui/command", "tui/command/cli", "tui/command/bench", "tui/command/runs", "tui/command/sessions", "tui/screen", "tui/pane", "tui/pane/imaging", "tui/pane/ablation", "tui/pane/tasks", "tui/lines", "tui/words", "tui/control", "tui/notice", "tui/program", "tui/serve", "tui/sessions", "tui/widget", "tui/page", "tui/runs", "tui/comparison", "tui/tuitest", "tui/terminal", "tui/layout", "gpu", "gpu/emulator", "gpu/nvml", "gpu/library/librarytest"} {
		if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p.ImportPath == module+"/"+room }) {
			t.Errorf("go list does not know %s: the arrows would be checked on nothing", room)
		}
	}
	for _, v := range violations(pkgs, arrows) {
		t.Error(v)
	}
}

func TestMainKnowsTheCommandLineOnly(t *testing.T) {
	pkgs := list(t)
	i := slices.IndexFunc(pkgs, func(p pkg) bool { return p.ImportPath == module })
	if want := []string{"os", module + "/tui/command"}; i < 0 || !slices.Equal(pkgs[i].Imports, want) {
		t.Errorf("main must import %q, nothing else", want)
	}
}

func TestFormatsHaveOneOwner(t *testing.T) {
	for _, p := range list(t) {
		for library, owner := range owners {
			if slices.Contains(p.Imports, library) && p.ImportPath != module+"/"+owner {
				t.Errorf("%s imports %s: only %s may", p.ImportPath, library, owner)
			}
		}
	}
}

func TestViolationsAreFound(t *testing.T) {
	path := func(room string) string { return module + "/" + room }
	tests := []struct {
		name string
		pkgs []pkg
		want string // chain, empty when the packages obey
	}{
		{"direct", []pkg{{ImportPath: path("sim/nn"), Imports: []string{path("sim/cpu")}}}, "prismtop/sim/nn → prismtop/sim/cpu"},
		{"through another", []pkg{
			{ImportPath: path("tui/panes"), Imports: []string{path("profiles")}},
			{ImportPath: path("profiles"), Imports: []string{path("profiles/x")}},
			{ImportPath: path("profiles/x"), Imports: []string{path("sim")}},
		}, "prismtop/tui/panes → prismtop/profiles → prismtop/profiles/x → prismtop/sim"},
		{"gpu may use plans", []pkg{{ImportPath: path("gpu"), Imports: []string{path("sim/nn"), path("sim/tensor")}}}, ""},
		{"gpu may not use the CPU backend", []pkg{{ImportPath: path("gpu"), Imports: []string{path("sim/cpu")}}}, "prismtop/gpu → prismtop/sim/cpu"},
		{"the screen reads records", []pkg{
			{ImportPath: path("tui"), Imports: []string{path("profiles")}},
			{ImportPath: path("profiles"), Imports: []string{"fmt"}},
		}, ""},
		{"the data model may not use a room", []pkg{{ImportPath: path("profiles"), Imports: []string{path("profiles/alert")}}}, "prismtop/profiles → prismtop/profiles/alert"},
		{"a room may not use another", []pkg{
			{ImportPath: path("profiles/effect"), Imports: []string{path("profiles/alert")}},
			{ImportPath: path("profiles/alert"), Imports: []string{path("profiles")}},
		}, "prismtop/profiles/effect → prismtop/profiles/alert"},
		{"an aggregator gathers the rooms", []pkg{{ImportPath: path("profiles/aggregate"), Imports: []string{path("profiles/effect"), path("profiles/alert")}}}, ""},
		{"an aggregator takes any source", []pkg{{ImportPath: path("profiles/aggregate"), Imports: []string{path("profiles/stream")}}}, "prismtop/profiles/aggregate → prismtop/profiles/stream"},
		{"a run may not use a workload", []pkg{{ImportPath: path("sim"), Imports: []string{path("sim/prism")}}}, "prismtop/sim → prismtop/sim/prism"},
		{"a workload's folder is another room than the run's", []pkg{{ImportPath: path("sim/workloads"), Imports: []string{path("sim/prism")}}}, ""},
		{"the command line knows every room", []pkg{
			{ImportPath: module, Imports: []string{path("tui/command")}},
			{ImportPath: path("tui/command"), Imports: []string{path("sim"), path("gpu"), path("profiles"), path("tui")}},
		}, ""},
		{"the screen does not know the command line", []pkg{
			{ImportPath: path("tui/panes"), Imports: []string{path("tui/command")}},
		}, "prismtop/tui/panes → prismtop/tui/command"},
		{"the screen does not reach the engine beside the command line", []pkg{
			{ImportPath: path("tui/commander"), Imports: []string{path("sim")}},
		}, "prismtop/tui/commander → prismtop/sim"},
		{"records do not know the command line", []pkg{
			{ImportPath: path("profiles"), Imports: []string{path("tui/command")}},
		}, "prismtop/profiles → prismtop/tui/command"},
		{"a pane does not know its screen", []pkg{{ImportPath: path("tui/pane"), Imports: []string{path("tui/screen")}}}, "prismtop/tui/pane → prismtop/tui/screen"},
		{"panes of imaging know panes", []pkg{
			{ImportPath: path("tui/pane/imaging"), Imports: []string{path("tui/pane")}},
			{ImportPath: path("tui/pane"), Imports: []string{path("tui/layout")}},
		}, ""},
		{"panes do not know those of imaging", []pkg{{ImportPath: path("tui/pane"), Imports: []string{path("tui/pane/imaging")}}}, "prismtop/tui/pane → prismtop/tui/pane/imaging"},
		{"the screen does not know lines", []pkg{{ImportPath: path("tui/screen"), Imports: []string{path("tui/lines")}}}, "prismtop/tui/screen → prismtop/tui/lines"},
		{"wording does not draw", []pkg{
			{ImportPath: path("tui/words"), Imports: []string{path("tui/chart")}},
		}, "prismtop/tui/words → prismtop/tui/chart"},
		{"the program has no fixtures", []pkg{{ImportPath: path("tui/command"), Imports: []string{path("tui/tuitest")}}}, "prismtop/tui/command → prismtop/tui/tuitest"},
		{"the backend does not emulate its device", []pkg{{ImportPath: path("gpu/cuda"), Imports: []string{path("gpu/emulator")}}}, "prismtop/gpu/cuda → prismtop/gpu/emulator"},
		{"the terminal may not use the screen", []pkg{{ImportPath: path("tui/terminal"), Imports: []string{path("tui")}}}, "prismtop/tui/terminal → prismtop/tui"},
		{"the terminal may make text visible", []pkg{{ImportPath: path("tui/terminal"), Imports: []string{path("profiles/visible")}}}, ""},
		{"a name that only begins alike", []pkg{{ImportPath: path("sim/nnx"), Imports: []string{path("sim/cpu")}}}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found := violations(test.pkgs, arrows)
			if test.want == "" {
				if len(found) != 0 {
					t.Errorf("found %q in packages that obey", found)
				}
				return
			}
			if !slices.ContainsFunc(found, func(v string) bool { return strings.HasPrefix(v, test.want+":") }) {
				t.Errorf("found %q, want %q", found, test.want)
			}
		})
	}
}
