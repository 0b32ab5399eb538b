package replay

import (
	"context"
	"errors"
	"slices"
	"sort"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/recording"
	"prismtop/profiles/unit"
)

// A replay's place in a recording: consuming it forwards, seeking, and refreshing one that grows.

// refreshEvery is the time between two looks at whether a recording has grown.
const refreshEvery = 200 * time.Millisecond

// playback is the state of a Player, owned by the goroutine of Run.
type playback struct {
	ctx    context.Context
	player *Player
	reader *recording.Reader
	index  *index

	stretches []recording.Stretch
	gaps      []profiles.Gap // between them
	marks     []profiles.Mark
	growing   bool
	ending    string // why it ends before the run
	refreshed time.Time

	head
	clock  time.Duration // of the replay, since the recording began; ahead of the newest moment
	target *time.Duration

	playing   bool
	speed     float64
	following bool
	shown     *profiles.Snapshot
	offered   *profiles.Snapshot
	err       string
}

// head is a place in a recording and the aggregator that consumed everything before it.
type head struct {
	aggregator *aggregate.Aggregator
	feed       *feed
	cursor     recording.Cursor
	ticks      int64              // consumed so far
	moments    []recording.Moment // of the stretch that was read, not consumed yet
	at         time.Duration      // of the newest moment consumed
	own        profiles.OwnCost   // of the recorded aggregator
	begun      bool               // a moment was consumed
	started    bool               // a start of the run was consumed
	missing    missing
}

// missing is what could not be read up to a place in a recording.
type missing struct {
	iterations int64
	time       time.Duration
	notes      []string // lines for the log that come with the next moment
}

// add adds a stretch.
func (m *missing) add(s *recording.Stretch, why error) {
	m.iterations += s.Iterations
	m.time += s.To - s.From
	m.notes = append(slices.Clip(m.notes), why.Error())
}

// any reports whether something is missing.
func (m *missing) any() bool { return m.iterations > 0 || m.time > 0 }

// String says in short what is missing; "" if nothing is.
func (m *missing) String() string {
	switch {
	case m.iterations > 0:
		return unit.Plural(int(m.iterations), "iteration", "iterations") + " missing"
	case m.time > 0:
		return m.time.Round(time.Millisecond).String() + " missing"
	}
	return ""
}

// feed is the source of an aggregator: one moment at a time.
type feed struct {
	moment  *recording.Moment
	notes   []string // lines for the log before it
	dropped int64
}

// Drain passes on the events of the moment.
func (f *feed) Drain(take func(*profiles.Event)) bool {
	if f.moment == nil {
		return false
	}
	m := f.moment
	for _, text := range f.notes {
		take(&profiles.Event{At: m.At, Body: &profiles.LogEntry{Text: text, Refused: true}})
	}
	f.moment, f.notes = nil, nil
	return m.Each(take)
}

// Dropped returns the number of events that the recorded aggregator lost, or that cannot be read.
func (f *feed) Dropped() int64 { return f.dropped }

// newHead returns a head before the first moment.
func newHead(r *recording.Reader) head {
	f := &feed{}
	return head{aggregator: aggregate.New(f, aggregate.Options{}), feed: f, cursor: r.Cursor()}
}

// clone returns a head at the same place that goes on by itself.
func (h *head) clone() head {
	c := *h
	c.feed = &feed{dropped: h.feed.dropped}
	c.aggregator = h.aggregator.Clone(c.feed)
	return c
}

// upcoming returns the next moment, nil at the end or where the stretches are not those of the file
// any more. A stretch that cannot be read is left out, and its error returned.
func (h *head) upcoming(ctx context.Context, stretches []recording.Stretch) (m *recording.Moment, err error) {
	for len(h.moments) == 0 {
		i := sort.Search(len(stretches), func(i int) bool { return stretches[i].Tick+stretches[i].Ticks > h.ticks })
		if i == len(stretches) {
			return nil, err
		}
		s := stretches[i]
		moments, failed := h.cursor.Read(ctx, s)
		if ctx.Err() != nil || errors.Is(failed, recording.ErrReplaced) {
			return nil, failed
		}
		if failed != nil {
			err = errors.Join(err, failed)
			h.missing.add(&s, failed)
			h.ticks = s.Tick + s.Ticks
			if m := h.cursor.Bridge(ctx, s); m != nil {
				h.moments = []recording.Moment{*m}
				h.ticks--
			}
			continue
		}
		done := min(max(h.ticks-s.Tick, 0), int64(len(moments)))
		h.moments, h.ticks = moments[done:], s.Tick+done
		if h.missing.any() && !h.started {
			h.untilStart()
		}
		if len(h.moments) == 0 { // a stretch that has fewer moments than it says, or none of use
			h.ticks = s.Tick + s.Ticks
		}
	}
	return &h.moments[0], err
}

