package nn_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// network is a small one with everything a plan can hold: a layer, a skip
// connection, a crop, two measurements and their losses.
func network(m *nn.Model) (*nn.Graph, nn.Value) {
	g := nn.NewGraph(m)
	g.Layer("stem", nn.PhaseForward)
	x := g.Parameter("latent", tensor.Shape{1, 4, 3, 3}, nn.Normal())
	w0 := g.Parameter("w0", tensor.Shape{4, 2, 4, 4}, nn.FanInUniform(32))
	x = g.BatchNorm("bn", g.ConvTranspose2D(x, w0, nn.Value{}, 2, 1, 0), nn.BatchNormOptions{Eps: 1e-5, Momentum: 0.1, BatchStatistics: true})
	g.Layer("skip", nn.PhaseForward)
	w1 := g.Parameter("w1", tensor.Shape{2, 2, 3, 3}, nn.FanInUniform(18))
	a := g.Activation(x, nn.ReLU)
	a = g.Add(a, g.Conv2D(a, w1, nn.Value{}, 1, 1))
	g.Layer("head", nn.PhaseForward)
	w2 := g.Parameter("w2", tensor.Shape{1, 4, 3, 3}, nn.FanInUniform(36))
	b2 := g.Parameter("b2", tensor.Shape{1}, nn.Constant(0))
	y := g.CropPad(g.Conv2D(g.Concat(a, x), w2, b2, 1, 0), 12)
	g.Output("y", y)
	g.EndForward(y)

	plane := tensor.Shape{12, 12}
	g.Layer("telescope old", nn.PhaseTelescope)
	old := g.Telescope(y, g.Input("mask_old", plane))
	g.Layer("telescope new", nn.PhaseTelescope)
	fresh := g.Telescope(y, g.Input("mask_new", plane))
	g.Layer("loss", nn.PhaseLoss)
	target := g.Input("target", tensor.Shape{1, 1, 12, 12})
	loss := g.WeightedSum([]float32{1, 0.5}, g.Loss(old, target, nn.L1, true), g.Loss(fresh, target, nn.SSIM, false))
	g.Output("loss", loss)
	return g, loss
}

func compile(t *testing.T, m *nn.Model, o nn.Options) *nn.Plan {
	t.Helper()
	g, loss := network(m)
	p, err := nn.Compile(t.Context(), g, loss, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSegmentsAndPhases(t *testing.T) {
	for _, amp := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float16} {
		p := compile(t, nn.NewModel(nn.ModelOptions{}), nn.Options{Train: true, AMP: amp})
		allowed := [nn.NumSegments][]nn.Phase{
			{nn.PhaseForward}, {nn.PhaseTelescope, nn.PhaseLoss}, {nn.PhaseBackward, nn.PhaseOptimizer},
		}
		at := 0
		for s, r := range p.Segments {
			if r[0] != at || r[1] <= r[0] {
				t.Errorf("%v: segment %d is %v, after %d", amp, s, r, at)
			}
			at = r[1]
			for _, step := range p.Steps[r[0]:r[1]] {
				ok := false
				for _, phase := range allowed[s] {
					ok = ok || step.Phase == phase
				}
				if !ok {
					t.Errorf("%v: %q of segment %d is of phase %v", amp, step.Name, s, step.Phase)
				}
			}
		}
		if at != len(p.Steps) {
			t.Errorf("%v: segments end at %d of %d", amp, at, len(p.Steps))
		}
		checkPlan(t, p)
	}
}

// checkPlan checks properties of every plan: unique names, operands written
// before they are read, buffers inside the arena and never two in one place at a
// time.
func checkPlan(t *testing.T, p *nn.Plan) {
	t.Helper()
	names := map[string]bool{}
	written := map[nn.BufferID]bool{}
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Variable >= 0 {
			written[nn.BufferID(i)] = b.Category != nn.Gradients
		}
		if b.Category == nn.Inputs {
			written[nn.BufferID(i)] = true
		}
	}
	for _, s := range p.Steps {
		if names[s.Name] {
			t.Errorf("two steps are named %q", s.Name)
		}
		names[s.Name] = true
		for _, id := range s.In {
			if !written[id] {
				t.Errorf("%q reads %q before it is written", s.Name, p.Buffers[id].Name)
			}
		}
		for _, id := range s.Out {
			written[id] = true
		}
		if s.Bytes <= 0 || s.FLOPs < 0 {
			t.Errorf("%q: %d bytes, %d FLOPs", s.Name, s.Bytes, s.FLOPs)
		}
	}
	checkMemory(t, p)
}

