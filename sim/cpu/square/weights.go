package square

import "prismtop/sim/cpu/vec/conv"

// Weights are how a convolution's weights lie in memory: of output channel o, input channel c and
// tap t at o·Out + c·In + t, or with Mirrored at o·Out + c·In + 8 − t.
type Weights struct {
	Out, In  int
	Mirrored bool
}

// WeightFloats is the size of the packed weights.
func (c *Convolution) WeightFloats() int {
	if c.Up {
		return c.out * c.in * phases * phaseTaps
	}
	return c.out * c.in * taps
}

// Groups is the number of groups of output channels that Pack packs.
func (c *Convolution) Groups() int { return c.out / conv.SquareRows }

// Pack packs the weights of groups [lo, hi) of output channels for conv.SquareSum.
func (c *Convolution) Pack(packed, w []float32, from Weights, lo, hi int) {
	for group := lo; group < hi; group++ {
		for o := group * conv.SquareRows; o < (group+1)*conv.SquareRows; o++ {
			for channel := range c.in {
				var k [taps]float32
				copy(k[:], w[o*from.Out+channel*from.In:][:taps])
				if from.Mirrored {
					for t := range taps / 2 {
						k[t], k[taps-1-t] = k[taps-1-t], k[t]
					}
				}
				if c.Up {
					c.packPhases(packed, &k, group, channel, o%conv.SquareRows)
					continue
				}
				to := packed[(group*c.in+channel)*taps*conv.SquareRows+o%conv.SquareRows:]
				for t, v := range k {
					to[t*conv.SquareRows] = v
				}
			}
		}
	}
}
