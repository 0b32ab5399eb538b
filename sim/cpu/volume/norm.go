package volume

import (
	"math"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/norm"
)

const (
	// blockVoxels is the number of voxels of a task, and flushVoxels that of the partial
	// sums in float32 that are added in float64.
	blockVoxels = 2048
	flushVoxels = 128
)

// Channels describes the values of a norm: N volumes of Voxels voxels and C channels.
type Channels struct{ N, Voxels, C int }

// Blocks is the number of tasks.
func (s Channels) Blocks() int { return s.N * s.perImage() }

func (s Channels) perImage() int { return (s.Voxels + blockVoxels - 1) / blockVoxels }

// SumFloats is the number of float64 sums: two for each block and channel.
func (s Channels) SumFloats() int { return 2 * s.Blocks() * s.C }

// nearFloats is the size of an image from which the passes of a norm over one image find it
// in the second-level cache no more.
const nearFloats = 512 << 10

// Near reports whether passes over one image after another are faster than over all images.
func (s Channels) Near() bool { return s.Voxels*s.C <= nearFloats }

// Image runs the passes over an image, Apply over the blocks measured last first, which are
// still in the caches.
func (s Channels) Image(scratch []float32, image int, p Passes) {
	first := image * s.perImage()
	for i := range s.perImage() {
		p.Measure(scratch, first+i)
	}
	p.Finish(image)
	for i := s.perImage() - 1; i >= 0; i-- {
		p.Apply(scratch, first+i)
	}
}

// Passes are those of a Norm or a NormGradient. Measure and Apply need Scratch floats.
type Passes interface {
	Measure(scratch []float32, block int)
	Finish(image int)
	Apply(scratch []float32, block int)
	Scratch() int
}

// pieces calls do with the first value and the number of voxels of the pieces of a block.
func (s Channels) pieces(block int, do func(at, voxels int)) {
	_, at, voxels := s.block(block)
	for row := 0; row < voxels; row += flushVoxels {
		do(at+row*s.C, min(flushVoxels, voxels-row))
	}
}

// scratch divides scratch into pieces of all channels.
func (s Channels) scratch(all []float32, piece int) []float32 {
	n := flushVoxels * s.C
	if len(all) == 0 {
		return nil
	}
	return all[piece*n:][:n]
}

// block returns the image of a block, its first value and its number of voxels.
func (s Channels) block(i int) (image, at, voxels int) {
	image = i / s.perImage()
	first := i % s.perImage() * blockVoxels
	return image, (image*s.Voxels + first) * s.C, min(blockVoxels, s.Voxels-first)
}

// flush adds the sums of a panel of n channels from c on to those of a block.
func (s Channels) flush(total []float64, sums *norm.PanelSums, c, n int) {
	for i := range n {
		total[c+i] += float64(sums[0][i])
		total[s.C+c+i] += float64(sums[1][i])
	}
}

// total adds a sum of every block of an image, in order: the first or the second of a
// channel.
func (s Channels) total(sums []float64, image, which, c int) float64 {
	v := 0.0
	for i := range s.perImage() {
		v += sums[((image*s.perImage()+i)*2+which)*s.C+c]
	}
	return v
}

// A Norm is an instance normalisation (nn.InstanceNorm) bound to its operands. Sums has
// SumFloats numbers, Factors two for each image and channel.
type Norm struct {
	Channels
	Set              vec.Set
	X, Y, Residual   Values // Residual may be missing
	Gamma, Beta      []float32
	Mean, InverseStd []float32
	Eps              float64
	Slope            float32
	Sums             []float64
	Factors          []float32
}

// Scratch is the number of floats for pieces of 16-bit values.
func (o *Norm) Scratch() int {
	if o.X.F != nil && o.Y.F != nil && (o.Residual.F != nil || !o.Residual.Exist()) {
		return 0
	}
	return 3 * flushVoxels * o.C
}

// Measure sums the values of a block and their squares, about the first value of each
// channel.
func (o *Norm) Measure(scratch []float32, block int) {
	image, _, _ := o.block(block)
	shift := o.X.Read(o.Set, o.scratch(scratch, 1), image*o.Voxels*o.C, o.C)
	total := o.Sums[2*block*o.C:][:2*o.C]
	clear(total)
	o.pieces(block, func(at, voxels int) {
		x := o.X.Read(o.Set, o.scratch(scratch, 0), at, voxels*o.C)
		for c := 0; c < o.C; c += panel {
			var sums norm.PanelSums
			n := min(panel, o.C-c)
			norm.PanelMoments(o.Set, &sums, x[c:], o.C, voxels, shift[c:c+n])
			o.flush(total, &sums, c, n)
		}
	})
}

// Finish computes the statistics of an image from its blocks.
func (o *Norm) Finish(image int) {
	count := float64(o.Voxels)
	var one [1]float32
	for c := range o.C {
		offset := o.total(o.Sums, image, 0, c) / count
		variance := max(o.total(o.Sums, image, 1, c)/count-offset*offset, 0)
		mean := float64(o.X.Read(o.Set, one[:], image*o.Voxels*o.C+c, 1)[0]) + offset
		inverse := 1 / math.Sqrt(variance+o.Eps)
		i := image*o.C + c
		o.Mean[i], o.InverseStd[i] = float32(mean), float32(inverse)
		factor := float64(o.Gamma[c]) * inverse
		o.Factors[2*image*o.C+c] = float32(factor)
		o.Factors[(2*image+1)*o.C+c] = float32(float64(o.Beta[c]) - mean*factor)
	}
}

