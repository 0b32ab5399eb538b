package command

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/recording"
	"prismtop/profiles/sweep"
	"prismtop/tui/command/cli"
	"prismtop/tui/ptytest"
)

// Sweeps of Python programs, and a run of another node that is followed.

// trains is a program of 400 steps of some milliseconds, or of more while a file named hold is there, which goes on from the
// step in a file if it is told one: from step 300 at most.
const trains = `import os, sys, time
import torch
pace, kept = float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
step = int(open(kept).read()) if kept and os.path.exists(kept) else 0
print("from step", step, flush=True)
class Net(torch.nn.Module):
    def forward(self, x):
        time.sleep(pace / 1000)
        return x
net = Net()
optimizer = torch.optim.Optimizer(net.parameters())
while step < 400 or os.path.exists("hold"):
    optimizer.zero_grad()
    net(1)
    torch.Tensor(1 / (1 + step)).backward()
    optimizer.step()
    step += 1
    if kept:
        with open(kept + ".part", "w") as f:
            f.write(str(min(step, 300)))
        os.replace(kept + ".part", kept)
`

// pythonSweep makes a folder with a program and a plan, and returns the command that runs the plan there.
func pythonSweep(t *testing.T, plan string) (folder string, again func() *exec.Cmd) {
	t.Helper()
	pythonSince(t, 10)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stub, err := filepath.Abs("../../profiles/loop/python/tests/stub")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "prismtop") // by this name the test is the program
	for _, made := range []error{os.Symlink(self, program), os.WriteFile(filepath.Join(dir, "train.py"), []byte(trains), 0o600),
		os.WriteFile(filepath.Join(dir, "plan.toml"), []byte(plan), 0o600)} {
		if made != nil {
			t.Fatal(made)
		}
	}
	return filepath.Join(dir, "sw"), func() *exec.Cmd {
		cmd := exec.Command(program, "sweep", "plan.toml", "--quiet")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PYTHONPATH="+stub)
		cmd.Stderr = &bytes.Buffer{}
		t.Cleanup(func() {
			if cmd.Process != nil {
				_ = cmd.Process.Kill()
			}
		})
		return cmd
	}
}

// Whole runs of programs take turns in one task, A B and B A, and their replicates are pairs.
func TestWholeRunsOfProgramsTakeTurns(t *testing.T) {
	folder, run := pythonSweep(t, `folder = "sw"
replicates = 2
pairing = "turns"
[base]
max_iterations = 40
[[arm]]
name = "slow"
python = "train.py 8"
[[arm]]
name = "fast"
python = "train.py 2"
`)
	cmd := run()
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), "4 of 4 runs done") || !strings.Contains(string(out), "by turns on one machine") {
		t.Fatalf("%v\n%s%s", err, out, cmd.Stderr)
	}
	f, err := sweep.Open(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	table, err := f.Table(t.Context())
	if err != nil || len(f.Tasks) != 1 || f.Tasks[0].Cells[0].Arm != f.Tasks[0].Cells[3].Arm || f.Tasks[0].Cells[1].Arm != f.Tasks[0].Cells[2].Arm {
		t.Fatalf("the tasks are %v, %v", f.Tasks, err)
	}
	var began []time.Time
	for _, c := range f.Tasks[0].Cells {
		s, err := f.Read(t.Context(), c)
		if err != nil || s.Iterations < 38 {
			t.Errorf("%s had %d iterations, %v; want 40", f.Name(c), s.Iterations, err)
		}
		began = append(began, s.Began)
	}
	if !slices.IsSortedFunc(began, time.Time.Compare) {
		t.Errorf("they began at %v", began)
	}
	if d := table.Arms[1].Faster; !d.ByTurns || d.N != 2 || d.Value > -0.2 {
		t.Errorf("the difference is %+v", d)
	}
}

