package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/sweep"
)

// roleVariable makes this test the process of a run that behaves as its value says.
const roleVariable = "TEST_OF_RUNS"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		act(role, os.Args[2])
		return
	}
	os.Exit(m.Run())
}

// act is the process of a run of a value.
func act(role, value string) {
	switch {
	case role == "hungry" && value == "8":
		var limit syscall.Rlimit
		for began := time.Now(); limit.Cur == 0 || limit.Cur > 1<<30; time.Sleep(time.Millisecond) { // until the limit is in force
			if err := syscall.Getrlimit(syscall.RLIMIT_DATA, &limit); err != nil || time.Since(began) > time.Minute {
				panic("its memory is not limited")
			}
		}
		for kept := [][]byte{}; ; { // until the system refuses
			kept = append(kept, make([]byte, 64<<20))
			for i := 0; i < len(kept[len(kept)-1]); i += 4096 {
				kept[len(kept)-1][i] = 1
			}
		}
	case role == "killed" && value == "8":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case role == "failing" && value == "8":
		fmt.Fprintln(os.Stderr, "a line before\nprismtop: weights w.npz: is no archive")
		os.Exit(1)
	case role == "large" && value == "8":
		fmt.Print(`{"memory_bytes": {"rss_peak": 300000000}}`)
	case role == "hanging":
		time.Sleep(time.Hour)
	default:
		fmt.Print(value)
	}
}

// searching returns the options of a search over a few values, whose runs behave as a role says.
func searching(t *testing.T, role string, replicates int) *Options {
	t.Helper()
	t.Setenv(roleVariable, role)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := &sweep.Plan{Folder: filepath.Join(dir, "sw"), Replicates: replicates, MemoryLimit: 256 << 20, Arms: []sweep.Arm{{Name: "run", Command: []string{"work", "{value}"}}},
		Search: &sweep.Search{Key: "size", Values: []int{1, 4, 8, 16}}}
	if err := p.Check(preset.Shelves{}); err != nil {
		t.Fatal(err)
	}
	f, _, err := sweep.Freeze(t.Context(), p, nil, sweep.Makes{Program: program, Directory: dir, Lent: true, Command: func([]string) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return &Options{Folder: f, Environ: os.Environ(), Disk: filepath.Join(dir, "runs"), Take: func(_ sweep.Cell, printed []byte, s *sweep.Status) error {
		if role == "large" {
			return nil
		}
		s.MS = new(float64)
		return json.Unmarshal(printed, s.MS)
	}}
}

// A process that is killed, whose allocations the system refuses, or which used more than it may, is out of memory: its
// value is not tried again, and the search goes on.
func TestProcessesThatEndForMemoryAreLeftOut(t *testing.T) {
	for role, want := range map[string]string{"killed": "killed by the system", "hungry": "an allocation", "large": "used 300 MB of memory, the limit is 268 MB",
		"failing": "weights w.npz: is no archive"} {
		t.Run(role, func(t *testing.T) {
			if role != "killed" && testing.Short() {
				t.Skip("skipped: under the race detector a process takes a second to start, and its own memory ends first")
			}
			o := searching(t, role, 2)
			if err := o.Search(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			all, err := o.Folder.Tried(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if v := all[8]; v.Done || !v.Failed || v.OutOfMemory != (role != "failing") || !strings.HasPrefix(v.Reason, want) {
				t.Errorf("%+v, want %q", v, want)
			}
			for _, c := range o.Folder.Cells() {
				want := sweep.Done
				if v := o.Folder.Arms[c.Arm].Value; v == 8 && c.Replicate == 1 {
					want = sweep.Failed
				} else if v == 8 {
					want = sweep.Waiting
				}
				if s, err := o.Folder.Read(t.Context(), c); err != nil || s.State != want || want != sweep.Waiting && !(s.CPUSeconds > 0) {
					t.Errorf("%s: %+v, %v; want %s", o.Folder.Name(c), s, err, want)
				}
			}
			if g, err := sweep.Open(t.Context(), o.Folder.Path); err != nil || !g.Search.Over || len(g.Tasks) != 8 {
				t.Errorf("the folder has %d tasks, %v", len(g.Tasks), err)
			}
		})
	}
}

// A search that is interrupted leaves no process behind, and goes on with what is missing.
func TestAnInterruptedSearchGoesOn(t *testing.T) {
	o := searching(t, "well", 1)
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	o.Report = func(_ sweep.Cell, s *sweep.Status) {
		if s.State == sweep.Done {
			runs++
			cancel()
		}
	}
	if err := o.Search(ctx, 1); err != ErrInterrupted {
		t.Fatalf("%v, want an interruption", err)
	}
	if err := o.Search(t.Context(), 1); err != nil || runs != 4 {
		t.Errorf("%d runs ended, %v; want one of each value", runs, err)
	}
}

// The end of the context ends a run that hangs.
func TestASearchEndsWithItsContext(t *testing.T) {
	o := searching(t, "hanging", 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended, process := make(chan error), 0
	o.Report = func(_ sweep.Cell, s *sweep.Status) {
		if s.State == sweep.Running {
			process = s.Process
			cancel()
		}
	}
	go func() { ended <- o.Search(ctx, 1) }()
	select {
	case err := <-ended:
		if err != ErrInterrupted || process == 0 || machine.Runs(process) {
			t.Errorf("%v, process %d runs: %v", err, process, machine.Runs(process))
		}
	case <-time.After(time.Minute):
		t.Fatal("the process goes on")
	}
}
