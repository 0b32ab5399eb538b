package cpu

import (
	"sync/atomic"

	"prismtop/sim/cpu/vec/loss"
)

// How SSIM divides a plane into strips and tiles, and the work space of its threads.

// ssimPad is the number of pixels of SSIM's window on either side of its centre.
const ssimPad = loss.WindowTaps / 2

// Sizes of tiles and of their rows, in elements.
const (
	side     = loss.TileSide
	tileSize = loss.TileSide * loss.TileSide
	reach    = loss.TileReach
)

// reflect continues positions 0 … n−1 beyond both ends without repeating the edge.
func reflect(i, n int) int {
	if i < 0 {
		i = -i
	}
	if i >= n {
		i = 2*(n-1) - i
	}
	return i
}

// tiling cuts a plane of h×w into strips of 16 rows and those into tiles.
type tiling struct{ h, w, strips, tiles int }

func newTiling(h, w int) tiling {
	return tiling{h, w, (h + side - 1) / side, (w + side - 1) / side}
}

// rows is the number of the plane's rows in a strip.
func (t *tiling) rows(strip int) int { return min(t.h-strip*side, side) }

// columns is the number of the plane's columns in a tile.
func (t *tiling) columns(tile int) int { return min(t.w-tile*side, side) }

// plane is the size of a plane stored in tiles: those of the first 16 columns
// first, from top to bottom, so that a window's rows are contiguous. The number of
// tiles in a column is odd, since otherwise the tiles of a strip would map to few
// cache sets.
func (t *tiling) plane() int { return (t.strips | 1) * t.tiles * tileSize }

// at returns the offset of a tile in such a plane.
func (t *tiling) at(strip, tile int) int { return (tile*(t.strips|1) + strip) * tileSize }

// column is the length of a strip: its columns and the reflected ones at both ends.
func (t *tiling) column() int { return (t.tiles*side + 2*ssimPad) * side }

// sources returns the rows from which a strip is blurred. For rows of the last
// strip that the plane lacks, it may be any row.
func (t *tiling) sources(strip int) (rows [reach]int32) {
	for i := range rows {
		rows[i] = int32(reflect(min(strip*side+i-ssimPad, t.h-1+ssimPad), t.h))
	}
	return rows
}

// mirror fills the reflected columns at both ends of a strip, and the columns
// beyond them with zeros.
func (t *tiling) mirror(strip []float32) {
	column := func(j int) []float32 { return strip[(j+ssimPad)*side:][:side] }
	for i := 1; i <= ssimPad; i++ {
		copy(column(-i), column(i))
		copy(column(t.w-1+i), column(t.w-1-i))
	}
	clear(strip[(t.w+2*ssimPad)*side:])
}

// maxPieces bounds the number of pieces of SSIM, each with its own work space.
const maxPieces = 8

// workspaces are pieces of scratch for the threads of one loop. A thread takes the
// first free one, so that few threads keep reusing few pieces.
type workspaces struct {
	busy   []atomic.Bool
	memory []float32
}

func (b *losses) workspaces(count, size int) *workspaces {
	return &workspaces{busy: make([]atomic.Bool, count), memory: b.floats(count * size)}
}

// take returns a piece's number and memory; the thread gives it back.
func (s *workspaces) take() (piece int, memory []float32) {
	size := len(s.memory) / len(s.busy)
	for {
		for i := range s.busy {
			if s.busy[i].CompareAndSwap(false, true) {
				return i, s.memory[i*size:][:size]
			}
		}
	}
}

func (s *workspaces) giveBack(piece int) { s.busy[piece].Store(false) }

// eachStrip returns a closure that runs body for every strip of a plane, with size
// floats of work space.
func (b *losses) eachStrip(t tiling, size int, body func(strip int, work []float32)) func() {
	w := b.workspaces(min(maxPieces, t.strips), size)
	pool := b.backend.pool
	return b.each(t.strips, (t.strips+maxPieces-1)/maxPieces, func(lo, hi int) {
		piece, work := w.take()
		defer w.giveBack(piece)
		for strip := lo; strip < hi && !pool.Ended(); strip++ {
			body(strip, work)
		}
	})
}
