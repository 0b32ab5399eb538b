package volume

import (
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/winograd"
)

const (
	// mostPlanes bounds the planes of a unit.
	mostPlanes = 16
	// unitFloats bounds the transformed values and products of a unit, so that they stay
	// in the second-level cache.
	unitFloats = 192 << 10
)

// A tiling cuts planes into tiles of side×side voxels for Winograd's algorithm, whose
// inputs overlap by two. A unit is a run of tiles across the planes, in up to mostPlanes
// planes.
type tiling struct {
	set           vec.Set
	side, reach   int
	sides         Axes // of the volume
	taps          int  // of the kernel along the depth
	planes        int  // of a unit
	tiles         int  // of a unit in each plane
	chunks, parts int  // units along the depth and the width
	down          int  // rows of tiles
	group         int  // units of a run, in the same planes
	order         order
}

// order is the order of the transformed values of a unit.
type order bool

const (
	depthFirst order = false // of a tile, its planes
	tilesFirst order = true  // of a plane, its tiles
)

// newTiling returns the tiling of volumes for units of all channels together.
func newTiling(set vec.Set, side int, sides Axes, taps, channels int, order order) tiling {
	t := tiling{set: set, side: side, reach: side + 2, sides: sides, taps: taps, group: 1, order: order}
	t.planes = min(sides[0], mostPlanes)
	t.chunks = (sides[0] + t.planes - 1) / t.planes
	t.down = (sides[1] + side - 1) / side
	across := (sides[2] + side - 1) / side
	most := max(unitFloats/(t.points()*t.depth()*channels), 1)
	t.parts = (across + most - 1) / most
	t.tiles = (across + t.parts - 1) / t.parts
	t.parts = (across + t.tiles - 1) / t.tiles
	return t
}

// points is the number of products of a tile.
func (t *tiling) points() int { return t.reach * t.reach }

// depth is the number of a unit's planes with those under the kernel around them.
func (t *tiling) depth() int { return t.planes + t.taps - 1 }

// units is the number of units of an image.
func (t *tiling) units() int { return t.chunks * t.down * t.parts }

// unit is one of them: its first plane, row and column, its planes, its tiles across, and the
// tiles of its run in a plane.
type unit struct {
	image, z, y, x     int
	planes, tiles, run int
}

// unit returns unit i of all images.
func (t *tiling) unit(i int) unit {
	u := unit{image: i / t.units()}
	i %= t.units()
	u.x, i = i%t.parts*t.tiles, i/t.parts
	u.y, i = i%t.down*t.side, i/t.down
	u.z = i * t.planes
	u.planes = min(t.planes, t.sides[0]-u.z)
	u.tiles = min(t.tiles, (t.sides[2]+t.side-1)/t.side-u.x)
	u.x *= t.side
	u.run = u.tiles
	return u
}

// strides are the distances between planes and tiles of a unit's transformed values of
// channels channels, in the given number of planes.
func (t *tiling) strides(u unit, planes, channels int) (plane, tile int) {
	if t.order == tilesFirst {
		return u.run * channels, channels
	}
	return channels, planes * channels
}

// between is the distance between two points' values of a run; it is not a multiple of a
// page, at which they would share a few lines of the first-level cache.
func (t *tiling) between(planes, channels int) int { return t.group*t.tiles*planes*channels + panel }

// copyFloats is the size of the copies of copyRows.
func (t *tiling) copyFloats(channels, reach int) int {
	return reach * (t.tiles*t.side + reach - t.side) * channels
}

// copyRows copies the rows under a unit's tiles in a plane of a part, reach of them for each
// tile of side, from the given margin on, with zeros outside the plane.
func (t *tiling) copyRows(dst []float32, part Part, u unit, plane, reach, margin int) {
	n := part.Channels
	width := u.tiles*t.side + reach - t.side
	first := u.x - margin
	from, to := max(0, -first), min(width, t.sides[2]-first)
	for r := range reach {
		row, line := dst[r*width*n:][:width*n], u.y-margin+r
		if line < 0 || line >= t.sides[1] {
			clear(row)
			continue
		}
		clear(row[:from*n])
		at := ((u.image*t.sides[0]+plane)*t.sides[1]+line)*t.sides[2] + first + from
		part.X.Copy(t.set, row[from*n:to*n], at*n)
		clear(row[to*n:])
	}
}

// transform transforms a part's tiles in one plane of a unit to v, with the given distances
// between points, and tiles.
func (t *tiling) transform(stage winograd.Stage, v []float32, point, tile int, copies []float32, part Part, u unit,
	plane, margin int, scratch []float32) {
	reach := t.side + 2*margin
	t.copyRows(copies, part, u, plane, reach, margin)
	n, pitch := part.Channels, (u.tiles*t.side+2*margin)*part.Channels
	for c := 0; c < n; c += panel {
		winograd.Transform(t.set, stage, t.side, v[part.First+c:], t.reach*point, point, tile, copies[c:], pitch, n,
			t.side*n, u.tiles, scratch)
	}
}

// inputs transforms the tiles of all parts, in the planes of a unit and those around them,
// to v.
func (t *tiling) inputs(v, copies []float32, parts []Part, channels int, u unit, scratch []float32) {
	plane, tile := t.strides(u, t.depth(), channels)
	point := t.between(t.depth(), channels)
	for i := range u.planes + t.taps - 1 {
		z := u.z - t.taps/2 + i
		if z < 0 || z >= t.sides[0] {
			t.clear(v[i*plane:], point, tile, channels, u.tiles)
			continue
		}
		for _, part := range parts {
			t.transform(winograd.Tile, v[i*plane:], point, tile, copies, part, u, z, 1, scratch)
		}
	}
}

// clear clears the values of tiles of a plane.
func (t *tiling) clear(v []float32, point, tile, channels, tiles int) {
	for k := range t.points() {
		for i := range tiles {
			clear(v[k*point+i*tile:][:channels])
		}
	}
}

// whole reports whether channels are whole panels.
func whole(parts []Part) bool {
	for _, p := range parts {
		if p.Channels%panel != 0 {
			return false
		}
	}
	return true
}

// square reports whether Winograd's algorithm computes a geometry.
func (g *Geometry) square() bool {
	return g.Stride == Axes{1, 1, 1} && g.Kernel[1] == 3 && g.Kernel[2] == 3 && g.Pad == Axes{g.Kernel[0] / 2, 1, 1}
}
