package cuda

import (
	"fmt"
	"math"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Convolutions of volumes: their geometry, the product of matrices that each of the three sums is, and its launches.

// volumes lowers the convolutions and the normalisations of volumes.
type volumes struct{ *builder }

func (b *volumes) lower() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.Conv3D:
		return true, b.convolution(op)
	case nn.Conv3DGradInput:
		return true, b.gradInput(op)
	case nn.Conv3DGradWeight:
		return true, b.gradWeight(op)
	case nn.ConvTranspose3D:
		return true, b.enlarge()
	case nn.ConvTranspose3DGradInput:
		return true, b.enlargeGradInput()
	case nn.ConvTranspose3DGradWeight:
		return true, b.enlargeGradWeight()
	case nn.InstanceNorm:
		return true, b.instanceNorm(op)
	case nn.InstanceNormGrad:
		return true, b.instanceNormGrad(op)
	}
	return false, nil
}

// axes are numbers of the three axes of a volume: Axes of volume.h.
type axes [3]int32

func (a axes) product() int64 { return int64(a[0]) * int64(a[1]) * int64(a[2]) }

// volumeGeometry is VolumeG of volume.h: both grids and the kernel between them, Large
// being the channels of the weights.
type volumeGeometry struct {
	Images, Small, Large                           int32
	SmallSides, LargeSides, Kernel, Stride, Padded axes
}

// volumeGeometryOf returns the geometry of the small and the large grid, whose volume may have some of the channels
// only, and of the weights. With stride 0 the stride is the kernel's sides, else the padding is half of them.
func volumeGeometryOf(small, large, w tensor.Shape, stride int) (g volumeGeometry, err error) {
	if max(small.Elements(), large.Elements(), w.Elements()) > math.MaxInt32 {
		return g, operandError("volumes %v and %v with weights %v", small, large, w)
	}
	k, _ := nn.KernelSides(w)
	g = volumeGeometry{Images: int32(small[0]), Small: int32(small[4]), Large: int32(w[1])}
	for a := range g.Kernel {
		g.SmallSides[a], g.LargeSides[a], g.Kernel[a], g.Stride[a] = int32(small[a+1]), int32(large[a+1]),
			int32(k[a]), int32(k[a])
		if stride > 0 {
			g.Stride[a], g.Padded[a] = int32(stride), int32(k[a]/2)
		}
	}
	return g, nil
}

// matrices returns the product that computes a sum of some channels of the large grid.
func (g *volumeGeometry) matrices(s convSum, channels int64) matrices {
	voxels := int64(g.Images) * g.SmallSides.product()
	switch s {
	case gathers:
		return matrices{voxels, int64(g.Small), g.Kernel.product() * int64(g.Large), 1}
	case weighs:
		return matrices{g.Kernel.product() * channels, int64(g.Small), voxels, 1}
	}
	half, taps := int64(g.Images), int64(g.Small)
	for a, stride := range g.Stride {
		half *= quotientUp(int64(g.LargeSides[a]), int64(stride))
		taps *= quotientUp(int64(g.Kernel[a]), int64(stride))
	}
	return matrices{half, channels, taps, g.Stride.product()}
}

// volumeTiles are the tiles of volume.h.
var volumeTiles = []tile{{bm: 64, bn: 16, bk: 32}, {bm: 64, bn: 32, bk: 32}, {bm: 64, bn: 64, bk: 32}}

// volumePart is VolumePart of volume.h.
type volumePart struct {
	X             driver.Pointer
	Channels, End int32
}

// volumeP is VolumeP of volume.h.
type volumeP struct {
	X, W, Bias, Y             driver.Pointer
	Ones                      driver.Pointer
	Partial, OnesPartial      driver.Pointer
	More                      driver.Pointer
	Geometry                  volumeGeometry
	First, Channels           int32
	M, N, Depth, Parts, Total int32
	Type, OutType, BiasType   int32
}

