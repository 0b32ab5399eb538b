package cpu

import (
	"context"
	"errors"
	"slices"
	"testing"

	"prismtop/profiles/await/awaittest"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// sumPlan adds two planes of n×n, again and again.
func sumPlan(n, steps int) *nn.Plan {
	p := &nn.Plan{}
	for i := range 3 {
		p.Buffers = append(p.Buffers, nn.Buffer{
			Name: "plane", Shape: tensor.Shape{n, n}, Variable: -1, Offset: int64(i) * 4 * int64(n) * int64(n), Pinned: true,
		})
	}
	p.ArenaBytes = 3 * 4 * int64(n) * int64(n)
	for range steps {
		p.Steps = append(p.Steps, nn.Step{Name: "sum", Op: nn.Add{}, In: []nn.BufferID{0, 1}, Out: []nn.BufferID{2}})
	}
	p.Segments = [nn.NumSegments][2]int{{0, steps}, {steps, steps}, {steps, steps}}
	return p
}

// loadSum binds sumPlan on a number of threads.
func loadSum(t *testing.T, n, steps, threads int) nn.Executable {
	t.Helper()
	b, err := New(Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	st, err := b.NewState(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	x, err := b.Load(t.Context(), sumPlan(n, steps), st)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	return x
}

// A context ends a plan between two steps, and within a step that is long: the rest is
// skipped.
func TestAContextEndsAPlanWithinAStep(t *testing.T) {
	const n = 2048
	for _, threads := range []int{1, 2} {
		x := loadSum(t, n, 1, threads)
		ones := slices.Repeat([]float32{1}, n*n)
		x.Write(0, ones)
		x.Write(1, ones)
		ctx := awaittest.After(3)
		if err := x.Run(ctx, nn.SegmentForward); !errors.Is(err, context.Canceled) {
			t.Errorf("%d threads: %v", threads, err)
		}
		got := make([]float32, n*n)
		x.Read(2, got)
		summed := 0
		for _, v := range got {
			summed += int(v) / 2
		}
		if summed == 0 || summed > n*n/2 {
			t.Errorf("%d threads: %d of %d elements were computed, want a few pieces", threads, summed, n*n)
		}
		if err := x.Run(t.Context(), nn.SegmentForward); err != nil {
			t.Fatal(err)
		}
		if x.Read(2, got); slices.Contains(got, 0) {
			t.Errorf("%d threads: the next context, which goes on, ended something", threads)
		}
	}
}

func TestAContextThatHasEndedRunsNoStep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x := loadSum(t, 16, 1000, 1)
	x.Write(0, slices.Repeat([]float32{1}, 256))
	if err := x.Run(ctx, nn.SegmentForward); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	got := make([]float32, 256)
	if x.Read(2, got); slices.Contains(got, 1) {
		t.Error("a step ran")
	}
}

// Allocating, drawing and clearing a model of gigabytes also end early.
func TestAContextEndsThePreparationOfAState(t *testing.T) {
	b, err := New(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	const n = 1 << 22
	variables := []nn.Variable{{Name: "w", Shape: tensor.Shape{n}, Initial: make([]float32, n)}}
	if _, err := b.NewState(awaittest.After(3), variables); !errors.Is(err, context.Canceled) {
		t.Errorf("NewState: %v", err)
	}
	st, err := b.NewState(t.Context(), variables)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if err := st.Zero(awaittest.After(3), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("Zero: %v", err)
	}
	if _, err := b.Load(awaittest.After(3), sumPlan(16, 1000), st); !errors.Is(err, context.Canceled) {
		t.Errorf("Load: %v", err)
	}
	if _, err := newSlabWithin(awaittest.After(0), hugeSlab); !errors.Is(err, context.Canceled) {
		t.Errorf("a slab of %d MiB: %v", hugeSlab>>20, err)
	}
}
