package cuda

import (
	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Operators that move elements: placements and casts, channels of images, rectangles, and images of half the sides.

// layouts lowers what moves elements: casts, insets, channels, and the sizes of pictures.
type layouts struct{ *builder }

func (b *layouts) lower() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.Place, nn.Cast:
		return true, b.move()
	case nn.Concat:
		return true, b.concat()
	case nn.Channels:
		return true, b.pickChannels(op)
	case nn.Split:
		return true, b.splitChannels(op)
	case nn.Inset:
		return true, b.insetPlanes(op)
	case nn.InsetGrad:
		return true, b.insetGrad(op)
	case nn.MaxPool:
		return true, b.maxPool()
	case nn.MaxPoolGrad:
		return true, b.maxPoolGrad()
	case nn.Upsample:
		return true, b.upsample()
	case nn.UpsampleGrad:
		return true, b.upsampleGrad()
	}
	return false, nil
}

// placed is Placed of elementwise.cu: a result of a placement.
type placed struct {
	Y                                        driver.Pointer
	H, W, Top, Left                          int32
	FirstRow, EndRow, FirstColumn, EndColumn int32
	YType, Vectors, N, Pad                   int32
}

// placeP is PlaceP of elementwise.cu.
type placeP struct {
	X                  driver.Pointer
	H, W, XType, Count int32
	To                 [2]placed
}

// move lowers a Place or a Cast. Places and casts that follow, each of the result before, join the launch, up to two
// results per launch: a result that nothing else reads is not stored.
func (b *layouts) move() error {
	x, y := b.ins(), b.outs()
	if _, ok := b.step.Op.(nn.Place); !ok {
		if done, err := b.convertWeights(x[0], y[0]); done || err != nil {
			return err
		}
	}
	s := x[0].shape
	if len(s) < 2 || !x[0].indexed() {
		if _, ok := b.step.Op.(nn.Cast); !ok {
			return operandError("%v numbers", s)
		}
		return (&elementwise{b.builder}).unary(unaryCopy, 0)
	}
	h, w := s.Plane()
	p := placeP{X: x[0].at, H: int32(h), W: int32(w), XType: x[0].kind()}
	at := placed{EndRow: int32(h), EndColumn: int32(w)}
	var results int32
	last := b.index
	for i, places := b.index, false; ; i++ {
		step := &b.plan.Steps[i]
		from, to := b.each(step.In)[0], b.each(step.Out)[0]
		place, isPlace := step.Op.(nn.Place)
		const most = 1 << 30
		if len(to.shape) < 2 || !to.indexed() || max(place.Top, place.Left) > most ||
			min(place.Top, place.Left) < -most {
			if i > b.index {
				break
			}
			return operandError("%v at (%d, %d) of %v", from.shape, place.Top, place.Left, to.shape)
		}
		places = places || isPlace
		h, w := to.shape.Plane()
		at = at.within(place, int32(h), int32(w))
		at.Y, at.YType, at.N, at.Vectors = to.at, to.kind(), int32(to.n()), flag(w%4 == 0)
		p.To[results] = at
		p.Count, last = results+1, i
		if i > b.index {
			b.done[i] = true
		}
		next := b.continues(i, x[0], to)
		if next && (b.readLater(i+1, step.Out[0]) || b.plan.Buffers[step.Out[0]].Pinned) {
			results++
		}
		if !next || results == int32(len(p.To)) {
			if !places {
				return (&elementwise{b.builder}).unary(unaryCopy, 0)
			}
			break
		}
	}
	n := int64(0)
	for _, t := range p.To[:p.Count] {
		n += (int64(t.N) + 3) / 4
	}
	return b.launchFor(b.index, last, false, "place", int((n+blockThreads-1)/blockThreads), parameter(&p))
}

// within composes a placement with a following one, into planes of h×w.
func (t placed) within(op nn.Place, h, w int32) placed {
	top, left := int32(op.Top), int32(op.Left)
	return placed{H: h, W: w, Top: t.Top + top, Left: t.Left + left,
		FirstRow: max(t.FirstRow+top, 0), EndRow: min(t.EndRow+top, h),
		FirstColumn: max(t.FirstColumn+left, 0), EndColumn: min(t.EndColumn+left, w)}
}

// continues reports whether the step after step i can take part in a launch that reads x and whose newest result is y:
// it casts y to a type at least as wide. A result that the plan placed over x gets its own memory.
func (b *layouts) continues(i int, x, y operand) bool {
	if i+1 >= b.segmentEnd() {
		return false
	}
	step, next := &b.plan.Steps[i], &b.plan.Steps[i+1]
	switch next.Op.(type) {
	case nn.Place, nn.Cast:
	default:
		return false
	}
	if next.In[0] != step.Out[0] || next.Phase != step.Phase {
		return false
	}
	to := b.each(next.Out)[0]
	exact := y.dtype == to.dtype || y.dtype == tensor.Float32 || y.dtype == x.dtype
	return exact && (!x.overlaps(to) || b.displace(next.Out[0]))
}

// mostDisplaced is the size of results in bytes for which a launch saved is worth memory of their own.
const mostDisplaced = 1 << 20

// displace moves a result of a later step from the arena to private memory, if that is worth it.
func (b *layouts) displace(id nn.BufferID) bool {
	buffer := &b.plan.Buffers[id]
	if buffer.Variable >= 0 || buffer.Pinned || buffer.Bytes() > mostDisplaced {
		return false
	}
	b.at[id] = b.keep(buffer.Bytes())
	return true
}