// tileOf returns the beginning of the names of the kernels that multiply x and w, and the tile for a product of them.
func (b *volumes) tileOf(x, w operand, m matrices) (kernels string, t tile, err error) {
	kernels, candidates := "volume_f32", volumeTiles
	switch half := x.dtype != tensor.Float32; {
	case x.dtype != w.dtype:
		return "", t, operandError("%v times %v", x.dtype, w.dtype)
	case half && b.backend.set.Capability < 80 && x.dtype == tensor.BFloat16:
		kernels, candidates = "volume_wide16", volumeTiles[1:2]
	case half:
		kernels = "volume_half"
	}
	return kernels, chooseTile(m, candidates, b.backend.multi), nil
}

// product launches a sum by a tile, except for adding its parts.
func (b *volumes) product(kernels string, s convSum, p *volumeP, t tile, m matrices) error {
	p.M, p.N, p.Depth, p.Parts = int32(m.m), int32(m.n), int32(t.depth), int32(t.parts)
	across, parts := quotientUp(m.n, t.bn), m.parities*t.parts
	if m.m > math.MaxInt32 || across > math.MaxUint16 || parts > math.MaxUint16 {
		return operandError("a product of %d×%d numbers in %d parts", m.m, m.n, parts)
	}
	name := fmt.Sprintf("%s_%v_%s", kernels, s, t.name())
	return b.launch(name, driver.XYZ(int(quotientUp(m.m, t.bm)), int(across), int(parts)), driver.X(blockThreads), 0,
		parameter(p))
}

// compute lowers a gather or a scatter, whose result is y.
func (b *volumes) compute(s convSum, p *volumeP, x, w, y operand) error {
	m := p.Geometry.matrices(s, int64(p.Channels))
	kernels, t, err := b.tileOf(x, w, m)
	if err != nil {
		return err
	}
	p.X, p.W, p.Y, p.Total, p.Type, p.OutType = x.at, w.at, y.at, int32(y.n()), x.kind(), y.kind()
	if t.parts > 1 {
		p.Partial = b.scratch(4 * t.parts * y.n())
	}
	if err := b.product(kernels, s, p, t, m); err != nil || t.parts == 1 {
		return err
	}
	return b.addParts(p.Partial, p.Bias, p.BiasType, p.Geometry.Small, t.parts, y)
}

// addParts adds the launch that sums the parts of a result with channels last, and a bias if there is one.
func (b *volumes) addParts(partial, bias driver.Pointer, biasType, channels int32, parts int64, y operand) error {
	return b.finishNow(&unfinished{y: y, step: b.index, p: convFinishP{Partial: partial, Bias: bias, Y: y.at,
		Total: int32(y.n()), Parts: int32(parts),
		Plane: 1, Channels: channels, OutType: y.kind(), BiasType: biasType}})
}

// parts returns a table on the device of the volumes after the first that make up the channels of weights.
func (b *volumes) parts(all []operand) (more driver.Pointer, err error) {
	var table []volumePart
	end := int32(0)
	for i, x := range all {
		end += int32(x.shape[4])
		if i > 0 {
			table = append(table, volumePart{x.at, int32(x.shape[4]), end})
		}
	}
	if table != nil {
		more = b.table(structs(table))
	}
	return more, mustBe(all[0].dtype, all...)
}

// convolution lowers a Conv3D (w, b, x… → y).
func (b *volumes) convolution(op nn.Conv3D) error {
	in, out, first := b.ins(), b.outs(), 1
	if op.Bias {
		first = 2
	}
	g, err := volumeGeometryOf(out[0].shape, in[first].shape, in[0].shape, op.Stride)
	if err != nil {
		return err
	}
	more, err := b.parts(in[first:])
	if err != nil {
		return err
	}
	x := in[first]
	p := volumeP{Geometry: g, Channels: int32(x.shape[4]), More: more}
	if op.Bias {
		p.Bias, p.BiasType = in[1].at, in[1].kind()
	}
	return b.compute(gathers, &p, x, in[0], out[0])
}

