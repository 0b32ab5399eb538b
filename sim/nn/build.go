package nn

import (
	"fmt"

	"prismtop/sim/tensor"
)

// LearningRateInput is a scalar input of every training plan.
const LearningRateInput = "lr"

// Conv2D is a convolution of an image by weights [out, in, kh, kw] with a bias
// [out] or none.
func (g *Graph) Conv2D(x, weight, bias Value, stride, pad int) Value {
	return g.apply(Conv2D{Stride: stride, Pad: pad}, x, weight, bias)
}

// ConvTranspose2D is a transposed convolution of an image by weights
// [in, out, kh, kw] with a bias [out] or none.
func (g *Graph) ConvTranspose2D(x, weight, bias Value, stride, pad, outputPad int) Value {
	return g.apply(ConvTranspose2D{Stride: stride, Pad: pad, OutputPad: outputPad}, x, weight, bias)
}

// BatchNormOptions configures a BatchNorm; see the operator.
type BatchNormOptions struct {
	Eps, Momentum   float32
	BatchStatistics bool // training mode
}

// BatchNorm normalises each channel of an image. It declares name.weight,
// name.bias, name.running_mean and name.running_var, one value per channel,
// initially 1, 0, 0 and 1.
func (g *Graph) BatchNorm(name string, x Value, o BatchNormOptions) Value {
	if _, ok := g.use(x); !ok {
		return Value{}
	}
	if err := image(spec{shape: x.Shape()}); err != nil {
		return g.fail(fmt.Errorf("BN %w", err))
	}
	c := tensor.Shape{x.Shape()[1]}
	return g.apply(BatchNorm{Eps: o.Eps, Momentum: o.Momentum, Train: o.BatchStatistics}, x,
		g.Parameter(name+".weight", c, Constant(1)),
		g.Parameter(name+".bias", c, Constant(0)),
		g.Statistic(name+".running_mean", c, Constant(0)),
		g.Statistic(name+".running_var", c, Constant(1)))
}

// Activation applies a function to each element.
func (g *Graph) Activation(x Value, kind ActivationKind) Value {
	return g.apply(Activation{Kind: kind}, x)
}

// CropPad brings the last two axes to target×target by PRISM's rule
// (spec/prism.md §1.4): if the target is at least the longest axis, it pads with
// zeros, the smaller half first; else it crops the window from ⌊(h−target)/2⌋+1
// on, one pixel later than the centred one.
func (g *Graph) CropPad(x Value, target int) Value {
	if _, ok := g.use(x); !ok {
		return Value{}
	}
	longest := 0
	for _, d := range x.Shape() {
		longest = max(longest, d)
	}
	if len(x.Shape()) < 2 || target < 1 {
		return g.fail(fmt.Errorf("crop or pad %v to %d: needs planes and a positive size", x.Shape(), target))
	}
	h, w := x.Shape().Plane()
	if h == target && w == target && target >= longest {
		return x
	}
	top, left := (target-h)/2, (target-w)/2
	if target < longest {
		if h <= target || w <= target {
			return g.fail(fmt.Errorf("crop %v to %d: both sides must be longer", x.Shape(), target))
		}
		top, left = -((h-target)/2 + 1), -((w-target)/2 + 1)
	}
	return g.apply(place{Place{Top: top, Left: left}, target, target}, x)
}

// Place puts each plane of x at (top, left) of an h×w plane of zeros; negative
// offsets crop.
func (g *Graph) Place(x Value, top, left, h, w int) Value {
	return g.apply(place{Place{Top: top, Left: left}, h, w}, x)
}

// Add is the element-wise sum of values of one shape.
func (g *Graph) Add(x ...Value) Value { return g.apply(Add{}, x...) }

// Scale multiplies by a constant.
func (g *Graph) Scale(x Value, factor float32) Value { return g.apply(Scale{Factor: factor}, x) }

// Mean is the element-wise mean of values of one shape.
func (g *Graph) Mean(x ...Value) Value {
	if len(x) == 1 {
		return x[0]
	}
	return g.Scale(g.Add(x...), 1/float32(len(x)))
}

// Concat joins images along the channel axis.
func (g *Graph) Concat(x ...Value) Value { return g.apply(Concat{}, x...) }

// FFT is the centred orthonormal transform of the last two axes, complex64.
func (g *Graph) FFT(x Value) Value { return g.apply(FFT{}, x) }

// MaskMultiply multiplies each complex plane by a mask [H, W].
func (g *Graph) MaskMultiply(z, mask Value) Value { return g.apply(MaskMultiply{}, z, mask) }

// ModulusFlip is the modulus of a complex plane, both axes reversed.
func (g *Graph) ModulusFlip(z Value) Value { return g.apply(ModulusFlip{}, z) }

// Telescope adds the amplitude of a field seen through an aperture (spec/prism.md
// §2.2): flip|F(mask · F(x))|. The field is given as an image, or as its spectrum
// if another measurement has computed it.
func (g *Graph) Telescope(x, mask Value) Value {
	id, ok := g.use(x)
	if !ok {
		return Value{}
	}
	spectrum := x
	if g.values[id].dtype != tensor.Complex64 {
		layer := g.layer
		g.layer += " spectrum"
		spectrum = g.FFT(x)
		g.layer = layer
	}
	return g.ModulusFlip(g.FFT(g.MaskMultiply(spectrum, mask)))
}

// Loss compares a prediction with a target plane and returns a scalar; see the
// operator. The target gets no gradient.
func (g *Graph) Loss(prediction, target Value, kind LossKind, normalize bool) Value {
	return g.apply(Loss{Kind: kind, Normalize: normalize}, prediction, target)
}

// WeightedSum is Σ weights[i]·x[i] of scalars.
func (g *Graph) WeightedSum(weights []float32, x ...Value) Value {
	return g.apply(WeightedSum{Weights: weights}, x...)
}
