package profiles

import (
	"math"
	"slices"
)

// Bins count values above 0 by their logarithm, in ascending order: their
// quantiles are accurate to half a bin, 1 %, however often bins were joined.
type Bins []Bin

// Bin is the number of values in one bin: from binRatio^At to binRatio^(At+1).
type Bin struct {
	At int32
	N  uint32
}

// binRatio is the ratio of a bin's upper to its lower end.
const binRatio = 1.02

// Add counts one more value. It may modify memory shared with b.
func (b Bins) Add(v float64) Bins {
	if !(v > 0) || math.IsInf(v, 0) {
		return b
	}
	at := int32(math.Floor(math.Log(v) / math.Log(binRatio)))
	i, found := slices.BinarySearchFunc(b, at, func(x Bin, at int32) int { return int(x.At) - int(at) })
	if found {
		b[i].N++
		return b
	}
	return slices.Insert(b, i, Bin{at, 1})
}

// Join returns the sum of two counts. It modifies neither.
func (b Bins) Join(other Bins) Bins {
	if len(b) == 0 || len(other) == 0 {
		return append(append(Bins(nil), b...), other...)
	}
	return b.JoinInto(make(Bins, 0, max(len(b), len(other))+4), other)
}

// JoinInto is Join with a result in room, which must not share memory with b or other.
func (b Bins) JoinInto(room, other Bins) Bins {
	out := room[:0]
	for len(b) > 0 || len(other) > 0 {
		switch {
		case len(other) == 0 || len(b) > 0 && b[0].At < other[0].At:
			out, b = append(out, b[0]), b[1:]
		case len(b) == 0 || other[0].At < b[0].At:
			out, other = append(out, other[0]), other[1:]
		default:
			out = append(out, Bin{b[0].At, b[0].N + other[0].N})
			b, other = b[1:], other[1:]
		}
	}
	return out
}

// Quantile returns the middle of the bin that contains quantile q, 0 to 1, of the
// values; NaN if there are none.
func (b Bins) Quantile(q float64) float64 {
	var n uint64
	for _, x := range b {
		n += uint64(x.N)
	}
	rank := q * float64(max(n, 1)-1)
	var below uint64
	for _, x := range b {
		if below += uint64(x.N); float64(below) > rank {
			return math.Pow(binRatio, float64(x.At)+0.5)
		}
	}
	return math.NaN()
}
