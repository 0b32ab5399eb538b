package cpu

import (
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Gradients have memory while a plan that stores them is loaded.
func TestGradientsHaveMemoryWhileTheyAreUsed(t *testing.T) {
	b, err := New(Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	st, err := b.NewState(t.Context(), []nn.Variable{{Name: "g", Shape: tensor.Shape{3}, Category: nn.Gradients}})
	if err != nil {
		t.Fatal(err)
	}
	s := st.(*state)
	plan := &nn.Plan{
		Buffers: []nn.Buffer{{Name: "g", Shape: tensor.Shape{3}, Variable: 0, Category: nn.Gradients}},
		Steps:   []nn.Step{{Name: "fill", Op: nn.Fill{Value: 2}, Out: []nn.BufferID{0}}},
	}
	plan.Segments[nn.SegmentForward] = [2]int{0, 1}
	read := func() float32 {
		x := []float32{7, 7, 7}
		st.Read(0, x)
		return x[1]
	}
	if s.values[0] != nil || read() != 0 {
		t.Error("a gradient has memory before a plan stores it")
	}
	var loaded []nn.Executable
	for range 2 {
		x, err := b.Load(t.Context(), plan, st)
		if err != nil {
			t.Fatal(err)
		}
		loaded = append(loaded, x)
	}
	if err := loaded[0].Run(t.Context(), nn.SegmentForward); err != nil {
		t.Fatal(err)
	}
	loaded[0].Close()
	loaded[0].Close()
	if read() != 2 {
		t.Error("the other plan lost its gradient")
	}
	loaded[1].Close()
	if s.values[0] != nil || read() != 0 {
		t.Error("a gradient that nobody uses has memory")
	}
	st.Write(0, []float32{1, 3, 1})
	if read() != 3 {
		t.Error("what was written is gone")
	}
}
