package recording

import (
	"math"

	"prismtop/profiles"
)

// Iterations are stored without loss, by columns of what cannot be predicted from the iteration
// before and from the other numbers of the same one: of the start only the gap since the end of the
// one before, of the total time only what is in no phase, of a counter only its growth. Most columns
// of a block are then constant and take a byte.

// field is a number of an iteration: its unpredicted part, and the number from it. The fields of an
// iteration are restored in the order of the list, so that a prediction may use those before.
type field struct {
	part    func(it, before *profiles.Iteration) int64
	restore func(it, before *profiles.Iteration, part int64)
	// rests is true of a number that is 0 throughout if every part of it is 0; for one of a cache, if
	// every part of the cache is 0. cache is 1 more than the cache's index, 0 for other numbers.
	rests bool
	cache int
}

// grows is a counter that usually grows by step.
func grows(of func(it *profiles.Iteration) *int64, step int64) field {
	return field{
		func(it, before *profiles.Iteration) int64 { return *of(it) - *of(before) - step },
		func(it, before *profiles.Iteration, part int64) { *of(it) = *of(before) + step + part },
		step == 0, 0,
	}
}

// layout is what the columns of a block are of: the numbers of an iteration except its series, and the number of those.
type layout struct {
	fields []field
	series int
}

// The blocks of most runs are narrow: nothing in them is beyond what a slot has room for. The others are wide, and have
// columns for all that an iteration has room for.
var (
	narrowLayout = layout{buildFields(profiles.SlotPhases, profiles.SlotCaches), profiles.SlotSeries}
	wideLayout   = layout{buildFields(profiles.MaxPhases, profiles.MaxCaches), profiles.MaxSeries}
)

// layoutOf returns the narrowest layout that keeps every number of iterations.
func layoutOf(all []profiles.Iteration) *layout {
	for i := range all {
		it := &all[i]
		for _, ns := range it.Phases[profiles.SlotPhases:] {
			if ns != 0 {
				return &wideLayout
			}
		}
		for _, v := range it.Series[profiles.SlotSeries:] {
			if math.Float64bits(v) != 0 {
				return &wideLayout
			}
		}
		for c := profiles.SlotCaches; c < profiles.MaxCaches; c++ {
			if it.Caches[c] != (profiles.CacheCounters{}) {
				return &wideLayout
			}
		}
	}
	return &narrowLayout
}

func buildFields(phases, caches int) []field {
	all := []field{
		grows(func(it *profiles.Iteration) *int64 { return &it.Index }, 1),
		{func(it, before *profiles.Iteration) int64 { return int64(it.Kind) },
			func(it, before *profiles.Iteration, part int64) { it.Kind = profiles.Kind(part) }, true, 0},
		{func(it, before *profiles.Iteration) int64 { return int64(it.Flags) },
			func(it, before *profiles.Iteration, part int64) { it.Flags = profiles.Flags(part) }, true, 0},
		{func(it, before *profiles.Iteration) int64 { return int64(it.Unit) - int64(before.Unit) },
			func(it, before *profiles.Iteration, part int64) { it.Unit = before.Unit + int32(part) }, true, 0},
		{func(it, before *profiles.Iteration) int64 { return int64(it.InUnit) - int64(before.InUnit) - 1 },
			func(it, before *profiles.Iteration, part int64) { it.InUnit = before.InUnit + 1 + int32(part) }, false, 0},
		{func(it, before *profiles.Iteration) int64 { return int64(it.Changes) - int64(before.Changes) },
			func(it, before *profiles.Iteration, part int64) { it.Changes = uint32(int64(before.Changes) + part) },
			true, 0},
		{func(it, before *profiles.Iteration) int64 { return it.Retimed },
			func(it, before *profiles.Iteration, part int64) { it.Retimed = part }, true, 0},
	}
	for p := range phases {
		all = append(all, field{
			func(it, before *profiles.Iteration) int64 { return it.Phases[p] },
			func(it, before *profiles.Iteration, part int64) { it.Phases[p] = part },
			true, 0,
		})
	}
	all = append(all, field{
		func(it, before *profiles.Iteration) int64 { return it.Total - inPhases(it) },
		func(it, before *profiles.Iteration, part int64) { it.Total = inPhases(it) + part },
		false, 0,
	}, field{
		func(it, before *profiles.Iteration) int64 { return it.Start - endOf(before) },
		func(it, before *profiles.Iteration, part int64) { it.Start = endOf(before) + part },
		false, 0,
	})
	for c := range caches {
		for _, f := range cacheFields(c) {
			f.rests, f.cache = true, c+1
			all = append(all, f)
		}
	}
	return all
}

// endOf returns the time at which an iteration ended.
func endOf(it *profiles.Iteration) int64 { return it.Start + it.Total + it.Retimed }

func inPhases(it *profiles.Iteration) (ns int64) {
	for _, p := range it.Phases {
		ns += p
	}
	return ns
}

