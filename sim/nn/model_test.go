package nn_test

import (
	"context"
	"math"
	"reflect"
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

func initialValues(t *testing.T, m *nn.Model, name string) []float32 {
	t.Helper()
	i, ok := m.Index(name)
	if !ok {
		t.Fatalf("no variable %q", name)
	}
	return initial(t, m)[i].Initial
}

// initial are a model's variables with their first values.
func initial(t *testing.T, m *nn.Model) []nn.Variable {
	t.Helper()
	variables, err := m.InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return variables
}

// PyTorch's distributions (spec/prism.md §1.3). With 65,536 draws the mean of
// U(−b, b) has a standard error of b/443 and its variance one of 0.0012·b², those
// of the normal distribution 1/256 and 0.0056; five of them are allowed.
func TestInitialDistributions(t *testing.T) {
	m := nn.NewModel(nn.ModelOptions{Seed: 42})
	g := nn.NewGraph(m)
	shape := tensor.Shape{64, 64, 4, 4}
	g.Parameter("uniform", shape, nn.FanInUniform(1024))
	g.Parameter("normal", shape, nn.Normal())
	g.Parameter("one", tensor.Shape{3}, nn.Constant(1))
	b := 1.0 / 32
	x := initialValues(t, m, "uniform")
	mean, variance, largest := moments(x)
	if math.Abs(mean) > 5*b/443 || math.Abs(variance-b*b/3) > 5*0.0012*b*b || largest > b || largest < 0.999*b {
		t.Errorf("uniform: mean %g, variance %g of %g, largest %g of %g", mean, variance, b*b/3, largest, b)
	}
	mean, variance, largest = moments(initialValues(t, m, "normal"))
	if math.Abs(mean) > 5.0/256 || math.Abs(variance-1) > 5*0.0056 || largest < 3.5 {
		t.Errorf("normal: mean %g, variance %g, largest %g", mean, variance, largest)
	}
	if got := initialValues(t, m, "one"); !reflect.DeepEqual(got, []float32{1, 1, 1}) {
		t.Errorf("constant: %v", got)
	}
}

func moments(x []float32) (mean, variance, largest float64) {
	for _, v := range x {
		mean += float64(v)
		largest = max(largest, math.Abs(float64(v)))
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, variance / float64(len(x)), largest
}

func TestInitialValuesFollowSeedAndName(t *testing.T) {
	draw := func(seed uint64, name string, others ...string) []float32 {
		m := nn.NewModel(nn.ModelOptions{Seed: seed})
		g := nn.NewGraph(m)
		for _, o := range others {
			g.Parameter(o, tensor.Shape{7}, nn.Normal())
		}
		g.Parameter(name, tensor.Shape{5}, nn.Normal())
		return initialValues(t, m, name)
	}
	a := draw(1, "a")
	if !reflect.DeepEqual(a, draw(1, "a", "x", "y")) {
		t.Error("other parameters change a parameter's first values")
	}
	if reflect.DeepEqual(a, draw(2, "a")) || reflect.DeepEqual(a, draw(1, "b")) {
		t.Error("another seed or name gives the same values")
	}
}

// recorder is a State that records resets.
type recorder struct {
	nn.State
	reset map[int]bool
}

func (r recorder) Zero(_ context.Context, v int) error {
	r.reset[v] = true
	return nil
}

func TestResetMomentsLeavesWeightsAndScaler(t *testing.T) {
	m := nn.NewModel(nn.ModelOptions{AMSGrad: true})
	nn.NewGraph(m).Parameter("w", tensor.Shape{2}, nn.Normal())
	r := recorder{reset: map[int]bool{}}
	if err := m.ResetMoments(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, v := range m.Variables() {
		if r.reset[i] {
			got = append(got, v.Name)
		}
	}
	if want := []string{nn.StepVariable, "w.m", "w.v", "w.vmax"}; !reflect.DeepEqual(got, want) {
		t.Errorf("reset %v, want %v", got, want)
	}
}
