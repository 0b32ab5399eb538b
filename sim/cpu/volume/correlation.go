package volume

import (
	"math"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/conv"
)

// A Correlation computes one grid from the values of another under a kernel: a gather
// or a scatter. Output voxels fall into phases of a regular spacing, each with its own
// taps: one phase for a gather, one for each position within the stride for a scatter.
// In a phase, output m along an axis reads inputs step·m + first, step·m + first + 1, …
//
// The inputs of a few rows are copied with zeros around them. Along the depth the
// copies are a ring of the planes under the kernel.
type Correlation struct {
	set      vec.Set
	n        int
	in, out  Axes
	channels int // of the output
	step     Axes
	spacing  Axes // of a phase's outputs
	phases   []phase
	parts    []Part // the inputs
	y        Values
	bias     []float32

	w         []float32
	wStride   int     // between output channels
	rows      []int32 // first weight of each row of the matrices
	matrices  []float32
	low, span Axes // of the inputs of output 0, over all phases
	count     Axes // outputs of the largest phase
	planes    int  // of a task
	lines     int  // rows of a task
	copied    Axes // size of the ring
	starts    []int
	ring      int       // floats of the copies of all parts
	square    *Geometry // nil unless of 3×3 in the planes, with a stride of 1
}

// phase is a regular part of the output.
type phase struct {
	axes    [3]phaseAxis
	matrix  int // row of the first matrix
	nothing bool
}

// phaseAxis is a phase along one axis: its first output, the number of outputs, the
// first input of output 0, and the taps of the inputs from there on.
type phaseAxis struct {
	start, count, first int
	taps                []int
}

// Gather returns the correlation that computes the small grid y from parts of the large
// one. bias may be nil.
func (g *Geometry) Gather(set vec.Set, y Values, parts []Part, w, bias []float32) *Correlation {
	c := &Correlation{set: set, n: g.N, in: g.Large.Sides, out: g.Small.Sides, channels: g.Small.Channels,
		step: g.Stride, spacing: Axes{1, 1, 1}, parts: parts, y: y, bias: bias, w: w}
	var p phase
	for a := range p.axes {
		p.axes[a] = phaseAxis{count: g.Small.Sides[a], first: -g.Pad[a]}
		for k := range g.Kernel[a] {
			p.axes[a].taps = append(p.axes[a].taps, k)
		}
	}
	c.phases = []phase{p}
	c.wStride = g.Large.Channels * g.Kernel.Product()
	c.plan(g, g.Kernel.Product(), 0)
	return c
}

// Scatter returns the correlation that computes a part y of the large grid, its channels
// from first on, from the small one.
func (g *Geometry) Scatter(set vec.Set, y, small Values, first, channels int, w []float32) *Correlation {
	c := &Correlation{set: set, n: g.N, in: g.Small.Sides, out: g.Large.Sides, channels: channels,
		step: Axes{1, 1, 1}, spacing: g.Stride, y: y, w: w, parts: []Part{{X: small, Channels: g.Small.Channels}}}
	var axes [3][]phaseAxis
	for a := range axes {
		axes[a] = scatterAxis(g.Large.Sides[a], g.Kernel[a], g.Stride[a], g.Pad[a])
	}
	for _, z := range axes[0] {
		for _, y := range axes[1] {
			for _, x := range axes[2] {
				c.phases = append(c.phases, phase{axes: [3]phaseAxis{z, y, x}})
			}
		}
	}
	c.wStride = g.Kernel.Product()
	c.plan(g, g.Large.Channels*g.Kernel.Product(), first*g.Kernel.Product())
	return c
}

// scatterAxis groups outputs q by (q + pad) mod stride: q + pad = stride·m + k pairs
// output q with input m through tap k.
func scatterAxis(side, kernel, stride, pad int) []phaseAxis {
	var all []phaseAxis
	for residue := range stride {
		m := max(0, (pad-residue+stride-1)/stride)
		p := phaseAxis{start: stride*m + residue - pad}
		if p.start >= side {
			continue
		}
		p.count = (side - p.start + stride - 1) / stride
		for k := residue; k < kernel; k += stride {
			p.taps = append([]int{k}, p.taps...)
		}
		p.first = m - len(p.taps) + 1
		all = append(all, p)
	}
	return all
}

const (
	// tasks is the number of tasks sought: enough for the threads of most machines.
	tasks = 16
	// ringFloats bounds the copies of a task where rows can be divided, so that they stay
	// in the second-level cache.
	ringFloats = 192 << 10
)

