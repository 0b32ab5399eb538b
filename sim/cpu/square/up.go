package square

import (
	"prismtop/sim/cpu/vec/conv"
	"prismtop/sim/cpu/vec/elements"
)

// The outputs of a convolution of an image whose rows and columns are repeated are of four
// phases, by whether their row and their column are even or odd. The three taps of an axis lie on
// two pixels of the small image, so that each phase is a convolution of that with 2×2 sums of
// weights: four ninths of the multiplications.
const (
	phases    = 4
	phaseSide = 2
	phaseTaps = phaseSide * phaseSide
)

// PhaseTap is the tap along one axis, of a phase's two, in which tap k of three of an even (0) or
// odd (1) output is summed. Output 2i + phase meets pixels i − 1 + phase and i + phase.
func PhaseTap(phase, k int) int { return (k + 1 - phase) / 2 }

// packPhases packs the weights k between two channels.
func (c *Convolution) packPhases(packed []float32, k *[taps]float32, group, channel, o int) {
	for phase := range phases {
		to := packed[((group*phases+phase)*c.in+channel)*phaseTaps*conv.SquareRows+o:]
		var sums [phaseTaps]float32
		for t, v := range k {
			sums[phaseSide*PhaseTap(phase/2, t/side)+PhaseTap(phase%2, t%side)] += v
		}
		for t, v := range sums {
			to[t*conv.SquareRows] = v
		}
	}
}

// doubled computes the phases of a band of a group and puts columns of two phases side by side.
func (c *Convolution) doubled(y, copies, sums, packed, bias []float32, b band, group int) {
	q := c.sum(copies, packed, bias, group)
	q.Side, q.Pitch = phaseSide, b.rows*c.w
	n, plane := conv.SquareRows*q.Pitch, 4*c.h*c.w
	c.fold(&q, c.between())
	for phase := range phases {
		row, column := phase/2, phase%2
		q.X = copies[row*c.pitch+column:]
		q.W = packed[(group*phases+phase)*c.in*phaseTaps*conv.SquareRows:]
		q.Y = sums[column*n:]
		q.Compute(c.set, c.tiles[b.area(c)])
		if column == 0 {
			continue
		}
		for image := range c.images {
			for o := range conv.SquareRows {
				to := y[((b.image+image)*c.out+group*conv.SquareRows+o)*plane+(2*b.row+row)*2*c.w:]
				from := sums[image*c.between()+o*q.Pitch:]
				elements.InterleaveRows(c.set, to, 4*c.w, from, from[n:], b.rows, c.w)
			}
		}
	}
}
