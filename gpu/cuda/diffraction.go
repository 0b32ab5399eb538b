package cuda

import (
	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Ptychography: fields from amplitude and phase, patches and their sums, probes, intensities, and the loss of counts.

// ptychography lowers the operators of diffraction patterns.
type ptychography struct{ *builder }

func (b *ptychography) lower() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.Polar:
		return true, b.polar()
	case nn.PolarGrad:
		return true, b.polarGrad()
	case nn.SumPatches:
		return true, b.translate("sum_patches", false)
	case nn.ExtractPatches:
		return true, b.translate("extract_patches", true)
	case nn.DivideByCoverage:
		return true, b.divideByCoverage(op)
	case nn.ProbeMultiply:
		return true, b.probeMultiply(op)
	case nn.Intensity:
		return true, b.intensity(false)
	case nn.IntensityGrad:
		return true, b.intensity(true)
	case nn.ExpScale:
		return true, b.expScale(op)
	case nn.ExpScaleGrad:
		return true, b.expScaleGrad(op)
	case nn.PoissonLoss:
		return true, b.poissonLoss(op)
	case nn.PoissonLossGrad:
		return true, b.poissonLossGrad(op)
	}
	return false, nil
}

// typed checks that operands have one shape, and the element types that begin with the first one's.
func typed(all []operand, types ...tensor.DType) error {
	for i, o := range all {
		if !o.shape.Equal(all[0].shape) {
			return operandError("%v and %v", all[0].shape, o.shape)
		}
		if err := mustBe(types[i], o); err != nil {
			return err
		}
	}
	return nil
}

// polarP is PolarP of diffraction.cu, and so on below.
type polarP struct {
	A, Phase, Z driver.Pointer
	N           int64
}

type polarGradP struct {
	A, Phase, GZ, GA, GPhase driver.Pointer
	N                        int64
}

type patchesP struct {
	X, Offsets, Y              driver.Pointer
	N, Channels, Patch, Canvas int32
}

type coverageP struct {
	Z, Offsets, Y              driver.Pointer
	N, Channels, Side, Support int32
	Epsilon                    float32
	_                          int32
}

type probeP struct {
	Z, Probe, Y driver.Pointer
	N, Plane    int64
	Conjugate   int32
	_           int32
}

type intensityP struct {
	Z, GY, Y, GZ driver.Pointer
	N            int64
}

type expScaleP struct {
	X, S, Y      driver.Pointer
	N            int64
	Power        float32
	XType, YType int32
	_            int32
}

type termsP struct {
	X, Y, Sums   driver.Pointer
	N            int64
	Epsilon      float64
	XType, YType int32
}

type termsTotalP struct {
	Sums, Y driver.Pointer
	Factor  float64
	Blocks  int32
	_       int32
}

type poissonGradP struct {
	P, T, G, GP          driver.Pointer
	N                    int64
	Epsilon              float64
	PType, TType, GPType int32
	_                    int32
}

func (b *ptychography) polar() error {
	x, y, err := b.operands(2, 1)
	if err != nil {
		return err
	}
	if err := typed([]operand{x[0], x[1], y[0]}, tensor.Float32, tensor.Float32, tensor.Complex64); err != nil {
		return err
	}
	p := polarP{x[0].at, x[1].at, y[0].at, x[0].n()}
	return b.over("polar", p.N, parameter(&p))
}

func (b *ptychography) polarGrad() error {
	x, y, err := b.operands(3, 2)
	if err != nil {
		return err
	}
	all := []operand{x[0], x[1], x[2], y[0], y[1]}
	if err := typed(all, tensor.Float32, tensor.Float32, tensor.Complex64, tensor.Float32, tensor.Float32); err != nil {
		return err
	}
	p := polarGradP{x[0].at, x[1].at, x[2].at, y[0].at, y[1].at, x[0].n()}
	return b.over("polar_grad", p.N, parameter(&p))
}

// translate lowers the sum of patches on canvases, or, with out, their extraction.
func (b *ptychography) translate(kernel string, out bool) error {
	x, y, err := b.operands(2, 1)
	if err != nil {
		return err
	}
	patches, canvas := x[0], y[0]
	if out {
		patches, canvas = y[0], x[0]
	}
	s, t := patches.shape, canvas.shape
	if len(s) != 4 || len(t) != 4 || s[2] != s[3] || t[2] != t[3] || (t[2]-s[2])%2 != 0 || t[0] != s[0] || t[1] != 1 ||
		!x[1].shape.Equal(tensor.Shape{s[0], s[1], 2}) || !patches.indexed() || !canvas.indexed() || patches.n() < 1 ||
		canvas.n() < 1 {
		return operandError("patches %v, canvas %v and offsets %v", s, t, x[1].shape)
	}
	if err := typed([]operand{x[1]}, tensor.Float32); err != nil {
		return err
	}
	if err := mustBe(tensor.Complex64, patches, canvas); err != nil {
		return err
	}
	p := patchesP{x[0].at, x[1].at, y[0].at, int32(y[0].n()), int32(s[1]), int32(s[2]), int32(t[2])}
	return b.over(kernel, y[0].n(), parameter(&p))
}