// untilStart leaves out the moments before the next start of the run: without the start that they belong
// to, their numbers have no schema to be read by.
func (h *head) untilStart() {
	for len(h.moments) > 0 && !h.moments[0].Begins() {
		h.missing.iterations += int64(h.moments[0].Iterations())
		h.moments = h.moments[1:]
		h.ticks++
	}
}

// consume passes the next moment to the aggregator and returns the newest snapshot.
func (h *head) consume() *profiles.Snapshot {
	if m := h.pass(); m.Drain {
		h.aggregator.Drain(m.At)
	} else {
		h.aggregator.Tick(m.At)
	}
	return h.aggregator.Last()
}

// skip passes the next moment to the aggregator without a snapshot.
func (h *head) skip() {
	if m := h.pass(); m.Drain {
		h.aggregator.Drain(m.At)
	} else {
		h.aggregator.Advance(m.At)
	}
}

// pass hands the next moment to the feed.
func (h *head) pass() *recording.Moment {
	m := &h.moments[0]
	h.moments = h.moments[1:]
	h.ticks++
	h.started = h.started || m.Begins()
	if m.Bridge {
		m.Own = h.own
	}
	if !m.Drain {
		h.at, h.begun, h.own = m.Since, true, m.Own
	}
	h.feed.moment, h.feed.dropped = m, m.Own.Dropped+h.missing.iterations
	h.feed.notes, h.missing.notes = h.missing.notes, nil
	return m
}

func newPlayback(ctx context.Context, p *Player, r *recording.Reader) *playback {
	b := &playback{ctx: ctx, player: p, reader: r, index: newIndex(r), head: newHead(r), speed: 1, playing: true}
	b.refresh(time.Now())
	return b
}

// first and last return the ends of the recording.
func (b *playback) first() time.Duration {
	if len(b.stretches) == 0 {
		return 0
	}
	return b.stretches[0].From
}

func (b *playback) last() time.Duration {
	if n := len(b.stretches); n > 0 {
		return b.stretches[n-1].To
	}
	return 0
}

// atEnd reports whether everything was consumed.
func (b *playback) atEnd() bool { return b.ticks >= ticksIn(b.stretches) }

// ticksIn returns the number of ticks up to the end of the last stretch.
func ticksIn(stretches []recording.Stretch) int64 {
	if n := len(stretches); n > 0 {
		return stretches[n-1].Tick + stretches[n-1].Ticks
	}
	return 0
}

// refresh looks at whether the recording has grown.
func (b *playback) refresh(now time.Time) {
	if !b.refreshed.IsZero() && (!b.growing || now.Sub(b.refreshed) < refreshEvery) {
		return
	}
	status, err := b.reader.Status(b.ctx)
	if err == nil {
		grew := b.growing
		if b.growing = status.State == recording.Growing; grew && !b.growing {
			b.stretches = nil // those at the end were replaced
		}
		b.ending = status.Ending()
	}
	more, failed := b.reader.Stretches(b.ctx, ticksIn(b.stretches))
	if err == nil {
		err = failed
	}
	if len(more) > 0 {
		kept := sort.Search(len(b.stretches), func(i int) bool { return b.stretches[i].Tick >= more[0].Tick })
		b.stretches = slices.Concat(b.stretches[:kept], more) // a new list: the index reads the one before
		b.gaps = gapsBetween(b.stretches)
		if err == nil {
			b.marks, err = b.reader.Marks(b.ctx)
		}
	}
	b.note(err)
	b.refreshed = now
	b.index.extend(b.stretches, !b.growing)
}

// leastGap is the least time between two stretches that counts as a gap.
const leastGap = 10 * time.Second

