//go:build unix

package sweep

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"prismtop/sim/ptycho/sweep/trial"
)

// roleVariable makes this test a trial's process that behaves as its value says.
const roleVariable = "PRISMTOP_TEST_TRIAL"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		act(role)
		return
	}
	os.Exit(m.Run())
}

// act is a trial's process.
func act(role string) {
	var j trial.Job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		fmt.Fprintln(os.Stderr, "prismtop:", err)
		os.Exit(1)
	}
	switch {
	case role == "hungry" && j.Batch == 8:
		if err := trial.Restrict(256 << 20); err != nil {
			panic(err)
		}
		for kept := [][]byte{}; ; { // until the system refuses
			kept = append(kept, make([]byte, 64<<20))
			for i := 0; i < len(kept[len(kept)-1]); i += 4096 {
				kept[len(kept)-1][i] = 1
			}
		}
	case role == "killed" && j.Batch == 8:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case role == "failing":
		fmt.Fprintln(os.Stderr, "a line before\nprismtop: weights w.npz: is no archive")
		os.Exit(1)
	case role == "silent":
		return
	case role == "hanging":
		select {}
	}
	p := planted{groupMS: overhead, fixedMB: 40, groupMB: 1}
	_ = json.NewEncoder(os.Stdout).Encode(p.Run(context.Background(), j).Result) // what fails is seen by the parent
}

func process(t *testing.T, role string) Process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(roleVariable, role)
	return Process{Program: program}
}

// A process that is killed in the middle of a sweep, or whose allocations the system refuses,
// leaves an edge behind, and the sweep goes on.
func TestProcessesThatEndForMemoryAreTheEdge(t *testing.T) {
	for role, want := range map[string]string{"killed": "killed by the system", "hungry": "an allocation"} {
		t.Run(role, func(t *testing.T) {
			if role == "hungry" && (testing.Short() || runtime.GOOS != "linux") {
				t.Skip("skipped: under the race detector its own memory ends first, and other systems do not limit it")
			}
			o := options(nil, 1, 4, 8, 16)
			o.Runner, o.Runs = process(t, role), 2
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if b := r.Of(8); b.Status != OutOfMemory || !strings.Contains(b.Reason, want) {
				t.Errorf("%+v", b)
			}
			for _, b := range []int{1, 4, 16} {
				if v := r.Of(b); v.Status != Success || v.ImagesPerS.N != 2 {
					t.Errorf("batch size %d: %+v", b, v)
				}
			}
			if !r.Complete || r.Optimum.Fastest != 16 {
				t.Errorf("%+v", r.Optimum)
			}
		})
	}
}

func TestProcessesFailWithTheirReasons(t *testing.T) {
	for role, want := range map[string]string{"failing": "weights w.npz: is no archive", "silent": "the trial printed no result"} {
		j := options(nil).Job
		j.Batch, j.Runs = 1, 1
		if out := process(t, role).Run(t.Context(), j); out.Status != Failed || !strings.HasPrefix(out.Reason, want) || !(out.CPU > 0) {
			t.Errorf("%s: %+v", role, out)
		}
	}
	if out := (Process{Program: "/nowhere"}).Run(t.Context(), trial.Job{}); out.Status != Failed || !strings.Contains(out.Reason, "/nowhere") {
		t.Errorf("%+v", out)
	}
}

// The end of the context kills the process.
func TestProcessesEndWithTheirContext(t *testing.T) {
	p := process(t, "hanging")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan Outcome)
	go func() { ended <- p.Run(ctx, trial.Job{}) }()
	cancel()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the process goes on")
	}
}