// plan lays out the matrices of weights, whose element for input channel c and tap k
// of output channel o is w[from + o·wStride + c·inStride + k], and the copies.
func (c *Correlation) plan(g *Geometry, inStride, from int) {
	if g.square() {
		c.square = g
	}
	c.low, c.span = Axes{math.MaxInt, math.MaxInt, math.MaxInt}, Axes{}
	var high Axes
	for a := range high {
		high[a] = math.MinInt
	}
	for i := range c.phases {
		p := &c.phases[i]
		for a, axis := range p.axes {
			c.count[a] = max(c.count[a], axis.count)
			p.nothing = p.nothing || len(axis.taps) == 0
		}
		if p.nothing {
			continue
		}
		for a, axis := range p.axes {
			c.low[a], high[a] = min(c.low[a], axis.first), max(high[a], axis.first+len(axis.taps)-1)
		}
		p.matrix = len(c.rows)
		for _, part := range c.parts {
			for _, kz := range p.axes[0].taps {
				for _, ky := range p.axes[1].taps {
					for _, kx := range p.axes[2].taps {
						tap := (kz*g.Kernel[1]+ky)*g.Kernel[2] + kx
						for l := range part.Channels {
							c.rows = append(c.rows, int32(from+(part.First+l)*inStride+tap))
						}
					}
				}
			}
		}
	}
	for a := range high {
		c.span[a] = high[a] - c.low[a] + 1
	}
	c.planes = min(max((g.N*c.count[0]+tasks-1)/tasks, 1), c.count[0])
	c.lines = c.count[1]
	if c.count[0] == 1 {
		c.lines = min(max((g.N*c.count[1]+tasks-1)/tasks, 1), c.count[1])
	}
	for c.size(); c.ring > ringFloats && c.lines > 8; c.size() {
		c.lines = (c.lines + 1) / 2
	}
}

// size computes the size of the copies.
func (c *Correlation) size() {
	c.copied = Axes{c.span[0], c.step[1]*(c.lines-1) + c.span[1], c.step[2]*(c.count[2]-1) + c.span[2]}
	c.ring, c.starts = 0, c.starts[:0]
	for _, p := range c.parts {
		c.starts = append(c.starts, c.ring)
		c.ring += c.copied.Product() * p.Channels
	}
}

// MatrixFloats is the size of the memory that SetMatrices needs.
func (c *Correlation) MatrixFloats() int { return len(c.rows) * roundedUp(c.channels) }

// TableBytes is the size of the tables that the correlation holds.
func (c *Correlation) TableBytes() int { return 4 * len(c.rows) }

// SetMatrices gives the correlation the memory for its matrices.
func (c *Correlation) SetMatrices(memory []float32) { c.matrices = memory }

// Rows is the number of rows of the matrices, for Arrange.
func (c *Correlation) Rows() int { return len(c.rows) }

// Arrange copies the weights of rows lo to hi of the matrices. All rows are copied before
// the first task.
func (c *Correlation) Arrange(lo, hi int) {
	width := roundedUp(c.channels)
	for i := lo; i < hi; i++ {
		row, w := c.matrices[i*width:][:width], c.w[c.rows[i]:]
		for o := range c.channels {
			row[o] = w[o*c.wStride]
		}
		clear(row[c.channels:])
	}
}

// Tasks is the number of tasks, for Compute.
func (c *Correlation) Tasks() int { return c.n * c.across(0) * c.across(1) }

// Work is the number of multiplications of a task.
func (c *Correlation) Work() int {
	return 1 + c.planes*c.lines*c.count[2]*len(c.rows)*roundedUp(c.channels)
}

// Scratch is the number of floats that a task needs.
func (c *Correlation) Scratch() int {
	n := c.ring
	if c.aside() {
		n += c.count[2] * roundedUp(c.channels)
	}
	return n
}

// aside reports whether rows are computed in scratch and then stored.
func (c *Correlation) aside() bool { return c.channels%panel != 0 || c.y.F == nil }

// across is the number of tasks of an image along the depth or the height.
func (c *Correlation) across(axis int) int {
	if axis == 0 {
		return (c.count[0] + c.planes - 1) / c.planes
	}
	return (c.count[1] + c.lines - 1) / c.lines
}