func find(t *testing.T, p *nn.Plan, name string) nn.Step {
	t.Helper()
	for _, s := range p.Steps {
		if s.Name == name {
			return s
		}
	}
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Name)
	}
	t.Fatalf("no step %q among %s", name, strings.Join(names, ", "))
	return nn.Step{}
}

func TestValuesWithSeveralConsumersAddTheirGradients(t *testing.T) {
	p := compile(t, nn.NewModel(nn.ModelOptions{}), nn.Options{Train: true})
	sums := map[string]int{}
	for _, s := range p.Steps[p.Segments[nn.SegmentUpdate][0]:] {
		if _, ok := s.Op.(nn.Add); ok {
			sums[s.Name] = len(s.In)
		}
	}
	// The activation feeds the convolution, the sum; the normalised image the
	// activation and the concatenation; the output both telescopes.
	want := map[string]int{"skip add grad": 2, "stem add grad": 2, "head add grad": 2}
	if !reflect.DeepEqual(sums, want) {
		t.Errorf("gradients are added in %v, want %v", sums, want)
	}
}

func TestGradientsGoOnlyToParameters(t *testing.T) {
	m := nn.NewModel(nn.ModelOptions{})
	g := nn.NewGraph(m)
	x := g.Input("x", tensor.Shape{1, 2, 6, 6})
	w := g.Parameter("w", tensor.Shape{1, 2, 3, 3}, nn.Normal())
	unused := g.Parameter("unused", tensor.Shape{1, 2, 3, 3}, nn.Normal())
	y := g.Conv2D(x, w, nn.Value{}, 1, 1)
	dead := g.Conv2D(x, unused, nn.Value{}, 1, 1)
	loss := g.Loss(y, g.Input("target", tensor.Shape{1, 1, 6, 6}), nn.L2, false)
	p, err := nn.Compile(t.Context(), g, loss, nn.Options{Train: true})
	if err != nil {
		t.Fatal(err)
	}
	if !dead.Exists() {
		t.Fatal("the dead branch was not built")
	}
	adams := 0
	for _, s := range p.Steps {
		switch s.Op.(type) {
		case nn.Conv2DGradInput:
			t.Errorf("%q: the gradient of an input is computed", s.Name)
		case nn.Adam:
			adams++
		}
		if strings.Contains(s.Name, "unused") {
			t.Errorf("%q: nothing needs it", s.Name)
		}
	}
	if adams != 1 {
		t.Errorf("%d parameters are updated, want 1", adams)
	}
}

func TestEvaluationPlanHasNoUpdate(t *testing.T) {
	p := compile(t, nn.NewModel(nn.ModelOptions{}), nn.Options{})
	if r := p.Segments[nn.SegmentUpdate]; r[0] != r[1] || r[1] != len(p.Steps) {
		t.Errorf("update segment %v of %d steps", r, len(p.Steps))
	}
	if _, ok := p.Input(nn.LearningRateInput); ok {
		t.Error("an evaluation plan asks for a learning rate")
	}
	checkPlan(t, p)
}

func TestRunningStatisticsHaveNoGradient(t *testing.T) {
	g := newGraph()
	g.Layer("layer 2", nn.PhaseForward)
	x := g.Parameter("x", tensor.Shape{1, 1, 4, 4}, nn.Normal())
	y := g.BatchNorm("bn", x, nn.BatchNormOptions{Eps: 1e-5})
	loss := g.Loss(y, g.Input("t", tensor.Shape{1, 1, 4, 4}), nn.L1, false)
	if _, err := nn.Compile(t.Context(), g, loss, nn.Options{Train: true}); err == nil || !strings.Contains(err.Error(), "layer 2") {
		t.Errorf("error %v, want one that names the layer", err)
	}
}

