package sim

import (
	"math"
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/sim/workloads"
)

// forkable is a run that stays in its second sample.
var forkable = slices.Concat(small, []string{"samples=60", "threshold=0", "iterations=3", "init_iterations=0", "threads=1"})

// stepped runs iterations and returns the bits of their losses; at is called before each.
func stepped(t *testing.T, n int, at func(i int, r *Run)) (bits []uint64, last *profiles.Fork) {
	t.Helper()
	events := stream.New(1 << 12)
	follower := events.Follow()
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, forkable...), Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Set("iterations", "1000000"); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		at(i, r)
		rec, done, err := r.Next(t.Context())
		if err != nil || done {
			t.Fatal(done, err)
		}
		bits = append(bits, math.Float64bits(rec.Series[prism.SeriesLossNew]))
	}
	follower.Drain(func(e *profiles.Event) {
		if f, ok := e.Body.(*profiles.Fork); ok {
			last = f
		}
	})
	return bits, last
}

// A fork says what a change did to the result, and the run goes on bit for bit as if there had
// been none.
func TestAForkLeavesTheRunAlone(t *testing.T) {
	const n = 12 + profiles.ForkCount*(profiles.ForkArm+1)
	change := func(i int, r *Run) {
		if i == 5 {
			if err := r.Set("learning_rate", "0.02"); err != nil {
				t.Error(err)
			}
		}
	}
	alone, none := stepped(t, n, change)
	forked, f := stepped(t, n, func(i int, r *Run) {
		change(i, r)
		if i == 8 {
			if err := r.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: []settings.Assignment{{Key: "learning_rate", Value: "0.0001"}}, At: 5}); err != nil {
				t.Error(err)
			}
		}
	})
	if !slices.Equal(alone, forked) {
		t.Error("the run went another way after the fork")
	}
	if none != nil || f == nil || f.Running || f.Ended != "complete" || f.Done != profiles.ForkCount || f.Of != 5 || f.Key != "learning_rate" || f.Before != "0.0001" || f.After != "0.02" {
		t.Fatalf("%+v", f)
	}
	for _, row := range f.Rows {
		if row.Before == row.After || row.Equal || math.IsInf(row.Low, 0) || row.Low > row.Difference || row.High < row.Difference {
			t.Errorf("%+v", row)
		}
	}
}

// A setting that changes no number leaves every pair with the same bits.
func TestAForkOfACacheIsEqual(t *testing.T) {
	_, f := stepped(t, 12+profiles.ForkCount*(profiles.ForkArm+1), func(i int, r *Run) {
		if i == 8 {
			if err := r.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: []settings.Assignment{{Key: "mask_cache", Value: "false"}, {Key: "checkpointing", Value: "true"}}, At: 5}); err != nil {
				t.Error(err)
			}
		}
	})
	if f == nil || f.Ended != "complete" || len(f.Rows) == 0 {
		t.Fatalf("%+v", f)
	}
	for _, row := range f.Rows {
		if !row.Equal || row.Difference != 0 {
			t.Errorf("%+v", row)
		}
	}
}
