package nn

// An Op is the computation of one step of a plan. Ops are plain values: a backend
// switches on their type and provides a kernel for each (see Backend).
//
// Conventions are PyTorch's: images are [N, C, H, W], Conv2D weights
// [out, in, kh, kw], ConvTranspose2D weights [in, out, kh, kw]. Every "In:" and
// "Out:" list below is the order of Step.In and Step.Out. Operands are float32
// unless the plan's buffer says bf16 or fp16; a kernel then computes in float32
// on the widened values and rounds its result to nearest even once, when storing.
// Reductions accumulate in float64 if that is free, and always in a fixed order,
// whatever the number of threads.
type Op interface {
	// opName returns the operation's name for step names and errors.
	opName() string
	// flops returns the number of additions and multiplications for operands and
	// results of these shapes; other functions count as one each.
	flops(in, out []spec) int64
}

// Conv2D is cross-correlation with zero padding.
//
//	y[n,o,i,j] = b[o] + Σ x[n,c, i·Stride−Pad+ky, j·Stride−Pad+kx] · w[o,c,ky,kx]
//
// With ReLU, y = max(0, that): the compiler fuses a ReLU into the convolution before it
// if the value between them has no other reader. In the same way it fuses, in plans without
// training, an Upsample of x (Up) and a MaxPool of y (Pool).
// In: x, w, and b if the layer has a bias. Out: y.
type Conv2D struct {
	Stride, Pad int
	ReLU        bool
	Up, Pool    bool
}

// Conv2DGradInput is ∂L/∂x of Conv2D. In: gy, w. Out: gx.
type Conv2DGradInput struct{ Stride, Pad int }

// Conv2DGradWeight is ∂L/∂w of Conv2D. In: x, gy. Out: gw (float32).
type Conv2DGradWeight struct{ Stride, Pad int }

// ConvTranspose2D scatters each input pixel through the kernel:
//
//	y[n,o, Stride·i−Pad+ky, Stride·j−Pad+kx] += x[n,c,i,j] · w[c,o,ky,kx]
//
// plus b[o]. OutputPad adds rows and columns at the end, as in PyTorch. ReLU is as in
// Conv2D. In: x, w, and b if the layer has a bias. Out: y.
type ConvTranspose2D struct {
	Stride, Pad, OutputPad int
	ReLU                   bool
}

// ConvTranspose2DGradInput is ∂L/∂x of ConvTranspose2D. In: gy, w. Out: gx.
type ConvTranspose2DGradInput struct{ Stride, Pad int }

// ConvTranspose2DGradWeight is ∂L/∂w of ConvTranspose2D. In: x, gy. Out: gw (float32).
type ConvTranspose2DGradWeight struct{ Stride, Pad int }

// BiasGrad sums gy over every axis but the channel. In: gy [N,C,H,W]. Out: gb [C] (float32).
type BiasGrad struct{}

// BatchNorm normalises each channel over N, H and W.
//
// In training mode it uses the batch's mean and biased variance, and moves the
// running statistics by Momentum, the running variance with the unbiased one:
// running = (1−Momentum)·running + Momentum·batch. Otherwise it uses the
// running statistics and leaves them alone.
// In: x, gamma, beta, runningMean, runningVar (all [C] float32 but x).
// With ReLU, y = max(0, the normalised value): the compiler fuses a ReLU into the
// normalisation before it if the value between them has no other reader. Out: y,
// and in training mode mean [C], inverseStd [C], which BatchNormGrad reads,
// runningMean, runningVar (the same buffers as the inputs).
type BatchNorm struct {
	Eps, Momentum float32
	Train         bool
	ReLU          bool
}

// BatchNormGrad is the gradient of a training-mode BatchNorm, with ReLU if the
// BatchNorm has it. In: x, gy, gamma, mean, inverseStd, and beta with ReLU. Out:
// gx, ggamma, gbeta.
type BatchNormGrad struct{ ReLU bool }

// ActivationKind names an element-wise function.
type ActivationKind uint8

// The activations of PRISM's decoder (spec/prism.md §1.3).
const (
	ReLU         ActivationKind = iota
	LeakyReLU                   // x, or 0.2·x below 0
	Sigmoid                     // 1/(1+e^−x)
	HardSigmoid                 // clamp(x/6 + 1/2, 0, 1)
	ScaleSigmoid                // 1.02·sigmoid(x) − 0.01
	Tanh
)

// Activation applies Kind to each element. In: x. Out: y.
type Activation struct{ Kind ActivationKind }

// ActivationGrad is ∂L/∂x of Activation, computed from its output: the
// gradient of ReLU at 0 is 0. In: y, gy. Out: gx.
type ActivationGrad struct{ Kind ActivationKind }

// Place copies a plane into another at an offset and fills the rest with 0;
// offsets may be negative, which crops: y[i,j] = x[i−Top, j−Left] where that
// exists. Its gradient is Place with negated offsets. In: x. Out: y; only the
// last two axes may differ.
type Place struct{ Top, Left int }

// Add is the element-wise sum of its inputs. In: two or more of one shape, all
// real or all complex64. Out: y.
type Add struct{}

// Scale multiplies by a constant. In: x. Out: y.
type Scale struct{ Factor float32 }

// Concat joins images along the channel axis. In: two or more. Out: y.
type Concat struct{}

// Channels copies the channels [From, From+C of the output) of an image.
// In: x. Out: y.
type Channels struct{ From int }

// Cast converts between element types, rounding to nearest even. In: x. Out: y.
type Cast struct{}

