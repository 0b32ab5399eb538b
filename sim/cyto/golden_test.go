package cyto

import (
	"math"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/weights"
)

// The numbers of spec/ptycho-cyto.md §B2.3, of MONAI's DynUNet in float64. The tolerances
// are those of float32 in some 30 layers.
func TestGoldenNumbers(t *testing.T) {
	for _, kernels := range cpu.KernelNames() {
		if kernels == "go" && testing.Short() {
			continue // a minute under the race detector
		}
		t.Run(kernels, func(t *testing.T) {
			p := load(t, DefaultConfig(3), PlanOptions{Batch: 2, Sides: [3]int{8, 16, 16}, Loss: DiceBCE, Train: true}, cpu.Options{Threads: 2, Kernels: kernels})
			image, target := goldenData()
			p.Write(ImageInput, image)
			p.Write(TargetInput, target)
			p.Write(nn.LearningRateInput, []float32{LearningRate})
			p.Run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
			near := func(what string, got, want, tolerance float64) {
				t.Helper()
				if !(math.Abs(got-want) <= tolerance) {
					t.Errorf("%s: %.10g, want %.10g within %g", what, got, want, tolerance)
				}
			}
			y := p.Read(LogitsOutput)
			mean, squares, error2 := 0.0, 0.0, 0.0
			for i, v := range y {
				mean += float64(v) / float64(len(y))
				squares += float64(v) * float64(v) / float64(len(y))
				error2 += math.Pow(float64(v-target[i]), 2) / float64(len(y))
			}
			near("mean", mean, 0.2086979501, 1e-6)
			near("standard deviation", math.Sqrt(squares-mean*mean), 0.6597347945, 1e-6)
			near("minimum", float64(slices.Min(y)), -2.1207302630, 1e-5)
			near("maximum", float64(slices.Max(y)), 2.4459598060, 1e-5)
			for i, want := range map[int]float64{0: 0.0451473367, 1: 0.2913369894, 2: -0.2507989852, 3: 0.7860596964, 2048: 0.2892779113, 4095: 0.6937268712} {
				near("y", float64(y[i]), want, 5e-6)
			}
			near("MSE", error2, 0.7354410073, 1e-6)
			near("loss", p.Scalar(LossOutput), 1.2817458910, 2e-6)
			near("Dice", p.Scalar(DiceOutput), 0.5165857201, 1e-6)
			near("BCE", p.Scalar(BCEOutput), 0.7651601709, 1e-6)
			gradients := map[string]float64{"inp.conv1.weight": 6.6262854885e-02, "inp.norm3.weight": 1.5405954358e-02, "bottle.conv2.weight": 1.8529704088e-01,
				"up0.up.weight": 4.7945610539e-02, "out.weight": 1.1164024463e-01, "out.bias": 2.4198912541e-02}
			for _, g := range p.net.Gradients(p.State) {
				if want, ok := gradients[g.Name]; ok {
					near("gradient of "+g.Name, norm(g.Values), want, 1e-5*want+1e-8)
				}
			}
			steps := 5
			if kernels == "go" { // seconds
				steps = 1
			}
			for step := 1; step <= steps; step++ {
				p.Run(nn.SegmentForward, nn.SegmentEvaluate)
				if want := map[int]float64{1: 1.2586009105, 5: 1.1895941962}[step]; want != 0 {
					near("loss after steps", p.Scalar(LossOutput), want, 1e-5)
				}
				p.Run(nn.SegmentUpdate)
			}
		})
	}
}

// goldenData is the input and the target of §B2.3.
func goldenData() (image, target []float32) {
	for i := range 2 * 8 * 16 * 16 {
		x := float64(i)
		image = append(image, float32(math.Sin(0.05*x)+0.3*math.Cos(0.31*x)))
		inside := float32(0)
		if math.Sin(0.02*x) > 0.2 {
			inside = 1
		}
		target = append(target, inside)
	}
	return image, target
}

func norm(x []float32) float64 {
	square := 0.0
	for _, v := range x {
		square += float64(v) * float64(v)
	}
	return math.Sqrt(square)
}

// The counts are those of §B2.1.
func TestParameterCounts(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   int
	}{{DefaultConfig(3), 342_321}, {DefaultConfig(2), 119_825}} {
		n, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Model().ParameterCount(); got != c.want || len(n.Parameters()) != 43 {
			t.Errorf("%+v: %d parameters in %d arrays, want %d in 43", c.config, got, len(n.Parameters()), c.want)
		}
		total := 0
		for _, p := range n.StateDict() {
			total += elements(p.Shape)
		}
		if total != c.want {
			t.Errorf("%+v: the state dict has %d numbers", c.config, total)
		}
	}
}

