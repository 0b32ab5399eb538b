package cache

import (
	"math"
	"slices"

	"prismtop/profiles"
)

// The value of a hit: the median of the latest times to compute such an entry, with
// its interval.
//
// A single computation says little: memory may have been cold, or the processor busy
// elsewhere. A cache that always hits would never see a second one, so when Due
// returns true the caller recomputes a cached entry, timed, and passes the time to
// Retime. Every hit, past or present, has the value known now.

// Number of computations behind a price.
const (
	window = 15                  // the latest
	enough = profiles.PriceLeast // below this the price is uncertain and sought sooner
)

// One part in this many of the time goes to recomputing cached entries: usually, and
// while the price is uncertain.
const (
	usualShare = 1000
	soonShare  = 20
)

// worth is the cost of computing entries of one size.
type worth struct {
	bytes  int64
	recent [window]int64 // the latest costs, in nanoseconds
	n      int           // of those, since the last change of the cost
	price                // of one
	at     int64         // time of the newest

	hits  int64 // of such entries
	gross price // their value
	from  struct {
		hits  int64
		gross price
	}
}

// price is a time in nanoseconds and the ends of its 95 % interval.
type price struct{ median, low, high int64 }

// plus returns p plus n times the value of one hit.
func (p price) plus(n int64, each price) price {
	return price{p.median + n*each.median, p.low + n*each.low, p.high + n*each.high}
}

// known returns the number of computations behind the median.
func (w *worth) known() int { return min(w.n, window) }

// hit returns the value of one more hit.
func (w *worth) hit() int64 {
	w.hits++
	w.gross = w.gross.plus(1, w.price)
	return w.median
}

// learn records a cost and returns the change in value of all hits since reprice.
func (w *worth) learn(cost int64) (more int64) {
	w.recent[w.n%window] = cost
	w.n++
	known := w.recent
	w.median, w.low, w.high = Price(known[:w.known()])
	before := w.gross.median
	w.gross = w.from.gross.plus(w.hits-w.from.hits, w.price)
	return w.gross.median - before
}

// Price returns the median of the times of at least one computation and the ends of its 95 % interval. It sorts them.
func Price(times []int64) (median, low, high int64) {
	slices.Sort(times)
	last := len(times) - 1
	ends := dropped(len(times))
	return times[last/2], times[ends], times[last-ends]
}

// dropped returns how many of n sorted values lie beyond each end of the 95 %
// interval of their median, that of the sign test: all n values lie on one side of
// the true median with probability 2^(1−n), whatever their distribution. With fewer
// than six values even the full range covers it less often: in 94 of 100 cases for
// five.
func dropped(n int) int {
	binomial, tail := math.Ldexp(1, -n), 0.0
	for k := range n / 2 {
		if tail += binomial; 2*tail > 0.05 {
			return max(0, k-1)
		}
		binomial *= float64(n-k) / float64(k+1)
	}
	return max(0, n/2-1)
}

// worth returns the record for entries of a size.
func (c *Cache[K, V]) worth(bytes int64) *worth {
	for _, w := range c.worths {
		if w.bytes == bytes {
			return w
		}
	}
	w := &worth{bytes: bytes}
	at, _ := slices.BinarySearchFunc(c.worths, bytes, func(w *worth, bytes int64) int { return int(bytes - w.bytes) })
	c.worths = slices.Insert(c.worths, at, w)
	return w
}

// Learn records the nanoseconds it took to compute an entry of a size: the same work
// whether the cache is on or off.
func (c *Cache[K, V]) Learn(bytes, cost int64) {
	w := c.worth(bytes)
	w.at = c.options.Clock()
	c.saved += w.learn(cost)
}

// Due reports, after a hit, whether it is time to recompute an entry of that size
// for Retime. It is false for all but the largest entries, which determine the
// cache's value.
func (c *Cache[K, V]) Due(bytes int64) bool {
	if !c.enabled || c.unseen || len(c.worths) == 0 || c.worths[0].bytes != bytes {
		return false
	}
	w := c.worths[0]
	share := int64(usualShare)
	if w.n < enough {
		share = soonShare
	}
	return c.now-w.at >= share*w.median
}

// Retime is Learn for a recomputation after a hit. Its time is a cost of monitoring,
// not of the cache: Retimed sums it.
func (c *Cache[K, V]) Retime(bytes, cost int64) {
	c.Learn(bytes, cost)
	c.retimed += cost
}

// Retimed returns the total time passed to Retime, in nanoseconds.
func (c *Cache[K, V]) Retimed() int64 { return c.retimed }

// Reprice notes that the cost of computing changes from now on: earlier timings
// apply to earlier hits only.
func (c *Cache[K, V]) Reprice() {
	for _, w := range c.worths {
		w.n = 0
		w.from.hits, w.from.gross = w.hits, w.gross
	}
}
