package nn

import (
	"errors"
	"fmt"

	"prismtop/sim/tensor"
)

// Operators of networks on volumes (spec/ptycho-cyto.md §B2). A volume is
// [N, D, H, W, C], its channels last; a plane is a volume of depth 1. Weights are
// PyTorch's, [out, in, kd, kh, kw], and [in, out, kd, kh, kw] of a transposed
// convolution; without kd they have a depth of 1, for planes.

// Conv3D is cross-correlation with a padding of half the kernel, so that a side s
// becomes ⌈s/Stride⌉. Kernels have odd sides. Several volumes of one grid are
// convolved as one with the channels of all.
//
//	y[n,p,o] = b[o] + Σ x[n, Stride·p − ⌊k/2⌋ + k, c] · w[o,c,k]
//
// In: w, then b with Bias, then one or more volumes. Out: y.
type Conv3D struct {
	Stride int
	Bias   bool
}

// Conv3DGradInput is ∂L/∂x of the volume of a Conv3D whose first channel is First
// among those of all. In: gy, w. Out: gx.
type Conv3DGradInput struct{ Stride, First int }

// Conv3DGradWeight is ∂L/∂w of Conv3D, and ∂L/∂b with Bias. In: gy, then the volumes.
// Out: gw, then gb with Bias (float32).
type Conv3DGradWeight struct {
	Stride int
	Bias   bool
}

// ConvTranspose3D enlarges every side by that of the kernel, which is also the
// stride: the voxels of a block come from one voxel.
//
//	y[n, size·p + k, o] = Σ x[n,p,c] · w[c,o,k]
//
// In: x, w. Out: y.
type ConvTranspose3D struct{}

// ConvTranspose3DGradInput is ∂L/∂x of ConvTranspose3D. In: gy, w. Out: gx.
type ConvTranspose3DGradInput struct{}

// ConvTranspose3DGradWeight is ∂L/∂w of ConvTranspose3D. In: x, gy. Out: gw (float32).
type ConvTranspose3DGradWeight struct{}

// InstanceNorm normalises each channel of each volume by its mean and biased
// variance, adds the residual if there is one, and applies a leaky ReLU:
//
//	y = leaky(gamma·(x − mean)/√(variance + Eps) + beta + residual)
//
// with leaky(v) = v, or Slope·v below 0; a Slope of 1 leaves v as it is.
// In: x, gamma, beta (both [C] float32), then a residual of x's shape with Residual. y has
// x's type; the statistics are float32 and computed from x as it is.
// Out: y, mean [N, C], inverseStd [N, C].
type InstanceNorm struct {
	Eps, Slope float32
	Residual   bool
}

// InstanceNormGrad is the gradient of InstanceNorm. The sign of y shows which values
// the leaky ReLU scaled. In: x, y, gy, gamma, mean, inverseStd. Out: gx, ggamma,
// gbeta, and the residual's gradient with Residual.
type InstanceNormGrad struct {
	Slope    float32
	Residual bool
}

// DiceBCE is both terms of the segmentation loss of §B2.2, of logits z and targets t.
// With p = sigmoid(z), and sums over one item, a slice of the first axis:
//
//	Dice: the mean over items of 1 − (2·Σpt + Smooth)/(Σp + Σt + Smooth)
//	BCE:  the mean over elements of max(z, 0) − z·t + ln(1 + e^−|z|)
//
// In: z, t of one shape. Out: both terms [2], p, factors [N, 2] for the gradient.
type DiceBCE struct{ Smooth float32 }

// DiceBCEGrad is ∂L/∂z of DiceBCE. In: p, t, factors, upstream [2]. Out: gz.
type DiceBCEGrad struct{}

// SquaredError is the mean of (x − t)². In: x, t of one shape. Out: a scalar.
type SquaredError struct{}

// SquaredErrorGrad is ∂L/∂x of SquaredError. In: x, t, upstream (scalar). Out: gx.
type SquaredErrorGrad struct{}

