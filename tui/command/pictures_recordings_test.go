//go:build unix

package command

import (
	"os"
	"path/filepath"
	"testing"

	"prismtop/tui/ptytest"
)

// kept records three runs in a home folder of their own, names them, and returns the variables of the
// environment by which prismtop finds the folder.
func kept(t *testing.T) []string {
	t.Helper()
	home := t.TempDir()
	folder := filepath.Join(home, ".local", "state", "prismtop", "runs")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	variables := []string{"HOME=" + home, "XDG_STATE_HOME="}
	prismtop := func(words ...string) {
		cmd := withDefaults(t, words...)
		cmd.Env = append(cmd.Environ(), variables...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("prismtop %q: %v\n%s", words, err, out)
		}
	}
	for _, run := range []struct {
		name, note string
		flags      []string
	}{
		{"first try", "the settings of the default preset", []string{"--max-iterations", "3000"}},
		{"with bf16", "is it faster here?", []string{"--max-iterations", "3000", "--set", "amp=bf16"}},
		{"small", "", []string{"--preset", "quick", "--max-iterations", "400"}},
	} {
		file := filepath.Join(folder, run.name+".sqlite")
		prismtop(append([]string{"run", "--headless", "--record", file}, run.flags...)...)
		prismtop("runs", "name", file, run.name)
		if run.note != "" {
			prismtop("runs", "note", file, run.note)
		}
	}
	return variables
}

// Pictures of what runs leave behind: the table of runs, a replay and a comparison.
func TestPicturesOfRecordings(t *testing.T) {
	if !*update {
		t.Skip("skipped: draws pictures only with -update")
	}
	docs := inRepository(t, "docs")
	x := ptytest.Open(t, 120, 40)
	cmd := withDefaults(t, "runs")
	cmd.Env = append(kept(t), trueColor...)
	x.Start(cmd)
	x.See("small", "with bf16", "first try")
	resize := func(width, height int) { // to another size
		x.Idle()
		before, _ := x.Traffic()
		x.Resize(width, height)
		ptytest.Eventually(t, "a frame of the new size", func() bool { now, _ := x.Traffic(); return now > before })
	}
	sizes := func(name string) {
		for _, size := range pictured {
			resize(size.width, size.height)
			g := &gallery{x, docs, size.name, origin(t)}
			g.save(name)
		}
		resize(120, 40)
		x.Idle()
	}
	x.Press("down")
	sizes("runs")
	x.Press("space", "down", "space", "c")
	x.See("with bf16", "first try", "backward")
	sizes("comparison")
	x.Press("q")
	x.See("small")
	x.Press("enter")
	x.See("‖ replay")
	sizes("replay")
	x.Press("q")
}
