package volume

import (
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/winograd"
)

// leastTerms is the number of products added for a transformed output from which tiles of 2×2
// pay.
const leastTerms = 32

// A Winograd is a Correlation with kernels of 3×3 in the planes computed by Winograd's
// F(2×2, 3×3) or F(4×4, 3×3), whose products are added over the kernel's depth:
//
//	y = Aᵀ·(Σ over c and kz of D[z + kz, c] ⊙ K[kz, c])·A
type Winograd struct {
	c        *Correlation
	t        tiling
	channels int // of the input
	group    int // units of a task
	kernels  []float32
}

// Winograd returns the correlation by tiles of 2×2 or 4×4 outputs, or nil if it is not one
// of 3×3 in the planes with a stride of 1, whole panels of channels and no bias.
func (c *Correlation) Winograd(side int) *Winograd {
	if c.square == nil || c.bias != nil || c.channels%panel != 0 || !whole(c.parts) {
		return nil
	}
	w := &Winograd{c: c}
	for i := range c.parts {
		w.channels += c.parts[i].Channels
	}
	if taps := c.square.Kernel[0]; side == 2 && taps*w.channels < leastTerms {
		return nil
	}
	w.t = newTiling(c.set, side, c.out, c.square.Kernel[0], w.channels+c.channels, depthFirst)
	all := c.n * w.t.units()
	least := tasks
	if w.t.points()*w.t.taps*w.channels*c.channels > unitFloats { // read again in every task
		least = tasks / 4
	}
	one := w.t.points() * w.t.depth() * w.t.tiles * (w.channels + c.channels)
	w.group = max(min(all/least, unitFloats/one), 1)
	return w
}

// KernelFloats is the size of the memory that SetKernels needs.
func (w *Winograd) KernelFloats() int {
	return w.t.points() * w.kernelStep()
}

// kernelStep is the distance between two points' kernels.
func (w *Winograd) kernelStep() int { return w.t.taps*w.channels*w.c.channels + panel }

// SetKernels gives the correlation the memory for its transformed kernels.
func (w *Winograd) SetKernels(memory []float32) { w.kernels = memory }

// Rows is the number of rows of the kernels, for Transform.
func (w *Winograd) Rows() int { return w.t.taps * w.channels }

// RowScratch is the number of floats that Transform needs.
func (w *Winograd) RowScratch() int { return winograd.Scratch }

// Transform transforms rows lo to hi of the kernels, whose weights the correlation has
// arranged. All rows are transformed before the first task.
func (w *Winograd) Transform(scratch []float32, lo, hi int) {
	out, step := w.c.channels, w.kernelStep()
	for i := lo; i < hi; i++ {
		kz, l := i/w.channels, i%w.channels
		at := 0 // of the part's matrices
		for _, p := range w.c.parts {
			if l < p.Channels {
				at += (kz*9*p.Channels + l) * out
				winograd.Transform(w.t.set, winograd.Kernel, w.t.side, w.kernels[i*out:], w.t.reach*step, step, panel,
					w.c.matrices[at:], 3*p.Channels*out, p.Channels*out, panel, out/panel, scratch)
				break
			}
			l -= p.Channels
			at += w.t.taps * 9 * p.Channels * out
		}
	}
}

// Tasks is the number of tasks, for Compute.
func (w *Winograd) Tasks() int { return (w.c.n*w.t.units() + w.group - 1) / w.group }

// Work is the number of multiplications of a task.
func (w *Winograd) Work() int {
	return 1 + w.group*w.t.points()*w.t.planes*w.t.tiles*w.t.taps*w.channels*w.c.channels
}

// Scratch is the number of floats that a task needs.
func (w *Winograd) Scratch() int {
	return w.group*w.t.points()*(w.t.between(w.t.depth(), w.channels)+w.t.between(w.t.planes, w.c.channels)) +
		w.t.copyFloats(w.channels, w.t.reach) + winograd.Scratch + w.asideFloats()
}

// asideFloats is the size of a unit's outputs in one plane.
func (w *Winograd) asideFloats() int { return w.t.side * w.t.tiles * w.t.side * w.c.channels }

// Compute runs a task.
func (w *Winograd) Compute(scratch []float32, task int) {
	t := &w.t
	first := task * w.group
	n := min(w.group, w.c.n*t.units()-first)
	inputs, products := t.points()*t.between(t.depth(), w.channels), t.points()*t.between(t.planes, w.c.channels)
	v, scratch := scratch[:w.group*inputs], scratch[w.group*inputs:]
	m, scratch := scratch[:w.group*products], scratch[w.group*products:]
	copied := t.copyFloats(w.channels, t.reach)
	copies, scratch := scratch[:copied], scratch[copied:]
	for i := range n {
		t.inputs(v[i*inputs:], copies, w.c.parts, w.channels, t.unit(first+i), scratch)
	}
	w.multiply(m, v, first, n, inputs, products)
	for i := range n {
		w.outputs(m[i*products:], t.unit(first+i), scratch)
	}
}

// multiply adds the products of n units' tiles.
func (w *Winograd) multiply(m, v []float32, first, n, inputs, products int) {
	t, out := &w.t, w.c.channels
	from, to := t.between(t.depth(), w.channels), t.between(t.planes, out)
	for k := range t.points() {
		kernel := w.kernels[k*w.kernelStep():]
		for i := range n {
			u := t.unit(first + i)
			_, inTile := t.strides(u, t.depth(), w.channels)
			_, outTile := t.strides(u, t.planes, out)
			rows, tiles := u.planes, u.tiles
			if t.taps == 1 && u.planes == t.planes { // the rows of all tiles follow each other
				rows, tiles = u.planes*u.tiles, 1
			}
			for tile := range tiles {
				conv.Outer(t.set, m[i*products+k*to+tile*outTile:], out, panel, rows, out/panel,
					v[i*inputs+k*from+tile*inTile:], w.channels, 1, kernel, out, panel, t.taps*w.channels, false)
			}
		}
	}
}

// outputs transforms the products of a unit back. Rows of tiles that cross the plane's border
// and 16-bit outputs are computed aside.
func (w *Winograd) outputs(m []float32, u unit, scratch []float32) {
	t, out := &w.t, w.c.channels
	point := t.between(t.planes, out)
	plane, tile := t.strides(u, t.planes, out)
	aside, scratch := scratch[:w.asideFloats()], scratch[w.asideFloats():]
	rows, columns := min(t.side, t.sides[1]-u.y), min(u.tiles*t.side, t.sides[2]-u.x)
	direct := w.c.y.F != nil && rows == t.side && columns == u.tiles*t.side
	for z := range u.planes {
		first := (((u.image*t.sides[0]+u.z+z)*t.sides[1]+u.y)*t.sides[2] + u.x) * out
		y, pitch := aside, u.tiles*t.side*out
		if direct {
			y, pitch = w.c.y.F[first:], t.sides[2]*out
		}
		for c := 0; c < out; c += panel {
			winograd.Transform(t.set, winograd.Products, t.side, y[c:], pitch, out, t.side*out, m[z*plane+c:],
				t.reach*point, point, tile, u.tiles, scratch)
		}
		for r := 0; r < rows && !direct; r++ {
			w.c.y.Store(t.set, aside[r*pitch:][:columns*out], first+r*t.sides[2]*out)
		}
	}
}
