package peer

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	ourJSON = `{"schema":1,"wall_seconds":4.5,"iteration_ms":{"median":5,"p10":4.5,"p90":6,"n":100},
		"memory_bytes":{"rss_peak":120000000},"benchmark":{"foreign_cpu":0.01}}`
	theirJSON = `{"info":{"torch":"2.6.0","numpy":"2.1","python":"3.13","cpu_capability":["CPU capability usage: AVX512"]},
		"step":{"total":{"median":60,"p10":50,"p90":70,"min":45,"n":99},"foreign_cpu":0.02},
		"infer":{"eval":{"median":3.2,"p10":3,"p90":4,"foreign_cpu":0},"folded":{"median":2.9,"p10":2.8,"p90":3,"foreign_cpu":0.5},
			"bf16_eval":{"median":1,"p10":1,"p90":1},"compiled":{"error":"no compiler"}},
		"standard":{"total_s":60.5,"foreign_cpu":0.03},"memory_mb":{"after_import":200,"peak_rss":400}}`
)

func TestEveryWorkIsReadFromBothSides(t *testing.T) {
	for _, w := range Works(Options{Threads: 2, Seconds: 1}) {
		ours, err := w.ours([]byte(ourJSON))
		if err != nil || !(ours.Median > 0) {
			t.Errorf("%s: ours is %+v, %v", w.Name, ours, err)
		}
		peer, err := w.peer([]byte(theirJSON))
		if err != nil || !(peer.Median > 0) {
			t.Errorf("%s: PyTorch's is %+v, %v", w.Name, peer, err)
		}
		for _, bad := range []string{"", "{}", "[]", `{"step":3,"infer":{},"iteration_ms":null}`} {
			if f, err := w.peer([]byte(bad)); err == nil && f.Median > 0 {
				t.Errorf("%s: read %+v from %q", w.Name, f, bad)
			}
			if f, err := w.ours([]byte(bad)); err == nil && f.Median > 0 {
				t.Errorf("%s: read %+v of ours from %q", w.Name, f, bad)
			}
		}
	}
}

// A point of growth has the peak of either process; a whole run's operations are unknown.
func TestPointsOfGrowthHaveTheirMemory(t *testing.T) {
	o := Options{Threads: 2, Seconds: 1}
	for _, w := range []Work{o.Iteration(4096, 1024, 1), o.Whole(1000, 256, 64, 2)} {
		ours, err := w.ours([]byte(ourJSON))
		if err != nil || ours.Resident != 120 {
			t.Errorf("%s: %+v, %v", w.Name, ours, err)
		}
		theirs, err := w.peer([]byte(theirJSON))
		if err != nil || math.Abs(theirs.Resident-419.4304) > 1e-9 {
			t.Errorf("%s: %+v, %v", w.Name, theirs, err)
		}
	}
	layers := strings.Replace(ourJSON, `"foreign_cpu":0.01`, `"foreign_cpu":0.01,"layers":[{"flops":3},{"flops":4}]`, 1)
	if f, err := o.Iteration(256, 64, 1).ours([]byte(layers)); err != nil || f.Operations != 7 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestTheFastestExactInferenceCounts(t *testing.T) {
	f, err := fastestInference([]byte(theirJSON))
	if err != nil || f.Note != "folded" || f.Median != 2.9 || f.Foreign != 0.5 {
		t.Errorf("%+v, %v", f, err)
	}
}

// script writes a program that prints a text and records that it ran.
func script(t *testing.T, name, log, text string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), name)
	body := "#!/bin/sh\necho " + name + " >>" + log + "\ncat <<'END'\n" + text + "\nEND\n"
	if err := os.WriteFile(path, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRoundsAlternateAndDropTheDisturbed(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p := Programs{
		Prismtop: script(t, "ours", log, ourJSON),
		Python:   []string{"sh"}, Script: script(t, "peer", log, theirJSON),
	}
	w := Works(Options{Threads: 2, Seconds: 1})[0]
	r := p.Measure(context.Background(), w, 2, 0.05)
	if r.Err != nil || len(r.Rounds) != 2 || r.Rounds[0].Disturbed || math.Abs(r.Rounds[0].Ratio()-12) > 1e-9 {
		t.Fatalf("%+v", r)
	}
	order, err := os.ReadFile(log)
	if err != nil || string(order) != "peer\nours\npeer\nours\n" {
		t.Errorf("ran %q, %v", order, err)
	}
	if r := p.Measure(context.Background(), w, 1, 0.015); !r.Rounds[0].Disturbed {
		t.Error("a round with 2 % of foreign load passed a bound of 1.5 %")
	}
	v, err := p.Versions(context.Background())
	if err != nil || v.Torch != "2.6.0" {
		t.Errorf("%+v, %v", v, err)
	}
	p.Script = filepath.Join(t.TempDir(), "missing")
	if r := p.Measure(context.Background(), w, 1, 1); r.Err == nil || len(r.Rounds) != 0 {
		t.Errorf("a missing script gave %+v", r)
	}
}

// A program that is interrupted leaves nothing behind: neither a process that it began,
// even one that left its parent and does not want to end, nor a wait for its output.
func TestAnInterruptedProgramLeavesNoProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	folder := t.TempDir()
	begun := filepath.Join(folder, "begun")
	path := filepath.Join(folder, "peer")
	body := "trap '' TERM\n(trap '' TERM; while :; do sleep 1; done) &\necho $! $$ >" + begun + ".part\nmv " + begun + ".part " + begun + "\nwait\n"
	if err := os.WriteFile(path, []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := output(ctx, []string{"sh", path})
		done <- err
	}()
	var processes []byte
	wait(t, "the program", func() (ok bool) {
		var err error
		processes, err = os.ReadFile(begun)
		return err == nil
	})
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("still waiting for the program, 30 s after it was interrupted")
	}
	for _, field := range strings.Fields(string(processes)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		process, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		wait(t, "the end of process "+field, func() bool { return process.Signal(syscall.Signal(0)) != nil })
	}
}

// wait waits until something is so.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestTable(t *testing.T) {
	w := Work{Name: "iteration", Unit: "ms"}
	round := func(peer, ours float64, disturbed bool) Round {
		return Round{Peer: Figure{Median: peer, P10: peer - 1, P90: peer + 1}, Ours: constant(ours, 0), Disturbed: disturbed}
	}
	results := []Result{
		{Work: w, Rounds: []Round{round(60, 5, false), round(61, 5, false), round(10, 5, true)}},
		{Work: w, Rounds: []Round{round(40, 5, true)}},
		{Work: w, Err: errors.New("exit | status 1\nmore")},
	}
	var b strings.Builder
	if err := WriteMarkdown(&b, Header{Measured: time.Unix(0, 0)}, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1970-01-01", "| iteration | 60.5 ms [59.5, 61.5] | 5.00 ms | 12.1 × [12.0, 12.2] | 2 of 3 |",
		"8.00 × [8.00, 8.00] | 0 of 1: all disturbed, all shown |",
		"| iteration | not measured: exit \\| status 1 more |  |  | 0 |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}
