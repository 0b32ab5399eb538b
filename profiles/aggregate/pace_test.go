package aggregate

import (
	"math"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

func TestElapsedLeavesPausesAndPreparationOut(t *testing.T) {
	t0 := time.Now()
	var p pace
	p.enter(profiles.Preparing, t0)
	p.enter(profiles.Running, t0.Add(5*time.Second))
	p.enter(profiles.Paused, t0.Add(8*time.Second))
	if got := p.elapsed(t0.Add(20 * time.Second)); got != 3*time.Second {
		t.Errorf("paused: %v, want 3 s", got)
	}
	p.iteration(&profiles.Iteration{Start: 18e9, Total: 1e9}) // a single step
	p.enter(profiles.Running, t0.Add(20*time.Second))
	if got := p.elapsed(t0.Add(21 * time.Second)); got != 5*time.Second {
		t.Errorf("running again: %v, want 5 s with the step", got)
	}
	p.enter(profiles.Finished, t0.Add(22*time.Second))
	if got := p.elapsed(t0.Add(time.Hour)); got != 6*time.Second {
		t.Errorf("finished: %v, want 6 s", got)
	}
}

// ticker drives a pace through iterations of one length.
type ticker struct {
	pace  pace
	now   time.Time
	start int64
	index int64
}

func (k *ticker) iterate(n int, total, gap time.Duration) {
	for range n {
		k.pace.iteration(&profiles.Iteration{Index: k.index, Start: k.start, Total: int64(total)})
		k.index++
		k.start += int64(total + gap)
		k.now = k.now.Add(total + gap)
	}
}

func TestRateIsTakenOverTheLastTwoSecondsOfRunning(t *testing.T) {
	k := &ticker{now: time.Now()}
	k.pace.enter(profiles.Running, k.now)
	tick := func(n int, total, gap time.Duration) (rate float64) {
		for range n {
			k.iterate(20, total, gap)
			rate = k.pace.rate(k.now)
		}
		return rate
	}
	// 1e-9: divisions of whole nanoseconds.
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %v it/s, want %v", what, got, want)
		}
	}
	near("4 ms and 1 ms between", tick(50, 4*time.Millisecond, time.Millisecond), 200)
	near("2 s later", tick(51, 2*time.Millisecond, 0), 500)

	k.pace.enter(profiles.Paused, k.now)
	k.now, k.start = k.now.Add(time.Minute), k.start+int64(time.Minute)
	near("paused", k.pace.rate(k.now), 500)
	k.pace.enter(profiles.Running, k.now)
	near("after the pause", tick(1, 2*time.Millisecond, 0), 500)
	if n := len(k.pace.marks); n > 200 {
		t.Errorf("%d marks are kept", n)
	}
	stalled := k.pace.rate(k.now.Add(8 * time.Second))
	if stalled > 110 || stalled < 90 { // about 1000 iterations in 10 s
		t.Errorf("stalled for 8 s: %v it/s, want about 100", stalled)
	}
	k.pace.enter(profiles.Finished, k.now.Add(8*time.Second))
	near("over", k.pace.rate(k.now.Add(8*time.Second)), 500)
}

func TestRateCountsLostIterations(t *testing.T) {
	k := &ticker{now: time.Now()}
	k.pace.enter(profiles.Running, k.now)
	k.iterate(1, time.Millisecond, 0)
	k.pace.rate(k.now)
	k.index, k.start, k.now = k.index+998, k.start+998e6, k.now.Add(998*time.Millisecond)
	k.iterate(1, time.Millisecond, 0)
	if got := k.pace.rate(k.now); math.Abs(got-1000) > 1e-6 {
		t.Errorf("%v it/s, want 1000", got)
	}
}

func TestRemainingTimeIsKnownOnlyFromSamplesOrLimits(t *testing.T) {
	results := func(seconds ...float64) (r []profiles.UnitResult) {
		for _, s := range seconds {
			r = append(r, profiles.UnitResult{Elapsed: time.Duration(s * 1e9)})
		}
		return r
	}
	schema := prism.Schema()
	for _, c := range []struct {
		name string
		p    progress
		set  prism.Settings
		want float64
		ok   bool
	}{
		{"nothing known", progress{units: 10, rate: 100}, prism.Settings{}, 0, false},
		{"two samples", progress{units: 10, results: results(2, 2), rate: 100}, prism.Settings{}, 0, false},
		{"three samples", progress{units: 10, results: results(2, 4, 3), rate: 100}, prism.Settings{}, 21, true},
		{"the newest ten", progress{units: 20, results: results(1000, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)}, prism.Settings{}, 9, true},
		{"all done", progress{units: 3, results: results(2, 4, 3)}, prism.Settings{}, 0, true},
		{"iterations", progress{units: 10, rate: 100, index: 150}, prism.Settings{MaxIterations: 200}, 0.5, true},
		{"iterations, no rate", progress{units: 10, index: 150}, prism.Settings{MaxIterations: 200}, 0, false},
		{"seconds", progress{units: 10, elapsed: 4 * time.Second}, prism.Settings{MaxSeconds: 10}, 6, true},
		{"fewer samples", progress{units: 10, results: results(2, 4, 3)}, prism.Settings{MaxSamples: 5}, 6, true},
		{"the limit cuts the samples short", progress{units: 10, results: results(2, 4, 3), elapsed: 9 * time.Second}, prism.Settings{MaxSeconds: 10}, 1, true},
	} {
		c.p.limits = limitsOf(settingsOf(c.set), &schema)
		got, ok := c.p.remaining()
		if ok != c.ok || math.Abs(got.Seconds()-c.want) > 1e-6 {
			t.Errorf("%s: %v, %v; want %v s, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}