// Apply normalises a block.
func (o *Norm) Apply(scratch []float32, block int) {
	image, _, _ := o.block(block)
	factor, add := o.Factors[2*image*o.C:][:o.C], o.Factors[(2*image+1)*o.C:][:o.C]
	o.pieces(block, func(at, voxels int) {
		size := voxels * o.C
		x, y := o.X.Read(o.Set, o.scratch(scratch, 0), at, size), o.Y.Results(o.scratch(scratch, 1), at, size)
		var all []float32
		if o.Residual.Exist() {
			all = o.Residual.Read(o.Set, o.scratch(scratch, 2), at, size)
		}
		for c := 0; c < o.C; c += panel {
			n := min(panel, o.C-c)
			var residual []float32
			if all != nil {
				residual = all[c:]
			}
			norm.PanelNormalise(o.Set, y[c:], x[c:], residual, o.C, voxels, factor[c:c+n], add[c:c+n], o.Slope)
		}
		o.Y.Write(o.Set, y, at)
	})
}

// A NormGradient is the gradient of a Norm (nn.InstanceNormGrad) bound to its operands.
// Sums has SumFloats numbers.
type NormGradient struct {
	Channels
	Set              vec.Set
	X, Y, GY         Values
	Gamma            []float32
	Mean, InverseStd []float32
	GX               Values
	GGamma, GBeta    []float32
	GResidual        Values // may be missing
	Slope            float32
	Sums             []float64
	gradients        []norm.PanelGradient
}

// Scratch is the number of floats for pieces of 16-bit values.
func (o *NormGradient) Scratch() int {
	if o.X.F != nil && o.Y.F != nil && o.GY.F != nil && o.GX.F != nil &&
		(o.GResidual.F != nil || !o.GResidual.Exist()) {
		return 0
	}
	return 5 * flushVoxels * o.C
}

// Panels gives the gradient memory for the numbers of every panel.
func (o *NormGradient) Panels() { o.gradients = make([]norm.PanelGradient, o.N*o.perChannels()) }

// PanelBytes is the size of that memory.
func (o *NormGradient) PanelBytes() int { return len(o.gradients) * 4 * (4*panel + 1) }

func (o *NormGradient) perChannels() int { return roundedUp(o.C) / panel }

// operands returns a piece of the values, the activations and the gradients.
func (o *NormGradient) operands(scratch []float32, at, size int) (x, y, gy []float32) {
	return o.X.Read(o.Set, o.scratch(scratch, 0), at, size), o.Y.Read(o.Set, o.scratch(scratch, 1), at, size),
		o.GY.Read(o.Set, o.scratch(scratch, 2), at, size)
}

// Measure sums the gradients of a block, and their products with the values.
func (o *NormGradient) Measure(scratch []float32, block int) {
	image, _, _ := o.block(block)
	mean := o.Mean[image*o.C:][:o.C]
	total := o.Sums[2*block*o.C:][:2*o.C]
	clear(total)
	o.pieces(block, func(at, voxels int) {
		x, y, gy := o.operands(scratch, at, voxels*o.C)
		for c := 0; c < o.C; c += panel {
			var sums norm.PanelSums
			n := min(panel, o.C-c)
			norm.PanelGradSums(o.Set, &sums, x[c:], y[c:], gy[c:], o.C, voxels, mean[c:c+n], o.Slope)
			o.flush(total, &sums, c, n)
		}
	})
}

// sums returns Σg and Σ(g·x̂) of a channel of an image, with x̂ its normalised values.
func (o *NormGradient) sums(image, c int) (total, product float64) {
	return o.total(o.Sums, image, 0, c), o.total(o.Sums, image, 1, c) * float64(o.InverseStd[image*o.C+c])
}

// Finish computes the numbers of an image's panels: with m the number of values,
//
//	gx = gamma·inverseStd·(g − Σg/m − x̂·Σ(g·x̂)/m)
func (o *NormGradient) Finish(image int) {
	for c := range o.C {
		inverse := float64(o.InverseStd[image*o.C+c])
		total, product := o.sums(image, c)
		factor := float64(o.Gamma[c]) * inverse
		p := &o.gradients[image*o.perChannels()+c/panel]
		p.Leak = o.Slope
		p.Mean[c%panel] = o.Mean[image*o.C+c]
		p.Factor[c%panel] = float32(factor)
		p.Slope[c%panel] = float32(-factor * product * inverse / float64(o.Voxels))
		p.Add[c%panel] = float32(-factor * total / float64(o.Voxels))
	}
}

// Collect computes the gradients of gamma and beta, once all blocks are measured.
func (o *NormGradient) Collect() {
	for c := range o.C {
		var ggamma, gbeta float64
		for image := range o.N {
			total, product := o.sums(image, c)
			ggamma, gbeta = ggamma+product, gbeta+total
		}
		o.GGamma[c], o.GBeta[c] = float32(ggamma), float32(gbeta)
	}
}

// Apply computes gx of a block, and the residual's gradient.
func (o *NormGradient) Apply(scratch []float32, block int) {
	image, _, _ := o.block(block)
	o.pieces(block, func(at, voxels int) {
		size := voxels * o.C
		x, y, gy := o.operands(scratch, at, size)
		gx := o.GX.Results(o.scratch(scratch, 3), at, size)
		var all []float32
		if o.GResidual.Exist() {
			all = o.GResidual.Results(o.scratch(scratch, 4), at, size)
		}
		for c := 0; c < o.C; c += panel {
			n := min(panel, o.C-c)
			var residual []float32
			if all != nil {
				residual = all[c:]
			}
			norm.PanelGrad(o.Set, gx[c:], residual, x[c:], y[c:], gy[c:], o.C, voxels, n,
				&o.gradients[image*o.perChannels()+c/panel])
		}
		o.GX.Write(o.Set, gx, at)
		if all != nil {
			o.GResidual.Write(o.Set, all, at)
		}
	})
}
