package aggregate

import (
	"math"
	"math/bits"

	"prismtop/profiles"
)

// A histogram's buckets: each power of two is divided into 128, so that a
// quantile is accurate to half of 1/128, 0.4 %. Longer times than 2⁴⁰ ns, 18
// minutes, share the last bucket.
const (
	subBits    = 7
	subBuckets = 1 << subBits
	maxTime    = 1<<40 - 1
)

// histogram counts times of a whole stage in fixed memory.
type histogram struct {
	buckets [(40 - subBits + 1) * subBuckets]uint32
	n       int64
	sum     float64
	last    int64
	lowest  int // first and last bucket in use, valid when n > 0
	highest int
}

func (h *histogram) add(ns int64) {
	b := bucketOf(ns)
	if h.n == 0 {
		h.lowest, h.highest = b, b
	}
	h.lowest, h.highest = min(h.lowest, b), max(h.highest, b)
	h.buckets[b]++
	h.n++
	h.sum += float64(ns)
	h.last = ns
}

func bucketOf(ns int64) int {
	v := uint64(min(max(ns, 0), maxTime))
	if v < subBuckets {
		return int(v)
	}
	e := bits.Len64(v) - subBits - 1
	return (e+1)<<subBits + int(v>>e)&(subBuckets-1)
}

// bucketRange returns the range of bucket b, [low, low+width).
func bucketRange(b int) (low, width float64) {
	if b < subBuckets {
		return float64(b), 1
	}
	e := b>>subBits - 1
	return math.Ldexp(float64(subBuckets+b&(subBuckets-1)), e), math.Ldexp(1, e)
}

// spread summarises the counts. Quantiles are those of stats.Quantile for times spread evenly within each bucket.
func (h *histogram) spread() profiles.Spread {
	if h.n == 0 {
		return profiles.Spread{}
	}
	s := profiles.Spread{Last: float64(h.last), Mean: h.sum / float64(h.n), N: int(h.n)}
	quantiles := [...]struct {
		q  float64
		to *float64
	}{{0.10, &s.P10}, {0.50, &s.Median}, {0.90, &s.P90}, {0.95, &s.P95}}
	next, before := 0, int64(0)
	for b := h.lowest; b <= h.highest && next < len(quantiles); b++ {
		in := int64(h.buckets[b])
		for next < len(quantiles) {
			whole, part := math.Modf(quantiles[next].q * float64(h.n-1))
			rank := int64(whole) - before
			if rank >= in {
				break
			}
			low, high := timeIn(b, rank, in), 0.0
			if above := b + 1; part > 0 && rank+1 == in {
				for h.buckets[above] == 0 {
					above++
				}
				high = timeIn(above, 0, int64(h.buckets[above]))
			} else {
				high = timeIn(b, rank+1, in)
			}
			*quantiles[next].to = low + part*(high-low)
			next++
		}
		before += in
	}
	return s
}

// timeIn estimates a time in a bucket from its rank, counted from 0, among the bucket's times.
func timeIn(bucket int, rank, of int64) float64 {
	low, width := bucketRange(bucket)
	return low + width*(float64(rank)+0.5)/float64(of)
}

// stage counts the times of a whole stage.
type stage struct {
	total  histogram
	phases []histogram // up to the last that ran
}

func (s *stage) add(it *profiles.Iteration) {
	s.total.add(it.Total)
	for p, ns := range it.Phases {
		if ns > 0 {
			s.phases = reaching(s.phases, p)
			s.phases[p].add(ns)
		}
	}
}

// clear forgets all times and keeps the memory.
func (s *stage) clear() {
	s.total = histogram{}
	clear(s.phases)
}

// times summarises the stage.
func (s *stage) times() profiles.Times {
	t := profiles.Times{Total: s.total.spread()}
	for p := range s.phases {
		t.Phases[p].Spread = s.phases[p].spread()
		if s.total.sum > 0 {
			t.Phases[p].Share = s.phases[p].sum / s.total.sum
		}
	}
	return t
}
