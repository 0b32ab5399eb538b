package volume

import (
	"prismtop/sim/cpu/vec/half"
	"prismtop/sim/cpu/vec/matrix"
)

const (
	// tileFloats bounds the copies of a task, so that they stay in the second-level cache of processors with tiles.
	tileFloats = 256 << 10
	// tileSpeed is the speed of tiles relative to other products, by which tasks are divided among threads.
	tileSpeed = 8
)

// A Tiles is a Correlation of bfloat16 with a stride of 1 computed by products of tiles:
//
//	a = x, voxels by (kx, channels);  b = w, (kx, channels) by channels of the output
//
// with a sum over kz, ky and the parts. With channels last, the values under the taps of a row of a kernel are a row of
// a where they lie. Copies of the input have zeros around each plane, whose rows follow each other: products run over
// those between two rows, too, and their sums are left out.
type Tiles struct {
	c      *Correlation
	tiles  matrix.Tiles
	blocks []tileBlock
	packed []uint16

	planes, lines int       // of a task
	wide          int       // voxels of a copied row
	copies        []int     // start of the copies of each part
	plane         []int     // elements of a copied plane of each part
	elements      int       // of the copies
	segments      [][]int32 // of each part
}

// tileBlock are the weights of a row of a kernel for a part: rows of the correlation's matrices, padded with zeros to
// whole segments.
type tileBlock struct{ row, rows, at, padded int }

// Tiles returns the correlation by products of tiles, or nil if it is not one of bfloat16 with a stride of 1, whole
// panels of channels and no bias.
func (c *Correlation) Tiles(tiles matrix.Tiles) *Tiles {
	one := Axes{1, 1, 1}
	if tiles == matrix.NoTiles || c.bias != nil || len(c.phases) != 1 || c.phases[0].nothing || c.step != one ||
		c.spacing != one || c.channels%panel != 0 || !whole(c.parts) || !bfloat16(c.y) {
		return nil
	}
	for _, p := range c.parts {
		if !bfloat16(p.X) {
			return nil
		}
	}
	t := &Tiles{c: c, tiles: tiles, planes: c.planes, lines: c.count[1], wide: c.count[2] + c.span[2] - 1}
	for t.divide(); t.elements > 2*tileFloats && (t.planes > 1 || t.lines > 8); t.divide() {
		if t.planes > 1 {
			t.planes = (t.planes + 1) / 2
		} else {
			t.lines = (t.lines + 1) / 2
		}
	}
	t.lay()
	return t
}

// lay lays out the copies and lists the segments of a division.
func (t *Tiles) lay() {
	t.divide()
	t.blocks, t.segments = nil, nil
	c, at, row := t.c, 0, 0
	for i, p := range c.parts {
		var segments []int32
		rows := c.span[2] * p.Channels
		padded := wholeSegments(rows)
		for k := range c.span[0] * c.span[1] {
			t.blocks = append(t.blocks, tileBlock{row, rows, at, padded})
			from := k/c.span[1]*t.plane[i] + k%c.span[1]*t.wide*p.Channels
			for j := 0; j < padded; j += matrix.TileBlock {
				segments = append(segments, int32(from+j), int32(at+j*c.channels))
			}
			row += rows
			at += padded * c.channels
		}
		t.segments = append(t.segments, segments)
	}
}

// divide lays out the copies of a task. After each plane come zeros, which the segments of its last voxels read; whole
// products read beyond the last plane.
func (t *Tiles) divide() {
	t.copies, t.plane, t.elements = t.copies[:0], t.plane[:0], 0
	for _, p := range t.c.parts {
		plane := (t.lines+t.c.span[1]-1)*t.wide*p.Channels + matrix.TileBlock
		t.copies, t.plane = append(t.copies, t.elements), append(t.plane, plane)
		t.elements += (t.planes+t.c.span[0]-1)*plane + (matrix.TileBlock+t.c.span[2])*p.Channels
	}
}

// PackedHalves is the number of 16-bit numbers of the memory that SetPacked needs.
func (t *Tiles) PackedHalves() int {
	last := t.blocks[len(t.blocks)-1]
	return last.at + last.padded*t.c.channels
}

// SetPacked gives the correlation the memory for its packed weights.
func (t *Tiles) SetPacked(memory []uint16) { t.packed = memory }

// TableBytes is the size of the tables.
func (t *Tiles) TableBytes() int {
	n := 32 * len(t.blocks)
	for _, s := range t.segments {
		n += 4 * len(s)
	}
	return n
}

// Blocks is the number of blocks of weights, for Pack.
func (t *Tiles) Blocks() int { return len(t.blocks) }

