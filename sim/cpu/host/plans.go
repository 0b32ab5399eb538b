package host

import (
	"prismtop/profiles"
	"prismtop/sim/cache"
	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
)

// PlanCache keeps FFT plans by size. Switched off, it gives the same plans after
// computing their tables again, which is what it saves when it is on. It is
// used by one goroutine.
type PlanCache struct {
	cache *cache.Cache[[2]int, *fft.Plan]
	// idle are plans that the cache does not hold: their memory, not their tables.
	idle  map[[2]int]*fft.Plan
	clock func() int64
	set   vec.Set // of the plans to come
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

// Plan gives a plan for h×w planes with its tables in place. It panics on sides
// that no plan can have, which is a programming error: below 1 or above
// fft.MaxSide.
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
	// One plan serves a whole run, and a single time may have met a busy processor.
	for range rebuilds - 1 {
		c.cache.Learn(p.Bytes(), c.rebuild(p))
	}
	if c.cache.PutCost(key, p, p.Bytes(), c.rebuild(p)) {
		delete(c.idle, key)
	}
	return p
}

// rebuilds is how often the tables are computed to learn what that costs.
const rebuilds = 5

// rebuild computes the tables and returns what that takes.
func (c *PlanCache) rebuild(p *fft.Plan) int64 {
	start := c.clock()
	p.Rebuild()
	return c.clock() - start
}

// SetKernels chooses the instruction set of the plans that are made from now on,
// so that measurements beside a backend's plans run on the same. It starts as the
// fastest that the processor has.
func (c *PlanCache) SetKernels(set vec.Set) { c.set = set }

// SetEnabled turns keeping tables on or off.
func (c *PlanCache) SetEnabled(on bool) { c.cache.SetEnabled(on) }

// SetUnseen makes asking count for nothing while something is computed again only to
// be timed.
func (c *PlanCache) SetUnseen(on bool) { c.cache.SetUnseen(on) }

// Counters is the cache's state.
func (c *PlanCache) Counters() profiles.CacheCounters { return c.cache.Counters() }
