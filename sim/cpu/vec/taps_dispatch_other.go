//go:build !amd64 || noasm

package vec

// TapLanes is the number of pixels of a vector.
func (Set) TapLanes() int { return 16 }

// TapSum computes a TapSum for vectors of pixels.
func (s Set) TapSum(t *TapSum, p *Pixels) { t.sum(p, s.TapLanes(), false) }
