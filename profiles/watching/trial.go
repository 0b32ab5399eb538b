package watching

import (
	"math"
	"time"

	"prismtop/profiles"
)

// stage is the part of a trial that the newest iteration belongs to.
type stage uint8

const (
	lit    stage = iota // watched; a dark block may follow
	dark                // in a dark block
	guard               // watching catches up
	after               // watched again, to be compared
	missed              // in a dark block that is not compared
)

// guardTime follows a dark block and is not compared: the first frame after it shows more
// iterations than usual, and the pictures and comparisons that were due are made.
const guardTime = int64(50 * time.Millisecond)

// trial compares a dark block with the time before and after it, from the records of iterations
// alone: the loop itself marks the unwatched ones.
type trial struct {
	stage  stage
	newest record // whose length is not known yet
	began  bool   // newest is valid

	marks  marks // of the watched iterations before the block
	before pace
	during pace
	after  pace
	from   int64 // start of the guard, then of the part after the block
	usual  float64
}

// record is what a trial needs to know of an iteration.
type record struct {
	index, start int64
	kind         profiles.Kind
	changes      uint32
	counts       bool // it did all the work of its kind
	unwatched    bool
}

// pace is a number of iterations and their time, gaps included.
type pace struct {
	n  int64
	ns int64
}

// least is the minimum number of iterations in each part.
const least = 2

// per returns the logarithm of the time per iteration; ok is false for too few.
func (p pace) per() (log float64, ok bool) {
	return math.Log(float64(p.ns) / float64(p.n)), p.n >= least && p.ns > 0
}

// void drops everything seen, except the usual length of an iteration.
func (t *trial) void() { *t = trial{usual: t.usual} }

// mean returns the usual length of an iteration in nanoseconds, 0 if unknown.
func (t *trial) mean() float64 { return t.usual }

// add takes the next iteration; length is that of the part before and of the part after. done
// reports that a comparison is complete.
func (t *trial) add(it *profiles.Iteration, length int64) (contrast float64, done bool) {
	next := record{
		index: it.Index, start: it.Start, kind: it.Kind, changes: it.Changes,
		counts:    it.Flags&(profiles.Warmup|profiles.Converged) == 0,
		unwatched: it.Flags&profiles.Unwatched != 0,
	}
	last := t.newest
	switch {
	case !t.began:
	case last.index+1 != next.index || last.kind != next.kind || last.changes != next.changes ||
		next.start <= last.start:
		t.void()
	default:
		contrast, done = t.take(last, next, length)
	}
	t.newest, t.began = next, true
	if t.marks.n == 0 {
		t.marks.add(next.start)
	}
	return contrast, done
}

// take assigns an iteration, whose successor is known, to its part. Iterations during which
// watching stopped or went on belong to none.
func (t *trial) take(it, next record, length int64) (contrast float64, done bool) {
	var one pace
	if it.counts {
		one = pace{1, next.start - it.start}
		t.learn(float64(one.ns))
	}
	switch t.stage {
	case lit:
		if next.unwatched {
			t.stage = dark
			if sum, whole := t.marks.since(it.start - length); whole {
				t.before = sum
			} else {
				t.stage = missed
			}
			break
		}
		if it.unwatched { // of a block that is not compared
			t.void()
			break
		}
		t.marks.count(one)
		t.marks.add(next.start)
	case dark:
		if !next.unwatched {
			t.stage, t.from = guard, next.start
			break
		}
		t.during.n, t.during.ns = t.during.n+one.n, t.during.ns+one.ns
	case missed:
		if !next.unwatched {
			t.void()
		}
	case guard:
		if next.unwatched {
			t.void()
		} else if next.start-t.from >= guardTime {
			t.stage, t.from = after, next.start
		}
	case after:
		if next.unwatched {
			t.void()
			break
		}
		t.after.n, t.after.ns = t.after.n+one.n, t.after.ns+one.ns
		if next.start-t.from >= length {
			contrast, done = t.contrast()
			t.void()
		}
	}
	return contrast, done
}

// contrast returns the logarithm of the watched over the unwatched time per iteration.
func (t *trial) contrast() (log float64, ok bool) {
	before, ok1 := t.before.per()
	during, ok2 := t.during.per()
	after, ok3 := t.after.per()
	return (before+after)/2 - during, ok1 && ok2 && ok3
}

// learning is the weight of a new iteration in the usual length.
const learning = 0.05

func (t *trial) learn(ns float64) {
	if t.usual == 0 {
		t.usual = ns
	}
	t.usual += learning * (ns - t.usual)
}

// markEvery is the time between two marks, and maxMarks their number: more than two seconds.
const (
	markEvery = int64(5 * time.Millisecond)
	maxMarks  = 512
)

// marks holds the sums of watched iterations at points in time, so that the newest part of any
// length is known in bounded memory.
type marks struct {
	list  [maxMarks]mark
	next  int
	n     int
	total pace
}

// mark is the sum of all iterations that ended by a time.
type mark struct {
	at  int64
	sum pace
}

func (m *marks) count(one pace) { m.total.n, m.total.ns = m.total.n+one.n, m.total.ns+one.ns }

// add adds a mark unless the newest is recent.
func (m *marks) add(at int64) {
	if m.n > 0 && at-m.list[(m.next+maxMarks-1)%maxMarks].at < markEvery {
		return
	}
	m.list[m.next] = mark{at, m.total}
	m.next = (m.next + 1) % maxMarks
	m.n = min(m.n+1, maxMarks)
}

// first returns the time of the oldest mark, the largest possible if there is none.
func (m *marks) first() int64 {
	if m.n == 0 {
		return math.MaxInt64
	}
	return m.list[(m.next+maxMarks-m.n)%maxMarks].at
}

// since returns the sum since a time, to within markEvery or one iteration; whole is false if the
// marks do not reach back to it.
func (m *marks) since(at int64) (sum pace, whole bool) {
	for back := 1; back <= m.n; back++ {
		k := &m.list[(m.next+maxMarks-back)%maxMarks]
		if k.at <= at {
			return pace{m.total.n - k.sum.n, m.total.ns - k.sum.ns}, true
		}
	}
	return pace{}, false
}