func (Conv3D) opName() string                    { return "conv" }
func (Conv3DGradInput) opName() string           { return "conv dX" }
func (Conv3DGradWeight) opName() string          { return "conv dW" }
func (ConvTranspose3D) opName() string           { return "convT" }
func (ConvTranspose3DGradInput) opName() string  { return "convT dX" }
func (ConvTranspose3DGradWeight) opName() string { return "convT dW" }
func (InstanceNorm) opName() string              { return "instance norm" }
func (InstanceNormGrad) opName() string          { return "instance norm grad" }
func (DiceBCE) opName() string                   { return "Dice+BCE" }
func (DiceBCEGrad) opName() string               { return "Dice+BCE grad" }
func (SquaredError) opName() string              { return "squared error" }
func (SquaredErrorGrad) opName() string          { return "squared error grad" }

// Conv3D convolves volumes of one grid, with a bias or none.
func (g *Graph) Conv3D(weight, bias Value, stride int, x ...Value) Value {
	op, in := Conv3D{Stride: stride, Bias: bias.Exists()}, []Value{weight}
	if op.Bias {
		in = append(in, bias)
	}
	return g.apply(op, append(in, x...)...)
}

// ConvTranspose3D enlarges a volume by the sides of the kernel.
func (g *Graph) ConvTranspose3D(x, weight Value) Value {
	return g.apply(ConvTranspose3D{}, x, weight)
}

// InstanceNorm normalises each channel of each volume, adds the residual if there is
// one, and applies a leaky ReLU. It declares name.weight and name.bias, initially 1
// and 0.
func (g *Graph) InstanceNorm(name string, x, residual Value, eps, slope float32) Value {
	if _, ok := g.use(x); !ok {
		return Value{}
	}
	if err := volume(spec{shape: x.Shape()}); err != nil {
		return g.fail(fmt.Errorf("instance norm %w", err))
	}
	c := tensor.Shape{x.Shape()[4]}
	return g.apply(InstanceNorm{Eps: eps, Slope: slope, Residual: residual.Exists()}, x,
		g.Parameter(name+".weight", c, Constant(1)), g.Parameter(name+".bias", c, Constant(0)), residual)
}

// DiceBCE compares logits with targets; see the operator. The targets get no gradient.
func (g *Graph) DiceBCE(logits, targets Value, smooth float32) (dice, bce, probability Value) {
	all := g.applyAll(DiceBCE{Smooth: smooth}, 2, logits, targets)
	return g.apply(Element{Index: 0}, all[0]), g.apply(Element{Index: 1}, all[0]), all[1]
}

// SquaredError is the mean squared difference; the target gets no gradient.
func (g *Graph) SquaredError(x, target Value) Value { return g.apply(SquaredError{}, x, target) }

// volume checks that a spec has the axes [N, D, H, W, C].
func volume(s spec) error {
	if len(s.shape) != 5 {
		return fmt.Errorf("needs a volume [N, D, H, W, C], not %v", s.shape)
	}
	return nil
}

// KernelSides returns the sides of the kernel of a volume's weights: depth, height and
// width. ok is false unless the weights have four or five axes.
func KernelSides(w tensor.Shape) (sides [3]int, ok bool) {
	switch len(w) {
	case 4:
		return [3]int{1, w[2], w[3]}, true
	case 5:
		return [3]int{w[2], w[3], w[4]}, true
	}
	return sides, false
}

// kernelSides is KernelSides with an error.
func kernelSides(w tensor.Shape) ([3]int, error) {
	k, ok := KernelSides(w)
	if !ok {
		return k, fmt.Errorf("needs weights of four or five axes, not %v", w)
	}
	return k, nil
}

// mostVolumes bounds the volumes that are convolved as one.
const mostVolumes = 16

// volumes returns the position of the first volume among the operands.
func (o Conv3D) volumes() int {
	if o.Bias {
		return 2
	}
	return 1
}

func (o Conv3D) infer(in []spec) ([]result, error) {
	first := o.volumes()
	if err := operands(in, first+1, first+mostVolumes); err != nil {
		return nil, err
	}
	w := in[0].shape
	k, err := kernelSides(w)
	if err != nil {
		return nil, err
	}
	if o.Bias && !in[1].shape.Equal(tensor.Shape{w[0]}) {
		return nil, fmt.Errorf("bias has shape %v, not %d", in[1].shape, w[0])
	}
	if o.Stride < 1 || k[0]%2 == 0 || k[1]%2 == 0 || k[2]%2 == 0 {
		return nil, fmt.Errorf("stride %d, kernel %v: needs a positive stride and odd sides", o.Stride, k)
	}
	x, channels := in[first].shape, 0
	for _, s := range in[first:] {
		if err := volume(s); err != nil {
			return nil, err
		}
		if !s.shape[:4].Equal(x[:4]) {
			return nil, fmt.Errorf("of %v and %v together", x, s.shape)
		}
		channels += s.shape[4]
	}
	if channels != w[1] {
		return nil, fmt.Errorf("weights %v take %d channels, the volumes have %d", w, w[1], channels)
	}
	y := tensor.Shape{x[0], 0, 0, 0, w[0]}
	for i := 1; i <= 3; i++ {
		y[i] = (x[i]-1)/o.Stride + 1
	}
	return one(y, in[first].dtype), nil
}

