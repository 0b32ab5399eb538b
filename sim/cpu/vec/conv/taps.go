package conv

import (
	"prismtop/sim/cpu/vec/internal/plain"
	"prismtop/sim/tensor"
)

// TapRows is the number of output channels that a TapSum computes at a time.
const TapRows = 8

// TapSum is a convolution of a padded copy of an image, by a list of taps: any
// kernel of any number of dimensions. For each of Rows output channels r and
// each vector of pixels v it computes
//
//	y[r·Pitch + To[v] + i] = bias[r] + Σ over c and t of x[From[v] + c·XStep + Taps[t] + i] · w[r·WRow + c·WStep + t]
//
// for i = 0 … TapLanes−1, PairLanes−1 of pairs (see also Fold), and with ReLU the larger of that and 0. Distances are
// in elements. Vectors may overlap.
type TapSum struct {
	Y     []float32
	Half  []uint16 // takes the results of pairs, rounded to bfloat16, in place of Y if it is not nil
	Pitch int
	Rows  int // output channels, 1 to TapRows; 0 means TapRows. Fewer than TapRows need pairs, and no Fold

	X        []float32
	Channels int
	XStep    int

	Taps []int64

	W           []float32
	WRow, WStep int

	Bias []float32 // nil for none
	ReLU bool

	// Fold, if not 0, is the distance in x of the second half of a vector from its
	// first: two rows of an image whose rows are half a vector long.
	Fold int
}

// Pixels is a list of vectors of pixels.
type Pixels struct {
	// tiles has for every tile of vectors computed together their positions in x,
	// then those in y, in bytes.
	tiles                  []int64
	columns                [3]int // tiles of one, two and three vectors, the latter first in the list
	lastX, lastY, firstAll int    // bounds of all positions
}

// tapColumns is the number of vectors that a tile keeps in registers.
const tapColumns = 3

// NewPixels lists vectors by their positions in x and y.
func NewPixels(from, to []int) *Pixels {
	p := &Pixels{}
	n := len(from)
	for at := 0; at < n; {
		columns := min(n-at, tapColumns)
		if n-at == 4 {
			columns = 2 // and two more: a tile of one vector is slow
		}
		p.columns[columns-1]++
		for _, list := range [][]int{from, to} {
			for _, v := range list[at : at+columns] {
				p.tiles = append(p.tiles, 4*int64(v))
			}
		}
		at += columns
	}
	for i := range from {
		p.lastX, p.lastY = max(p.lastX, from[i]), max(p.lastY, to[i])
		p.firstAll = min(p.firstAll, from[i], to[i])
	}
	return p
}

// RowPixels lists the vectors of rows of width elements that lie xPitch and yPitch apart. The last vector of a row
// overlaps the one before; rows of half a vector's width make one of two (TapSum.Fold).
func RowPixels(rows, width, xPitch, yPitch, lanes int) *Pixels {
	var from, to []int
	together := 1
	if 2*width == lanes {
		together = 2
	}
	for row := 0; row < rows; row += together {
		for column := 0; column < width; column += lanes {
			first := max(min(column, width-lanes), 0)
			from, to = append(from, row*xPitch+first), append(to, row*yPitch+first)
		}
	}
	return NewPixels(from, to)
}

// Bytes is the size of the list.
func (p *Pixels) Bytes() int64 { return 8 * int64(len(p.tiles)) }

// rows is the number of output channels.
func (s *TapSum) rows() int {
	if s.Rows == 0 {
		return TapRows
	}
	return s.Rows
}

// each calls do with the positions of each vector, in elements.
func (p *Pixels) each(do func(from, to int)) {
	tiles := p.tiles
	for columns := tapColumns; columns > 0; columns-- {
		for range p.columns[columns-1] {
			for i := range columns {
				do(int(tiles[i]/4), int(tiles[columns+i]/4))
			}
			tiles = tiles[2*columns:]
		}
	}
}

// PairLanes is the number of pixels of a vector of pairs.
const PairLanes = 16

// empty reports whether nothing is added.
func (s *TapSum) empty(p *Pixels) bool {
	return len(p.tiles) == 0 || s.Channels <= 0 || len(s.Taps) == 0
}

// sum is TapSum in plain Go, for vectors of the given number of lanes, of pairs or not.
func (s *TapSum) sum(p *Pixels, lanes int, ofPairs bool) {
	var row [PatchFloats]float32
	p.each(func(from, to int) {
		for r := range s.rows() {
			y := row[:lanes]
			if s.Half == nil {
				y = s.Y[r*s.Pitch+to:][:lanes]
			}
			first := float32(0)
			if s.Bias != nil {
				first = s.Bias[r]
			}
			for i := range y {
				y[i] = first
			}
			for c := range s.Channels {
				w := s.W[r*s.WRow+c*s.WStep:][:len(s.Taps)]
				for t, tap := range s.Taps {
					x := s.X[from+c*s.XStep+int(tap):]
					if s.Fold == 0 {
						addMultiple(y, x[:lanes], w[t], ofPairs)
						continue
					}
					addMultiple(y[:lanes/2], x[:lanes/2], w[t], ofPairs)
					addMultiple(y[lanes/2:], x[s.Fold:][:lanes/2], w[t], ofPairs)
				}
			}
			for i, v := range y {
				if s.ReLU {
					y[i] = max(v, 0)
				}
			}
			if s.Half != nil {
				tensor.Narrow(tensor.BFloat16, s.Half[r*s.Pitch+to:][:lanes], y)
			}
		}
	})
}

// addMultiple is axpy or axpyPairs.
func addMultiple(y, x []float32, a float32, ofPairs bool) {
	if ofPairs {
		plain.AxpyPairs(y, x, a)
	} else {
		plain.Axpy(y, x, a)
	}
}
