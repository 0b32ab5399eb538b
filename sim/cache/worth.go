package cache

import (
	"math"
	"slices"

	"prismtop/profiles"
)

// This file is what a hit is worth: the median of what it took lately to compute such
// an entry, with its interval.
//
// One computation says little: it may have met cold memory, or a processor that was
// busy elsewhere. A cache that hits always would never see a second one, so a caller
// computes an entry that it has once more, timed, where Due says so, and tells Learn.
// A hit is worth what is known now, also one from before it was known.

// Computations that a price rests on.
const (
	window = 15                  // the latest
	enough = profiles.PriceLeast // an uncertain price is sought sooner
)

// One part in so many of the time goes to computing what the cache has: usually, and
// while the price is uncertain.
const (
	usualShare = 1000
	soonShare  = 20
)

// worth is what entries of one size cost to compute.
type worth struct {
	bytes  int64
	recent [window]int64 // the latest costs, in nanoseconds
	n      int           // of them since the cost was the same
	price                // of one
	at     int64         // when the newest was known

	hits  int64 // of such entries
	gross price // what they are worth
	from  struct {
		hits  int64
		gross price
	}
}

// price is a time in nanoseconds and the ends of its 95 % interval.
type price struct{ median, low, high int64 }

// plus is p and n times what one hit is worth.
func (p price) plus(n int64, each price) price {
	return price{p.median + n*each.median, p.low + n*each.low, p.high + n*each.high}
}

// known is how many computations the median rests on.
func (w *worth) known() int { return min(w.n, window) }

// hit is what one more hit is worth.
func (w *worth) hit() int64 {
	w.hits++
	w.gross = w.gross.plus(1, w.price)
	return w.median
}

// learn takes in a cost and returns by how much all hits since reprice are worth more
// than they were said to be.
func (w *worth) learn(cost int64) (more int64) {
	w.recent[w.n%window] = cost
	w.n++
	known := w.recent
	count := w.known()
	slices.Sort(known[:count])
	ends := dropped(count)
	w.price = price{known[(count-1)/2], known[ends], known[count-1-ends]}
	before := w.gross.median
	w.gross = w.from.gross.plus(w.hits-w.from.hits, w.price)
	return w.gross.median - before
}

// dropped is how many of n sorted values lie beyond each end of the 95 % interval of
// their median, which is that of the sign test: all n values lie on one side of the
// true median with probability 2^(1−n), whatever their distribution. Below six values
// even their whole range covers it less often, 94 times in 100 for five.
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

// worth is that of entries of a size.
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

// Learn takes in what it took, in nanoseconds, to compute an entry of a size: the same
// work, whether the cache is on or off.
func (c *Cache[K, V]) Learn(bytes, cost int64) {
	w := c.worth(bytes)
	w.at = c.options.Clock()
	c.saved += w.learn(cost)
}

// Due says, after a hit, that it is time to compute what an entry of that size holds
// once more, for Retime. It is false for all but the largest entries, which what the
// cache is worth depends on.
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

// Retime is Learn for a computation beside a hit, which is no cost of the cache but one
// of watching it: Retimed sums it up.
func (c *Cache[K, V]) Retime(bytes, cost int64) {
	c.Learn(bytes, cost)
	c.retimed += cost
}

// Retimed is the time that Retime was told of, in nanoseconds.
func (c *Cache[K, V]) Retimed() int64 { return c.retimed }

// Reprice says that computing takes another time from now on: what was timed before
// stands for the hits before, and counts no more.
func (c *Cache[K, V]) Reprice() {
	for _, w := range c.worths {
		w.n = 0
		w.from.hits, w.from.gross = w.hits, w.gross
	}
}
