package workloads

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// owned are the folders of workloads, which may say what their settings are called.
var owned = []string{"sim/prism", "sim/curve", "sim/ptycho", "sim/cyto"}

// exceptions are the other files and folders that name what a workload declares, each with its reason.
var exceptions = map[string]string{
	"sim/bench":                  "the commands of bench measure PRISM's documents, claim by claim, and set what those set",
	"tui/command/bench":          "likewise: flags of bench are settings of PRISM",
	"tui/command/cyto.go":        "the command of the workload: its flags are its settings",
	"tui/command/ptycho.go":      "likewise",
	"tui/command/sweep_plans.go": "a list of CytoDL's tasks as a sweep, one for each",
	"tui/tuitest":                "made-up snapshots of PRISM, for tests",
	"profiles/export/exporttest": "likewise",
	"tui/pane/imaging":           "panes of telescopes: k-space is drawn from the settings of the aperture",
	"tui/words/series.go":        "PSNR, wherever a workload compares pictures",
	"profiles/preset/presets.go": "a preset names the picture that it was made for, the setting image",
	"sim/verify":                 "reference vectors are arrays of their own names",
	"sim/workloads/devices.go":   "opens a device by the settings of the workloads that have one",
	"tui/command/cli/flags.go":   "flags of run that are settings of PRISM, its default",
	"tui/command/record.go":      "a recording is named after the picture",
	"tui/command/save.go":        "files that settings of workloads read and write are not to be overwritten",
	"tui/lines/lines.go":         "the path of a picture is looked for before it is set",
	"tui/pane/settings.go":       "likewise",
}

// shared are names that package settings and package profiles declare for all workloads.
var shared = []string{
	settings.MaxIterations, settings.MaxSeconds, settings.LayerProfile, settings.Threads, settings.Device, settings.Seed,
	settings.BatchSize, settings.AutoTune, settings.AdaptBatch, settings.MemoryLimit, settings.Decide, profiles.GradientScale,
}

// asking are methods that are asked for something by its name.
var asking = []string{
	"Get", "Int", "Number", "On", "Text", "Has", "Lookup", "Set", "Of", "Cache", "SeriesNamed", "CacheOf", "PictureNamed", "Picture",
	"Value", "InForce", "Put", "Quoted", "Suspended",
}

// others have methods of these names that are asked for something else: help, and the key of an action.
var others = []string{"explanations", "keys"}

// declared returns the names of settings, phases, series and caches of all workloads.
func declared() map[string]bool {
	names := map[string]bool{}
	for _, w := range All {
		for _, name := range w.Presets.Table.Names() {
			names[name] = true
		}
		s := w.Schema()
		for _, p := range s.Phases {
			names[p.Name] = true
		}
		for _, x := range s.Series {
			names[x.Name] = true
		}
		for _, c := range s.Caches {
			names[c.Name] = true
		}
		delete(names, settings.MaxUnits(s.Unit.Many))
	}
	for _, name := range shared {
		delete(names, name)
	}
	return names
}

// wordsIn calls say with every literal of a file that is a workload's name: one of several words anywhere, or the
// beginning of one, and any other where something is asked for it or compared with it.
func wordsIn(t *testing.T, path string, names map[string]bool, say func(line int, name string)) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	is := func(e ast.Expr, several bool) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || text == "" || strings.Contains(text, "_") != several {
			return
		}
		begins := false
		for name := range names {
			begins = begins || strings.HasSuffix(text, "_") && text != "max_" && strings.HasPrefix(name, text)
		}
		if names[text] || begins {
			say(files.Position(lit.Pos()).Line, text)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field: // and its tag
			return n.Tag == nil
		case *ast.BasicLit:
			is(n, true)
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && slices.Contains(asking, f.Sel.Name) && !slices.Contains(others, nameOf(f.X)) {
				for _, a := range n.Args {
					is(a, false)
				}
			}
		case *ast.BinaryExpr:
			if of := nameOf(n.X); n.Op == token.EQL && (of == "Key" || of == "Setting" || of == "key") {
				is(n.Y, false)
			}
		case *ast.ImportSpec:
			return false
		}
		return true
	})
}

// nameOf returns the name of a variable or a field.
func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// What a workload calls its settings, phases, series and caches is said in its folder only: others read it in its
// schema and its table.
func TestAWorkloadsWordsAreInItsFolderOnly(t *testing.T) {
	root := filepath.Join("..", "..")
	names, used := declared(), map[string]bool{}
	for _, folder := range []string{"tui", "profiles", "sim"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			at, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			at = filepath.ToSlash(at)
			if slices.Contains(owned, at) {
				return fs.SkipDir
			}
			if e.IsDir() || !strings.HasSuffix(at, ".go") || strings.HasSuffix(at, "_test.go") {
				return nil
			}
			wordsIn(t, path, names, func(line int, name string) {
				for except := range exceptions {
					if at == except || strings.HasPrefix(at, except+"/") {
						used[except] = true
						return
					}
				}
				t.Errorf("%s:%d names %q, which a workload declares: read it from its schema or table", at, line, name)
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for except := range exceptions {
		if _, err := os.Stat(filepath.Join(root, except)); err != nil || !used[except] {
			t.Errorf("%s is an exception without need", except)
		}
	}
}
