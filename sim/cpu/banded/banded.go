// Package banded divides convolutions into tasks. Their images are cut into bands, of rows or of tiles of pixels. What
// a band reads is copied once, in the form that a kernel wants, and stays in the second-level cache while groups of
// output channels are computed from the copy. Where there are more threads than bands, the groups of a band are parted
// among several tasks, each with a copy of its own: to read what another core has just written takes longer.
package banded

// A Division is that of a convolution into tasks: the parts of each band, one after the other.
type Division struct {
	bands, groups int
	Parts         int // of a band's groups
}

// Divide divides the groups of output channels of bands for a number of threads. Results do not depend on it.
func Divide(bands, groups, threads int) Division {
	return Division{bands, groups, min(max((threads+bands-1)/bands, 1), groups)}
}

// Tasks is the number of independent tasks.
func (d Division) Tasks() int { return d.bands * d.Parts }

// Part returns the groups [first, end) of a part.
func (d Division) Part(part int) (first, end int) {
	return part * d.groups / d.Parts, (part + 1) * d.groups / d.Parts
}

// Each runs tasks [lo, hi): it calls prepare for each of their bands, then compute for the part of the band that is a
// task's, groups [first, end).
func (d Division) Each(lo, hi int, prepare func(band int), compute func(band, first, end int)) {
	prepared := -1
	for task := lo; task < hi; task++ {
		band := task / d.Parts
		if band != prepared {
			prepare(band)
			prepared = band
		}
		first, end := d.Part(task % d.Parts)
		compute(band, first, end)
	}
}