// Pack rounds blocks lo to hi of the weights, which the correlation has arranged, to pairs of rows. All blocks are
// packed before the first task.
func (t *Tiles) Pack(lo, hi int) {
	n := t.c.channels
	for _, b := range t.blocks[lo:hi] {
		to, w := t.packed[b.at:][:b.padded*n], t.c.matrices[b.row*n:]
		half.TilePairs(t.c.set, to, 2*n, w, w[n:], 2*n, b.rows/2, n)
		clear(to[b.rows*n:])
	}
}

// across is the number of tasks of an image along the depth or the height.
func (t *Tiles) across(axis int) int {
	if axis == 0 {
		return (t.c.count[0] + t.planes - 1) / t.planes
	}
	return (t.c.count[1] + t.lines - 1) / t.lines
}

// Tasks is the number of tasks, for Compute.
func (t *Tiles) Tasks() int { return t.c.n * t.across(0) * t.across(1) }

// Work is the number of multiplications of a task that take as long as those of tiles.
func (t *Tiles) Work() int {
	return 1 + t.planes*t.lines*t.c.count[2]*len(t.c.rows)*t.c.channels/tileSpeed
}

// groups is the number of products of so many rows of a plane.
func (t *Tiles) groups(lines int) int {
	return (lines*t.wide + matrix.TileBlock - 1) / matrix.TileBlock
}

// sums is the number of floats of a plane's sums.
func (t *Tiles) sums() int { return t.groups(t.lines) * matrix.TileBlock * t.c.channels }

// Scratch is the number of floats that a task needs.
func (t *Tiles) Scratch() int { return t.sums() + (t.elements+1)/2 }

// Compute runs a task.
func (t *Tiles) Compute(scratch []float32, task int) {
	c := t.c
	image := task / (t.across(0) * t.across(1))
	z := task / t.across(1) % t.across(0) * t.planes
	y := task % t.across(1) * t.lines
	planes, lines := min(t.planes, c.count[0]-z), min(t.lines, c.count[1]-y)
	sums, copies := scratch[:t.sums()], half.HalvesOf(scratch[t.sums():])
	for i := range c.parts {
		for p := range planes + c.span[0] - 1 {
			t.copyPlane(copies[t.copies[i]+p*t.plane[i]:][:t.plane[i]], &c.parts[i], image, z+c.low[0]+p, y+c.low[1],
				lines+c.span[1]-1)
		}
	}
	for p := range planes {
		t.multiply(sums, copies, p, lines)
		for line := range lines {
			at := ((image*c.out[0]+z+p)*c.out[1] + y + line) * c.out[2] * c.channels
			c.y.Store(c.set, sums[line*t.wide*c.channels:][:c.out[2]*c.channels], at)
		}
	}
}

// copyPlane copies rows of a plane of a part from line on, with zeros for voxels outside it and after the last row.
func (t *Tiles) copyPlane(dst []uint16, part *Part, image, plane, line, rows int) {
	c, n := t.c, part.Channels
	pitch, from := t.wide*n, -c.low[2]*n
	clear(dst[rows*pitch:][:matrix.TileBlock])
	for r := range rows {
		row, y := dst[r*pitch:][:pitch], line+r
		if plane < 0 || plane >= c.in[0] || y < 0 || y >= c.in[1] {
			clear(row)
			continue
		}
		clear(row[:from])
		copied := copy(row[from:], part.X.H[((image*c.in[0]+plane)*c.in[1]+y)*c.in[2]*n:][:c.in[2]*n])
		clear(row[from+copied:])
	}
}

// multiply computes the sums of a plane of the task.
func (t *Tiles) multiply(sums []float32, copies []uint16, plane, lines int) {
	out := t.c.channels
	for o := 0; o < out; o += matrix.TileBlock {
		side := matrix.TileSide
		if out-o < matrix.TileBlock {
			side = 0 // one tile of columns, twice
		}
		for i, part := range t.c.parts {
			n := part.Channels
			t.tiles.Product(&matrix.TileProduct{A: copies[t.copies[i]+plane*t.plane[i]:], B: t.packed[2*o:],
				C: sums[o:], Segments: t.segments[i], Groups: t.groups(lines), AStride: n, AHalf: matrix.TileSide * n,
				AStep: matrix.TileBlock * n, BStride: 2 * out, BHalf: 2 * side, CStride: out,
				CRowHalf: matrix.TileSide * out, CColHalf: side, CStep: matrix.TileBlock * out, Accumulate: i > 0})
		}
	}
}
