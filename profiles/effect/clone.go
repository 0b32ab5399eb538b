package effect

import "slices"

// Clone returns a tracker in the same state, which shares nothing that either modifies.
func (e *Tracker) Clone() Tracker {
	c := *e
	copies := map[*segment]*segment{nil: nil}
	copied := func(s *segment) *segment {
		if _, done := copies[s]; !done {
			clone := *s
			clone.oldest, clone.newest = slices.Clone(s.oldest), slices.Clone(s.newest)
			copies[s] = &clone
		}
		return copies[s]
	}
	c.current = copied(e.current)
	c.all = slices.Clone(e.all)
	for i := range c.all {
		c.all[i].from, c.all[i].to = copied(c.all[i].from), copied(c.all[i].to)
	}
	c.queue = slices.Clone(e.queue)
	for i := range c.queue {
		c.queue[i].of = copied(c.queue[i].of)
	}
	c.waiting = slices.Clone(e.waiting)
	for i := range c.waiting {
		c.waiting[i].settings = slices.Clone(c.waiting[i].settings)
	}
	c.limits.inForce, c.limits.waiting = slices.Clone(e.limits.inForce), slices.Clone(e.limits.waiting)
	c.cuts = slices.Clone(e.cuts)
	c.history.stretch = slices.Clone(e.history.stretch)
	for i := range c.history.columns {
		c.history.columns[i] = slices.Clone(e.history.columns[i])
	}
	c.log = slices.Clone(e.log)
	c.scratch = [3][]int64{}
	return c
}
