package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Rows of numbers that are exact: counters of caches, and memory as the plans allocate it.

// ends returns the bin of each recording after which its caches and its memory are compared: the last that all
// have, or the last of each where the stretches begin apart. about says the latter of what is compared; ends is
// nil if there is none.
func (t *table) ends(what string) (ends [][]*bin, about string) {
	if t.apart() {
		for _, side := range t.samples {
			var of []*bin
			for _, s := range side {
				of = append(of, s.grid.end())
			}
			ends = append(ends, of)
		}
		return ends, what
	}
	all, _, upTo := align(t.samples)
	if upTo == 0 {
		return nil, ""
	}
	for i := range all {
		var of []*bin
		for j := range all[i].grids {
			bins := all[i].grids[j].bins
			of = append(of, &bins[len(bins)-1])
		}
		ends = append(ends, of)
	}
	return ends, ""
}

// caches appends the rows of the caches.
func (t *table) caches() {
	ends, about := t.ends("caches: the lookups within each stretch, and the bytes at its end")
	if ends == nil {
		return
	}
	for i := range t.samples[0][0].schema.Caches {
		info := &t.samples[0][0].schema.Caches[i]
		rate := Row{Group: Caches, Name: info.Name + "_hit_rate", Title: info.Title + " hits", Unit: "1", About: about,
			Better: profiles.MoreIsBetter, Absolute: true}
		bytes := Row{Group: Caches, Name: info.Name + "_cache_bytes", Title: info.Title, Unit: "B", About: about,
			Better: profiles.LessIsBetter}
		looked := false
		for k, side := range t.samples {
			var rates, sizes []float64
			for r, s := range side {
				at := cacheNamed(&s.schema, info.Name)
				share, held := math.NaN(), math.NaN()
				if at >= 0 {
					first, last := s.before[at], ends[k][r].caches[at]
					hits, misses := last.hits-first.hits, last.misses-first.misses
					held = float64(last.bytes)
					if hits+misses > 0 {
						share, looked = float64(hits)/float64(hits+misses), true
					}
				}
				rates, sizes = append(rates, share), append(sizes, held)
			}
			rate.Values = append(rate.Values, exact(rates, "nothing was looked up"))
			bytes.Values = append(bytes.Values, exact(sizes, "there is no such cache"))
		}
		if looked {
			t.addFixed(rate, func(row *Row, k int) { row.exactly(k, rateWithin) })
			t.addFixed(bytes, func(row *Row, k int) { row.exactly(k, EqualWithin) })
		}
	}
}

func cacheNamed(s *profiles.Schema, name string) int {
	for i := range s.Caches {
		if s.Caches[i].Name == name {
			return i
		}
	}
	return -1
}

// exact returns the value of a side's recordings: their median. The floor is their range.
func exact(values []float64, reason string) Value {
	var there []float64
	for _, v := range values {
		if !math.IsNaN(v) {
			there = append(there, v)
		}
	}
	if len(there) == 0 {
		return Value{Value: math.NaN(), Reason: reason, Floor: math.NaN()}
	}
	v := Value{Value: stats.Median(there)}
	for _, x := range there {
		for _, y := range there {
			v.Floor = max(v.Floor, math.Abs(x-y))
		}
	}
	return v
}

// exactly judges an exact number: recordings of one side may still differ, and a difference up to within
// counts as none.
func (r *Row) exactly(k int, within float64) {
	a, b, d := &r.Values[0], &r.Values[k], &r.Against[k-1]
	if math.IsNaN(d.Raw) {
		reason := a.Reason
		if reason == "" {
			reason = b.Reason
		}
		if a.Value == 0 && reason == "" {
			reason = "the base has none"
		}
		d.no(reason, reason)
		return
	}
	m := max(a.Floor, b.Floor)
	if !r.Absolute {
		m /= max(a.Value, 1)
	}
	d.Value, d.Low, d.High = d.Raw, d.Raw-m, d.Raw+m
	d.say(Less, More, false, within)
}

// delivery is how late a state of the memory may arrive among the iterations, of which then only the
// newest does.
const delivery = int64(300 * time.Millisecond)