// cacheFields lists the counters of a cache. The value of hits follows from their number and price,
// and the time saved from the two and the time spent.
func cacheFields(c int) []field {
	counter := func(of func(n *profiles.CacheCounters) *int64) field {
		return grows(func(it *profiles.Iteration) *int64 { return of(&it.Caches[c]) }, 0)
	}
	worth := func(of, each func(n *profiles.CacheCounters) *int64) field {
		predicted := func(it, before *profiles.Iteration) int64 {
			now, then := &it.Caches[c], &before.Caches[c]
			return *of(then) + (now.Priced-then.Priced)**each(now)
		}
		return field{
			func(it, before *profiles.Iteration) int64 { return *of(&it.Caches[c]) - predicted(it, before) },
			func(it, before *profiles.Iteration, part int64) { *of(&it.Caches[c]) = predicted(it, before) + part },
			false, 0,
		}
	}
	saved := func(it, before *profiles.Iteration) int64 {
		now, then := &it.Caches[c], &before.Caches[c]
		return then.Saved + now.Gross - then.Gross - (now.Spent - then.Spent)
	}
	squares := func(it, before *profiles.Iteration) float64 {
		now, then := &it.Caches[c], &before.Caches[c]
		spent := float64(now.Spent - then.Spent)
		return then.SpentSquares + spent*spent // as of a single lookup
	}
	return []field{
		{func(it, before *profiles.Iteration) int64 { return truth(it.Caches[c].Enabled) },
			func(it, before *profiles.Iteration, part int64) { it.Caches[c].Enabled = part != 0 }, false, 0},
		counter(func(n *profiles.CacheCounters) *int64 { return &n.Hits }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.Misses }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.CapacityMisses }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.Entries }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.Bytes }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.Spent }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.Price }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.PriceLow }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.PriceHigh }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.PricedBy }),
		counter(func(n *profiles.CacheCounters) *int64 { return &n.Priced }),
		worth(func(n *profiles.CacheCounters) *int64 { return &n.Gross },
			func(n *profiles.CacheCounters) *int64 { return &n.Price }),
		worth(func(n *profiles.CacheCounters) *int64 { return &n.GrossLow },
			func(n *profiles.CacheCounters) *int64 { return &n.PriceLow }),
		worth(func(n *profiles.CacheCounters) *int64 { return &n.GrossHigh },
			func(n *profiles.CacheCounters) *int64 { return &n.PriceHigh }),
		{func(it, before *profiles.Iteration) int64 { return it.Caches[c].Saved - saved(it, before) },
			func(it, before *profiles.Iteration, part int64) { it.Caches[c].Saved = saved(it, before) + part }, false,
			0},
		{func(it, before *profiles.Iteration) int64 {
			return wideBits(it.Caches[c].SpentSquares) - wideBits(squares(it, before))
		},
			func(it, before *profiles.Iteration, part int64) {
				it.Caches[c].SpentSquares = fromWide(wideBits(squares(it, before)) + part)
			}, false, 0},
	}
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// beforeFirst is what the first iteration of a block builds on: blocks do not build on one another.
var beforeFirst = profiles.Iteration{Index: -1, InUnit: -1}

// putIterations appends iterations in a layout.
func putIterations(to []byte, all []profiles.Iteration, l *layout) []byte {
	if len(all) == 0 {
		return to
	}
	before := &beforeFirst
	parts := make([]int64, len(all))
	column := func(part func(it, before *profiles.Iteration) int64) {
		last := before
		for i := range all {
			parts[i] = part(&all[i], last)
			last = &all[i]
		}
		to = putColumn(to, parts)
	}
	for i := range l.fields {
		column(l.fields[i].part)
	}
	for s := range l.series {
		narrow := single(before.Series[s])
		for i := 0; i < len(all) && narrow; i++ {
			narrow = single(all[i].Series[s])
		}
		to = append(to, byte(truth(narrow)))
		bits := wideBits
		if narrow {
			bits = singleBits
		}
		column(func(it, before *profiles.Iteration) int64 { return bits(it.Series[s]) - bits(before.Series[s]) })
	}
	return to
}

// takeIterations fills iterations from the beginning of data, which has them in a layout, and returns the rest.
func takeIterations(data []byte, all []profiles.Iteration, l *layout) ([]byte, error) {
	if len(all) == 0 {
		return data, nil
	}
	before := &beforeFirst
	parts := make([]int64, len(all))
	var err error
	var used [profiles.MaxCaches + 1]bool // caches of which a part is not 0
	for f := range l.fields {
		if cache := l.fields[f].cache; len(data) > 0 && data[0] == allZero && l.fields[f].rests && !used[cache] {
			data = data[1:]
			continue
		} else if cache > 0 {
			used[cache] = true
		}
		if data, err = takeColumn(data, parts); err != nil {
			return nil, err
		}
		last := before
		for i := range all {
			l.fields[f].restore(&all[i], last, parts[i])
			last = &all[i]
		}
	}
	for s := range l.series {
		if len(data) == 0 {
			return nil, errShort
		}
		bits, from := wideBits, fromWide
		if data[0] != 0 {
			bits, from = singleBits, fromSingle
		}
		if data, err = takeColumn(data[1:], parts); err != nil {
			return nil, err
		}
		last := bits(before.Series[s])
		for i := range all {
			last += parts[i]
			all[i].Series[s] = from(last)
		}
	}
	return data, nil
}
