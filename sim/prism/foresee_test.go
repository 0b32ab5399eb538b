package prism_test

import (
	"math"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// What a reconstruction is foreseen to need is what it then holds, but for the memory in which kernels work:
// within a fifth, in every mode that changes the plan. In a small field what the kernels work in is most of it.
func TestMemoryIsForeseen(t *testing.T) {
	for _, more := range [][]string{ // of bf16, kernels that widen it hold copies, which weigh less in a larger field
		nil, {"checkpointing=true"}, {"fused_optimizer=false"}, {"amp=bf16", "size=256"}, {"fused_telescope=false", "shared_spectrum=false"}, {"measurement_cache=false"}, {"size=256"},
	} {
		sets := append(append([]string(nil), steadySettings...), append([]string{"size=128", "object_size=64"}, more...)...)
		s, object := resolved(t, "", sets...)
		r := prepared(t, s, object, 1)
		var most int64
		for range 5 { // into the second sample
			if _, err := r.Iterate(t.Context(), new(profiles.Iteration)); err != nil {
				t.Fatal(err)
			}
			memory := r.Memory()
			most = max(most, memory.Total())
		}
		foreseen, err := prism.Maker{}.Needs(t.Context(), s.Values())
		if err != nil {
			t.Fatal(err)
		}
		if got := foreseen.Total(); math.Abs(float64(got)/float64(most)-1) > 0.2 {
			t.Errorf("%v: %d bytes foreseen, %d held: %+v, %+v", more, got, most, foreseen, r.Memory())
		}
	}
}

func TestIterationsAreForeseen(t *testing.T) {
	for _, c := range []struct {
		sets   []string
		most   int64
		sooner bool
	}{
		{[]string{"samples=10", "passes=3", "iterations=20", "cycles=2", "init_iterations=0", "threshold=0"}, 1200, false},
		{[]string{"samples=10", "passes=3", "iterations=20", "cycles=2", "init_iterations=5", "init_cycles=2", "threshold=0"}, 1210, true},
		{[]string{"samples=10", "passes=3", "iterations=20", "cycles=2", "init_iterations=0", "threshold=0.1", "max_samples=4"}, 160, true},
		{[]string{"samples=10", "iterations=20", "init_iterations=0", "threshold=0", "max_iterations=7"}, 7, false},
		{[]string{"samples=300", "passes=3495", "iterations=2147483647", "cycles=2147483647"}, 1 << 62, false},
	} {
		s, _ := resolved(t, "", append(append([]string(nil), steadySettings...), c.sets...)...)
		if most, sooner := (prism.Maker{}).Most(s.Values()); most != c.most || sooner != c.sooner {
			t.Errorf("%v: at most %d, sooner %v, want %d and %v", c.sets, most, sooner, c.most, c.sooner)
		}
	}
}

// Without a threshold only the initialisation may converge, by the floor that the decoder's border puts under its loss.
func TestNothingConvergesWithoutAThreshold(t *testing.T) {
	s, object := resolved(t, "", append(append([]string(nil), steadySettings...), "size=64", "object_size=32", "init_iterations=2", "init_cycles=1")...)
	r := prepared(t, s, object, 1)
	if !r.MayConverge() {
		t.Error("the initialisation cannot converge")
	}
	rec := new(profiles.Iteration)
	for iterate(t, r, rec); rec.Kind == prism.KindInitialisation; iterate(t, r, rec) {
	}
	if r.MayConverge() {
		t.Error("a sample converges without a threshold")
	}
	s.Threshold = 0.1
	if err := r.Apply(t.Context(), s.Values()); err != nil {
		t.Fatal(err)
	}
	if !r.MayConverge() {
		t.Error("a sample with a threshold cannot converge")
	}
}
