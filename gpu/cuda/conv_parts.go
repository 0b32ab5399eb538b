package cuda

import (
	"prismtop/gpu/driver"
)

// The parts of a convolution that several blocks sum: their memory, and adding them at
// once, in the next step or at the end of the segment.

// partial returns memory for n numbers until the end of the step, or of the segment.
func (b *convolutions) partial(n int64, deferred bool) driver.Pointer {
	if deferred {
		return b.keep(4 * n)
	}
	return b.scratch(4 * n)
}

// convFinishP is ConvFinishP of conv.cu.
type convFinishP struct {
	Partial, Bias, Y                                       driver.Pointer
	Total, Parts, Plane, Channels, OutType, BiasType, ReLU int32
}

// partSum is ConvSum of conv.cu: the parts of a sum of weights that are added at the end of the segment.
type partSum struct {
	Partial, Sum driver.Pointer
	Total, Parts int32
}

// finish adds the launch that sums the parts of a convolution, or defers it.
func (b *convolutions) finish(c *convolution, partial driver.Pointer, parts int64, deferred bool) error {
	if deferred {
		b.sums = append(b.sums, partSum{partial, c.y.at, int32(c.y.n()), int32(parts)})
		return nil
	}
	p := convFinishP{Partial: partial, Y: c.y.at, Total: int32(c.y.n()), Parts: int32(parts), Plane: 1, Channels: 1,
		OutType: c.y.kind(), ReLU: flag(c.relu)}
	if c.bias != nil {
		s := c.y.shape
		p.Bias, p.BiasType, p.Plane, p.Channels = c.bias.at, c.bias.kind(), int32(s[2]*s[3]), int32(s[1])
	}
	left := unfinished{p: p, y: c.y, step: b.index}
	if c.bias == nil && !c.relu && !b.aside && parts <= mostLeft {
		b.unfinished = &left // the next step may add the parts
		return nil
	}
	return b.finishNow(&left)
}

// mostLeft is the number of parts up to which their sum is left to the next step, which gives each element one thread.
const mostLeft = 24

// unfinished is a convolution on the first lane whose parts are not added yet.
type unfinished struct {
	p    convFinishP
	y    operand
	step int
}

// flushFinish launches the sums that a convolution left to the next step.
func (b *builder) flushFinish() error {
	left := b.unfinished
	if left == nil {
		return nil
	}
	b.unfinished = nil
	index, aside := b.index, b.aside
	b.index, b.aside = left.step, false
	defer func() { b.index, b.aside = index, aside }()
	return b.finishNow(left)
}

func (b *builder) finishNow(left *unfinished) error {
	return b.launch("conv_finish", driver.X(int(quotientUp(left.y.n(), 32))), driver.X(128), 0, parameter(&left.p))
}

// takeParts returns the parts of an operand of the current step that a convolution left to it, if it did.
func (b *builder) takeParts(x operand) (partsP, bool) {
	left := b.unfinished
	if left == nil || left.y.at != x.at || left.y.n() != x.n() || left.y.dtype != x.dtype {
		return partsP{}, false
	}
	b.unfinished = nil
	return partsP{Sums: left.p.Partial, Count: left.p.Parts, Total: left.p.Total, Keep: 1}, true
}

// convSumsP is ConvSumsP of conv.cu.
type convSumsP struct{ Each driver.Pointer }

// flushSums launches the sums that were deferred to the end of the segment.
func (b *builder) flushSums() error {
	if len(b.sums) == 0 {
		return nil
	}
	all, most := b.sums, int32(0)
	b.sums = nil
	for _, s := range all {
		most = max(most, s.Total)
	}
	p := convSumsP{b.table(structs(all))}
	defer func(aside bool) { b.aside = aside }(b.aside)
	b.aside = true
	return b.launch("conv_sums", driver.XY(int(quotientUp(int64(most), 32)), len(all)), driver.X(128), 0, parameter(&p))
}