// segmentEnd returns the end of the current step's segment.
func (b *builder) segmentEnd() int {
	for _, s := range b.plan.Segments {
		if b.index >= s[0] && b.index < s[1] {
			return s[1]
		}
	}
	return b.index + 1
}

// readLater reports whether a step other than step i reads a buffer.
func (b *builder) readLater(i int, id nn.BufferID) bool {
	for k := range b.plan.Steps {
		if k == i {
			continue
		}
		for _, in := range b.plan.Steps[k].In {
			if in == id {
				return true
			}
		}
	}
	return false
}

// bytes returns the size of the operand.
func (o operand) bytes() int64 { return o.n() * o.dtype.Size() }

// overlaps reports whether operands share memory.
func (o operand) overlaps(p operand) bool {
	return o.at < p.at+driver.Pointer(p.bytes()) && p.at < o.at+driver.Pointer(o.bytes())
}

// blocksP is BlocksP of elementwise.cu.
type blocksP struct {
	X, Y                                    driver.Pointer
	Size, XStride, YStride, N, XType, YType int32
}

// channelBlocks copies channels of images: those from first on of x to those from second on of y, as many as the one
// that has fewer.
func (b *layouts) channelBlocks(x, y operand, first, second int) error {
	s, t := x.shape, y.shape
	if !x.indexed() || !y.indexed() {
		return operandError("%v to %v", s, t)
	}
	count := min(s[1], t[1])
	plane := s[2] * s[3]
	p := blocksP{X: x.at + driver.Pointer(int64(first*plane)*x.dtype.Size()),
		Y:    y.at + driver.Pointer(int64(second*plane)*y.dtype.Size()),
		Size: int32(count * plane), XStride: int32(s[1] * plane), YStride: int32(t[1] * plane), N: int32(s[0]),
		XType: x.kind(), YType: y.kind()}
	return b.over("blocks", int64(s[0]*count*plane), parameter(&p))
}

func (b *layouts) concat() error {
	at, y := 0, b.outs()[0]
	for _, o := range b.ins() {
		if err := b.channelBlocks(o, y, 0, at); err != nil {
			return err
		}
		at += o.shape[1]
	}
	return nil
}

func (b *layouts) pickChannels(op nn.Channels) error {
	return b.channelBlocks(b.ins()[0], b.outs()[0], op.From, 0)
}

func (b *layouts) splitChannels(op nn.Split) error {
	x, y := b.ins(), b.outs()
	if err := b.channelBlocks(x[0], y[0], 0, 0); err != nil {
		return err
	}
	return b.channelBlocks(x[0], y[1], op.Channels, 0)
}

// insetP is InsetP of elementwise.cu.
type insetP struct {
	Outer, Inner, Y                                                 driver.Pointer
	N, H, W, Top, Left, InnerH, InnerW, OuterType, InnerType, YType int32
}

// inset replaces a rectangle of h×w of outer by inner, or by zeros if that has no address.
func (b *layouts) inset(outer, inner, y operand, top, left, h, w int) error {
	if !y.indexed() {
		return operandError("%v into %v", inner.shape, y.shape)
	}
	outH, outW := y.shape.Plane()
	p := insetP{outer.at, inner.at, y.at, int32(y.n()), int32(outH), int32(outW), int32(top), int32(left),
		int32(h), int32(w),
		outer.kind(), inner.kind(), y.kind()}
	return b.over("inset", y.n(), parameter(&p))
}

func (b *layouts) insetPlanes(op nn.Inset) error {
	in, out := b.ins(), b.outs()
	h, w := in[1].shape.Plane()
	return b.inset(in[0], in[1], out[0], op.Top, op.Left, h, w)
}

func (b *layouts) insetGrad(op nn.InsetGrad) error {
	return b.inset(b.ins()[0], operand{}, b.outs()[0], op.Top, op.Left, op.Height, op.Width)
}

// halvesP is HalvesP of elementwise.cu.
type halvesP struct {
	X, GY, Y                       driver.Pointer
	N, W, Op, XType, GYType, YType int32
}

// Operators of elementwise.cu's halves.
const (
	halvesPool = iota
	halvesPoolGrad
	halvesRepeat
	halvesRepeatGrad
)

// halves lowers an operator between large images and ones of half their sides; gy, if there is one, is small.
func (b *layouts) halves(op int32, x, y, large, small operand, gy operand) error {
	if !large.indexed() {
		return operandError("%v numbers", large.shape)
	}
	p := halvesP{x.at, gy.at, y.at, int32(small.n()), int32(small.shape[3]), op, x.kind(), gy.kind(), y.kind()}
	return b.over("halves", small.n(), parameter(&p))
}

func (b *layouts) maxPool() error {
	x, y := b.ins(), b.outs()
	return b.halves(halvesPool, x[0], y[0], x[0], y[0], operand{})
}

func (b *layouts) maxPoolGrad() error {
	in, out := b.ins(), b.outs()
	return b.halves(halvesPoolGrad, in[0], out[0], in[0], in[1], in[1])
}

func (b *layouts) upsample() error {
	x, y := b.ins(), b.outs()
	return b.halves(halvesRepeat, x[0], y[0], y[0], x[0], operand{})
}

func (b *layouts) upsampleGrad() error {
	x, y := b.ins(), b.outs()
	return b.halves(halvesRepeatGrad, x[0], y[0], x[0], y[0], operand{})
}
