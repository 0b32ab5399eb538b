package aggregate

import "time"

// costSpan is how long own cost is averaged over.
const costSpan = 2 * time.Second

// cost is what ticking costs: the share of the time that it took, over the last
// whole span.
type cost struct {
	from    time.Time // when the span began
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

// share is 0 to 1 of one core; of what there is while the first span lasts.
func (c *cost) share(now time.Time) float64 {
	if span := now.Sub(c.from); !c.known && !c.from.IsZero() && span > 0 {
		return c.busy.Seconds() / span.Seconds()
	}
	return c.settled
}
