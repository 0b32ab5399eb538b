package ptycho

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
)

func TestBatchesAreDivided(t *testing.T) {
	for _, c := range []struct {
		batch, most int
		want        []share
	}{
		{1, 16, []share{{nil, 1, 1}}}, {16, 16, []share{{nil, 16, 1}}}, {17, 16, []share{{nil, 16, 1}, {nil, 1, 1}}},
		{128, 16, []share{{nil, 16, 8}}}, {40, 16, []share{{nil, 16, 2}, {nil, 8, 1}}}, {3, 1, []share{{nil, 1, 3}}},
	} {
		if got := divide(c.batch, c.most); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d in parts of %d: %+v, want %+v", c.batch, c.most, got, c.want)
		}
	}
	for size, want := range map[int]int{64: 32, 128: 8, 256: 2} {
		if got := (Config{Size: size}).microbatch(PlanOptions{}); got != want {
			t.Errorf("%d pixels: %d groups at a time, want %d", size, got, want)
		}
	}
	n, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int{0, -3} {
		if _, err := n.BatchPlan(t.Context(), PlanOptions{Batch: batch}); err == nil || !strings.Contains(err.Error(), "batch = ") {
			t.Errorf("a batch of %d: %v", batch, err)
		}
	}
}

// A batch of any size takes the activations of a microbatch, and its own inputs and objects. The rest of a
// batch takes no memory of its own.
func TestBatchesTakeTheMemoryOfAMicrobatch(t *testing.T) {
	n, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	const plane, pattern, object, offsets = 4 * 64 * 64 * 64, 4 * 64 * 64, 8 * 64 * 64, 8
	for _, c := range []struct{ batch, activations, staged int }{{8, 8, 0}, {32, 32, 0}, {33, 32, 33}, {128, 32, 128}} {
		plan, err := n.BatchPlan(t.Context(), PlanOptions{Batch: c.batch})
		if err != nil {
			t.Fatal(err)
		}
		want := int64(c.activations*(plane+plane/4+pattern+object+offsets) + c.staged*pattern + c.batch*(object+offsets))
		if got := plan.Usage().Total(); got < want || got > want+1024 {
			t.Errorf("a batch of %d takes %d bytes, want %d", c.batch, got, want)
		}
		p := loadBatch(t, n, plan, 2)
		if p.Usage() != plan.Usage() {
			t.Errorf("a batch of %d takes %v, its plan says %v", c.batch, p.Usage(), plan.Usage())
		}
		if len(p.parts) == 2 && p.parts[1].exe.ScratchBytes() > 1<<20 {
			t.Errorf("the rest of a batch of %d has %d bytes of its own", c.batch, p.parts[1].exe.ScratchBytes())
		}
	}
}

// loadBatch loads a batch with seeded weights.
func loadBatch(t testing.TB, n *Network, plan *BatchPlan, threads int) *Predictor {
	t.Helper()
	be, err := cpu.New(cpu.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(be.Close)
	state, err := be.NewState(t.Context(), n.Model().Variables())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(state.Close)
	if err := n.SetWeights(state, n.Seeded(12345)); err != nil {
		t.Fatal(err)
	}
	p, err := plan.Load(t.Context(), be, state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// The objects of a batch are the same in microbatches of any size, bit for bit, in a second run too, and
// near them by Winograd's method, which serves some layers in large microbatches only.
func TestObjectsDoNotDependOnTheMicrobatch(t *testing.T) {
	c := Config{Size: 64, GridSize: 2, FiltersScale: 1, ProbeBig: true}
	const groups = 7
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	patterns, offsets := sine(c, groups), make([]float32, groups*c.Channels()*2)
	for i := range offsets {
		offsets[i] = float32(math.Mod(float64(i)*1.37, 5) - 2.5)
	}
	for _, precision := range []Precision{Float32, BF16, Winograd} {
		var first []float32
		flops := int64(0)
		for _, most := range []int{groups, 1, 3, 5} {
			plan, err := n.BatchPlan(t.Context(), PlanOptions{Batch: groups, Microbatch: most}.With(precision))
			if err != nil {
				t.Fatal(err)
			}
			if plan.Microbatch() != most {
				t.Errorf("%d groups at a time, want %d", plan.Microbatch(), most)
			}
			p := loadBatch(t, n, plan, 2)
			var all int64
			for _, s := range p.Steps() {
				all += s.FLOPs
			}
			if flops == 0 {
				flops = all
			}
			if all != flops {
				t.Errorf("%d operations in microbatches of %d, want %d", all, most, flops)
			}
			for range 2 {
				copy(p.Patterns(), patterns)
				copy(p.Offsets(), offsets)
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if first == nil {
					first = slices.Clone(p.Objects())
				}
				worst, largest := 0.0, 0.0 // the border, which no other patch covers, is divided by little
				for i, v := range p.Objects() {
					worst, largest = max(worst, math.Abs(float64(v-first[i]))), max(largest, math.Abs(float64(v)))
				}
				if allowed := map[Precision]float64{Winograd: Winograd.Tolerance()}[precision]; !(worst <= allowed*largest) {
					t.Errorf("%s in microbatches of %d: the objects differ by %g of the largest, allowed is %g", precision, most, worst/largest, allowed)
				}
			}
			for i, nanos := range p.StepNanos() {
				if nanos <= 0 {
					t.Errorf("step %d, %s, took %d ns", i, p.Steps()[i].Name, nanos)
				}
			}
		}
	}
}

func TestPrecisionsAreOfTheSettings(t *testing.T) {
	for _, c := range []struct {
		amp      string
		winograd bool
		want     Precision
		products nn.Products
	}{
		{"off", false, Float32, nn.Exact}, {"off", true, Winograd, nn.Winograd}, {"bf16", true, BF16, nn.Exact}, {"bf16x3", false, BF16x3, nn.BF16x3},
	} {
		got := PrecisionOf(c.amp, c.winograd)
		if o := (PlanOptions{Batch: 3, Products: nn.BF16x3}).With(got); got != c.want || o.Products != c.products || o.Batch != 3 {
			t.Errorf("amp = %s, winograd = %t: %s, %+v", c.amp, c.winograd, got, o)
		}
	}
}
