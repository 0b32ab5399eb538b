//go:build unix

package command

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/sim"
	"prismtop/sim/workloads"
	"prismtop/tui/ptytest"
)

// However a run ends, it leaves a checkpoint that another goes on from; even kill -9 costs only
// what came after the last interval.
func TestEveryEndLeavesACheckpoint(t *testing.T) {
	skipStarts(t)
	const endless = "run --preset quick --set samples=40 --set threshold=0 --set iterations=100000000 --checkpoint c.npz "
	for _, c := range []struct {
		name, flags, when string // the output to wait for before the end
		end               func(started)
		status            int
	}{
		{"ctrl+c without a screen", "--headless --checkpoint-every 0", "iter ", press("ctrl+c"), 130},
		{"SIGTERM in lines", "--lines --checkpoint-every 0", "iter ", kill(syscall.SIGTERM), 130},
		{"ctrl+c on the screen", "--checkpoint-every 1s", lastQuestion, press("ctrl+c"), 130},
		{"q on the screen", "--checkpoint-every 1s", lastQuestion, press("q", "y"), 0},
		{"SIGHUP on the screen", "--checkpoint-every 1s", lastQuestion, kill(syscall.SIGHUP), 130},
		{"kill -9", "--headless --checkpoint-every 1s", "checkpoint of iteration ", kill(syscall.SIGKILL), -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			file := filepath.Join(folder, "c.npz")
			s := startIn(t, ptytest.OpenDrain(t, 120, 40), folder, "exec prismtop "+endless+c.flags)
			s.await(c.when)
			if c.when == lastQuestion { // behind the screen the run may still be prepared
				awaitFile(t, file)
			}
			c.end(s)
			if got := s.end(time.Minute); got != c.status {
				t.Errorf("status %d, want %d\n%s", got, c.status, s.Received())
			}
			opened, err := sim.OpenCheckpoint(t.Context(), file, checkpointKinds())
			if err != nil {
				t.Fatal(err)
			}
			if c.status >= 0 && !strings.Contains(s.Received(), "checkpoint of iteration "+strconv.FormatInt(opened.Iteration, 10)+" in c.npz") {
				t.Errorf("it does not say that iteration %d is in c.npz: %q", opened.Iteration, s.Received())
			}
			next := exec.Command("prismtop", "run", "--headless", "--resume", "c.npz", "--max-iterations", strconv.FormatInt(opened.Iteration+3, 10))
			next.Dir = folder
			if text, err := next.CombinedOutput(); err != nil || !strings.Contains(string(text), "iterations   "+strconv.FormatInt(opened.Iteration+3, 10)) {
				t.Errorf("%v: %s", err, text)
			}
			if entries, err := os.ReadDir(folder); c.status >= 0 && (err != nil || len(entries) != 1) {
				t.Errorf("the folder has %v (%v)", entries, err)
			}
		})
	}
}

// The line at the end of a run offers to continue that run alone: no complete one, and none before a restart.
func TestTheLineAboutTheLastCheckpoint(t *testing.T) {
	for want, w := range map[string]sim.Written{
		"checkpoint of iteration 34 in c.npz; to continue: prismtop run --resume c.npz --checkpoint c.npz --checkpoint-keep 3,best --max-iterations 0": {Path: "c.npz", Iteration: 34, Reached: []string{"max_iterations"}},
		"checkpoint of iteration 34 in c.npz; the run is complete":                                                                                     {Path: "c.npz", Iteration: 34, Finished: true},
		"the checkpoint of iteration 34 in c.npz is of the run before the restart; this run has none":                                                  {Path: "c.npz", Iteration: 34, Earlier: true},
	} {
		if got := (&keepFlags{path: "c.npz"}).writtenLine("prismtop run", " --checkpoint-keep 3,best", w); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Of every flag of a run it is decided whether the command that continues the run repeats it, unless the checkpoint has
// the setting that it sets.
func TestEveryFlagIsContinuedOrLeftOut(t *testing.T) {
	keys := map[string]string{"max-time": "max_seconds", "batch-size": "batch"}
	for _, cmd := range []*cobra.Command{runCommand(), cytoCommand(), trainCommand()} {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			key := cmp.Or(keys[f.Name], strings.ReplaceAll(f.Name, "-", "_"))
			sets := slices.ContainsFunc(workloads.All, func(w workloads.Workload) bool {
				_, known := w.Presets.Table.Lookup(key)
				return known
			})
			if repeats, decided := continues[f.Name]; !decided && !sets || repeats && sets {
				t.Errorf("%s --%s: sets a setting: %v, in the table: %v", cmd.Name(), f.Name, sets, decided)
			}
		})
	}
	flags := runCommand().Flags()
	for _, arg := range []string{"headless", "save=a b", "export=csv=x.csv", "export=md=x.md", "seed=3", "ascii=false", "preset=quick"} {
		name, value, given := strings.Cut(arg, "=")
		if !given {
			value = "true"
		}
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := carried(flags), " --ascii=false --export csv=x.csv --export md=x.md --headless --save 'a b'"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The command that a run prints at its end continues it as it stands, whatever ended it.
func TestThePrintedCommandContinuesTheRun(t *testing.T) {
	skipStarts(t)
	for _, c := range []struct{ name, file, flags string }{
		{"iterations", "half.npz", "--max-iterations 7"},
		{"units", "half.npz", "--set max_samples=1"},
		{"both", "a 'b'.npz", "--set max_samples=1 --max-iterations 7 --set iterations=7 --set init_iterations=0"},
		{"seconds", "-half.npz", "--max-time 1ms --set iterations=200"},
		{"epochs", "half.npz", "--preset ptycho-train-small --set max_epochs=1 --set epochs=2 --set positions=32 --set batch=8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			args := append([]string{"run"}, strings.Fields(tiny)...)
			if strings.Contains(c.flags, "--preset") {
				args = args[:1]
			}
			first := exec.Command("prismtop", append(append(args, "--checkpoint="+c.file), strings.Fields(c.flags)...)...)
			first.Dir = folder
			text, err := first.CombinedOutput()
			_, printed, found := strings.Cut(string(text), "; to continue: ")
			if err != nil || !found {
				t.Fatalf("%v: %s", err, text)
			}
			printed, _, _ = strings.Cut(printed, "\n")
			second := exec.Command("sh", "-c", printed)
			second.Dir = folder
			again, err := second.CombinedOutput()
			if err != nil || !strings.Contains(string(again), "goes on after iteration ") {
				t.Errorf("%s: %v: %s", printed, err, again)
			}
		})
	}
}
