// Package cache keeps computed values by key, bounded in bytes, and measures the
// time that saves.
//
// A lookup is three steps, so that the caller's own hashing is part of its cost
// and nothing is allocated on a hit:
//
//	l := c.Begin()
//	v, ok := c.Get(l, key(…))
//	if !ok {
//		v = compute(…)
//		c.Put(key, v, size)
//	}
//
// The time saved is the sum over hits of the cost of computing such an entry, minus
// the cost of every lookup and every Put, hits and misses alike. The cost of
// computing is the median of the latest computations of entries of that size
// (worth.go): those after a miss, those with the cache disabled, and an occasional
// recomputation after a hit. A cache that never hits shows a loss.
//
// A cache is not safe for concurrent use.
package cache

import (
	"hash/maphash"
	"time"

	"prismtop/profiles"
)

// Options configure a cache; the zero value is an unbounded, enabled one.
type Options[V any] struct {
	// Limit bounds the size in bytes; 0 means no limit.
	Limit int64
	// Disabled is the initial state of the switch.
	Disabled bool
	// Clock returns nanoseconds since some fixed moment; nil means the system's
	// monotonic clock.
	Clock func() int64
	// Dropped receives values that were evicted or cleared, so that their memory
	// can be reused.
	Dropped func(V)
}

// Cache is a least-recently-used cache.
type Cache[K comparable, V any] struct {
	options Options[V]
	enabled bool
	unseen  bool // lookups are not counted
	entries map[K]*entry[K, V]
	worths  []*worth // by size of the entry, the largest first
	// newest and oldest are the ends of the usage list; spare are entries for
	// reuse.
	newest, oldest, spare *entry[K, V]

	hits, misses, bytes int64
	saved, spent        int64 // nanoseconds
	lookup              int64 // part of spent: the newest lookup so far
	squares             float64
	retimed             int64 // nanoseconds spent recomputing after hits
	now                 int64 // of the newest hit
	gone                *gone[K]
	capacity            int64 // misses of evicted entries
	missed              int64 // time of the last miss, from which its computation is timed
}

type entry[K comparable, V any] struct {
	key          K
	value        V
	bytes        int64
	worth        *worth
	newer, older *entry[K, V]
}

// New makes an empty cache.
func New[K comparable, V any](o Options[V]) *Cache[K, V] {
	o.Clock = Clock(o.Clock)
	return &Cache[K, V]{options: o, enabled: !o.Disabled, entries: map[K]*entry[K, V]{}}
}

// Clock returns c, or the system's monotonic clock in nanoseconds if c is nil.
func Clock(c func() int64) func() int64 {
	if c != nil {
		return c
	}
	start := time.Now()
	return func() int64 { return int64(time.Since(start)) }
}

// Lookup is a lookup in progress: the time it began.
type Lookup int64

// Begin starts a lookup: the time from here to Get is its cost.
func (c *Cache[K, V]) Begin() Lookup {
	if !c.enabled {
		return 0
	}
	return Lookup(c.options.Clock())
}

// Get looks up key and counts a hit or a miss. A disabled cache holds nothing and
// counts nothing.
func (c *Cache[K, V]) Get(l Lookup, key K) (value V, ok bool) {
	if !c.enabled {
		return value, false
	}
	e := c.entries[key]
	if c.unseen {
		if e != nil {
			value = e.value
		}
		return value, e != nil
	}
	c.squares += float64(c.lookup) * float64(c.lookup)
	c.lookup = 0
	if e == nil {
		c.misses++
		if c.gone.take(key) {
			c.capacity++
		}
		c.missed = c.options.Clock()
		c.Charge(c.missed - int64(l))
		return value, false
	}
	if e != c.newest {
		c.unlink(e)
		c.link(e)
	}
	c.hits++
	c.saved += e.worth.hit()
	c.now = c.options.Clock()
	c.Charge(c.now - int64(l))
	return e.value, true
}

// Put stores the value that was computed since Get missed; that time is what a
// later hit saves. See PutCost for the rest.
func (c *Cache[K, V]) Put(key K, value V, bytes int64) bool {
	if !c.enabled || c.unseen {
		return false
	}
	return c.PutCost(key, value, bytes, c.options.Clock()-c.missed)
}

// PutCost stores a value whose computation took cost nanoseconds, evicting the
// least recently used entries to stay below the limit. It returns false if nothing was
// stored: the cache is disabled and only records the cost, or the value alone exceeds
// the limit. A stored value belongs to the cache and must not be modified.
func (c *Cache[K, V]) PutCost(key K, value V, bytes, cost int64) bool {
	if c.unseen {
		return false
	}
	c.Learn(bytes, cost)
	if !c.enabled {
		return false
	}
	start := c.options.Clock()
	stored := c.store(key, value, bytes)
	c.Charge(c.options.Clock() - start)
	return stored
}

