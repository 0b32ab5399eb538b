package fft

import (
	"fmt"
	"math"
	"math/bits"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/dft"
)

// Layout gives the offsets of the rows of lanes in a strip, in floats: row i is at
// i·Pitch + (i/64)·Pad. The pad keeps the rows of one butterfly from conflicting in
// the first-level cache. For the format of a row see dft.StripRow.
type Layout struct{ Pitch, Pad int }

// Row returns the offset of row i.
func (l Layout) Row(i int) int { return i*l.Pitch + i>>6*l.Pad }

// MinLines and MaxLines bound the lengths that Lines transforms, powers of two.
const (
	MinLines = 16
	MaxLines = MaxSide
)

// Lines transforms dft.StripLanes lines of n elements side by side, the centred way
// or the plain one (see the package), without a factor: passes of radix 8, after
// one of radix 2 or 4 if the length requires it, in the order of decimation in
// frequency. It holds only tables and is safe for concurrent use.
type Lines struct {
	n      int
	layout Layout
	passes []passTable
	starts []int32 // of the last pass's blocks of 64 rows, see last
}

// passTable is a pass over spans of size elements.
type passTable struct {
	radix, size       int
	twiddles, centred []float32 // radix−1 factors per group; nil in the last pass
}

// NewLines makes the tables for lines of n elements, a power of two from MinLines on.
func NewLines(n int) (*Lines, error) {
	if n < MinLines || n > MaxLines || n&(n-1) != 0 {
		return nil, fmt.Errorf("FFT of lines of %d: must be a power of two from %d to %d", n, MinLines, MaxLines)
	}
	l := &Lines{n: n, layout: Layout{Pitch: dft.StripRow}}
	if n >= 512 {
		l.layout.Pad = dft.StripRow
	}
	for m := n; m > 1; {
		radix := 8
		if m == n {
			radix = [3]int{8, 2, 4}[(bits.TrailingZeros(uint(n)))%3]
		}
		p := passTable{radix: radix, size: m}
		if m > 8 {
			p.twiddles = make([]float32, 2*(radix-1)*m/radix)
			p.centred = p.twiddles
			if m == n {
				p.centred = make([]float32, len(p.twiddles))
			}
		}
		l.passes = append(l.passes, p)
		m /= radix
	}
	l.starts = make([]int32, (n+63)/64)
	l.rebuild()
	return l, nil
}

// rebuild computes the tables again, in place.
func (l *Lines) rebuild() {
	for _, p := range l.passes {
		t := 0
		for g := 0; g < p.size/p.radix && p.twiddles != nil; g++ {
			for k := 1; k < p.radix; k++ {
				sin, cos := math.Sincos(-2 * math.Pi * float64(g*k) / float64(p.size))
				p.twiddles[t], p.twiddles[t+1] = float32(cos), float32(sin)
				if p.size == l.n {
					// Half a turn of the input changes the sign of odd results.
					sign := float32(1 - 2*(k&1))
					p.centred[t], p.centred[t+1] = sign*float32(cos), sign*float32(sin)
				}
				t += 2
			}
		}
	}
	// A block of 64 rows spans the digits of the last two passes; the other
	// digits, reversed, give the start of the block's results.
	for block := range l.starts {
		k, weight, rest, m := 0, 1, block*64, l.n
		for i := 0; i < len(l.passes)-2; i++ {
			m /= l.passes[i].radix
			k += rest / m * weight
			rest %= m
			weight *= l.passes[i].radix
		}
		l.starts[block] = int32(k)
	}
}

// Len returns the number of elements of a line.
func (l *Lines) Len() int { return l.n }

// Layout returns the layout of strips; StripLen is their length in floats.
func (l *Lines) Layout() Layout { return l.layout }

// StripLen returns the length of a strip in floats.
func (l *Lines) StripLen() int { return l.layout.Row(l.n) }

// NewScratch makes the scratch of a transform, aligned to a cache line.
func (l *Lines) NewScratch() []float32 { return aligned(l.ScratchLen()) }

