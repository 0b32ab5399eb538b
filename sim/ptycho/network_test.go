package ptycho

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/weights"
)

// The counts are those of spec/ptycho-cyto.md §A1.7.
func TestParameterCounts(t *testing.T) {
	for _, c := range []struct {
		size, grid, scale int
		probeBig          bool
		want, convs       int
	}{
		{64, 1, 2, true, 2_331_772, 22},
		{64, 1, 2, false, 2_252_026, 16},
		{64, 1, 1, true, 585_244, 22},
		{64, 2, 2, true, 2_340_208, 22},
		{128, 1, 2, true, 4_661_212, 28},
		{128, 2, 2, true, 4_667_056, 28},
		{128, 2, 2, false, 4_643_880, 22},
		{256, 1, 2, true, 12_912_268, 34},
	} {
		n, err := New(Config{Size: c.size, GridSize: c.grid, FiltersScale: c.scale, ProbeBig: c.probeBig})
		if err != nil {
			t.Fatal(err)
		}
		if n.Parameters() != c.want || len(n.convs) != c.convs {
			t.Errorf("%+v: %d parameters in %d convolutions", c, n.Parameters(), len(n.convs))
		}
	}
	n, err := New(DefaultConfig())
	if err != nil || n.Parameters() != 2_331_772 {
		t.Errorf("default: %v, %v", n, err)
	}
}

// The plan's count of operations is two for each of the multiplications of §A1.7, and a
// little for the rest.
func TestPlanCountsItsOperations(t *testing.T) {
	for _, c := range []struct {
		config   Config
		multiply float64
	}{
		{Config{Size: 64, GridSize: 1, FiltersScale: 2, ProbeBig: true}, 805.6e6},
		{Config{Size: 64, GridSize: 1, FiltersScale: 2}, 720.7e6},
		{Config{Size: 128, GridSize: 2, FiltersScale: 2, ProbeBig: true}, 1593.7e6},
		{Config{Size: 256, GridSize: 1, FiltersScale: 2, ProbeBig: true}, 4368.2e6},
	} {
		n, plan := inference(t, c.config, PlanOptions{Batch: 1})
		got := 0.0
		for _, s := range plan.Steps {
			if _, ok := s.Op.(nn.Conv2D); ok {
				got += float64(s.FLOPs) / 2
			}
		}
		if math.Abs(got-c.multiply) > 0.005*c.multiply {
			t.Errorf("%+v: %.1f million multiplications, want %.1f", n.config, got/1e6, c.multiply/1e6)
		}
	}
}

func inference(t *testing.T, c Config, o PlanOptions) (*Network, *nn.Plan) {
	t.Helper()
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := n.InferencePlan(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return n, plan
}

func TestImpossibleNetworksAreRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Size = 32 }, "size = 32: must be 64, 128 or 256"},
		{func(c *Config) { c.GridSize = 0 }, "gridsize = 0: must be from 1 to 8"},
		{func(c *Config) { c.FiltersScale = 65 }, "filters_scale = 65: must be from 1 to 64"},
		{func(c *Config) { c.AmpActivation = "gelu" }, "amp_activation = gelu: must be sigmoid, swish, softplus or relu"},
		{func(c *Config) { c.Heads = "torch" }, "heads = torch: must be keras or ptycho_torch"},
	} {
		config := DefaultConfig()
		c.change(&config)
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", config, err, c.want)
		}
	}
	n, err := New(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	for name, compile := range map[string]func() error{
		"inference": func() error { _, err := n.InferencePlan(t.Context(), PlanOptions{}); return err },
		"training":  func() error { _, err := n.TrainingPlan(t.Context(), PlanOptions{Batch: -1}); return err },
	} {
		if err := compile(); err == nil || !strings.Contains(err.Error(), "batch = ") {
			t.Errorf("%s plan without groups: %v", name, err)
		}
	}
}

