package sweep

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prismtop/profiles/settings"
)

// again freezes a plan into a folder that has one.
func again(t *testing.T, f *Folder, text string) (*Folder, bool, error) {
	t.Helper()
	p, err := Parse("sw.toml", []byte(text))
	if err == nil {
		err = p.Check(shelves)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Folder = f.Path
	return Freeze(t.Context(), p, nil, Makes{Version: "other", Program: f.Programs[0].Path, Directory: f.Directory, Presets: shelves, Owner: "test",
		Inputs: func(settings.Values) []string { return nil }, Stateless: func(settings.Values) bool { return false }, Command: func([]string) error { return nil }})
}

func TestAPlanIsFrozen(t *testing.T) {
	f := frozen(t, square)
	if err := os.WriteFile(f.Programs[0].Path, []byte("a newer program"), 0o700); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(f.At(f.Programs[0].Name))
	if err != nil || string(kept) != "a program" {
		t.Errorf("the program is %q, %v", kept, err)
	}
	text, err := f.Settings(t.Context(), 1)
	if err != nil || !strings.Contains(text, "fused = true") || !strings.Contains(text, "max_iterations = 0") {
		t.Errorf("%s, %v", text, err)
	}
	g, begun, err := again(t, f, square)
	if err != nil || !begun || len(g.Tasks) != len(f.Tasks) || g.Version != "test" {
		t.Errorf("the same plan again: %v, %v", begun, err)
	}
	g, _, err = again(t, f, strings.Replace(square, "replicates = 3", "replicates = 4", 1))
	if err != nil || len(g.Tasks) != 16 || !slices.EqualFunc(g.Tasks[:12], f.Tasks, func(a, b Task) bool { return slices.Equal(a.Cells, b.Cells) }) {
		t.Errorf("more replicates: %d tasks, %v", len(g.Tasks), err)
	}
	if _, _, err = again(t, f, strings.Replace(square, "[8, 16]", "[8, 32]", 1)); err == nil || !strings.Contains(err.Error(), "has a sweep of another plan") {
		t.Errorf("another plan: %v", err)
	}
	if g := frozen(t, square); g.Digest != f.Digest || g.Scratch == f.Scratch {
		t.Errorf("the same plan in another folder runs in %s, where the first does", g.Scratch)
	}
	if _, err := Open(t.Context(), t.TempDir()); !errors.Is(err, ErrNone) {
		t.Errorf("an empty folder: %v", err)
	}
}

// Every run is in one task, whatever the pairs.
func TestEveryRunIsInOneTask(t *testing.T) {
	f := frozen(t, "folder = \"sw\"\nreplicates = 2\n[[arm]]\nname = \"a\"\npair = \"x\"\n[[arm]]\nname = \"b\"\npair = \"x\"\n[[arm]]\nname = \"c\"\n")
	seen := map[Cell]int{}
	for _, bundle := range f.Bundles() {
		for _, i := range bundle {
			for _, c := range f.Tasks[i].Cells {
				seen[c]++
			}
		}
	}
	for _, c := range f.Cells() {
		if seen[c] != 1 {
			t.Errorf("%s is in %d tasks", f.Name(c), seen[c])
		}
	}
	if len(f.Tasks) != 4 {
		t.Errorf("%d tasks, want a pair and a run for each replicate", len(f.Tasks))
	}
}

// Whole runs of programs take turns within a task: those of a replicate, and backwards those of the next.
func TestWholeRunsTakeTurns(t *testing.T) {
	text := "folder = \"sw\"\nreplicates = 3\npairing = \"turns\"\n[[arm]]\nname = \"a\"\npython = \"-m a\"\n[[arm]]\nname = \"b\"\n[[arm]]\nname = \"c\"\n"
	f := frozen(t, text)
	if len(f.Tasks) != 2 || len(f.Tasks[0].Cells) != 6 || len(f.Tasks[1].Cells) != 3 || f.Tasks[0].Turns {
		t.Fatalf("the tasks are %+v", f.Tasks)
	}
	for i, c := range f.Tasks[0].Cells {
		if back := f.Tasks[0].Cells[5-i]; c.Arm != back.Arm || c.Replicate != 1+i/3 {
			t.Errorf("run %d is %+v, and backwards %+v", i, c, back)
		}
	}
	g, _, err := again(t, f, strings.Replace(text, "replicates = 3", "replicates = 5", 1))
	if err != nil || len(g.Tasks) != 3 || len(g.Tasks[2].Cells) != 6 || g.Tasks[2].Cells[0].Replicate != 4 {
		t.Errorf("more replicates: %+v, %v", g.Tasks, err)
	}
}

func TestAWatchSeesWhatChanges(t *testing.T) {
	f := frozen(t, square)
	w := NewWatch(f)
	if changed, err := w.Look(t.Context()); changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	c := f.Cells()[5]
	if err := f.Write(c, &Status{State: Running, Iterations: 7}); err != nil {
		t.Fatal(err)
	}
	if changed, err := w.Look(t.Context()); !changed || err != nil || w.Statuses()[5].Iterations != 7 {
		t.Errorf("%v, %v, %+v", changed, err, w.Statuses()[5])
	}
	if changed, _ := w.Look(t.Context()); changed {
		t.Error("nothing has changed")
	}
	w.known[5].At = time.Now().Add(-2 * silent)
	if changed, _ := w.Look(t.Context()); !changed || w.Statuses()[5].State != Interrupted {
		t.Error("a run that is silent goes on")
	}
}

// A table of a thousand arms is read in a fraction of the second in which a screen reads it again.
func BenchmarkTableOfAThousandArms(b *testing.B) {
	dir := b.TempDir()
	p := &Plan{Folder: dir + "/sw", Arms: Grid([]string{"latent", "seed"}, map[string][]string{"latent": numbers(1, 40), "seed": numbers(1, 25)})}
	if err := p.Check(shelves); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(dir+"/prismtop", nil, 0o700); err != nil {
		b.Fatal(err)
	}
	f, _, err := Freeze(b.Context(), p, nil, Makes{Program: dir + "/prismtop", Presets: shelves, Inputs: func(settings.Values) []string { return nil },
		Stateless: func(settings.Values) bool { return false }, Command: func([]string) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	for i, s := range states(f, func(c Cell) (float64, float64) { return float64(1 + c.Arm), float64(c.Arm) }) {
		if err := f.Write(f.Cells()[i], &s); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		g, err := Open(b.Context(), f.Path)
		if err != nil {
			b.Fatal(err)
		}
		if t, err := g.Table(b.Context()); err != nil || len(t.Arms) != 1000 {
			b.Fatal(err)
		}
	}
}

func numbers(from, n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(from+i))
	}
	return all
}
