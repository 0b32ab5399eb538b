package conv

import "prismtop/sim/cpu/vec/internal/plain"

// SquareSum is a convolution by Side×Side taps, 3 or 2, of a padded copy of an image. For each
// of SquareRows output channels o, and for rows i and SquareLanes columns j of each tile, it
// computes
//
//	y[o·Pitch + to + i·YRow + j] = bias[o] + Σ over c, ky, kx of
//		x[from + c·XStep + (i + ky)·XRow + kx + j] · w[((c·Side + ky)·Side + kx)·SquareRows + o]
//
// and with ReLU the larger of that and 0. Distances are in elements. Tiles may overlap.
type SquareSum struct {
	Side int

	Y           []float32
	Pitch, YRow int

	X           []float32
	Channels    int
	XStep, XRow int

	W []float32

	Bias []float32 // nil for none
	ReLU bool

	// Fold and YFold, if not 0, are the distances in x and y of a tile's columns 8 to 15 from
	// its columns 0 to 7: parts of an image of 8 columns.
	Fold, YFold int
}

const (
	// SquareRows is the number of output channels that a SquareSum computes at a time.
	SquareRows = 8
	// SquareLanes is the number of columns of a tile.
	SquareLanes = 16
)

// edge is the row of x under a tile that is outside the image: it counts as zeros and is not
// read.
type edge uint8

const (
	inside edge = iota
	top         // the first row
	bottom      // the last row
)

// SquareTiles is a list of tiles of two or three rows.
type SquareTiles struct {
	at           []int64 // for every tile its position in x, then that in y, in bytes
	runs         []squareRun
	lastX, lastY int // of the last row of any tile, in elements
}

// squareRun is a number of consecutive tiles of a kind.
type squareRun struct {
	tiles, height int
	edge          edge
}

// SquareArea is what a list of tiles covers: columns of SquareLanes pixels and at least two rows,
// by their positions in x and y. The rows above and below are outside the image with Top and
// Bottom; a single tile may read the lower one, zeros.
type SquareArea struct {
	From, To    []int
	Rows        int
	XRow, YRow  int // between rows
	Top, Bottom bool
}

// NewSquareTiles lists the tiles that cover an area.
func NewSquareTiles(a SquareArea) *SquareTiles {
	t := &SquareTiles{}
	high := a.Rows / 3
	for (a.Rows-3*high)%2 != 0 {
		high--
	}
	for row := 0; row < a.Rows; {
		run := squareRun{tiles: len(a.From), height: 2}
		if row < 3*high {
			run.height = 3
		}
		switch {
		case a.Top && row == 0:
			run.edge = top
		case a.Bottom && row+run.height == a.Rows:
			run.edge = bottom
		}
		for i := range a.From {
			x, y := a.From[i]+row*a.XRow, a.To[i]+row*a.YRow
			t.at = append(t.at, 4*int64(x), 4*int64(y))
			t.lastX, t.lastY = max(t.lastX, x+(run.height-1)*a.XRow), max(t.lastY, y+(run.height-1)*a.YRow)
		}
		if n := len(t.runs); n > 0 && t.runs[n-1].height == run.height && t.runs[n-1].edge == run.edge {
			t.runs[n-1].tiles += run.tiles
		} else {
			t.runs = append(t.runs, run)
		}
		row += run.height
	}
	return t
}

// Bytes is the size of the list.
func (t *SquareTiles) Bytes() int64 { return 8*int64(len(t.at)) + 24*int64(len(t.runs)) }

// sum is SquareSum in plain Go.
func (s *SquareSum) sum(t *SquareTiles) {
	at := t.at
	for _, run := range t.runs {
		for range run.tiles {
			for i := range run.height {
				from, to := int(at[0]/4)+i*s.XRow, int(at[1]/4)+i*s.YRow
				first, end := 0, s.Side
				if run.edge == top && i == 0 {
					first = 1
				}
				if run.edge == bottom && i == run.height-1 {
					end--
				}
				if s.Fold == 0 {
					s.row(from, to, SquareLanes, first, end)
					continue
				}
				s.row(from, to, SquareLanes/2, first, end)
				s.row(from+s.Fold, to+s.YFold, SquareLanes/2, first, end)
			}
			at = at[2:]
		}
	}
}

// row computes n columns of a row from rows [first, end) of taps.
func (s *SquareSum) row(from, to, n, first, end int) {
	for o := range SquareRows {
		y := s.Y[o*s.Pitch+to:][:n]
		start := float32(0)
		if s.Bias != nil {
			start = s.Bias[o]
		}
		for j := range y {
			y[j] = start
		}
		for c := range s.Channels {
			for kx := range s.Side {
				for ky := first; ky < end; ky++ {
					plain.Axpy(y, s.X[from+c*s.XStep+ky*s.XRow+kx:][:n], s.W[((c*s.Side+ky)*s.Side+kx)*SquareRows+o])
				}
			}
		}
		for j, v := range y {
			if s.ReLU {
				y[j] = max(v, 0)
			}
		}
	}
}

// check panics if a tile or a weight lies outside its slice.
func (s *SquareSum) check(t *SquareTiles) {
	lanes := SquareLanes
	if s.Side == 2 {
		for _, run := range t.runs {
			if run.edge != inside {
				panic("conv: 2×2 taps at an edge")
			}
		}
	}
	if s.Fold != 0 {
		lanes /= 2
	}
	_ = s.X[t.lastX+(s.Channels-1)*s.XStep+(s.Side-1)*(s.XRow+1)+s.Fold+lanes-1]
	_ = s.Y[t.lastY+(SquareRows-1)*s.Pitch+s.YFold+lanes-1]
	_ = s.W[s.Channels*s.Side*s.Side*SquareRows-1]
}