// An inference takes the memory of what is alive at the worst step. With the default
// filters of N=64 these are the planes that the first stage's second convolution reads and
// writes, pooled, 1.3 MB for each pattern, and the inputs and outputs.
func TestInferenceKeepsLiveActivationsOnly(t *testing.T) {
	for _, c := range []Config{
		{Size: 64, GridSize: 1, FiltersScale: 2, ProbeBig: true},
		{Size: 64, GridSize: 2, FiltersScale: 1, ProbeBig: true},
		{Size: 128, GridSize: 2, FiltersScale: 2, ProbeBig: true},
		{Size: 256, GridSize: 1, FiltersScale: 1},
	} {
		for _, batch := range []int{1, 3, 32} {
			_, plan := inference(t, c, PlanOptions{Batch: batch})
			if least := alive(plan); plan.ArenaBytes < least || float64(plan.ArenaBytes) > 1.01*float64(least) {
				t.Errorf("%+v, batch %d: %d bytes, of which %d are alive at a time", c, batch, plan.ArenaBytes, least)
			}
			if c == (Config{Size: 64, GridSize: 1, FiltersScale: 2, ProbeBig: true}) {
				const plane, pattern, object = 4 * 64 * 64 * 64, 4 * 64 * 64, 8 * 64 * 64
				if want := int64(batch) * (plane + plane/4 + pattern + object); plan.ArenaBytes < want || plan.ArenaBytes > want+1024 {
					t.Errorf("batch %d: %d bytes, want %d", batch, plan.ArenaBytes, want)
				}
			}
		}
	}
}

// alive returns the most bytes of a plan's arena that hold values at one step.
func alive(p *nn.Plan) int64 {
	first, last := map[nn.BufferID]int{}, map[nn.BufferID]int{}
	for i, s := range p.Steps {
		for _, id := range append(slices.Clone(s.In), s.Out...) {
			if _, seen := first[id]; !seen {
				first[id] = i
			}
			last[id] = i
		}
	}
	var most int64
	for i := range p.Steps {
		var now int64
		for id, from := range first {
			if b := &p.Buffers[id]; b.Variable < 0 && (b.Pinned || from <= i && i <= last[id]) {
				now += b.Bytes()
			}
		}
		most = max(most, now)
	}
	return most
}

// A group's result does not depend on the batch in which it is computed, nor on the
// number of threads.
func TestResultsAreTheSameInEveryBatch(t *testing.T) {
	c := Config{Size: 64, GridSize: 2, FiltersScale: 1, ProbeBig: true}
	const groups = 6
	x := sine(c, groups)
	offsets := make([]float32, groups*c.Channels()*2)
	for i := range offsets {
		offsets[i] = float32(math.Mod(float64(i)*1.37, 5) - 2.5)
	}
	var want []float32
	for _, batch := range []int{1, 2, 3, 6} {
		for threads := 1; threads <= 3; threads++ {
			n, plan := inference(t, c, PlanOptions{Batch: batch})
			p := load(t, n, plan, cpu.Options{Threads: threads})
			var got []float32
			for from := 0; from < groups; from += batch {
				one, moved := len(x)/groups, len(offsets)/groups
				p.Write(DiffractionInput, x[from*one:][:batch*one])
				p.Write(OffsetsInput, offsets[from*moved:][:batch*moved])
				p.Run(nn.SegmentForward)
				got = append(got, p.Read(ObjectOutput)...)
			}
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) {
				t.Errorf("batch %d on %d threads differs from batch 1", batch, threads)
			}
		}
	}
	if one := len(want) / groups; slices.Equal(want[:one], want[one:][:one]) {
		t.Error("different groups have the same result")
	}
}

// Mixed precision and split products change results by roundings alone.
func TestReducedPrecisionIsClose(t *testing.T) {
	c := Config{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true}
	run := func(o PlanOptions) []float32 {
		o.Batch, o.Heads = 2, true
		n, plan := inference(t, c, o)
		p := load(t, n, plan, cpu.Options{Threads: 2})
		p.Write(DiffractionInput, sine(c, 2))
		p.Run(nn.SegmentForward)
		return p.Read(AmplitudeOutput)
	}
	exact := run(PlanOptions{})
	for _, o := range []struct {
		name    string
		options PlanOptions
		limit   float64
	}{{"bf16", PlanOptions{AMP: 1}, 0.05}, {"bf16x3", PlanOptions{Products: nn.BF16x3}, 1e-4}, {"winograd", PlanOptions{Products: nn.Winograd}, 1e-5}} {
		worst := 0.0
		for i, v := range run(o.options) {
			worst = max(worst, math.Abs(float64(v-exact[i])))
		}
		if !(worst <= o.limit) || worst == 0 {
			t.Errorf("%s: off by %g, want above 0 and at most %g", o.name, worst, o.limit)
		}
	}
}