// A plan's count of operations is two for each of the multiplications of §B2.1, and a
// little for the norms.
func TestPlanCountsItsOperations(t *testing.T) {
	for _, c := range []struct {
		axes     int
		sides    [3]int
		multiply float64
	}{
		{3, [3]int{16, 32, 32}, 772.0e6}, {3, [3]int{16, 64, 64}, 3088e6}, {2, [3]int{1, 64, 64}, 100.3e6},
	} {
		n, err := New(DefaultConfig(c.axes))
		if err != nil {
			t.Fatal(err)
		}
		plan, err := n.Plan(t.Context(), PlanOptions{Batch: 1, Sides: c.sides})
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, s := range plan.Steps {
			switch s.Op.(type) {
			case nn.Conv3D, nn.ConvTranspose3D:
				got += float64(s.FLOPs) / 2
			}
		}
		if math.Abs(got-c.multiply) > 0.001*c.multiply {
			t.Errorf("%v: %.1f million multiplications, want %.1f", c.sides, got/1e6, c.multiply/1e6)
		}
	}
}

func TestImpossibleNetworksAndPlansAreRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Axes = 4 }, "axes = 4: must be 2 or 3"},
		{func(c *Config) { c.Filters = c.Filters[:1] }, "1 levels of filters: must be 2 to 6"},
		{func(c *Config) { c.Filters = []int{16, 0} }, "0 filters: must be 1 to 512"},
	} {
		config := DefaultConfig(3)
		c.change(&config)
		if _, err := New(config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", config, err, c.want)
		}
	}
	volumes, err := New(DefaultConfig(3))
	if err != nil {
		t.Fatal(err)
	}
	planes, err := New(DefaultConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		net     *Network
		options PlanOptions
		want    string
	}{
		{volumes, PlanOptions{Batch: 0, Sides: [3]int{4, 4, 4}}, "batch = 0: must be positive"},
		{volumes, PlanOptions{Batch: 1, Sides: [3]int{4, 6, 4}}, "sides of 4x6x4: must be divisible by 4"},
		{planes, PlanOptions{Batch: 1, Sides: [3]int{4, 4, 4}}, "4 planes at a time for a network of planes: must be 1"},
		{volumes, PlanOptions{Batch: 1, Sides: [3]int{4, 4, 4}, Train: true}, "training needs a loss"},
		{volumes, PlanOptions{Batch: 1, Sides: [3]int{4, 4, 4}, Loss: 3}, "loss 3: must be DiceBCE or MeanSquare"},
	} {
		if _, err := c.net.Plan(t.Context(), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.options, err, c.want)
		}
	}
}

// More levels and other filters make a network, too, and checkpointing changes its memory
// and not one bit of its training.
func TestOtherNetworksTrain(t *testing.T) {
	config := Config{Axes: 2, Filters: []int{5, 8, 16, 24}, Seed: 3}
	train := func(checkpointing bool) ([]weights.Tensor, int64) {
		p := load(t, config, PlanOptions{Batch: 3, Sides: [3]int{1, 24, 16}, Loss: MeanSquare, Train: true, Checkpointing: checkpointing}, cpu.Options{Threads: 2})
		image := make([]float32, 3*24*16)
		for i := range image {
			image[i] = float32(math.Sin(0.3 * float64(i)))
		}
		p.Write(ImageInput, image)
		p.Write(TargetInput, image[:3*24*16])
		p.Write(nn.LearningRateInput, []float32{1e-2})
		first := 0.0
		for step := range 20 {
			p.Run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
			if step == 0 {
				first = p.Scalar(LossOutput)
			}
		}
		if last := p.Scalar(LossOutput); !(last < 0.5*first) {
			t.Errorf("the loss went from %g to %g", first, last)
		}
		return p.net.Weights(p.State), p.Plan.ArenaBytes
	}
	plain, most := train(false)
	again, less := train(true)
	for i, w := range plain {
		if !slices.Equal(w.Values, again[i].Values) {
			t.Errorf("%s differs with checkpointing", w.Name)
		}
	}
	if less >= most {
		t.Errorf("%d bytes with checkpointing, %d without", less, most)
	}
}

// Files of weights are read back; an array of another network is refused by its name.
func TestWeightsAreReadBack(t *testing.T) {
	net, err := New(DefaultConfig(2))
	if err != nil {
		t.Fatal(err)
	}
	all, path := net.Seeded(5), t.TempDir()+"/cells.safetensors"
	if err := weights.Write(path, all); err != nil {
		t.Fatal(err)
	}
	read, _, err := net.ReadWeights(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range read {
		if w.Name != all[i].Name || !slices.Equal(w.Values, all[i].Values) {
			t.Errorf("%s differs from %s", w.Name, all[i].Name)
		}
	}
	p := load(t, DefaultConfig(2), PlanOptions{Batch: 1, Sides: [3]int{1, 8, 8}}, cpu.Options{Threads: 1})
	read[3].Name = "down.norm9.weight"
	if err := p.net.SetWeights(p.State, read); err == nil || !strings.Contains(err.Error(), "down.norm9.weight") {
		t.Errorf("%v, want an error that names the array", err)
	}
}

// program is a plan on the CPU with seeded weights.
type program struct {
	*nntest.Program
	net *Network
}

func load(t testing.TB, c Config, o PlanOptions, options cpu.Options) *program {
	t.Helper()
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := n.Plan(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	backend, err := cpu.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	p := &program{nntest.Load(t, backend, n.model, plan), n}
	if err := n.SetWeights(p.State, n.Seeded(12345)); err != nil {
		t.Fatal(err)
	}
	return p
}
