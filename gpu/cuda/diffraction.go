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
	x, y := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, x...); err != nil {
		return err
	}
	p := polarP{x[0].at, x[1].at, y[0].at, x[0].n()}
	return b.over("polar", p.N, parameter(&p))
}

func (b *ptychography) polarGrad() error {
	x, y := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, x[0], x[1], y[0], y[1]); err != nil {
		return err
	}
	p := polarGradP{x[0].at, x[1].at, x[2].at, y[0].at, y[1].at, x[0].n()}
	return b.over("polar_grad", p.N, parameter(&p))
}

// translate lowers the sum of patches on canvases, or, with out, their extraction.
func (b *ptychography) translate(kernel string, out bool) error {
	x, y := b.ins(), b.outs()
	patches, canvas := x[0], y[0]
	if out {
		patches, canvas = y[0], x[0]
	}
	s, t := patches.shape, canvas.shape
	if !patches.indexed() || !canvas.indexed() {
		return operandError("patches %v and canvas %v", s, t)
	}
	if err := mustBe(tensor.Float32, x[1]); err != nil {
		return err
	}
	p := patchesP{x[0].at, x[1].at, y[0].at, int32(y[0].n()), int32(s[1]), int32(s[2]), int32(t[2])}
	return b.over(kernel, y[0].n(), parameter(&p))
}

func (b *ptychography) divideByCoverage(op nn.DivideByCoverage) error {
	x, y := b.ins(), b.outs()
	s, offsets := x[0].shape, x[1].shape
	if !x[0].indexed() {
		return operandError("%v numbers", s)
	}
	if err := mustBe(tensor.Float32, x[1]); err != nil {
		return err
	}
	p := coverageP{Z: x[0].at, Offsets: x[1].at, Y: y[0].at, N: int32(x[0].n()), Channels: int32(offsets[1]),
		Side: int32(s[2]), Support: int32(op.Support), Epsilon: op.Epsilon}
	return b.over("divide_by_coverage", x[0].n(), parameter(&p))
}

func (b *ptychography) probeMultiply(op nn.ProbeMultiply) error {
	x, y := b.ins(), b.outs()
	h, w := x[0].shape.Plane()
	if err := mustBe(tensor.Float32, x[1]); err != nil {
		return err
	}
	p := probeP{Z: x[0].at, Probe: x[1].at, Y: y[0].at, N: x[0].n(), Plane: int64(h * w), Conjugate: flag(op.Conjugate)}
	return b.over("probe_multiply", p.N, parameter(&p))
}

// intensity lowers |z|², or its gradient.
func (b *ptychography) intensity(gradient bool) error {
	if gradient {
		x, y := b.ins(), b.outs()
		if err := mustBe(tensor.Float32, x[1]); err != nil {
			return err
		}
		p := intensityP{Z: x[0].at, GY: x[1].at, GZ: y[0].at, N: x[0].n()}
		return b.over("intensity_grad", p.N, parameter(&p))
	}
	x, y := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, y[0]); err != nil {
		return err
	}
	p := intensityP{Z: x[0].at, Y: y[0].at, N: x[0].n()}
	return b.over("intensity", p.N, parameter(&p))
}

func (b *ptychography) expScale(op nn.ExpScale) error {
	x, y := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, x[1]); err != nil {
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
	return b.total(float64(op.Epsilon), 1/float64(b.ins()[0].n()))
}

// total lowers a factor times the sum of terms of two arrays; see terms of diffraction.cu for epsilon.
func (b *ptychography) total(epsilon, factor float64) error {
	x, y := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, y[0]); err != nil {
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
	x, y := b.ins(), b.outs()
	if err := mustBe(tensor.Float32, x[2]); err != nil {
		return err
	}
	p := poissonGradP{P: x[0].at, T: x[1].at, G: x[2].at, GP: y[0].at, N: x[0].n(), Epsilon: float64(op.Epsilon),
		PType: x[0].kind(), TType: x[1].kind(), GPType: y[0].kind()}
	return b.over("poisson_grad", p.N, parameter(&p))
}
