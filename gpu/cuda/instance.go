package cuda

import (
	"math"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Instance normalisation of volumes and its gradient: sums over parts of an image, their totals, the results.

// instanceG is InstanceG of instance.cu.
type instanceG struct{ Images, Voxels, Channels, Group, Part, Parts int32 }

// instanceP is InstanceP of instance.cu.
type instanceP struct {
	X, Residual, Y                   driver.Pointer
	Gamma, Beta, Mean, Inverse, Sums driver.Pointer
	Geometry                         instanceG
	XType, ResidualType, YType       int32
	Eps, Slope                       float32
	_                                int32
}

// instanceGradP is InstanceGradP of instance.cu.
type instanceGradP struct {
	X, Y, GY, GX, GResidual                     driver.Pointer
	Gamma, Mean, Inverse, GGamma, GBeta         driver.Pointer
	Sums, Means                                 driver.Pointer
	Geometry                                    instanceG
	XType, YType, GYType, GXType, GResidualType int32
	Slope                                       float32
}

// A thread sums between leastSummed and mostSummed values of its channel in float32.
const (
	leastSummed = 8
	mostSummed  = 64
)

// instances describes the values of a normalisation of x with vectors, which must be float32.
func (b *volumes) instances(x operand, vectors ...operand) (g instanceG, err error) {
	s := x.shape
	if x.n() > math.MaxInt32 || s[0] > math.MaxUint16 {
		return g, operandError("a volume of %v", s)
	}
	if err := mustBe(tensor.Float32, vectors...); err != nil {
		return g, err
	}
	voxels := s[1] * s[2] * s[3]
	group := min(s[4], blockThreads)
	rows := blockThreads / group
	blocks := int(quotientUp(int64(s[4]), int64(group))) * s[0]
	// about two blocks for each multiprocessor
	each := int(quotientUp(int64(voxels*blocks), int64(rows*2*b.backend.multi)))
	part := rows * min(max(each, leastSummed), mostSummed)
	return instanceG{int32(s[0]), int32(voxels), int32(s[4]), int32(group), int32(part),
		int32(quotientUp(int64(voxels), int64(part)))}, nil
}

// sums returns memory for the sums of all parts.
func (b *volumes) sums(g instanceG) driver.Pointer {
	return b.scratch(16 * int64(g.Images) * int64(g.Parts) * int64(g.Channels))
}

// threePasses launches the sums of the parts, their totals, a warp for each of a number, and the results.
func (b *volumes) threePasses(name string, g instanceG, totals int32, parameter []byte) error {
	grid := driver.XYZ(int(g.Parts), int(quotientUp(int64(g.Channels), int64(g.Group))), int(g.Images))
	if err := b.launch(name+"_sums", grid, driver.X(blockThreads), 0, parameter); err != nil {
		return err
	}
	if err := b.launch(name+"_total", driver.X(int(quotientUp(int64(totals), blockThreads/32))), driver.X(blockThreads),
		0, parameter); err != nil {
		return err
	}
	return b.launch(name+"_apply", grid, driver.X(blockThreads), 0, parameter)
}

// instanceNorm lowers an InstanceNorm (x, gamma, beta, residual → y, mean, inverse).
func (b *volumes) instanceNorm(op nn.InstanceNorm) error {
	in, out := b.ins(), b.outs()
	g, err := b.instances(in[0], in[1], in[2], out[1], out[2])
	if err != nil {
		return err
	}
	p := instanceP{X: in[0].at, Y: out[0].at, Gamma: in[1].at, Beta: in[2].at, Mean: out[1].at, Inverse: out[2].at,
		Sums: b.sums(g), Geometry: g,
		XType: in[0].kind(), YType: out[0].kind(), Eps: op.Eps, Slope: op.Slope}
	if op.Residual {
		p.Residual, p.ResidualType = in[3].at, in[3].kind()
	}
	return b.threePasses("instance", g, g.Images*g.Channels, parameter(&p))
}

// instanceNormGrad lowers an InstanceNormGrad (x, y, gy, gamma, mean, inverse → gx, ggamma, gbeta, the residual's).
func (b *volumes) instanceNormGrad(op nn.InstanceNormGrad) error {
	in, out := b.ins(), b.outs()
	g, err := b.instances(in[0], in[3], in[4], in[5], out[1], out[2])
	if err != nil {
		return err
	}
	p := instanceGradP{X: in[0].at, Y: in[1].at, GY: in[2].at, GX: out[0].at, Gamma: in[3].at, Mean: in[4].at,
		Inverse: in[5].at, GGamma: out[1].at, GBeta: out[2].at, Sums: b.sums(g),
		Means: b.scratch(8 * int64(g.Images) * int64(g.Channels)), Geometry: g,
		XType: in[0].kind(), YType: in[1].kind(), GYType: in[2].kind(), GXType: out[0].kind(), Slope: op.Slope}
	if op.Residual {
		p.GResidual, p.GResidualType = out[3].at, out[3].kind()
	}
	return b.threePasses("instance_grad", g, g.Channels, parameter(&p))
}