// goesBeyond reports whether a recording has iterations after the common ones.
func (t *table) goesBeyond(common int64) bool {
	return slices.ContainsFunc(t.samples, func(side []*Sample) bool {
		return slices.ContainsFunc(side, func(s *Sample) bool { return s.reached() > common })
	})
}

// memory appends the rows of the memory.
func (t *table) memory() {
	ends, about := t.ends("memory: as it is at the end of each stretch")
	if ends == nil {
		return
	}
	apart := about != ""
	upTo := int64(0) // where the sides have a common part and one goes on beyond it
	if _, _, common := align(t.samples); !apart && t.goesBeyond(common) {
		upTo = common
		about = fmt.Sprintf("memory: as it was after %d iterations; its peak until then", upTo)
	}
	row := func(name, title string, of func(s *Sample, end, late int64) (bytes float64, reason string)) Row {
		r := Row{Group: Memory, Name: name, Title: title, Unit: "B", About: about, Better: profiles.LessIsBetter}
		for k, side := range t.samples {
			var values []float64
			reason := ""
			for i, s := range side {
				late := delivery
				if apart && s.stretch.to.kind == atChange { // what comes then is of the change
					late = 0
				}
				v, why := of(s, ends[k][i].end, late)
				values, reason = append(values, v), cmp.Or(reason, why)
			}
			r.Values = append(r.Values, exact(values, reason))
		}
		return r
	}
	for _, info := range t.samples[0][0].schema.Memory {
		t.addFixed(row(info.Name+"_bytes", info.Name, func(s *Sample, end, late int64) (float64, string) {
			return s.held(info.Name, end, late)
		}), func(row *Row, k int) { row.exactly(k, 0) })
	}
	peak := row("rss_peak_bytes", "peak resident", func(s *Sample, end, late int64) (float64, string) {
		// with what comes after its last iteration
		if s.stretch.to == (moment{}) && (apart || upTo == 0 || s.reached() <= upTo) {
			late = math.MaxInt64 - end
		}
		return s.peakAt(end, late)
	})
	t.addFixed(peak, func(row *Row, k int) {
		d := &row.Against[k-1]
		switch row.exactly(k, 0); {
		case d.Verdict == NotComparable:
			return
		case apart && t.samples[0][0].ofOneRun(t.samples[k][0]):
			d.no("the peak is the process's by then, so that of the later stretch is never below that of the earlier",
				"of one process")
			return
		}
		m := residentApart + max(row.Values[0].Floor, row.Values[k].Floor, residentLeast)/row.Values[0].Value
		d.Low, d.High, d.Within = d.Raw-m, d.Raw+m, 0
		d.say(Less, More, false, residentApart)
	})
}

// held returns the bytes of a category of memory at a time, NaN where they are not known for a reason:
// a category that changed less than late afterwards may have changed before that, too.
func (s *Sample) held(name string, end, late int64) (bytes float64, reason string) {
	i := slices.IndexFunc(s.schema.Memory, func(m profiles.MemoryInfo) bool { return m.Name == name })
	next := slices.IndexFunc(s.memory, func(m memoryMark) bool { return m.at > end })
	if next < 0 {
		next = len(s.memory)
	}
	if i < 0 || next == 0 {
		return math.NaN(), "it was not reported"
	}
	now := s.memory[next-1].Parts[i]
	for _, m := range s.memory[next:] {
		if m.at > end+late {
			break
		}
		if m.Parts[i] != now {
			return math.NaN(), "it changed at about that iteration"
		}
	}
	return float64(now), ""
}

// peakAt returns the largest resident memory of the process up to a time, as it was read less than late afterwards.
func (s *Sample) peakAt(end, late int64) (bytes float64, reason string) {
	for _, m := range s.peaks {
		if m.at <= end+late {
			bytes = max(bytes, float64(m.peak))
		}
	}
	if bytes == 0 {
		return math.NaN(), cmp.Or(s.noPeak, "it was not read yet")
	}
	return bytes, ""
}