// gradInput lowers a Conv3DGradInput (gy, w → gx).
func (b *volumes) gradInput(op nn.Conv3DGradInput) error {
	in, out := b.ins(), b.outs()
	return b.scatterFrom(in[0], in[1], out[0], op.Stride, op.First)
}

// scatterFrom lowers a scatter of the channels of y, the first of which is that of the weights w.
func (b *volumes) scatterFrom(x, w, y operand, stride, first int) error {
	g, err := volumeGeometryOf(x.shape, y.shape, w.shape, stride)
	if err != nil {
		return err
	}
	return b.compute(scatters, &volumeP{Geometry: g, First: int32(first), Channels: int32(y.shape[4])}, x, w, y)
}

// gradWeight lowers a Conv3DGradWeight (gy, x… → gw, gb).
func (b *volumes) gradWeight(op nn.Conv3DGradWeight) error {
	in, out := b.ins(), b.outs()
	g, err := volumeGeometryOf(in[0].shape, in[1].shape, out[0].shape, op.Stride)
	if err != nil {
		return err
	}
	if err := mustBe(in[1].dtype, in[1:]...); err != nil {
		return err
	}
	return b.weights(g, in[0], in[1:], out)
}

// weights lowers the sum of weights out[0] over the small grid and the volumes of the large one, and the sum of the
// small grid alone if there is an out[1].
func (b *volumes) weights(g volumeGeometry, small operand, large, out []operand) error {
	if err := mustBe(tensor.Float32, out...); err != nil {
		return err
	}
	b.detach()
	m := g.matrices(weighs, int64(g.Large))
	kernels, t, err := b.tileOf(large[0], small, m)
	if err != nil {
		return err
	}
	p := volumeP{W: small.at, Y: out[0].at, Geometry: g, Total: int32(out[0].n()), Type: small.kind(),
		OutType: out[0].kind()}
	if t.parts > 1 {
		p.Partial = b.scratch(4 * t.parts * out[0].n())
	}
	if len(out) == 2 {
		if p.Ones = out[1].at; t.parts > 1 {
			p.OnesPartial = b.scratch(4 * t.parts * out[1].n())
		}
	}
	for _, x := range large {
		p.X, p.Channels = x.at, int32(x.shape[4])
		m.m = g.Kernel.product() * int64(p.Channels)
		if p.First == 0 && len(out) == 2 {
			m.m++ // the row of ones
		}
		if err := b.product(kernels, weighs, &p, t, m); err != nil {
			return err
		}
		p.First += p.Channels
	}
	if t.parts == 1 {
		return nil
	}
	for i, partial := range []driver.Pointer{p.Partial, p.OnesPartial}[:len(out)] {
		if err := b.addParts(partial, 0, 0, 1, t.parts, out[i]); err != nil {
			return err
		}
	}
	return nil
}

// enlarge lowers a ConvTranspose3D (x, w → y).
func (b *volumes) enlarge() error {
	in, out := b.ins(), b.outs()
	return b.scatterFrom(in[0], in[1], out[0], 0, 0)
}

// enlargeGradInput lowers a ConvTranspose3DGradInput (gy, w → gx).
func (b *volumes) enlargeGradInput() error {
	in, out := b.ins(), b.outs()
	g, err := volumeGeometryOf(out[0].shape, in[0].shape, in[1].shape, 0)
	if err != nil {
		return err
	}
	return b.compute(gathers, &volumeP{Geometry: g, Channels: g.Large}, in[0], in[1], out[0])
}

// enlargeGradWeight lowers a ConvTranspose3DGradWeight (x, gy → gw).
func (b *volumes) enlargeGradWeight() error {
	in, out := b.ins(), b.outs()
	g, err := volumeGeometryOf(in[0].shape, in[1].shape, out[0].shape, 0)
	if err != nil {
		return err
	}
	return b.weights(g, in[0], in[1:], out)
}