// Compute runs a task.
func (c *Correlation) Compute(scratch []float32, task int) {
	image := task / (c.across(0) * c.across(1))
	z := task / c.across(1) % c.across(0) * c.planes
	y := task % c.across(1) * c.lines
	next := math.MinInt
	for m := z; m < min(z+c.planes, c.count[0]); m++ {
		first := c.step[0]*m + c.low[0]
		for plane := max(first, next); plane < first+c.span[0]; plane++ {
			c.copyPlane(scratch, image, plane, y)
		}
		next = first + c.span[0]
		for i := range c.phases {
			p := &c.phases[i]
			if m >= p.axes[0].count {
				continue
			}
			for line := y; line < min(y+c.lines, p.axes[1].count); line++ {
				c.row(scratch, p, image, m, line, line-y)
			}
		}
	}
}

// copyPlane copies rows of an input plane of every part, for the outputs from row y on,
// with zeros for voxels outside it.
func (c *Correlation) copyPlane(scratch []float32, image, plane, y int) {
	slot := (plane - c.low[0]) % c.span[0]
	from, to := max(0, -c.low[2]), min(c.copied[2], c.in[2]-c.low[2])
	for i, part := range c.parts {
		n := part.Channels
		pitch := c.copied[2] * n
		dst := scratch[c.starts[i]+slot*c.copied[1]*pitch:][:c.copied[1]*pitch]
		if plane < 0 || plane >= c.in[0] || from >= to {
			clear(dst)
			continue
		}
		for r := range c.copied[1] {
			row, line := dst[r*pitch:][:pitch], c.step[1]*y+c.low[1]+r
			if line < 0 || line >= c.in[1] {
				clear(row)
				continue
			}
			clear(row[:from*n])
			at := ((image*c.in[0]+plane)*c.in[1]+line)*c.in[2] + c.low[2] + from
			part.X.Copy(c.set, row[from*n:to*n], at*n)
			clear(row[to*n:])
		}
	}
}

// row computes a row of a phase, row local of the task.
func (c *Correlation) row(scratch []float32, p *phase, image, m, line, local int) {
	at := Axes{p.axes[0].start + c.spacing[0]*m, p.axes[1].start + c.spacing[1]*line, p.axes[2].start}
	width, count := roundedUp(c.channels), p.axes[2].count
	place := (((image*c.out[0]+at[0])*c.out[1]+at[1])*c.out[2] + at[2]) * c.channels
	sums, pitch := scratch[c.ring:], width
	if !c.aside() {
		sums, pitch = c.y.F[place:], c.spacing[2]*c.channels
	}
	add := c.bias != nil || p.nothing
	if add {
		c.begin(sums, pitch, count)
	}
	matrix := p.matrix * width
	for i := range c.parts {
		if p.nothing {
			break
		}
		n := c.parts[i].Channels
		k := len(p.axes[2].taps) * n
		for tz := range p.axes[0].taps {
			slot := (c.step[0]*m + p.axes[0].first - c.low[0] + tz) % c.span[0]
			for ty := range p.axes[1].taps {
				r := c.step[1]*local + p.axes[1].first - c.low[1] + ty
				x := scratch[c.starts[i]+((slot*c.copied[1]+r)*c.copied[2]+p.axes[2].first-c.low[2])*n:]
				conv.Outer(c.set, sums, pitch, panel, count, width/panel, x, c.step[2]*n, 1, c.matrices[matrix:], width,
					panel, k, add)
				add, matrix = true, matrix+k*width
			}
		}
	}
	switch {
	case !c.aside():
	case width == c.channels && c.spacing[2] == 1:
		c.y.Store(c.set, sums[:count*width], place)
	case c.channels == 1 && c.y.F != nil:
		y := c.y.F[place:]
		for i := range count {
			y[i*c.spacing[2]] = sums[i*width]
		}
	default:
		for i := range count {
			c.y.Store(c.set, sums[i*width:][:c.channels], place+i*c.spacing[2]*c.channels)
		}
	}
}

// begin sets the sums of a row to the bias.
func (c *Correlation) begin(sums []float32, pitch, count int) {
	width := roundedUp(c.channels)
	if pitch == width {
		clear(sums[:count*width])
	}
	for i := range count {
		to := sums[i*pitch:][:width]
		switch {
		case pitch != width:
			clear(to)
			copy(to, c.bias)
		case len(c.bias) == 1:
			to[0] = c.bias[0]
		default:
			copy(to, c.bias)
		}
	}
}
