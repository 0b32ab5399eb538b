package command

import (
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/testscript"

	"prismtop/gpu"
	"prismtop/profiles/export/schematest"
	"prismtop/sim/cpu"
)

// stateless runs tests with a folder for recordings that is deleted at their end.
type stateless struct{ *testing.M }

func (s stateless) Run() int {
	folder, err := os.MkdirTemp("", "prismtop-state-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	if err := errors.Join(os.Setenv("XDG_STATE_HOME", folder), os.Setenv("XDG_RUNTIME_DIR", folder), os.Setenv("XDG_CONFIG_HOME", filepath.Join(folder, "config")), os.Setenv("XDG_DATA_HOME", filepath.Join(folder, "data"))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// Tests wait for programs more than they compute.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return s.M.Run()
}

// pages stand for the program's documentation and licences.
var pages = fstest.MapFS{
	"README.md": {Data: []byte("# A program\n")}, "CHANGELOG.md": {Data: []byte("# Changes\n")}, "docs/json.md": {Data: []byte("# The summary\n")},
	"LICENSE": {Data: []byte("Ours\n")}, "docs/third-party.txt": {Data: []byte("Theirs\n")},
}

func TestMain(m *testing.M) {
	testscript.Main(stateless{m}, map[string]func(){"prismtop": func() { os.Exit(Main(pages)) }})
}

// tiny makes a run take a second. In scripts, the operand TINY of status expands to it.
const tiny = "--set size=64 --set object_size=32 --set radius=10 --set roi_diameter=40 --set samples=3 --set passes=1 --set iterations=4 " +
	"--set init_iterations=4 --set init_cycles=1 --set channels="

// concurrentScripts are those whose runs, recordings and exports work at the same time.
var concurrentScripts = []string{"checkpoint", "compare", "export", "replay", "run", "runs", "save"}

// TestScripts runs testdata/script, with one subject per file. In addition to testscript's
// commands there are status, oneline and json, the file good.png and, if this machine
// lacks kernels, the condition lacking and one of their names as $LACKING. The condition gpu holds
// where a GPU can be used, nogpu in a build without support for them.
func TestScripts(t *testing.T) {
	lacking, found := lackingKernels(), sync.OnceValue(gpu.Probe)
	files, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		t.Log("skipped: under the race detector all but scripts of runs, because the program takes a second to start")
		files = slices.DeleteFunc(files, func(path string) bool {
			return !slices.Contains(concurrentScripts, strings.TrimSuffix(filepath.Base(path), ".txtar"))
		})
	}
	testscript.Run(t, testscript.Params{
		Files: files, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "data"))
			if len(lacking) > 0 {
				e.Setenv("LACKING", lacking[0])
			}
			return pictures(e.WorkDir)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "lacking":
				return len(lacking) > 0, nil
			case "gpu":
				return found().Usable, nil
			case "nogpu":
				return strings.Contains(found().Reason, "build tag nogpu"), nil
			}
			return false, fmt.Errorf("condition %q: unknown", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status, "oneline": oneLine, "json": isJSON,
		},
	})
}

// lackingKernels returns the kernels that this machine lacks.
func lackingKernels() []string {
	return slices.DeleteFunc([]string{"amx", "avx512-bf16", "avx512", "avx2"}, func(name string) bool {
		return slices.Contains(cpu.KernelNames(), name)
	})
}

// pictures writes the files that scripts load.
func pictures(dir string) error {
	img := image.NewGray16(image.Rect(0, 0, 40, 40))
	for i := range img.Pix {
		img.Pix[i] = byte(i * i >> 3)
	}
	f, err := os.Create(filepath.Join(dir, "good.png"))
	if err != nil {
		return err
	}
	defer f.Close()
	return png.Encode(f, img)
}

// status runs the program and checks its exit status: status 2 prismtop run …
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	args = slices.Clone(args)
	if i := slices.Index(args, "TINY"); i >= 0 {
		args = slices.Replace(args, i, i+1, strings.Fields(tiny)...)
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s ended with %q, want status %s\n%s", strings.Join(args[1:], " "), got, args[0], ts.ReadFile("stderr"))
	}
}

// oneLine checks that standard error is one line without a stack trace.
func oneLine(ts *testscript.TestScript, _ bool, _ []string) {
	text := ts.ReadFile("stderr")
	if strings.Count(text, "\n") != 1 || strings.Contains(text, "goroutine") || !strings.HasPrefix(text, "prismtop: ") {
		ts.Fatalf("not an error of one line: %q", text)
	}
}

// isJSON checks that standard output is one document of a schema in docs/schema and nothing else: json run
func isJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json SCHEMA")
	}
	if err := schematest.Validate(args[0], []byte(ts.ReadFile("stdout"))); err != nil {
		ts.Fatalf("standard output: %v", err)
	}
}