// Weights in a form for products are kept from run to run, but not after the weights have changed.
func TestInferenceFollowsTheWeights(t *testing.T) {
	c := Config{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true}
	for _, precision := range []Precision{BF16, Winograd} {
		n, plan := inference(t, c, PlanOptions{Batch: 1, Heads: true}.With(precision))
		p := load(t, n, plan, cpu.Options{Threads: 2})
		p.Write(DiffractionInput, sine(c, 1))
		seen := map[uint32][]float32{}
		for _, seed := range []uint32{7, 8, 7} {
			if err := n.SetWeights(p.State, n.Seeded(seed)); err != nil {
				t.Fatal(err)
			}
			p.Run(nn.SegmentForward)
			got := slices.Clone(p.Read(AmplitudeOutput))
			if before, ok := seen[seed]; ok && !slices.Equal(got, before) {
				t.Errorf("%s: weights %d give another result the second time", precision, seed)
			}
			seen[seed] = got
		}
		if slices.Equal(seen[7], seen[8]) {
			t.Errorf("%s: new weights give the same result", precision)
		}
	}
}

func TestWeightsRoundTrip(t *testing.T) {
	c := Config{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true}
	n, plan := inference(t, c, PlanOptions{Batch: 1})
	p := load(t, n, plan, cpu.Options{Threads: 1})
	seeded := n.Seeded(7)
	seeded[len(seeded)-1].Values[0] = 0.25
	if err := n.SetWeights(p.State, seeded); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w.npz", "w.safetensors", "bare.npz"} {
		path, all := filepath.Join(t.TempDir(), name), n.Weights(p.State)
		want := float32(0.25)
		if strings.HasPrefix(name, "bare") {
			all, want = all[:len(all)-1], 0
		}
		if err := weights.Write(path, all); err != nil {
			t.Fatal(err)
		}
		read, _, err := n.ReadWeights(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range read[:len(read)-1] {
			if w.Name != seeded[i].Name || !slices.Equal(w.Values, seeded[i].Values) {
				t.Errorf("%s: %s differs", name, w.Name)
			}
		}
		if last := read[len(read)-1]; last.Name != scaleParameter || last.Values[0] != want {
			t.Errorf("%s: %s = %v, want %g", name, last.Name, last.Values, want)
		}
	}
	other, err := New(Config{Size: 64, GridSize: 2, FiltersScale: 1, ProbeBig: true})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "w.npz")
	if err := weights.Write(path, n.Weights(p.State)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.ReadWeights(t.Context(), path); err == nil || !strings.Contains(err.Error(), "enc.0.a.weight has the shape (32, 1, 3, 3), must be (32, 4, 3, 3)") {
		t.Errorf("weights of another network: %v", err)
	}
	if err := other.SetWeights(p.State, seeded); err == nil {
		t.Error("weights of another network are written")
	}
}

// A plane at a broken distance from the mean is spread over four pixels; a constant one
// stays constant where there are weights.
func TestReassembleKeepsAConstant(t *testing.T) {
	const n = 64
	objects := make([]complex64, 3*n*n)
	for i := range objects {
		objects[i] = complex(2, -1)
	}
	c, err := Reassemble(objects, n, [][2]float64{{0, 0}, {7.5, -3.25}, {-4.5, 6.75}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Side != PatchSide+2*c.Pad || c.Pad != 8 {
		t.Errorf("side %d, pad %d", c.Side, c.Pad)
	}
	filled := 0
	for _, z := range c.Object {
		if z == 0 {
			continue
		}
		filled++
		if d := z - complex(2, -1); math.Hypot(float64(real(d)), float64(imag(d))) > 1e-6 {
			t.Fatalf("a pixel of %v", z)
		}
	}
	if filled < PatchSide*PatchSide || filled == len(c.Object) {
		t.Errorf("%d of %d pixels are filled", filled, len(c.Object))
	}
	for _, bad := range []func() (*Canvas, error){
		func() (*Canvas, error) { return Reassemble(objects, n, nil) },
		func() (*Canvas, error) { return Reassemble(objects[1:], n, make([][2]float64, 3)) },
		func() (*Canvas, error) { return Reassemble(make([]complex64, 100), 10, make([][2]float64, 1)) },
		func() (*Canvas, error) { return Reassemble(objects, n, [][2]float64{{0, 0}, {math.NaN(), 0}, {0, 0}}) },
		func() (*Canvas, error) { return Reassemble(objects, n, [][2]float64{{0, 0}, {1e5, 0}, {0, 0}}) },
	} {
		if _, err := bad(); err == nil {
			t.Error("accepted")
		} else {
			t.Log(err)
		}
	}
}