func (Conv3D) precision() precision { return reducedAll }

func (o Conv3D) backward(b *backward, t *taped, gy BufferID) error {
	w, volumes := t.in[0], t.in[o.volumes():]
	bias := o.Bias && b.wants(t.in[1])
	if b.wants(w) || bias {
		in, out := append([]BufferID{gy}, volumes...), []spec{b.float32Like(w)}
		if o.Bias {
			out = append(out, b.float32Like(t.in[1]))
		}
		g := b.emitAll(t, Conv3DGradWeight(o), in, out...)
		b.give(w, g[0])
		if o.Bias {
			b.give(t.in[1], g[1])
		}
	}
	first := 0
	for _, x := range volumes {
		if b.wants(x) {
			b.give(x, b.emit(t, Conv3DGradInput{o.Stride, first}, []BufferID{gy, w}, b.like(x)))
		}
		first += b.shape(x)[4]
	}
	return nil
}

func (ConvTranspose3D) infer(in []spec) ([]result, error) {
	if err := operands(in, 2, 2); err != nil {
		return nil, err
	}
	if err := volume(in[0]); err != nil {
		return nil, err
	}
	x, w := in[0].shape, in[1].shape
	k, err := kernelSides(w)
	if err != nil {
		return nil, err
	}
	if w[0] != x[4] {
		return nil, fmt.Errorf("weights %v take %d channels, the volume %v has %d", w, w[0], x, x[4])
	}
	return one(tensor.Shape{x[0], k[0] * x[1], k[1] * x[2], k[2] * x[3], w[1]}, in[0].dtype), nil
}

func (ConvTranspose3D) precision() precision { return reduced }

func (ConvTranspose3D) backward(b *backward, t *taped, gy BufferID) error {
	x, w := t.in[0], t.in[1]
	if b.wants(w) {
		b.give(w, b.emit(t, ConvTranspose3DGradWeight{}, []BufferID{x, gy}, b.float32Like(w)))
	}
	if b.wants(x) {
		b.give(x, b.emit(t, ConvTranspose3DGradInput{}, []BufferID{gy, w}, b.like(x)))
	}
	return nil
}

func (o InstanceNorm) infer(in []spec) ([]result, error) {
	want := 3
	if o.Residual {
		want = 4
	}
	if err := operands(in, want, want); err != nil {
		return nil, err
	}
	if err := volume(in[0]); err != nil {
		return nil, err
	}
	x := in[0].shape
	c := tensor.Shape{x[4]}
	switch {
	case !in[1].shape.Equal(c) || !in[2].shape.Equal(c):
		return nil, fmt.Errorf("of %v with %v and %v for its channels", x, in[1].shape, in[2].shape)
	case o.Residual && !in[3].shape.Equal(x):
		return nil, fmt.Errorf("of %v with a residual of %v", x, in[3].shape)
	case !(o.Eps > 0) || !(o.Slope > 0) || o.Slope > 1:
		return nil, fmt.Errorf("with epsilon %g and slope %g: must be positive, the slope at most 1", o.Eps, o.Slope)
	}
	statistic := one(tensor.Shape{x[0], x[4]}, tensor.Float32)
	return append(append(one(x, in[0].dtype), statistic...), statistic...), nil
}

func (InstanceNorm) precision() precision { return follow }

func (o InstanceNorm) backward(b *backward, t *taped, gy BufferID) error {
	x, gamma, beta := t.in[0], t.in[1], t.in[2]
	op := InstanceNormGrad{Slope: o.Slope, Residual: o.Residual && b.wants(t.in[3])}
	out := []spec{b.like(x), b.float32Like(gamma), b.float32Like(beta)}
	if op.Residual {
		out = append(out, b.like(t.in[3]))
	}
	g := b.emitAll(t, op, []BufferID{x, t.out[0], gy, gamma, t.out[1], t.out[2]}, out...)
	b.give(x, g[0])
	b.give(gamma, g[1])
	b.give(beta, g[2])
	if op.Residual {
		b.give(t.in[3], g[3])
	}
	return nil
}

