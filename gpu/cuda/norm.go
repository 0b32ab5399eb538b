package cuda

import (
	"math"
	"slices"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Batch normalisation and its gradient: kernels for channels of all sizes.

// normalisations lowers batch normalisation.
type normalisations struct{ *builder }

func (b *normalisations) lower() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.BatchNorm:
		return true, b.batchNorm(op)
	case nn.BatchNormGrad:
		return true, b.batchNormGrad(op)
	}
	return false, nil
}

// imageP is ImageP of norm.cu: images [N, C, plane]. Count is N·plane.
type imageP struct{ Images, Channels, Plane, Count int32 }

// partsP is PartsP of norm.cu.
type partsP struct {
	Sums                    driver.Pointer
	Count, Total, Keep, Pad int32
}

// normP is NormP of norm.cu.
type normP struct {
	X, Y, Gamma, Beta                      driver.Pointer
	RunningMean, RunningVar, Mean, Inverse driver.Pointer
	Parts                                  driver.Pointer
	Unfinished                             partsP
	Image                                  imageP
	Part, PartCount                        int32
	XType, YType, ReLU                     int32
	Eps, Momentum, Unbiased                float32
}

// normGradP is NormGradP of norm.cu.
type normGradP struct {
	X, GY, GX                  driver.Pointer
	Gamma, Beta, Mean, Inverse driver.Pointer
	GGamma, GBeta              driver.Pointer
	Parts                      driver.Pointer
	Unfinished                 partsP
	Image                      imageP
	Part, PartCount            int32
	XType, GYType, GXType      int32
}

// The values of a channel that a thread holds in registers, and those of a block of blockThreads.
const (
	normHeld = 16
	normTile = normHeld * blockThreads
)

// normWhole is the number of values of a channel that one block normalises.
const normWhole = normHeld * 1024

// normParts is the largest number of parts of a channel, whose sums every block of it adds up.
const normParts = 1024

// channels describes images whose channels have vectors of values, all float32.
func (b *normalisations) channels(x operand, vectors ...operand) (imageP, error) {
	s := x.shape
	if x.n() > math.MaxInt32 {
		return imageP{}, operandError("%v numbers", s)
	}
	plane := s[2] * s[3]
	return imageP{int32(s[0]), int32(s[1]), int32(plane), int32(s[0] * plane)}, mustBe(tensor.Float32, vectors...)
}

func (b *normalisations) batchNorm(op nn.BatchNorm) error {
	in, out := b.ins(), b.outs()
	m, err := b.channels(in[0], slices.Concat(in[1:], out[1:])...)
	if err != nil {
		return err
	}
	count := float64(m.Count)
	p := normP{X: in[0].at, Y: out[0].at, Gamma: in[1].at, Beta: in[2].at, RunningMean: in[3].at, RunningVar: in[4].at,
		Image: m, XType: in[0].kind(), YType: out[0].kind(), ReLU: flag(op.ReLU), Eps: op.Eps, Momentum: op.Momentum,
		Unbiased: float32(count / max(count-1, 1))}
	if !op.Train {
		if m.Plane%4 == 0 {
			return b.over("norm_running4", in[0].n()/4, parameter(&p))
		}
		return b.over("norm_running1", in[0].n(), parameter(&p))
	}
	p.Mean, p.Inverse = out[1].at, out[2].at
	if m.Plane%4 == 0 && m.Count <= normTile {
		if parts, ok := b.takeParts(in[0]); ok {
			p.Unfinished = parts
			return b.launch("norm_finish", driver.X(int(m.Channels)),
				driver.X(min(blockThreads, up(int(m.Count)/4, 32))), 0, parameter(&p))
		}
	}
	return b.perChannel(m, 8, normKernels{"norm_any", "norm_channel", "norm_parts", "norm_apply"},
		func(parts driver.Pointer, part, count int32) []byte {
			p.Parts, p.Part, p.PartCount = parts, part, count
			return parameter(&p)
		})
}

func (b *normalisations) batchNormGrad(op nn.BatchNormGrad) error {
	in, out := b.ins(), b.outs()
	m, err := b.channels(in[0], slices.Concat(in[2:], out[1:])...)
	if err != nil {
		return err
	}
	p := normGradP{X: in[0].at, GY: in[1].at, GX: out[0].at, Gamma: in[2].at, Mean: in[3].at, Inverse: in[4].at,
		GGamma: out[1].at, GBeta: out[2].at, Image: m, XType: in[0].kind(), GYType: in[1].kind(), GXType: out[0].kind()}
	if op.ReLU {
		p.Beta = in[5].at
	}
	if m.Plane%4 == 0 && m.Count <= normTile {
		if parts, ok := b.takeParts(in[1]); ok {
			gy := b.step.In[1]
			parts.Keep = flag(b.plan.Buffers[gy].Pinned || b.plan.Buffers[gy].Variable >= 0 || b.readLater(b.index, gy))
			p.Unfinished = parts
			return b.launch("norm_grad_finish", driver.X(int(m.Channels)),
				driver.X(min(blockThreads, up(int(m.Count)/4, 32))), 0, parameter(&p))
		}
	}
	return b.perChannel(m, 8, normKernels{"norm_grad_any", "norm_grad_channel", "norm_grad_parts", "norm_grad_apply"},
		func(parts driver.Pointer, part, count int32) []byte {
			p.Parts, p.Part, p.PartCount = parts, part, count
			return parameter(&p)
		})
}

// normKernels are the kernels of a normalisation: for planes of any size, for a channel that fits a block, for the sums
// of parts of a channel, and for the results from these sums.
type normKernels struct{ any, whole, parts, apply string }

// perChannel launches the kernels that fit the image. size is the size of a part's sums in bytes; with returns the
// parameter for count parts of part values.
func (b *normalisations) perChannel(m imageP, size int64, k normKernels,
	with func(parts driver.Pointer, part, count int32) []byte) error {
	channels := int(m.Channels)
	switch {
	case m.Plane%4 != 0:
		threads := min(1024, up(int(m.Count), 32))
		return b.launch(k.any, driver.X(channels), driver.X(threads), 0, with(0, 0, 0))
	case m.Count <= normWhole:
		threads := min(1024, up(int(m.Count)/4, 32))
		return b.launch(k.whole, driver.X(channels), driver.X(threads), 0, with(0, 0, 0))
	}
	if channels > math.MaxUint16 {
		return operandError("%d channels of %d values", channels, m.Count)
	}
	tiles := (int(m.Count) + normTile - 1) / normTile
	part := (tiles + normParts - 1) / normParts * normTile
	count := (int(m.Count) + part - 1) / part
	p := with(b.scratch(size*int64(count*channels)), int32(part), int32(count))
	if err := b.launch(k.parts, driver.XY(count, channels), driver.X(blockThreads), 0, p); err != nil {
		return err
	}
	return b.launch(k.apply, driver.XY(tiles, channels), driver.X(blockThreads), 0, p)
}

// up rounds n up to a multiple of m.
func up(n, m int) int { return (n + m - 1) / m * m }

// flag is a bool as kernels have it.
func flag(b bool) int32 {
	if b {
		return 1
	}
	return 0
}
