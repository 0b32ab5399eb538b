package cache

import (
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/profiles"
)

// clock moves only when told to.
type clock struct{ now int64 }

func (c *clock) read() int64 { return c.now }

func TestSavedIsTheMissReplacedLessEveryLookup(t *testing.T) {
	var k clock
	c := New[string](Options[int]{Clock: k.read})

	l := c.Begin()
	k.now += 7 // hashing
	if _, ok := c.Get(l, "a"); ok {
		t.Fatal("hit in an empty cache")
	}
	k.now += 100 // computing
	c.Put("a", 42, 8)
	if got := c.Counters().Saved; got != -7 {
		t.Errorf("after a miss: saved %d, want −7", got)
	}

	l = c.Begin()
	k.now += 9
	if v, ok := c.Get(l, "a"); !ok || v != 42 {
		t.Fatalf("got %d, %v", v, ok)
	}
	want := profiles.CacheCounters{Enabled: true, Hits: 1, Misses: 1, Entries: 1, Bytes: 8, Saved: -7 + 100 - 9, Spent: 7 + 9, SpentSquares: 7*7 + 9*9,
		Price: 100, PriceLow: 100, PriceHigh: 100, PricedBy: 1, Priced: 1, Gross: 100, GrossLow: 100, GrossHigh: 100}
	if got := c.Counters(); got != want {
		t.Errorf("counters %+v, want %+v", got, want)
	}

	l = c.Begin()
	c.Get(l, "b")
	c.PutCost("b", 1, 16, 1000)
	c.Get(c.Begin(), "b")
	if got := c.Counters().Saved; got != 84+1000 {
		t.Errorf("after a hit of an entry of known cost: saved %d, want 1084", got)
	}
	c.Charge(84)
	if got := c.Counters(); got.Saved != 1000 || got.SpentSquares != want.SpentSquares+84*84 {
		t.Errorf("after a charge: %+v, want 1000 saved and a lookup of 84", got)
	}
	c.Charge(16)
	if got := c.Counters(); got.SpentSquares != want.SpentSquares+100*100 {
		t.Errorf("%+v, want charges of one lookup to be one cost", got)
	}
}

func TestTheLeastRecentlyUsedAreEvictedByBytes(t *testing.T) {
	var dropped []int
	c := New[int](Options[int]{Limit: 100, Dropped: func(v int) { dropped = append(dropped, v) }})
	for i := range 4 {
		c.Put(i, i, 25)
	}
	c.Get(c.Begin(), 0) // now 1 is the oldest
	c.Put(4, 4, 30)     // needs the room of two
	if !slices.Equal(dropped, []int{1, 2}) {
		t.Errorf("dropped %v, want [1 2]", dropped)
	}
	if n := c.Counters(); n.Entries != 3 || n.Bytes != 80 {
		t.Errorf("%d entries of %d bytes, want 3 of 80", n.Entries, n.Bytes)
	}
	if c.Put(5, 5, 101) {
		t.Error("stored more than the limit")
	}
	if n := c.Counters(); n.Entries != 3 {
		t.Error("a value that is too large evicted others")
	}
	c.Put(4, 44, 10) // the same key again
	if v, _ := c.Get(c.Begin(), 4); v != 44 || c.Counters().Bytes != 60 {
		t.Errorf("replaced: %d, %d bytes; want 44, 60 bytes", v, c.Counters().Bytes)
	}
	c.SetLimit(30)
	if n := c.Counters(); n.Bytes > 30 || n.Entries != 1 {
		t.Errorf("after lowering the limit: %d entries of %d bytes", n.Entries, n.Bytes)
	}
}