func (b *ptychography) divideByCoverage(op nn.DivideByCoverage) error {
	x, y, err := b.operands(2, 1)
	if err != nil {
		return err
	}
	s, offsets := x[0].shape, x[1].shape
	if len(s) != 4 || s[1] != 1 || s[2] != s[3] || len(offsets) != 3 || offsets[0] != s[0] || offsets[2] != 2 ||
		op.Support < 1 || op.Support > s[2] || (s[2]-op.Support)%2 != 0 || !x[0].indexed() {
		return operandError("%v, offsets %v and a support of %d", s, offsets, op.Support)
	}
	if err := typed([]operand{x[0], y[0]}, tensor.Complex64, tensor.Complex64); err != nil {
		return err
	}
	if err := mustBe(tensor.Float32, x[1]); err != nil {
		return err
	}
	p := coverageP{Z: x[0].at, Offsets: x[1].at, Y: y[0].at, N: int32(x[0].n()), Channels: int32(offsets[1]),
		Side: int32(s[2]), Support: int32(op.Support), Epsilon: op.Epsilon}
	return b.over("divide_by_coverage", x[0].n(), parameter(&p))
}

func (b *ptychography) probeMultiply(op nn.ProbeMultiply) error {
	x, y, err := b.operands(2, 1)
	if err != nil {
		return err
	}
	_, h, w, err := planes(x[0])
	if err != nil {
		return err
	}
	if !x[1].shape.Equal(tensor.Shape{2, h, w}) {
		return operandError("probe %v for planes of %v", x[1].shape, x[0].shape)
	}
	if err := typed([]operand{x[0], y[0]}, tensor.Complex64, tensor.Complex64); err != nil {
		return err
	}
	if err := mustBe(tensor.Float32, x[1]); err != nil {
		return err
	}
	p := probeP{Z: x[0].at, Probe: x[1].at, Y: y[0].at, N: x[0].n(), Plane: int64(h * w), Conjugate: flag(op.Conjugate)}
	return b.over("probe_multiply", p.N, parameter(&p))
}

// intensity lowers |z|², or its gradient.
func (b *ptychography) intensity(gradient bool) error {
	if gradient {
		x, y, err := b.operands(2, 1)
		if err != nil {
			return err
		}
		if err := typed([]operand{x[0], x[1], y[0]}, tensor.Complex64, tensor.Float32, tensor.Complex64); err != nil {
			return err
		}
		p := intensityP{Z: x[0].at, GY: x[1].at, GZ: y[0].at, N: x[0].n()}
		return b.over("intensity_grad", p.N, parameter(&p))
	}
	x, y, err := b.operands(1, 1)
	if err != nil {
		return err
	}
	if err := typed([]operand{x[0], y[0]}, tensor.Complex64, tensor.Float32); err != nil {
		return err
	}
	p := intensityP{Z: x[0].at, Y: y[0].at, N: x[0].n()}
	return b.over("intensity", p.N, parameter(&p))
}

// scalarOf checks that operands are single numbers of float32.
func scalarOf(all ...operand) error {
	for _, o := range all {
		if o.n() != 1 {
			return operandError("%v is no scalar", o.shape)
		}
	}
	return mustBe(tensor.Float32, all...)
}

func (b *ptychography) expScale(op nn.ExpScale) error {
	x, y, err := b.operands(2, 1)
	if err != nil {
		return err
	}
	if err := alike(x[0], y[0]); err != nil {
		return err
	}
	if err := scalarOf(x[1]); err != nil {
		return err
	}
	p := expScaleP{X: x[0].at, S: x[1].at, Y: y[0].at, N: x[0].n(), Power: op.Power, XType: x[0].kind(),
		YType: y[0].kind()}
	return b.over("exp_scale", p.N, parameter(&p))
}

func (b *ptychography) expScaleGrad(op nn.ExpScaleGrad) error {
	return b.total(0, float64(op.Power))
}

func (b *ptychography) poissonLoss(op nn.PoissonLoss) error {
	if len(b.step.In) != 2 || !(op.Epsilon > 0) {
		return operandError("%d operands, epsilon %g", len(b.step.In), op.Epsilon)
	}
	return b.total(float64(op.Epsilon), 1/float64(b.ins()[0].n()))
}

// total lowers a factor times the sum of terms of two arrays; see terms of diffraction.cu for epsilon.
func (b *ptychography) total(epsilon, factor float64) error {
	x, y, err := b.operands(2, 1)
	if err != nil {
		return err
	}
	if err := alike(x[0], x[1]); err != nil {
		return err
	}
	if err := scalarOf(y[0]); err != nil {
		return err
	}
	n := x[0].n()
	blocks := int(min((n+blockThreads-1)/blockThreads, lossBlocks))
	p := termsP{X: x[0].at, Y: x[1].at, Sums: b.scratch(int64(blocks) * 8), N: n, Epsilon: epsilon, XType: x[0].kind(),
		YType: x[1].kind()}
	if err := b.launch("terms", driver.X(blocks), driver.X(blockThreads), 0, parameter(&p)); err != nil {
		return err
	}
	total := termsTotalP{Sums: p.Sums, Y: y[0].at, Factor: factor, Blocks: int32(blocks)}
	return b.launch("terms_total", driver.X(1), driver.X(blockThreads), 0, parameter(&total))
}

func (b *ptychography) poissonLossGrad(op nn.PoissonLossGrad) error {
	x, y, err := b.operands(3, 1)
	if err != nil {
		return err
	}
	if err := alike(x[0], x[1], y[0]); err != nil {
		return err
	}
	if err := scalarOf(x[2]); err != nil {
		return err
	}
	p := poissonGradP{P: x[0].at, T: x[1].at, G: x[2].at, GP: y[0].at, N: x[0].n(), Epsilon: float64(op.Epsilon),
		PType: x[0].kind(), TType: x[1].kind(), GPType: y[0].kind()}
	return b.over("poisson_grad", p.N, parameter(&p))
}
