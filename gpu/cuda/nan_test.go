package cuda_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// poisoned are the places of NaNs in an array.
type poisoned []int

// of puts NaNs with the bits of the GPU's own into an array.
func (p poisoned) of(x nntest.Array) nntest.Array {
	for _, i := range p {
		x.Values[i] = math.Float32frombits(0x7fffffff)
	}
	return x
}

// nanTest is an operator on arrays with NaNs.
type nanTest struct {
	name string
	op   nn.Op
	in   []nntest.Array
	out  []nntest.Result
}

// A NaN spreads as on the processor: the results have it at the same places.
func TestNaNStaysOne(t *testing.T) {
	host, err := cpu.New(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	device := emulatedAs(t, 80)
	at := poisoned{3, 6, 21}
	one := nntest.Array{Shape: tensor.Shape{}, Values: []float32{1}}
	array := func(shape ...int) nntest.Array { return normal(tensor.Float32, uint64(len(shape)), shape...) }
	result := func(shape ...int) nntest.Result { return nntest.Result{Shape: shape} }
	var tests []nanTest
	for kind := nn.ReLU; kind <= nn.Tanh; kind++ {
		name := fmt.Sprintf("activation %d", kind)
		tests = append(tests,
			nanTest{name, nn.Activation{Kind: kind}, []nntest.Array{at.of(array(30))}, []nntest.Result{result(30)}},
			nanTest{name + " gradient at NaN", nn.ActivationGrad{Kind: kind}, []nntest.Array{at.of(array(30)), array(30)}, []nntest.Result{result(30)}},
			nanTest{name + " gradient of NaN", nn.ActivationGrad{Kind: kind}, []nntest.Array{array(30), at.of(array(30))}, []nntest.Result{result(30)}})
	}
	for i := range 4 { // of a block of 2×2 pixels
		corner := poisoned{i/2*8 + i%2}
		tests = append(tests, nanTest{fmt.Sprintf("pooling %d", i), nn.MaxPool{}, []nntest.Array{corner.of(array(1, 1, 8, 8))}, []nntest.Result{result(1, 1, 4, 4)}},
			nanTest{fmt.Sprintf("convolution and pooling %d", i), nn.Conv2D{Stride: 1, ReLU: true, Pool: true},
				[]nntest.Array{corner.of(array(1, 2, 8, 8)), array(2, 2, 1, 1), array(2)}, []nntest.Result{result(1, 2, 4, 4)}})
	}
	for _, side := range []int{5, 8} { // planes of any size, and of whole vectors
		for _, train := range []bool{false, true} {
			x, channel := at.of(array(1, 2, side, side)), result(2)
			tests = append(tests, nanTest{fmt.Sprintf("normalisation of %d×%d, training %t", side, side, train), nn.BatchNorm{Eps: 1e-5, Momentum: 0.1, Train: train, ReLU: true},
				[]nntest.Array{x, array(2), array(2), array(2), ones(2)}, normOutputs(train, result(1, 2, side, side), channel)})
		}
		tests = append(tests, nanTest{fmt.Sprintf("normalisation's gradient of %d×%d", side, side), nn.BatchNormGrad{ReLU: true},
			[]nntest.Array{at.of(array(1, 2, side, side)), array(1, 2, side, side), array(2), array(2), ones(2), array(2)}, []nntest.Result{result(1, 2, side, side), result(2), result(2)}})
	}
	volume, planes := func() nntest.Array { return array(1, 2, 3, 2, 5) }, result(1, 2, 3, 2, 5)
	tests = append(tests,
		nanTest{"convolution of a volume", nn.Conv3D{Stride: 1}, []nntest.Array{array(2, 5, 3, 3, 3), at.of(volume())}, []nntest.Result{result(1, 2, 3, 2, 2)}},
		nanTest{"its gradient", nn.Conv3DGradInput{Stride: 1}, []nntest.Array{at.of(volume()), array(5, 2, 3, 3, 3)}, []nntest.Result{result(1, 2, 3, 2, 2)}},
		nanTest{"its weights' gradient", nn.Conv3DGradWeight{Stride: 1, Bias: true}, []nntest.Array{volume(), at.of(volume())}, []nntest.Result{result(5, 5, 3, 3, 3), result(5)}},
		nanTest{"enlarging", nn.ConvTranspose3D{}, []nntest.Array{at.of(volume()), array(5, 2, 2, 2, 2)}, []nntest.Result{result(1, 4, 6, 4, 2)}},
		nanTest{"squared error", nn.SquaredError{}, []nntest.Array{at.of(volume()), volume()}, []nntest.Result{result()}},
		nanTest{"squared error's gradient", nn.SquaredErrorGrad{}, []nntest.Array{at.of(volume()), volume(), one}, []nntest.Result{planes}},
		nanTest{"Dice", nn.DiceBCE{Smooth: 1e-5}, []nntest.Array{at.of(volume()), volume()}, []nntest.Result{result(2), planes, result(1, 2)}},
		nanTest{"Dice of NaN targets", nn.DiceBCE{Smooth: 1e-5}, []nntest.Array{volume(), at.of(volume())}, []nntest.Result{result(2), planes, result(1, 2)}},
		nanTest{"Dice's gradient", nn.DiceBCEGrad{}, []nntest.Array{at.of(volume()), volume(), array(1, 2), array(2)}, []nntest.Result{planes}})
	for _, residual := range []bool{false, true} {
		in, gradients := []nntest.Array{at.of(volume()), array(5), array(5)}, []nntest.Result{planes, result(5), result(5)}
		statistics := []nntest.Array{array(5), array(1, 5), array(1, 5)}
		if residual {
			in, gradients = append(in[1:3:3], at.of(volume())), append(gradients, planes)
			in = append([]nntest.Array{volume()}, in...)
		}
		tests = append(tests, nanTest{fmt.Sprintf("instance norm, residual %t", residual), nn.InstanceNorm{Eps: 1e-5, Slope: 0.01, Residual: residual}, in, []nntest.Result{planes, result(1, 5), result(1, 5)}})
		for i, name := range []string{"image", "result", "gradient"} {
			operands := []nntest.Array{volume(), volume(), volume()}
			operands[i] = at.of(operands[i])
			tests = append(tests, nanTest{fmt.Sprintf("instance norm's gradient, NaN in the %s, residual %t", name, residual), nn.InstanceNormGrad{Slope: 0.01, Residual: residual},
				append(operands, statistics...), gradients})
		}
	}
	for _, kind := range []nn.LossKind{nn.L1, nn.L2, nn.SSIM, nn.MSSSIM} {
		saved := nntest.Array{Shape: tensor.Shape{nn.LossSaved(kind, 24, 24)}}
		tests = append(tests, nanTest{fmt.Sprintf("loss %d", kind), nn.Loss{Kind: kind}, []nntest.Array{at.of(array(24, 24)), array(24, 24)}, []nntest.Result{result(), {Shape: saved.Shape}}})
		if kind == nn.L1 || kind == nn.L2 {
			saved.Values = []float32{0.5}
			tests = append(tests, nanTest{fmt.Sprintf("gradient of loss %d", kind), nn.LossGrad{Kind: kind},
				[]nntest.Array{at.of(array(24, 24)), array(24, 24), saved, one}, []nntest.Result{result(24, 24)}})
		}
	}
	tests = append(tests, ptychographyOfNaN(array, result)...)
	inPlace := func(i int) nntest.Result { return nntest.Result{InPlace: true, Input: i} }
	tests = append(tests, nanTest{"AMSGrad", nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, AMSGrad: true},
		[]nntest.Array{at.of(array(30)), one, one, array(30), array(30), ones(30), ones(30)}, []nntest.Result{inPlace(3), inPlace(4), inPlace(5), inPlace(6)}})
	for _, tt := range tests {
		want, got := nntest.Apply(t, host, tt.op, tt.in, tt.out...), nntest.Apply(t, device, tt.op, tt.in, tt.out...)
		if len(want) != len(got) {
			t.Fatalf("%s: %d results, want %d", tt.name, len(got), len(want))
		}
		for k := range want {
			if _, ok := tt.op.(nn.Loss); ok && k > 0 {
				break // what a loss saves is the backend's own
			}
			for i, v := range want[k] {
				if (v != v) != (got[k][i] != got[k][i]) {
					t.Errorf("%s: result %d[%d] is %v, want %v", tt.name, k, i, got[k][i], v)
				}
			}
		}
	}
}

