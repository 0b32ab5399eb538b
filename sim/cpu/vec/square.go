package vec

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

// SquareTiles is a list of tiles of three rows, then of two.
type SquareTiles struct {
	at           []int64 // for every tile its position in x, then that in y, in bytes
	high         int     // tiles of three rows
	xs, ys       []int   // positions, in elements
	heights      []int
	lastX, lastY int // of the last row of any tile
}

// NewSquareTiles lists tiles that cover columns of SquareLanes pixels and at least two rows, by
// the positions in x and y of their first rows; xRow and yRow are the distances between rows.
func NewSquareTiles(from, to []int, rows, xRow, yRow int) *SquareTiles {
	t := &SquareTiles{}
	high := rows / 3
	for (rows-3*high)%2 != 0 {
		high--
	}
	for row := 0; row < rows; {
		height := 3
		if row == 3*high {
			t.high, high = len(t.xs), -1 // the rest is of two rows
		}
		if high < 0 {
			height = 2
		}
		for i := range from {
			x, y := from[i]+row*xRow, to[i]+row*yRow
			t.xs, t.ys, t.heights = append(t.xs, x), append(t.ys, y), append(t.heights, height)
			t.at = append(t.at, 4*int64(x), 4*int64(y))
			t.lastX, t.lastY = max(t.lastX, x+(height-1)*xRow), max(t.lastY, y+(height-1)*yRow)
		}
		row += height
	}
	if high >= 0 {
		t.high = len(t.xs)
	}
	return t
}

// Bytes is the size of the list.
func (t *SquareTiles) Bytes() int64 { return 8*int64(len(t.at)) + 24*int64(len(t.xs)) }

// sum is SquareSum in plain Go.
func (s *SquareSum) sum(t *SquareTiles) {
	for tile, height := range t.heights {
		for i := range height {
			from, to := t.xs[tile]+i*s.XRow, t.ys[tile]+i*s.YRow
			if s.Fold == 0 {
				s.row(from, to, SquareLanes)
				continue
			}
			s.row(from, to, SquareLanes/2)
			s.row(from+s.Fold, to+s.YFold, SquareLanes/2)
		}
	}
}

// row computes n columns of a row.
func (s *SquareSum) row(from, to, n int) {
	for o := range SquareRows {
		y := s.Y[o*s.Pitch+to:][:n]
		first := float32(0)
		if s.Bias != nil {
			first = s.Bias[o]
		}
		for j := range y {
			y[j] = first
		}
		for c := range s.Channels {
			for kx := range s.Side {
				for ky := range s.Side {
					axpy(y, s.X[from+c*s.XStep+ky*s.XRow+kx:][:n], s.W[((c*s.Side+ky)*s.Side+kx)*SquareRows+o])
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
	if s.Fold != 0 {
		lanes /= 2
	}
	_ = s.X[t.lastX+(s.Channels-1)*s.XStep+(s.Side-1)*(s.XRow+1)+s.Fold+lanes-1]
	_ = s.Y[t.lastY+(SquareRows-1)*s.Pitch+s.YFold+lanes-1]
	_ = s.W[s.Channels*s.Side*s.Side*SquareRows-1]
}
