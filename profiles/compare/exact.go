package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
)

// Rows of numbers that are exact: counters of caches, and memory as the plans allocate it.

// caches appends the rows of the caches, at equal iterations.
func (t *table) caches() {
	all, _, upTo := align(t.samples)
	if upTo == 0 {
		return
	}
	for i := range t.samples[0][0].schema.Caches {
		info := &t.samples[0][0].schema.Caches[i]
		rate := Row{Group: Caches, Name: info.Name + "_hit_rate", Title: info.Title + " hits", Unit: "1", Better: profiles.MoreIsBetter, Absolute: true}
		bytes := Row{Group: Caches, Name: info.Name + "_cache_bytes", Title: info.Title, Unit: "B", Better: profiles.LessIsBetter}
		looked := false
		for k := range all {
			var rates, sizes []float64
			for r := range all[k].grids {
				at := cacheNamed(all[k].schemas[r], info.Name)
				share, held := math.NaN(), math.NaN()
				if n := len(all[k].grids[r].bins); at >= 0 && n > 0 {
					first := t.samples[k][r].before[at]
					last := all[k].grids[r].bins[n-1].caches[at]
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
	v := Value{Value: median(there)}
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

// memory appends the rows of the memory at the last common iteration.
func (t *table) memory() {
	all, _, upTo := align(t.samples)
	if upTo == 0 {
		return
	}
	row := func(name, title string, of func(s *Sample, end int64) (bytes float64, reason string)) Row {
		r := Row{Group: Memory, Name: name, Title: title, Unit: "B", Better: profiles.LessIsBetter}
		for k, side := range t.samples {
			var values []float64
			reason := ""
			for i, s := range side {
				bins := all[k].grids[i].bins
				v, why := of(s, bins[len(bins)-1].end)
				values, reason = append(values, v), cmp.Or(reason, why)
			}
			r.Values = append(r.Values, exact(values, reason))
		}
		return r
	}
	for _, info := range t.samples[0][0].schema.Memory {
		t.addFixed(row(info.Name+"_bytes", info.Name, func(s *Sample, end int64) (float64, string) {
			return s.held(info.Name, end)
		}), func(row *Row, k int) { row.exactly(k, 0) })
	}
	peak := row("rss_peak_bytes", "peak resident", (*Sample).peakAt)
	t.addFixed(peak, func(row *Row, k int) {
		if row.exactly(k, 0); row.Against[k-1].Verdict == NotComparable {
			return
		}
		d := &row.Against[k-1]
		m := residentApart + max(row.Values[0].Floor, row.Values[k].Floor, residentLeast)/row.Values[0].Value
		d.Low, d.High, d.Within = d.Raw-m, d.Raw+m, 0
		d.say(Less, More, false, residentApart)
	})
}

// held returns the bytes of a category of memory at a time, NaN where they are not known for a reason:
// a category that changed soon afterwards may have changed before that, too.
func (s *Sample) held(name string, end int64) (bytes float64, reason string) {
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
		if m.at > end+delivery {
			break
		}
		if m.Parts[i] != now {
			return math.NaN(), "it changed at about that iteration"
		}
	}
	return float64(now), ""
}

// peakAt returns the largest resident memory of the process up to a time.
func (s *Sample) peakAt(end int64) (bytes float64, reason string) {
	for _, m := range s.peaks {
		if m.at <= end+delivery {
			bytes = max(bytes, float64(m.peak))
		}
	}
	if bytes == 0 {
		return math.NaN(), cmp.Or(s.noPeak, "it was not read yet")
	}
	return bytes, ""
}