// FFT is the centred orthonormal transform of the last two axes:
// fftshift(fft2(ifftshift(x)))/√(H·W), DC at [H/2, W/2]; Inverse is its inverse,
// which is also its adjoint (spec/prism.md §2.2). A float32 input is taken as
// real; a float32 output keeps the real part. In: x. Out: y, one of them complex64.
type FFT struct{ Inverse bool }

// MaskMultiply multiplies each plane by a real mask [H, W] (0 outside, 1 inside
// an aperture). It is its own adjoint. In: z complex64, mask float32. Out: complex64.
type MaskMultiply struct{}

// ModulusFlip is y[i,j] = |z[H−1−i, W−1−j]|. In: z complex64. Out: y float32.
type ModulusFlip struct{}

// ModulusFlipGrad is flip(gy)·z/|z|, and 0 where z is 0 (spec/prism.md §2.2).
// In: z complex64, gy. Out: gz complex64.
type ModulusFlipGrad struct{}

// LossKind names a loss between a prediction and a target plane.
type LossKind uint8

// The losses of spec/prism.md §5.5. SSIM is (1−SSIM)/2, MSSSIM (1−MS-SSIM)/2.
const (
	L1 LossKind = iota
	L2
	SSIM
	MSSSIM
)

// Loss compares two planes and returns a scalar. Normalize divides L1 by
// mean|target|+1e-8 and L2 by mean(target²)+1e-8; SSIM ignores it. In: prediction,
// target (float32 of one shape [...,H,W], one plane). Out: loss (scalar), saved:
// the data for LossGrad, LossSaved(kind, H, W) float32 elements.
type Loss struct {
	Kind      LossKind
	Normalize bool
}

// LossGrad is upstream·∂loss/∂prediction. In: prediction, target, saved,
// upstream (scalar). Out: gprediction.
type LossGrad struct {
	Kind      LossKind
	Normalize bool
}

// WeightedSum is Σ Weights[i]·In[i] of scalars. In: scalars. Out: scalar.
type WeightedSum struct{ Weights []float32 }

// Seed starts the backward pass: Out = Weight, or Weight·scale under a gradient
// scaler. In: scale (scalar) or nothing. Out: scalar.
type Seed struct{ Weight float32 }

// Unscale divides a gradient by the scale and sets found to 1 if an element is
// not finite; else found keeps its value. In: g, scale, found. Out: g, found (the
// same buffers).
type Unscale struct{}

// Fill sets every element to a constant. Out: y.
type Fill struct{ Value float32 }

// AdamStep advances the step counter by one unless found is 1. In: step, and
// found under a gradient scaler. Out: step (the same buffer).
type AdamStep struct{}

// Adam updates one parameter array in place (spec/prism.md §5.4):
//
//	m = β1·m + (1−β1)·g;  v = β2·v + (1−β2)·g²
//	p −= lr · (m/(1−β1^k)) / (√(v/(1−β2^k)) + ε)
//
// with k the step counter; AMSGrad keeps the running maximum of v in the
// denominator. Decay is PyTorch's weight_decay, an L2 penalty: g + Decay·p takes the
// place of g. Nothing changes when found is 1.
// In: g, lr (scalar), step (scalar), p, m, v, then vmax with AMSGrad, then
// found under a gradient scaler. Out: p, m, v, then vmax with AMSGrad (the same buffers).
type Adam struct {
	Beta1, Beta2, Eps float32
	Decay             float32
	AMSGrad           bool
	Scaler            bool
}

// ScalerUpdate is PyTorch's GradScaler: an overflow multiplies the scale by
// 0.5; Interval good steps in a row multiply it by 2 (spec/prism.md §5.7).
// In: found, scale, good. Out: scale, good (the same buffers).
type ScalerUpdate struct{ Interval int }

func (o Conv2D) opName() string                  { return o.name() }
func (Conv2DGradInput) opName() string           { return "conv dX" }
func (Conv2DGradWeight) opName() string          { return "conv dW" }
func (o ConvTranspose2D) opName() string         { return "convT" + joined(o.ReLU) }
func (ConvTranspose2DGradInput) opName() string  { return "convT dX" }
func (ConvTranspose2DGradWeight) opName() string { return "convT dW" }
func (BiasGrad) opName() string                  { return "bias grad" }
func (o BatchNorm) opName() string               { return "BN" + joined(o.ReLU) }
func (o BatchNormGrad) opName() string           { return "BN" + joined(o.ReLU) + " grad" }
func (Activation) opName() string                { return "activation" }
func (ActivationGrad) opName() string            { return "activation grad" }
func (Place) opName() string                     { return "place" }
func (Add) opName() string                       { return "add" }
func (Scale) opName() string                     { return "scale" }
func (Concat) opName() string                    { return "concat" }
func (Channels) opName() string                  { return "channels" }
func (Cast) opName() string                      { return "cast" }
func (FFT) opName() string                       { return "FFT" }
func (MaskMultiply) opName() string              { return "mask" }
func (ModulusFlip) opName() string               { return "modulus" }
func (ModulusFlipGrad) opName() string           { return "modulus grad" }
func (Loss) opName() string                      { return "loss" }
func (LossGrad) opName() string                  { return "loss grad" }
func (WeightedSum) opName() string               { return "weighted sum" }
func (Seed) opName() string                      { return "seed" }
func (Unscale) opName() string                   { return "unscale" }
func (Fill) opName() string                      { return "fill" }
func (AdamStep) opName() string                  { return "Adam step" }
func (Adam) opName() string                      { return "Adam" }
func (ScalerUpdate) opName() string              { return "scaler" }

// joined returns the part of an operation's name that mentions its ReLU.
func joined(relu bool) string {
	if relu {
		return "+ReLU"
	}
	return ""
}