func (o DiceBCE) infer(in []spec) ([]result, error) {
	if err := alike(in); err != nil {
		return nil, err
	}
	z := in[0].shape
	if len(z) < 1 || !(o.Smooth > 0) {
		return nil, fmt.Errorf("of %v with %g added to the sums: needs items and a positive number", z, o.Smooth)
	}
	all := append(one(tensor.Shape{2}, tensor.Float32), one(z, tensor.Float32)...)
	return append(all, one(tensor.Shape{z[0], 2}, tensor.Float32)...), nil
}

// alike checks two real operands of one shape.
func alike(in []spec) error {
	if err := operands(in, 2, 2); err != nil {
		return err
	}
	if !in[0].shape.Equal(in[1].shape) || in[0].dtype == tensor.Complex64 || in[1].dtype == tensor.Complex64 {
		return fmt.Errorf("of %v %v against %v %v", in[0].dtype, in[0].shape, in[1].dtype, in[1].shape)
	}
	return nil
}

func (DiceBCE) precision() precision { return full }

func (DiceBCE) backward(b *backward, t *taped, gy BufferID) error {
	if b.wants(t.in[1]) {
		return errors.New("has no gradient to its target")
	}
	if len(b.given[t.out[1]]) > 0 {
		return errors.New("has no gradient of its probabilities")
	}
	in := []BufferID{t.out[1], t.in[1], t.out[2], gy}
	b.give(t.in[0], b.emit(t, DiceBCEGrad{}, in, b.like(t.in[0])))
	return nil
}

func (SquaredError) infer(in []spec) ([]result, error) {
	if err := alike(in); err != nil {
		return nil, err
	}
	return one(nil, tensor.Float32), nil
}

func (SquaredError) precision() precision { return full }

func (SquaredError) backward(b *backward, t *taped, gy BufferID) error {
	if b.wants(t.in[1]) {
		return errors.New("has no gradient to its target")
	}
	in := []BufferID{t.in[0], t.in[1], gy}
	b.give(t.in[0], b.emit(t, SquaredErrorGrad{}, in, b.like(t.in[0])))
	return nil
}

// voxelFLOPs is the cost of using every weight once for each voxel of a grid: the
// output of a convolution, the input of a transposed one. Padding counts as values.
func voxelFLOPs(grid, weight spec) int64 {
	return 2 * grid.elements() / int64(grid.shape[4]) * weight.elements()
}

func (o Conv3D) flops(in, out []spec) int64 {
	n := voxelFLOPs(out[0], in[0])
	if o.Bias {
		n += out[0].elements()
	}
	return n
}

// The channels of one volume are a part of those of the weights.
func (Conv3DGradInput) flops(in, out []spec) int64 {
	return voxelFLOPs(in[0], in[1]) * int64(out[0].shape[4]) / int64(in[1].shape[1])
}

func (o Conv3DGradWeight) flops(in, out []spec) int64 {
	n := voxelFLOPs(in[0], out[0])
	if o.Bias {
		n += in[0].elements()
	}
	return n
}

func (ConvTranspose3D) flops(in, _ []spec) int64             { return voxelFLOPs(in[0], in[1]) }
func (ConvTranspose3DGradInput) flops(in, out []spec) int64  { return voxelFLOPs(out[0], in[1]) }
func (ConvTranspose3DGradWeight) flops(in, out []spec) int64 { return voxelFLOPs(in[0], out[0]) }

// A norm takes two passes over the values, its gradient as well.
func (InstanceNorm) flops(in, _ []spec) int64     { return 8 * in[0].elements() }
func (InstanceNormGrad) flops(in, _ []spec) int64 { return 12 * in[0].elements() }
func (DiceBCE) flops(in, _ []spec) int64          { return 12 * in[0].elements() }
func (DiceBCEGrad) flops(in, _ []spec) int64      { return 8 * in[0].elements() }
func (SquaredError) flops(in, _ []spec) int64     { return 3 * in[0].elements() }
func (SquaredErrorGrad) flops(in, _ []spec) int64 { return 2 * in[0].elements() }
