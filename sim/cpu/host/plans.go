package host

import (
	"prismtop/profiles"
	"prismtop/sim/cache"
	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
)

// PlanCache keeps FFT plans by size. Disabled, it returns the same plans after
// recomputing their tables, the work it saves when enabled. It is not safe for
// concurrent use.
type PlanCache struct {
	cache *cache.Cache[[2]int, *fft.Plan]
	// idle holds plans outside the cache, kept for their memory, not their tables.
	idle  map[[2]int]*fft.Plan
	clock func() int64
	set   vec.Set // of plans made from now on
}

// NewPlanCache makes an empty cache. A nil clock is the system's.
func NewPlanCache(enabled bool, clock func() int64) *PlanCache {
	c := &PlanCache{idle: map[[2]int]*fft.Plan{}, clock: cache.Clock(clock), set: vec.Available()[0]}
	c.cache = cache.New[[2]int](cache.Options[*fft.Plan]{
		Disabled: !enabled,
		Clock:    c.clock,
		Dropped: func(p *fft.Plan) {
			h, w := p.Size()
			c.idle[[2]int{h, w}] = p
		},
	})
	return c
}

// Plan returns a plan for h×w planes with its tables computed. It panics if a
// side is below 1 or above fft.MaxSide, which is a programming error.
func (c *PlanCache) Plan(h, w int) *fft.Plan {
	key := [2]int{h, w}
	lookup := c.cache.Begin()
	if p, ok := c.cache.Get(lookup, key); ok {
		return p
	}
	p := c.idle[key]
	if p == nil {
		var err error
		if p, err = fft.NewPlan(h, w); err != nil {
			panic(err)
		}
		p.SetKernels(c.set)
		c.idle[key] = p
	}
	if !c.cache.Enabled() {
		c.cache.Learn(p.Bytes(), c.rebuild(p))
		return p
	}
	// One plan serves a whole run, and a single timing may be off on a busy
	// processor.
	for range rebuilds - 1 {
		c.cache.Learn(p.Bytes(), c.rebuild(p))
	}
	if c.cache.PutCost(key, p, p.Bytes(), c.rebuild(p)) {
		delete(c.idle, key)
	}
	return p
}

// rebuilds is the number of times the tables are computed to measure their cost.
const rebuilds = 5

// rebuild computes the tables and returns the time it takes.
func (c *PlanCache) rebuild(p *fft.Plan) int64 {
	start := c.clock()
	p.Rebuild()
	return c.clock() - start
}

// SetKernels chooses the instruction set of plans made from now on, so that
// measurements outside a backend's plans use the same one. The default is the
// fastest available.
func (c *PlanCache) SetKernels(set vec.Set) { c.set = set }

// SetEnabled turns keeping tables on or off.
func (c *PlanCache) SetEnabled(on bool) { c.cache.SetEnabled(on) }

// Clear drops the tables. The counters stay.
func (c *PlanCache) Clear() { c.cache.Clear() }

// SetUnseen stops the counters while something is recomputed only to be timed.
func (c *PlanCache) SetUnseen(on bool) { c.cache.SetUnseen(on) }

// Counters returns the cache's counters.
func (c *PlanCache) Counters() profiles.CacheCounters { return c.cache.Counters() }