// The gradient of a pooling goes to the NaN, which the pooling took for the largest.
func TestPoolingsGradientOfNaN(t *testing.T) {
	device := emulatedAs(t, 80)
	for i := range 4 {
		x := normal(tensor.Float32, 1, 1, 1, 2, 2)
		x = poisoned{i}.of(x)
		got := nntest.Apply(t, device, nn.MaxPoolGrad{}, []nntest.Array{x, {Shape: tensor.Shape{1, 1, 1, 1}, Values: []float32{7}}}, nntest.Result{Shape: x.Shape})
		want := make([]float32, 4)
		want[i] = 7
		if !slices.Equal(got[0], want) {
			t.Errorf("with a NaN at %d: %v, want %v", i, got[0], want)
		}
	}
}

// A NaN of an operand is one in every sum that it belongs to, however the products are rounded.
func TestProductsOfNaN(t *testing.T) {
	for _, capability := range []int{75, 80} {
		device := emulatedAs(t, capability)
		for _, products := range []nn.Products{nn.Exact, nn.BF16x3, nn.TF32} {
			for _, side := range []int{3, 5} { // tiles, and any geometry
				x := poisoned{0}.of(normal(tensor.Float32, 1, 1, 16, 8, 8))
				got := run(t, device, nn.Conv2D{Stride: 1, Pad: side / 2}, products, []nntest.Array{x, normal(tensor.Float32, 2, 16, 16, side, side), normal(tensor.Float32, 3, 16)},
					nntest.Result{Shape: tensor.Shape{1, 16, 8, 8}})
				for i, v := range got {
					if near := i%64/8 <= side/2 && i%8 <= side/2; (v != v) != near {
						t.Errorf("sm_%d, products %d, %d×%d taps: result %d is %v", capability, products, side, side, i, v)
						break
					}
				}
			}
		}
	}
}

