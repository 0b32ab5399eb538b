package cpu_test

import (
	"context"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// A placed plane is in its place, and zeros around it, in later runs too, after the output was written from outside, after an
// interrupted run and once another plan has the memory.
func TestThePlaceStaysBlankAround(t *testing.T) {
	for _, kernels := range cpu.KernelNames() {
		be := openKernels(t, 2, kernels)
		const planes, side, field, top, left = 2, 5, 64, 9, 30
		x := nntest.Array{Shape: tensor.Shape{1, planes, side, side}, DType: tensor.Float32, Values: make([]float32, planes*side*side)}
		s, err := nntest.NewStep(be, nn.Place{Top: top, Left: left}, []nntest.Array{x}, []nntest.Result{{Shape: tensor.Shape{1, planes, field, field}, DType: tensor.Float32}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		state, err := be.NewState(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer state.Close()
		exec, err := be.Load(t.Context(), s.Plan, state)
		if err != nil {
			t.Fatal(err)
		}
		defer exec.Close()
		in, out := s.Plan.Steps[0].In[0], s.Plan.Steps[0].Out[0]
		got := make([]float32, planes*field*field)
		check := func(run int, when string) {
			t.Helper()
			for i := range x.Values {
				x.Values[i] = float32(1 + i + 100*run)
			}
			exec.Write(in, x.Values)
			if err := exec.Run(t.Context(), nn.SegmentForward); err != nil {
				t.Fatal(err)
			}
			exec.Read(out, got)
			for i, v := range got {
				p, row, column := i/(field*field), i/field%field-top, i%field-left
				want := float32(0)
				if row >= 0 && row < side && column >= 0 && column < side {
					want = x.Values[(p*side+row)*side+column]
				}
				if v != want {
					t.Fatalf("%s: element %d is %g, want %g", when, i, v, want)
				}
			}
		}
		spoilt := make([]float32, len(got))
		for i := range spoilt {
			spoilt[i] = 7
		}
		check(0, "the first run")
		check(1, "the second run")
		exec.Write(out, spoilt)
		check(2, "after the output was written")
		check(3, "the run after that")
		interrupted, cancel := context.WithCancel(t.Context())
		cancel()
		exec.Write(out, spoilt)
		_ = exec.Run(interrupted, nn.SegmentForward)
		check(4, "after an interrupted run")
		check(5, "the run after that")
		beside, err := be.LoadBeside(t.Context(), s.Plan, state, exec)
		if err != nil {
			t.Fatal(err)
		}
		defer beside.Close()
		beside.Write(out, spoilt)
		check(6, "after another plan used the memory")
	}
}