// Only misses of evicted entries are counted: neither first lookups, nor those of
// what was switched off.
func TestMissesOfWhatWasDroppedForRoomAreCounted(t *testing.T) {
	c := New[int](Options[int]{Limit: 3})
	scan := func(n int) int64 {
		before := c.Counters().CapacityMisses
		for i := range n {
			if _, ok := c.Get(c.Begin(), i); !ok {
				c.Put(i, i, 1)
			}
		}
		return c.Counters().CapacityMisses - before
	}
	if got := scan(5); got != 0 {
		t.Errorf("%d of the first lookups", got)
	}
	if got := scan(5); got != 5 { // each drops the next one
		t.Errorf("%d of a scan through more than there is room for, want 5", got)
	}
	if got := scan(10); got != 5 {
		t.Errorf("%d of a scan half of which is new, want 5", got)
	}
	c.SetLimit(20)
	scan(10)
	if got := scan(10); got != 0 {
		t.Errorf("%d where there is room for all", got)
	}
	c.SetEnabled(false)
	c.SetEnabled(true)
	if got := scan(10); got != 0 {
		t.Errorf("%d of what was switched off", got)
	}
	c.SetLimit(2)
	if got := scan(8); got != 8 {
		t.Errorf("%d after the limit fell, want 8", got)
	}
}

func TestEvictingAllocatesNothing(t *testing.T) {
	c := New[int](Options[int]{Limit: 3})
	n := 0
	step := func() {
		n++
		if _, ok := c.Get(c.Begin(), n%5); !ok {
			c.Put(n%5, n, 1)
		}
	}
	for range 100 {
		step()
	}
	if got := testing.AllocsPerRun(1000, step); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func TestADisabledCacheIsNotAsked(t *testing.T) {
	var k clock
	c := New[int](Options[int]{Clock: k.read})
	c.Put(1, 1, 8)
	c.Get(c.Begin(), 1)
	before := c.Counters()
	c.SetEnabled(false)
	l := c.Begin()
	k.now += 5
	if _, ok := c.Get(l, 1); ok {
		t.Error("a disabled cache answered")
	}
	if c.Put(1, 1, 8) {
		t.Error("a disabled cache stored")
	}
	got := c.Counters()
	if got.Hits != before.Hits || got.Misses != before.Misses || got.Saved != before.Saved {
		t.Errorf("counters moved from %+v to %+v", before, got)
	}
	if got.Entries != 0 || got.Bytes != 0 || got.Enabled {
		t.Errorf("off still holds %+v", got)
	}
	c.SetEnabled(true)
	if _, ok := c.Get(c.Begin(), 1); ok {
		t.Error("an entry survived being switched off")
	}
}

// TestCacheAgreesWithASlowModel drives the cache and a plain list with the same
// random operations.
func TestCacheAgreesWithASlowModel(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const limit = 50
	c := New[int](Options[int]{Limit: limit})
	type item struct{ key, value, bytes int }
	var model []item // oldest first
	size := func() (n int) {
		for _, it := range model {
			n += it.bytes
		}
		return n
	}
	for step := range 20000 {
		key := r.IntN(12)
		at := slices.IndexFunc(model, func(it item) bool { return it.key == key })
		v, ok := c.Get(c.Begin(), key)
		if ok != (at >= 0) || (ok && v != model[at].value) {
			t.Fatalf("step %d: key %d: got %d, %v", step, key, v, ok)
		}
		if ok {
			it := model[at]
			model = append(slices.Delete(model, at, at+1), it)
		} else {
			it := item{key, step, 1 + r.IntN(20)}
			c.Put(key, it.value, int64(it.bytes))
			for size()+it.bytes > limit {
				model = model[1:]
			}
			model = append(model, it)
		}
		if n := c.Counters(); int(n.Bytes) != size() || int(n.Entries) != len(model) {
			t.Fatalf("step %d: %+v, want %d bytes in %d entries", step, n, size(), len(model))
		}
	}
}

func TestHitsAndSteadyEvictionAllocateNothing(t *testing.T) {
	c := New[int](Options[int]{Limit: 40})
	for i := range 100 {
		c.Put(i%8, i, 8)
	}
	i := 0
	if n := testing.AllocsPerRun(1000, func() {
		c.Get(c.Begin(), i%8)
		c.Put(i%8, i, 8)
		i++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHit(b *testing.B) {
	c := New[[4]float64](Options[int]{})
	c.Put([4]float64{1}, 1, 8)
	for b.Loop() {
		c.Get(c.Begin(), [4]float64{1})
	}
}