// gapsBetween returns the gaps between stretches, in a new list.
func gapsBetween(all []recording.Stretch) (gaps []profiles.Gap) {
	for i := 1; i < len(all); i++ {
		if from, to := all[i-1].To, all[i].From; to-from >= leastGap {
			gaps = append(gaps, profiles.Gap{From: from, To: to})
		}
	}
	return gaps
}

// note keeps the first error.
func (b *playback) note(err error) {
	if errors.Is(err, recording.ErrReplaced) {
		b.stretches, b.refreshed = nil, time.Time{} // all of them, at once
		b.refresh(time.Now())
		return
	}
	var damaged *recording.DamagedError
	if err != nil && b.err == "" && b.ctx.Err() == nil && !errors.As(err, &damaged) { // which b.missing has
		b.err = err.Error()
	}
}

// upcoming returns the next moment, nil at the end.
func (b *playback) upcoming() *recording.Moment {
	m, err := b.head.upcoming(b.ctx, b.stretches)
	b.note(err)
	return m
}

// consume passes the next moment to the aggregator and shows what it gives, with the cost that
// aggregating had live.
func (b *playback) consume() {
	last := b.head.consume()
	if last == nil { // events without a tick, before the first
		return
	}
	s := *last
	s.Own = b.own
	s.Own.Dropped += b.missing.iterations
	b.shown = &s
}

// advance plays for a time.
func (b *playback) advance(by time.Duration) {
	if !b.playing || b.target != nil {
		return
	}
	until := time.Now().Add(slice)
	ahead := time.Duration(float64(by) * b.speed)
	b.clock = max(b.clock, b.at) + ahead
	for {
		m := b.upcoming()
		if m == nil {
			b.following = b.growing
			b.playing = b.growing
			b.clock = b.at
			return
		}
		if wait := m.Since - b.clock; wait > time.Duration(float64(longestWait)*b.speed) && m.Since-b.at > longestWait {
			b.clock = m.Since - time.Duration(float64(longestWait)*b.speed)
		}
		if m.Since > b.clock && !b.following {
			return
		}
		b.consume()
		if time.Now().After(until) { // no faster than that
			b.clock = b.at
			return
		}
	}
}

// seek sets out for the last moment until a time; from within a gap on to the one behind it.
func (b *playback) seek(to time.Duration) {
	to = min(max(to, b.first()), b.last())
	if b.begun && to > b.at && b.target == nil {
		if m := b.upcoming(); m != nil {
			to = max(to, m.Since)
		}
	}
	b.target, b.following = &to, false
}

// work goes on towards the target for a while.
func (b *playback) work() {
	if b.target == nil {
		return
	}
	to := *b.target
	if k := b.index.before(to); k != nil && (b.begun && b.at > to || k.at > b.at) {
		b.head = k.head.clone()
		b.err = ""
	} else if b.begun && b.at > to {
		b.head = newHead(b.reader)
	}
	until := time.Now().Add(slice)
	for b.ctx.Err() == nil {
		m := b.upcoming()
		if m == nil || m.Since > to && b.begun && !(b.at < to && b.marked(to)) {
			b.target, b.clock = nil, b.at
			return
		}
		if b.ticksUntil(to) && time.Now().Before(until) {
			b.skip()
			continue
		}
		b.consume() // at the target, for all that is known of it here, or to show where it is
		if b.at < to && time.Now().After(until) {
			return
		}
	}
}

// marked reports whether a mark has the time: what it marks comes with the first moment from then on.
func (b *playback) marked(at time.Duration) bool {
	return slices.ContainsFunc(b.marks, func(m profiles.Mark) bool { return m.At == at })
}

// ticksUntil reports whether the stretch being read has another tick after the next moment, up to a
// time.
func (b *playback) ticksUntil(to time.Duration) bool {
	for i := 1; i < len(b.moments) && b.moments[i].Since <= to; i++ {
		if !b.moments[i].Drain {
			return true
		}
	}
	return false
}

// step goes to the next moment, or to the one before.
func (b *playback) step(by int) {
	if by < 0 {
		b.seek(b.at - 1)
		return
	}
	for at := b.at; b.at == at && b.upcoming() != nil; {
		b.consume()
		b.clock = b.at
	}
}