// NewStrips makes count consecutive strips, aligned to a cache line.
func (l *Lines) NewStrips(count int) []float32 { return aligned(count * l.StripLen()) }

func (l *Lines) bytes() int64 {
	n := int64(len(l.starts))
	for _, p := range l.passes {
		n += int64(len(p.twiddles))
	}
	return 4 * (n + int64(len(l.passes[0].centred)))
}

// blockRows is the number of rows that the last two passes span.
const blockRows = 64

// ScratchLen is the length in floats of the scratch of a transform: a strip and a block of rows.
func (l *Lines) ScratchLen() int { return l.StripLen() + blockRows*l.layout.Pitch }

// Transform writes the transform of src's lines to dst's. scratch, of ScratchLen floats, is
// separate; dst and src may be the same if they share the layout. Padded layouts need
// lines of at least 512 elements.
func (l *Lines) Transform(set vec.Set, dst []float32, to Layout, src []float32, from Layout, scratch []float32,
	centred bool) {
	between, block := scratch[:l.StripLen()], scratch[l.StripLen():]
	l.first(set, src, from, between, centred)
	l.rest(set, dst, to, between, block, centred)
}

// TransformOver is Transform, but overwrites src, which has the lines' layout: a strip less in the caches.
func (l *Lines) TransformOver(set vec.Set, dst []float32, to Layout, src, scratch []float32, centred bool) {
	l.first(set, src, l.layout, src, centred)
	l.rest(set, dst, to, src, scratch[l.StripLen():], centred)
}

// rest runs the passes after the first. The last two finish a block of rows before the next, while it is in the
// first-level cache.
func (l *Lines) rest(set vec.Set, dst []float32, to Layout, between, block []float32, centred bool) {
	middle := l.passes[1 : len(l.passes)-1]
	for i, start := range l.starts {
		row := i * blockRows
		from := between[l.layout.Row(row):]
		for k := range middle {
			p, out := &middle[k], from
			if row%p.size != 0 {
				continue
			}
			if k == len(middle)-1 {
				out = block
			}
			l.span(set, from, l.layout, out, p, p.twiddles)
		}
		if len(middle) > 0 {
			from = block
		}
		l.last(set, dst, to, from, int(start), centred)
	}
}

func (l *Lines) first(set vec.Set, src []float32, from Layout, scratch []float32, centred bool) {
	p := &l.passes[0]
	twiddles := p.twiddles
	if centred {
		twiddles = p.centred
	}
	l.span(set, src, from, scratch, p, twiddles)
}

// span runs a pass over one span, at most 64 groups at a time: within these, rows
// are equally spaced.
func (l *Lines) span(set vec.Set, src []float32, from Layout, scratch []float32, p *passTable, twiddles []float32) {
	groups := p.size / p.radix
	b := dft.Butterflies{Groups: min(groups, 64), InStep: from.Pitch, InStride: from.Row(groups),
		OutStep: l.layout.Pitch, OutStride: l.layout.Row(groups), Half: 4 * l.layout.Row(groups)}
	per := 2 * (p.radix - 1) * b.Groups
	for g := 0; g < groups; g += b.Groups {
		dft.Pass(set, p.radix, scratch, l.layout.Row(g), src[from.Row(g):], &b, twiddles[:per])
		twiddles = twiddles[per:]
	}
}

// last is the final pass of a block of rows: result k of its group g is element
// start + g·n/64 + k·n/8, shifted by half a line if centred.
func (l *Lines) last(set vec.Set, dst []float32, to Layout, block []float32, start int, centred bool) {
	groups, step := min(8, l.n/8), max(l.n/64, 1)
	half := to.Row(l.n / 2)
	at := 0
	if centred {
		at, half = half, -half
	}
	b := dft.Butterflies{Groups: min(groups, max(64/step, 1)), InStep: 8 * l.layout.Pitch, InStride: l.layout.Pitch,
		OutStep: step * to.Pitch, OutStride: to.Row(l.n / 8), Half: half}
	for g := 0; g < groups; g += b.Groups {
		dft.Pass(set, 8, dst, at+to.Row(start+g*step), block[l.layout.Row(8*g):], &b, nil)
	}
}