func TestCompileRefuses(t *testing.T) {
	g := newGraph()
	x := g.Input("x", tensor.Shape{4, 4})
	loss := g.Loss(x, x, nn.L1, false)
	for _, c := range []struct {
		name    string
		loss    nn.Value
		options nn.Options
		want    string
	}{
		{"no loss", nn.Value{}, nn.Options{Train: true}, "needs a loss"},
		{"nothing to do", nn.Value{}, nn.Options{}, "neither outputs nor a loss"},
		{"no parameter", loss, nn.Options{Train: true}, "no parameter"},
		{"loss of another graph", newGraph().Input("l", nil), nn.Options{Train: true}, "another graph"},
		{"image as loss", x, nn.Options{}, "not a scalar"},
		{"complex precision", loss, nn.Options{AMP: tensor.Complex64}, "complex64"},
		{"split products of 16 bit", loss, nn.Options{AMP: tensor.Float16, Products: nn.BF16x3}, "bf16x3 products of fp16"},
		{"TF32 products of 16 bit", loss, nn.Options{AMP: tensor.BFloat16, Products: nn.TF32}, "tf32 products of bf16"},
		{"products of no kind", loss, nn.Options{Products: 7}, "products of kind 7"},
	} {
		if _, err := nn.Compile(t.Context(), g, c.loss, c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

// The types that PyTorch's autocast gives (spec/prism.md §5.7).
func TestMixedPrecisionTypes(t *testing.T) {
	for _, amp := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
		p := compile(t, nn.NewModel(nn.ModelOptions{}), nn.Options{Train: true, AMP: amp})
		for _, c := range []struct {
			step    string
			in, out []tensor.DType
		}{
			{"stem convT", []tensor.DType{amp, amp}, []tensor.DType{amp}},
			{"stem BN", []tensor.DType{amp, 0, 0, 0, 0}, []tensor.DType{amp, 0, 0, 0, 0}},
			{"skip activation", []tensor.DType{amp}, []tensor.DType{amp}},
			{"skip add", []tensor.DType{amp, amp}, []tensor.DType{amp}},
			{"head concat", []tensor.DType{amp, amp}, []tensor.DType{amp}},
			{"head conv", []tensor.DType{amp, amp, 0}, []tensor.DType{amp}},
			{"head cast", []tensor.DType{amp}, []tensor.DType{0}},
			{"head place", []tensor.DType{0}, []tensor.DType{0}},
			{"telescope old spectrum FFT", []tensor.DType{0}, []tensor.DType{tensor.Complex64}},
			{"telescope old FFT", []tensor.DType{tensor.Complex64}, []tensor.DType{tensor.Complex64}},
			{"loss loss", []tensor.DType{0, 0}, []tensor.DType{0, 0}},
			{"head place grad", []tensor.DType{0}, []tensor.DType{0}},
			{"head cast grad", []tensor.DType{0}, []tensor.DType{amp}},
			{"head conv dW", []tensor.DType{amp, amp}, []tensor.DType{0}},
			{"head bias grad", []tensor.DType{amp}, []tensor.DType{0}},
			{"head conv dX", []tensor.DType{amp, amp}, []tensor.DType{amp}},
			{"stem BN grad", []tensor.DType{amp, amp, 0, 0, 0}, []tensor.DType{amp, 0, 0}},
			{"stem convT dW", []tensor.DType{amp, amp}, []tensor.DType{0}},
			{"stem cast grad", []tensor.DType{amp}, []tensor.DType{0}},
		} {
			s := find(t, p, c.step)
			if in, out := types(p, s.In), types(p, s.Out); !reflect.DeepEqual(in, c.in) || !reflect.DeepEqual(out, c.out) {
				t.Errorf("%v: %q: %v to %v, want %v to %v", amp, c.step, in, out, c.in, c.out)
			}
		}
		casts := 0
		for _, s := range p.Steps {
			if _, ok := s.Op.(nn.Cast); ok && strings.Contains(s.Name, "weight") {
				casts++
			}
		}
		if casts != 3 {
			t.Errorf("%v: %d conversions of 3 weights", amp, casts)
		}
	}
}

// Split products change how convolutions multiply, and nothing else of a plan.
func TestSplitProductsAreTheConvolutions(t *testing.T) {
	exact := compile(t, nn.NewModel(nn.ModelOptions{}), nn.Options{Train: true})
	split := compile(t, nn.NewModel(nn.ModelOptions{}), nn.Options{Train: true, Products: nn.BF16x3})
	if len(split.Steps) != len(exact.Steps) || split.ArenaBytes != exact.ArenaBytes {
		t.Fatalf("%d steps in %d bytes, %d in %d without", len(split.Steps), split.ArenaBytes, len(exact.Steps), exact.ArenaBytes)
	}
	for i, s := range split.Steps {
		want := nn.Exact
		if strings.Contains(s.Name, "conv") && !strings.Contains(s.Name, "Adam") {
			want = nn.BF16x3
		}
		if s.Products != want || exact.Steps[i].Products != nn.Exact {
			t.Errorf("%q: %v products, want %v", s.Name, s.Products, want)
		}
	}
}

func types(p *nn.Plan, ids []nn.BufferID) []tensor.DType {
	d := make([]tensor.DType, len(ids))
	for i, id := range ids {
		d[i] = p.Buffers[id].DType
	}
	return d
}

func TestOnlyFloat16HasAScaler(t *testing.T) {
	for amp, want := range map[tensor.DType]bool{tensor.Float32: false, tensor.BFloat16: false, tensor.Float16: true} {
		p := compile(t, nn.NewModel(nn.ModelOptions{}), nn.Options{Train: true, AMP: amp})
		_, scale := p.Output(nn.GradientScaleOutput)
		_, found := p.Output(nn.OverflowOutput)
		if scale != want || found != want {
			t.Errorf("%v: outputs scale %v, overflow %v", amp, scale, found)
		}
		counts := map[reflect.Type]int{}
		for _, s := range p.Steps {
			counts[reflect.TypeOf(s.Op)]++
			if a, ok := s.Op.(nn.Adam); ok && a.Scaler != want {
				t.Errorf("%v: %q: Scaler = %v", amp, s.Name, a.Scaler)
			}
		}
		unscales := counts[reflect.TypeOf(nn.Unscale{})]
		if want && unscales != 7 || !want && unscales != 0 {
			t.Errorf("%v: %d of 7 gradients are unscaled", amp, unscales)
		}
		if got := counts[reflect.TypeOf(nn.ScalerUpdate{})] == 1; got != want {
			t.Errorf("%v: scaler update %v", amp, got)
		}
	}
}

// Two parameters may have one gradient; each keeps its own array.
func TestSharedGradientIsCopied(t *testing.T) {
	m := nn.NewModel(nn.ModelOptions{})
	g := nn.NewGraph(m)
	shape := tensor.Shape{4, 4}
	a, b := g.Parameter("a", shape, nn.Normal()), g.Parameter("b", shape, nn.Normal())
	loss := g.Loss(g.Add(a, b), g.Input("t", shape), nn.L2, false)
	p, err := nn.Compile(t.Context(), g, loss, nn.Options{Train: true})
	if err != nil {
		t.Fatal(err)
	}
	written := map[int]int{}
	for _, s := range p.Steps {
		for _, id := range s.Out {
			written[p.Buffers[id].Variable]++
		}
	}
	for _, name := range []string{"a.grad", "b.grad"} {
		if i, _ := m.Index(name); written[i] != 1 {
			t.Errorf("%s is written %d times", name, written[i])
		}
	}
	checkPlan(t, p)
}

// Plans of different graphs, losses and precisions share the model's variables.
func TestPlansShareVariables(t *testing.T) {
	m := nn.NewModel(nn.ModelOptions{AMSGrad: true})
	full := compile(t, m, nn.Options{Train: true})
	before := len(m.Variables())
	half := compile(t, m, nn.Options{Train: true, AMP: tensor.Float16})
	g := nn.NewGraph(m)
	x := g.Parameter("latent", tensor.Shape{1, 4, 3, 3}, nn.Normal())
	g.Output("x", g.Scale(x, 2))
	other, err := nn.Compile(t.Context(), g, nn.Value{}, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.Variables()); n != before {
		t.Errorf("%d variables became %d", before, n)
	}
	for _, p := range []*nn.Plan{full, half, other} {
		for i := range p.Buffers {
			b := &p.Buffers[i]
			if b.Variable < 0 {
				continue
			}
			if v := m.Variables()[b.Variable]; v.Name != b.Name || !v.Shape.Equal(b.Shape) {
				t.Errorf("buffer %q %v is variable %q %v", b.Name, b.Shape, v.Name, v.Shape)
			}
		}
	}
	if g.Parameter("late", tensor.Shape{1}, nn.Normal()); g.Err() == nil {
		t.Error("a parameter can be declared after the variables were listed")
	}
}

// normalised is a normalisation, a ReLU and a convolution, whose plan's steps are
// named; expose names the result of the normalisation as an output.
func normalised(t *testing.T, expose bool) []string {
	t.Helper()
	g := nn.NewGraph(nn.NewModel(nn.ModelOptions{}))
	g.Layer("stem", nn.PhaseForward)
	x := g.Parameter("latent", tensor.Shape{1, 2, 4, 4}, nn.Normal())
	x = g.BatchNorm("bn", x, nn.BatchNormOptions{Eps: 1e-5, Momentum: 0.1, BatchStatistics: true})
	if expose {
		g.Output("bn", x)
	}
	x = g.Activation(x, nn.ReLU)
	x = g.Conv2D(x, g.Parameter("w", tensor.Shape{1, 2, 3, 3}, nn.FanInUniform(18)), nn.Value{}, 1, 1)
	g.Output("y", x)
	target := g.Input("target", tensor.Shape{1, 1, 4, 4})
	p, err := nn.Compile(t.Context(), g, g.Loss(x, target, nn.L1, false), nn.Options{Train: true})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range p.Steps {
		if strings.Contains(s.Name, "BN") || strings.Contains(s.Name, "activation") {
			names = append(names, s.Name)
		}
	}
	return names
}

func TestReLUJoinsTheNormalisationThatNobodyElseReads(t *testing.T) {
	if got, want := normalised(t, false), []string{"stem BN+ReLU", "stem BN+ReLU grad"}; !reflect.DeepEqual(got, want) {
		t.Errorf("steps %q, want %q", got, want)
	}
	if got, want := normalised(t, true), []string{"stem BN", "stem activation", "stem activation grad", "stem BN grad"}; !reflect.DeepEqual(got, want) {
		t.Errorf("with an output between: steps %q, want %q", got, want)
	}
}

// resized compiles a convolution between an upsampling and a max-pooling, and another after an
// upsampling with two readers, and returns the names of the steps.
func resized(t *testing.T, o nn.Options) []string {
	t.Helper()
	g := nn.NewGraph(nn.NewModel(nn.ModelOptions{}))
	x := g.Input("x", tensor.Shape{1, 2, 4, 4})
	w := g.Parameter("w", tensor.Shape{2, 2, 3, 3}, nn.FanInUniform(18))
	x = g.MaxPool(g.Activation(g.Conv2D(x, w, nn.Value{}, 1, 1), nn.ReLU))
	x = g.Conv2D(g.Upsample(x), w, nn.Value{}, 1, 1)
	x = g.Upsample(x)
	x = g.Add(x, g.Conv2D(x, w, nn.Value{}, 1, 1))
	g.Output("y", x)
	p, err := nn.Compile(t.Context(), g, g.PoissonLoss(x, g.Input("target", x.Shape()), 1), o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range p.Steps[:p.Segments[nn.SegmentForward][1]] {
		names = append(names, s.Name)
	}
	return names
}

func TestConvolutionsTakeResizingInWithoutTraining(t *testing.T) {
	apart := []string{"conv+ReLU", "max-pool", "upsample", "conv", "upsample 2", "conv 2", "add", "Poisson loss"}
	for _, c := range []struct {
		o    nn.Options
		want []string
	}{
		{nn.Options{}, []string{"conv+ReLU+max-pool", "upsample+conv", "upsample", "conv", "add", "Poisson loss"}},
		{nn.Options{AMP: tensor.BFloat16}, []string{"cast", "weight cast", "conv+ReLU+max-pool", "upsample+conv", "upsample", "conv", "add", "cast 2", "Poisson loss"}},
		{nn.Options{AMP: tensor.Float16}, slices.Concat([]string{"cast", "weight cast"}, apart[:7], []string{"cast 2"}, apart[7:])},
		{nn.Options{Train: true}, apart},
		{nn.Options{Products: nn.Winograd}, apart},
		{nn.Options{Products: nn.BF16x3}, apart},
	} {
		if got := resized(t, c.o); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: steps %q, want %q", c.o, got, c.want)
		}
	}
}
