package ablation

import (
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// block is a series of iterations under one value or combination.
type block struct {
	seen    int // iterations, warm-up included
	want    int // to be timed; 0 while the first block of a group or round determines it
	nanos   []int64
	sum     int64
	idle    int64   // of iterations that were not timed
	quality float64 // at the end of the warm-up
}

func (b *block) reset(want int) {
	*b = block{want: want, nanos: b.nanos[:0], quality: math.NaN()}
}

func (b *block) add(it *profiles.Iteration) {
	b.nanos = append(b.nanos, it.Total)
	b.sum += it.Total
}

func (b *block) median() float64 {
	slices.Sort(b.nanos)
	return stats.Quantile(b.nanos, 0.5)
}

// maxBlock bounds a block's iterations.
const maxBlock = 4096

// timing is what all schedules share: it times blocks, and ends for a reason.
type timing struct {
	options Options
	block   block
	first   profiles.Iteration // first compared iteration: the others must do the same work
	began   bool
	blocks  int                                        // ended, including those of spoilt groups
	spent   int64                                      // nanoseconds, of iterations and the gaps between them
	now     int64                                      // end of the newest iteration
	caches  [profiles.MaxCaches]profiles.CacheCounters // after it
	ended   string
}

func newTiming(o Options) timing {
	return timing{options: o, block: block{nanos: make([]int64, 0, maxBlock)}}
}

// Done reports whether the comparison is over.
func (t *timing) Done() bool { return t.ended != "" }

// End ends the ablation and records the reason. Later reasons are ignored.
func (t *timing) End(why string) {
	if t.ended == "" {
		t.ended = why
	}
}

// timed is what an iteration did to its block.
type timed uint8

const (
	within    timed = iota // the block goes on
	warm                   // its warm-up has ended
	full                   // it is complete
	otherKind              // the iteration is of another kind: earlier ones are not comparable
)

// count adds an iteration to the block.
func (t *timing) count(it *profiles.Iteration) timed {
	t.caches = it.Caches
	if k := int(it.Kind); k < len(t.options.Kinds) && t.options.Kinds[k].Aside {
		if t.began {
			t.spent += it.Total
			t.now = it.Start + it.Total
		}
		return within
	}
	if !t.began {
		t.began, t.first, t.now = true, *it, it.Start
	}
	t.spent += it.Total + min(max(it.Start-t.now, 0), longestGap)
	t.now = it.Start + it.Total
	if t.first.Kind != it.Kind {
		t.first, t.spent, t.blocks = *it, 0, 0
		t.block.reset(0)
		return otherKind
	}
	b := &t.block
	b.seen++
	if b.seen <= t.options.Warmup {
		if b.seen == t.options.Warmup {
			return warm
		}
		return within
	}
	if it.Flags&(profiles.Warmup|profiles.Converged) == 0 && it.Total > 0 {
		b.add(it)
	} else {
		b.idle += it.Total
	}
	if left := b.seen - t.options.Warmup - len(b.nanos); left > patience*max(b.want, t.options.Least) &&
		b.idle > idleFor {
		t.End("hardly an iteration can be compared: samples end at once")
		return within
	}
	if t.full() {
		return full
	}
	return within
}

// longestGap is the longest gap between two iterations of a continuing run, in nanoseconds;
// longer gaps are pauses.
const longestGap = int64(time.Second)

// patience is the number of incomparable iterations that a block tolerates per iteration
// it needs.
const patience = 20

// idleFor is how long a block goes on without a comparable iteration, in nanoseconds: several ranks agree meanwhile.
const idleFor = int64(10 * time.Second)

// full reports whether the current block is complete.
func (t *timing) full() bool {
	b := &t.block
	if b.want > 0 {
		return len(b.nanos) >= b.want
	}
	return len(b.nanos) >= t.options.Least && b.sum >= int64(t.options.Time) || len(b.nanos) >= maxBlock
}

// endTimed counts a complete block and returns its median.
func (t *timing) endTimed() float64 {
	t.blocks++
	return t.block.median()
}

// left estimates the time that a number of blocks takes, at the pace so far.
func (t *timing) left(blocks int) (d time.Duration, known bool) {
	if t.blocks == 0 {
		return 0, false
	}
	return time.Duration(t.spent) / time.Duration(t.blocks) * time.Duration(blocks), true
}

// length fixes the length of the block under way, if its first iterations have not done so yet, by the time of an
// iteration, and returns how many are left. each is that of before, and used until there is a comparable one.
func (t *timing) length(each time.Duration) int {
	b := &t.block
	if b.want == 0 {
		if len(b.nanos) > 0 {
			each = time.Duration(b.sum / int64(len(b.nanos)))
		}
		b.want = min(max(t.options.Least, int(t.options.Time/max(each, 1))+1), maxBlock)
	}
	return max(1, b.want-len(b.nanos))
}

// table returns what every table has.
func (t *timing) table() *profiles.Ablation {
	v := &profiles.Ablation{
		Running: !t.Done(), Ended: t.ended, Rounds: t.options.Rounds, Warmup: t.options.Warmup, Now: -1,
		Spent: time.Duration(t.spent), Quality: t.options.Quality,
	}
	if k := int(t.first.Kind); t.began && k < len(t.options.Kinds) {
		v.Work = t.options.Kinds[k].Name
	}
	return v
}
