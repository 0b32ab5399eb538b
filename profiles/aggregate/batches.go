package aggregate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// A stretch is neighbouring batches of one size. It ends with stretchLeast batches or more that have
// taken stretchTime, with mostStretch batches, or with a change of settings, after which coldBatches are
// left out. Its median is one value, so that an interval does not count the drift within stretches as
// certainty. Each of the mostSizes sizes used last keeps its newest stretches.
const (
	stretchLeast = 3
	stretchTime  = int64(200 * time.Millisecond)
	mostStretch  = 64
	stretches    = 24
	coldBatches  = 1
	mostSizes    = 64
)

// batches collects the times of batches by their size, while the settings other than the size stay
// the same.
type batches struct {
	sizes []size
	cold  int     // batches still to leave out
	times []int64 // of the stretch under way
	sum   int64
	of    int // its size
	dirty bool
	shown []profiles.BatchView
}

// needs knows whether the newest memory is that of the settings in force. A run reports its memory
// before it announces a change, but of several reports between two drains only the newest is left.
type needs struct {
	ran bool // there were iterations since the newest memory
	old bool // it is that of settings before
}

// change follows a change of settings.
func (n *needs) change() { n.old = n.old || n.ran }

// of returns the memory that an iteration needs; 0 if the newest is of other settings.
func (n *needs) of(m *profiles.Memory, s *profiles.Schema) int64 {
	n.ran = true
	if n.old {
		return 0
	}
	return m.Needed(s)
}

// size is what one size took.
type size struct {
	profiles.BatchView
	medians []float64 // nanoseconds of a batch, by stretch, oldest first
	used    int64     // the newest iteration
}

// sized follows a change of settings, or a start for nil: the effects count items, and other
// settings than the batch size and limits begin the collection anew.
func (a *Aggregator) sized(c *profiles.Change) {
	a.effects.Items(a.run.Schema.Items(a.settings))
	if c == nil || c.Limit || c.Key == settings.BatchSize {
		return
	}
	a.batches = batches{dirty: true}
}

// add counts an iteration, which begins a stretch where settings changed. Its memory is 0 where it
// is not known.
func (b *batches) add(it *profiles.Iteration, begins bool, items int, bytes int64) {
	if begins || items != b.of {
		b.end()
		b.of, b.cold = items, coldBatches
	}
	if b.cold > 0 {
		b.cold--
		return
	}
	if it.Flags&profiles.Warmup != 0 || it.Total <= 0 {
		return
	}
	s := b.at(items)
	s.used = it.Index
	if bytes > 0 {
		s.Bytes = bytes
	}
	s.Iterations++
	b.times, b.sum, b.dirty = append(b.times, it.Total), b.sum+it.Total, true
	if len(b.times) < mostStretch && (len(b.times) < stretchLeast || b.sum < stretchTime) {
		return
	}
	b.end()
}

// end ends the stretch under way.
func (b *batches) end() {
	if len(b.times) == 0 {
		return
	}
	slices.Sort(b.times)
	s := b.at(b.of)
	s.medians = append(s.medians, stats.Quantile(b.times, 0.5))
	s.medians = s.medians[max(0, len(s.medians)-stretches):]
	b.times, b.sum, b.dirty = b.times[:0], 0, true
}

// at returns the entry of a size. The one not used for the longest makes room for it.
func (b *batches) at(items int) *size {
	i, ok := slices.BinarySearchFunc(b.sizes, items, func(s size, n int) int { return cmp.Compare(s.Size, n) })
	if ok {
		return &b.sizes[i]
	}
	b.sizes = slices.Insert(b.sizes, i, size{BatchView: profiles.BatchView{Size: items}})
	if len(b.sizes) > mostSizes {
		oldest := -1
		for k := range b.sizes {
			if k != i && (oldest < 0 || b.sizes[k].used < b.sizes[oldest].used) {
				oldest = k
			}
		}
		b.sizes = slices.Delete(b.sizes, oldest, oldest+1)
		if oldest < i {
			i--
		}
	}
	return &b.sizes[i]
}

// views returns the sizes with a complete stretch, smallest first. The caller must not modify
// them.
func (b *batches) views() []profiles.BatchView {
	if !b.dirty {
		return b.shown
	}
	b.shown, b.dirty = nil, false
	for i := range b.sizes {
		s := &b.sizes[i]
		if s.Stretches = len(s.medians); s.Stretches == 0 {
			continue
		}
		logs := make([]float64, s.Stretches)
		for k, ns := range s.medians {
			logs[k] = math.Log(ns)
		}
		c := stats.SignedRank(logs)
		second := float64(s.Size) * float64(time.Second)
		s.Latency = math.Exp(c.Value)
		s.PerSecond, s.Low, s.High = second/s.Latency, second*math.Exp(-c.High), second*math.Exp(-c.Low)
		b.shown = append(b.shown, s.BatchView)
	}
	return b.shown
}