// A program that is interrupted begins again and counts once, unless it goes on from a checkpoint of its own.
func TestAnInterruptedProgramCountsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		arm, stopped, log string
		recordings        int
		most              int64
	}{
		"without a checkpoint": {`python = "train.py 4"`, "it has no checkpoint and begins again", "begins again: start 1 was interrupted after", 1, 400},
		"with its own":         {"python = \"train.py 4 {output}/step\"\ncontinues = true", "", "", 2, 380},
	} {
		t.Run(name, func(t *testing.T) {
			folder, run := pythonSweep(t, "folder = \"sw\"\n[[arm]]\nname = \"a\"\n"+c.arm+"\n")
			cmd := run()
			hold := filepath.Join(filepath.Dir(folder), "hold")
			if err := os.WriteFile(hold, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			cmd.Args = slices.DeleteFunc(cmd.Args, func(arg string) bool { return arg == "--quiet" })
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var f *sweep.Folder
			cell := sweep.Cell{Arm: 0, Replicate: 1}
			ptytest.Eventually(t, "the run has begun", func() bool {
				var err error
				if f, err = sweep.Open(t.Context(), folder); err != nil {
					return false
				}
				s, err := f.Read(t.Context(), cell)
				if err != nil || s.State != sweep.Running {
					return false
				}
				local, err := recording.Open(t.Context(), filepath.Join(s.Local, "recording.sqlite"), cli.TableOf)
				if err != nil {
					return false
				}
				defer local.Close()
				now, err := local.Status(t.Context())
				return err == nil && now.Iterations > 20
			})
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its state says it
			before, err := f.Read(t.Context(), cell)
			if err != nil || before.State != sweep.Interrupted || before.Again != (c.stopped != "") || !strings.Contains(cmd.Stderr.(*bytes.Buffer).String(), c.stopped) {
				t.Fatalf("%+v, %v: %s", before, err, cmd.Stderr)
			}
			if err := os.Remove(hold); err != nil {
				t.Fatal(err)
			}
			cmd = run()
			if out, err := cmd.Output(); err != nil {
				t.Fatalf("%v\n%s%s", err, out, cmd.Stderr)
			}
			s, err := f.Read(t.Context(), cell)
			if err != nil || s.State != sweep.Done || s.Attempt != 2 || s.Iterations > c.most || len(s.Recordings) != c.recordings || s.Again {
				t.Errorf("%+v, %v; want at most %d iterations in %d recordings", s, err, c.most, c.recordings)
			}
			length := 0.0
			for _, path := range s.Recordings {
				r, err := recording.Open(t.Context(), filepath.Join(f.RunFolder(cell), path), cli.TableOf)
				if err != nil {
					t.Fatal(err)
				}
				part, err := r.Status(t.Context())
				if err != nil || r.Close() != nil {
					t.Fatal(err)
				}
				length += part.Length.Seconds()
			}
			if math.Abs(s.Seconds-length) > 1e-6 {
				t.Errorf("it took %v s, its recordings have %v s", s.Seconds, length)
			}
			if log, err := os.ReadFile(filepath.Join(f.RunFolder(cell), "log")); err != nil || !strings.Contains(string(log), c.log) {
				t.Errorf("its log is %q, %v", log, err)
			}
		})
	}
}

// A run on a node that this machine cannot reach is followed by the copies of its recording.
func TestARunOfAnotherNodeIsFollowed(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "prismtop") // by this name the test is the program
	if err := os.Symlink(self, program); err != nil {
		t.Fatal(err)
	}
	made := exec.Command(program, "sweep", "--folder", "sw", "--preset", "curve", "--set", "max_iterations=20", "--grid", "degree=10", "--quiet")
	made.Dir = dir
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := sweep.Open(t.Context(), filepath.Join(dir, "sw"))
	if err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(dir, "local.sqlite")
	run := exec.Command(program, "run", "--preset", "curve", "--max-iterations", "0", "--max-time", "10m", "--headless", "--quiet", "--record", local)
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Process.Kill() })
	cell := f.Cells()[0]
	task := func(state sweep.State) { // what a task on the node does
		t.Helper()
		if err := recording.Copy(t.Context(), local, filepath.Join(f.RunFolder(cell), "recording.sqlite")); err != nil {
			t.Fatal(err)
		}
		if err := f.Write(cell, &sweep.Status{State: state, Attempt: 1, Host: "elsewhere", Session: "far", Recordings: []string{"recording.sqlite"}}); err != nil {
			t.Fatal(err)
		}
	}
	ptytest.Eventually(t, "the run is recorded", func() bool {
		r, err := recording.Open(t.Context(), local, cli.TableOf)
		if err != nil {
			return false
		}
		defer r.Close()
		s, err := r.Status(t.Context())
		return err == nil && s.Iterations > 100
	})
	task(sweep.Running)
	term := ptytest.Open(t, 120, 40)
	defer term.Close()
	watch := exec.Command(program, "sweep", "watch", f.Path)
	watch.Env = append(os.Environ(), "TERM=xterm-256color")
	term.Start(watch)
	term.See("degree=10")
	term.Press("enter")
	term.See("following", "as it happens")
	length := regexp.MustCompile(` of (\d\d:\d\d:\d\d)`)
	first := length.FindString(term.Text())
	ptytest.Eventually(t, "the screen shows what came later than "+first, func() bool {
		task(sweep.Running)
		return length.FindString(term.Text()) > first
	})
	_ = run.Process.Signal(syscall.SIGTERM)
	_ = run.Wait() // with the status of an interruption
	task(sweep.Interrupted)
	term.Gone("as it happens")
	term.Press("q")
	term.See("degree=10")
	term.Press("q")
	if err := watch.Wait(); err != nil {
		t.Errorf("watching ended with %v", err)
	}
}
