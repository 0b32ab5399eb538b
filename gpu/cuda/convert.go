package cuda

import (
	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The conversion of weights to 16 bits: all of a segment in one launch.

// conversionP is Conversion of optimizer.cu.
type conversionP struct {
	X, Y         driver.Pointer
	N            int64
	XType, YType int32
}

// convertP is ConvertP of optimizer.cu.
type convertP struct{ Arrays, Chunks driver.Pointer }

// convertWeights lowers a Cast of a variable together with those that follow in the segment, and reports whether it
// did: weights do not change before the end of a segment, and a result can be written early if nothing uses its memory
// until its own step.
func (b *builder) convertWeights(x, y operand) (done bool, err error) {
	if !b.weightCast(b.index) {
		return false, nil
	}
	arrays, sizes := []conversionP{{x.at, y.at, x.n(), x.kind(), y.kind()}}, []int64{x.n()}
	for i := b.index + 1; i < b.segmentEnd() && len(b.adams) == 0; i++ {
		if !b.weightCast(i) || !b.movable(i) {
			continue
		}
		from, to := b.each(b.plan.Steps[i].In)[0], b.each(b.plan.Steps[i].Out)[0]
		arrays, sizes = append(arrays, conversionP{from.at, to.at, from.n(), from.kind(), to.kind()}),
			append(sizes, from.n())
		b.done[i] = true
	}
	var p convertP
	var blocks int
	p.Arrays = b.table(structs(arrays))
	p.Chunks, blocks = b.chunks(sizes)
	return true, b.launchFor(b.index, b.index, true, "convert", blocks, parameter(&p))
}

// weightCast reports whether a step converts a variable to 16 bits.
func (b *builder) weightCast(i int) bool {
	s := &b.plan.Steps[i]
	if _, ok := s.Op.(nn.Cast); !ok {
		return false
	}
	x, y := &b.plan.Buffers[s.In[0]], &b.plan.Buffers[s.Out[0]]
	return x.Variable >= 0 && x.DType == tensor.Float32 && y.DType.Size() == 2
}

// movable reports whether step i can run before those from the current one on.
func (b *builder) movable(i int) bool {
	s := &b.plan.Steps[i]
	from, to := b.each(s.In), b.each(s.Out)
	for k := b.index; k < i; k++ {
		between := &b.plan.Steps[k]
		if anyOverlap(b.each(between.Out), from) || anyOverlap(b.each(between.Out), to) ||
			anyOverlap(b.each(between.In), to) {
			return false
		}
	}
	return true
}