// ptychographyOfNaN are the operators of ptychography with a NaN in each operand.
func ptychographyOfNaN(array func(...int) nntest.Array, result func(...int) nntest.Result) (tests []nanTest) {
	field := func(shape ...int) nntest.Array {
		return nntest.Array{Shape: shape, DType: tensor.Complex64, Values: normal(tensor.Float32, 7, append(shape, 2)...).Values}
	}
	out := func(shape ...int) nntest.Result { return nntest.Result{Shape: shape, DType: tensor.Complex64} }
	one := nntest.Array{Shape: tensor.Shape{}, Values: []float32{1}}
	for _, c := range []struct {
		name string
		op   nn.Op
		in   func() []nntest.Array
		out  []nntest.Result
	}{
		{"softplus", nn.Softplus{}, func() []nntest.Array { return []nntest.Array{array(30)} }, []nntest.Result{result(30)}},
		{"softplus gradient", nn.SoftplusGrad{}, func() []nntest.Array { return []nntest.Array{array(30), array(30)} }, []nntest.Result{result(30)}},
		{"polar", nn.Polar{}, func() []nntest.Array { return []nntest.Array{array(30), array(30)} }, []nntest.Result{out(30)}},
		{"polar gradient", nn.PolarGrad{}, func() []nntest.Array { return []nntest.Array{array(30), array(30), field(30)} }, []nntest.Result{result(30), result(30)}},
		{"sum of patches", nn.SumPatches{}, func() []nntest.Array { return []nntest.Array{field(2, 4, 5, 5), array(2, 4, 2)} }, []nntest.Result{out(2, 1, 9, 9)}},
		{"patches", nn.ExtractPatches{}, func() []nntest.Array { return []nntest.Array{field(2, 1, 9, 9), array(2, 4, 2)} }, []nntest.Result{out(2, 4, 5, 5)}},
		{"coverage", nn.DivideByCoverage{Support: 3, Epsilon: 1e-3}, func() []nntest.Array { return []nntest.Array{field(2, 1, 9, 9), array(2, 4, 2)} }, []nntest.Result{out(2, 1, 9, 9)}},
		{"probe", nn.ProbeMultiply{}, func() []nntest.Array { return []nntest.Array{field(2, 5, 5), array(2, 5, 5)} }, []nntest.Result{out(2, 5, 5)}},
		{"intensity", nn.Intensity{}, func() []nntest.Array { return []nntest.Array{field(2, 5, 5)} }, []nntest.Result{result(2, 5, 5)}},
		{"intensity gradient", nn.IntensityGrad{}, func() []nntest.Array { return []nntest.Array{field(2, 5, 5), array(2, 5, 5)} }, []nntest.Result{out(2, 5, 5)}},
		{"exp scale", nn.ExpScale{Power: -1}, func() []nntest.Array { return []nntest.Array{array(30), one} }, []nntest.Result{result(30)}},
		{"exp scale gradient", nn.ExpScaleGrad{Power: -1}, func() []nntest.Array { return []nntest.Array{array(30), array(30)} }, []nntest.Result{result()}},
		{"Poisson loss", nn.PoissonLoss{Epsilon: 20}, func() []nntest.Array { return []nntest.Array{array(30), array(30)} }, []nntest.Result{result()}},
		{"Poisson loss of negative counts", nn.PoissonLoss{Epsilon: 1e-7}, func() []nntest.Array { return []nntest.Array{array(30), array(30)} }, []nntest.Result{result()}},
		{"Poisson loss gradient", nn.PoissonLossGrad{Epsilon: 1e-7}, func() []nntest.Array { return []nntest.Array{array(30), array(30), one} }, []nntest.Result{result(30)}},
	} {
		for i := range c.in() {
			in := c.in()
			if len(in[i].Values) > 21 {
				in[i] = poisoned{3, 6, 21}.of(in[i])
			} else {
				in[i] = nntest.Array{Shape: in[i].Shape, Values: slices.Clone(in[i].Values)}
				in[i] = poisoned{len(in[i].Values) / 2}.of(in[i])
			}
			tests = append(tests, nanTest{fmt.Sprintf("%s, operand %d", c.name, i), c.op, in, c.out})
		}
	}
	return tests
}

// ones is an array of ones.
func ones(n int) nntest.Array {
	a := nntest.Array{Shape: tensor.Shape{n}, Values: make([]float32, n)}
	for i := range a.Values {
		a.Values[i] = 1
	}
	return a
}

// normOutputs are the results of a normalisation, which saves statistics in training only.
func normOutputs(train bool, y, channel nntest.Result) []nntest.Result {
	if !train {
		return []nntest.Result{y}
	}
	return []nntest.Result{y, channel, channel, {InPlace: true, Input: 3}, {InPlace: true, Input: 4}}
}