// SetUnseen makes lookups and stores uncounted and without effect; used while Retime
// recomputes an entry.
func (c *Cache[K, V]) SetUnseen(on bool) { c.unseen = on }

// Charge subtracts time spent on the cache's behalf, such as copying values in and
// out, from the time saved. A disabled cache is not charged.
func (c *Cache[K, V]) Charge(nanoseconds int64) {
	if c.enabled {
		c.saved -= nanoseconds
		c.spent += nanoseconds
		c.lookup += nanoseconds
	}
}

func (c *Cache[K, V]) store(key K, value V, bytes int64) bool {
	if old := c.entries[key]; old != nil {
		c.drop(old)
	}
	if c.options.Limit > 0 {
		if bytes > c.options.Limit {
			return false
		}
		for c.bytes+bytes > c.options.Limit {
			c.evict()
		}
	}
	e := c.spare
	if e == nil {
		e = new(entry[K, V])
	} else {
		c.spare = e.older
	}
	*e = entry[K, V]{key: key, value: value, bytes: bytes, worth: c.worth(bytes)}
	c.entries[key] = e
	c.bytes += bytes
	c.link(e)
	return true
}

func (c *Cache[K, V]) link(e *entry[K, V]) {
	e.newer, e.older = nil, c.newest
	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
}

func (c *Cache[K, V]) unlink(e *entry[K, V]) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		c.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		c.oldest = e.newer
	}
}

// evict drops the least recently used entry to make room.
func (c *Cache[K, V]) evict() {
	if c.gone == nil {
		c.gone = &gone[K]{seed: maphash.MakeSeed()}
	}
	c.gone.add(c.oldest.key)
	c.drop(c.oldest)
}

func (c *Cache[K, V]) drop(e *entry[K, V]) {
	c.unlink(e)
	delete(c.entries, e.key)
	c.bytes -= e.bytes
	if c.options.Dropped != nil {
		c.options.Dropped(e.value)
	}
	*e = entry[K, V]{older: c.spare}
	c.spare = e
}

// Enabled reports whether the cache is enabled.
func (c *Cache[K, V]) Enabled() bool { return c.enabled }

// SetEnabled turns the cache on or off. Turning it off drops the entries to free
// their memory; the counters stay.
func (c *Cache[K, V]) SetEnabled(on bool) {
	c.enabled = on
	if !on {
		c.Clear()
	}
}

// SetLimit changes the limit in bytes and evicts entries beyond it; 0 means no
// limit.
func (c *Cache[K, V]) SetLimit(bytes int64) {
	c.options.Limit = bytes
	for bytes > 0 && c.bytes > bytes {
		c.evict()
	}
}

// Clear drops every entry; the counters of hits, misses and time stay.
func (c *Cache[K, V]) Clear() {
	for c.oldest != nil {
		c.drop(c.oldest)
	}
	c.spare = nil
}

// Counters returns the counters since the cache was made.
func (c *Cache[K, V]) Counters() profiles.CacheCounters {
	n := profiles.CacheCounters{
		Enabled: c.enabled, Hits: c.hits, Misses: c.misses,
		Entries: int64(len(c.entries)), Bytes: c.bytes, Saved: c.saved,
		Spent: c.spent, SpentSquares: c.squares + float64(c.lookup)*float64(c.lookup),
		CapacityMisses: c.capacity,
	}
	if len(c.worths) > 0 {
		w := c.worths[0]
		n.PricedBy, n.Price, n.PriceLow, n.PriceHigh = int64(w.known()), w.median, w.low, w.high
		n.Priced, n.Gross, n.GrossLow, n.GrossHigh = w.hits, w.gross.median, w.gross.low, w.gross.high
	}
	return n
}

// gone remembers the hashes of evicted keys: a thousand of them, the newest eight
// in each row.
type gone[K comparable] struct {
	seed maphash.Seed
	rows [128][8]uint64 // newest first; 0 is never a hash
}

func (g *gone[K]) row(key K) (row *[8]uint64, hash uint64) {
	hash = maphash.Comparable(g.seed, key) | 1<<63
	return &g.rows[hash%uint64(len(g.rows))], hash
}

func (g *gone[K]) add(key K) {
	row, hash := g.row(key)
	copy(row[1:], row[:])
	row[0] = hash
}

// take reports whether a key is remembered, and forgets it.
func (g *gone[K]) take(key K) bool {
	if g == nil {
		return false
	}
	row, hash := g.row(key)
	for i := range row {
		if row[i] == hash {
			copy(row[i:], row[i+1:])
			row[len(row)-1] = 0
			return true
		}
	}
	return false
}
