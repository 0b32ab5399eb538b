package aggregate

import "time"

// costSpan is the period over which the own cost is averaged.
const costSpan = 2 * time.Second

// cost is the cost of ticking: its share of the time over the last whole span.
type cost struct {
	from    time.Time // start of the span
	busy    time.Duration
	settled float64
	known   bool
}

func (c *cost) add(start, end time.Time) {
	if c.from.IsZero() {
		c.from = start
	}
	c.busy += end.Sub(start)
	if span := end.Sub(c.from); span >= costSpan {
		c.settled, c.known = c.busy.Seconds()/span.Seconds(), true
		c.from, c.busy = end, 0
	}
}

// share returns the share of one core, 0 to 1; during the first span, that of the
// span so far.
func (c *cost) share(now time.Time) float64 {
	if span := now.Sub(c.from); !c.known && !c.from.IsZero() && span > 0 {
		return c.busy.Seconds() / span.Seconds()
	}
	return c.settled
}
