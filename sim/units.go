package sim

import (
	"slices"

	"prismtop/profiles"
	"prismtop/sim/checkpoint"
)

// units are the units of work that ended: the newest one by one, those before summed up.
type units struct {
	newest  []profiles.UnitResult
	earlier profiles.Ended
}

// add adds a unit that ended.
func (u *units) add(result *profiles.UnitResult) { u.newest = u.earlier.Thin(u.newest, result) }

// before returns a copy of the sums; nil if nothing was summed up.
func (u *units) before() *profiles.Ended {
	if u.earlier.Units == 0 {
		return nil
	}
	return u.earlier.Clone()
}

// undo drops the units from one on, which are worked through again, and returns their number.
func (u *units) undo(from int32) int {
	ended := len(u.newest)
	u.newest = slices.DeleteFunc(u.newest, func(r profiles.UnitResult) bool { return r.Unit >= from })
	return ended - len(u.newest)
}

// resume sums up what ended before a checkpoint, but for the newest units, which it returns: they are to be added.
func (u *units) resume(c *checkpoint.Checkpoint) (newest []checkpoint.Result) {
	if c.Earlier != nil {
		u.earlier = *c.Earlier.Clone()
	}
	old := max(0, len(c.Results)-2*profiles.KeptResults)
	for i := range c.Results[:old] {
		r := c.Results[i].UnitResult()
		u.earlier.Add(&r)
	}
	return c.Results[old:]
}
