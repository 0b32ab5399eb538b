// Package stream hands the events of a run to those who follow it: one writer, several
// readers. The loop never waits: every reader has a ring for iterations and a queue for the
// rest, and one that falls behind loses events alone and counts them.
package stream

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Stream is what a live run writes its events to; readers follow it. Iteration and
// PictureWanted are for the loop: they neither wait nor allocate. The other
// methods are for rare events; they hold a mutex for some nanoseconds for each reader,
// keep their place among the iterations, and never wait for a reader.
//
// State, Log, Refuse, WantPicture, PictureWanted and Follow may be called by any
// goroutine, all others by the run's.
type Stream struct {
	readers atomic.Pointer[[]*Reader]
	wanted  atomic.Bool // a picture was asked for
	clock   func() time.Time
	room    int // iterations that a reader has room for

	mu      sync.Mutex
	claimed bool // the first reader was handed over
	known   known
}

// known is what a reader that comes later has to hear first.
type known struct {
	begin    *profiles.Event // with the settings in force
	state    *profiles.Event
	ran      time.Duration    // running time before state
	results  []profiles.Event // the newest
	measured *profiles.Event  // the newest value of each series
	newest
}

// New returns a stream whose first reader has room for at least capacity iterations.
// 8192 of them (6 MiB) are more than a second of the fastest loop. What is written before
// Follow was called waits for the first reader.
func New(capacity int) *Stream { return WithClock(capacity, time.Now) }

// WithClock is New with another clock than the machine's, which may not run backwards.
func WithClock(capacity int, clock func() time.Time) *Stream {
	s := &Stream{clock: clock, room: capacity}
	s.readers.Store(&[]*Reader{{stream: s, ring: NewRing(capacity), first: true}})
	return s
}

// Follow returns a reader of everything from now on; the first one has everything since
// the stream was made. Later ones begin with how the run stands and have room for as many
// iterations as the first.
func (s *Stream) Follow() *Reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := *s.readers.Load()
	if !s.claimed {
		s.claimed = true
		return all[0]
	}
	r := &Reader{stream: s, ring: NewRing(s.room)}
	if s.known.begin != nil {
		r.put(*s.known.begin)
	}
	for _, e := range s.known.results {
		r.put(e)
	}
	if s.known.measured != nil {
		r.put(*s.known.measured)
	}
	s.known.newest.each(func(e *profiles.Event) { r.put(*e) })
	if s.known.state != nil {
		state := *s.known.state.Body.(*profiles.StateChange)
		state.Ran = s.known.ran
		r.put(profiles.Event{At: s.known.state.At, Body: &state})
	}
	s.set(append(slices.Clone(all), r))
	return r
}

// set replaces the readers; the caller holds mu.
func (s *Stream) set(readers []*Reader) { s.readers.Store(&readers) }

// leave takes a reader off.
func (s *Stream) leave(r *Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(slices.DeleteFunc(slices.Clone(*s.readers.Load()), func(x *Reader) bool { return x == r }))
}

// Put sends an event that has a time already, as that of a replay. An *Iteration is
// copied; any other body must not change any more.
func (s *Stream) Put(e profiles.Event) {
	if it, ok := e.Body.(*profiles.Iteration); ok {
		s.Iteration(it)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.know(&e)
	for _, r := range *s.readers.Load() {
		r.put(e)
	}
}

// know keeps what later readers have to hear.
func (s *Stream) know(e *profiles.Event) {
	k := &s.known
	switch b := e.Body.(type) {
	case *profiles.Begin:
		*k = known{begin: e, newest: newest{ablation: k.ablation, resident: k.resident}}
	case *profiles.Changed:
		if k.begin != nil {
			begin := *k.begin.Body.(*profiles.Begin)
			begin.Settings = b.Settings
			k.begin = &profiles.Event{At: k.begin.At, Body: &begin}
		}
	case *profiles.StateChange:
		if k.state != nil && k.state.Body.(*profiles.StateChange).State == profiles.Running {
			k.ran += max(0, e.At.Sub(k.state.At))
		}
		k.state = e
	case *profiles.UnitResult:
		k.results = append(k.results, *e)
		k.results = k.results[max(0, len(k.results)-maxEvents/2):]
	case *profiles.Measurement:
		all := *b
		if k.measured != nil {
			for i, v := range k.measured.Body.(*profiles.Measurement).Values {
				if math.IsNaN(all.Values[i]) {
					all.Values[i] = v
				}
			}
		}
		k.measured = &profiles.Event{At: e.At, Body: &all}
	default:
		if slot := k.slot(e.Body); slot != nil {
			*slot = *e
		}
	}
}

func (s *Stream) put(b profiles.Body) { s.Put(profiles.Event{At: s.clock(), Body: b}) }

// Begin says that a run starts, or starts again: see Begin.
func (s *Stream) Begin(info profiles.RunInfo, v settings.Values) {
	s.put(&profiles.Begin{Info: info, Settings: v})
}

// Iteration records what one iteration measured. A reader whose ring is full drops it
// and counts it.
func (s *Stream) Iteration(it *profiles.Iteration) {
	for _, r := range *s.readers.Load() {
		r.ring.Push(it)
	}
}

// Change records a setting that changed, and all settings after it. It comes
// before the first iteration under the new value; c.Iteration is that iteration's
// Index.
func (s *Stream) Change(c profiles.Change, after settings.Values) {
	s.put(&profiles.Changed{Change: c, Settings: after})
}

// Next records the settings that a restart will begin with, where they were changed; the
// newest counts, until Begin.
func (s *Stream) Next(v settings.Values) {
	s.put(&profiles.Next{Settings: v})
}

// Measure records a measurement.
func (s *Stream) Measure(m profiles.Measurement) { s.put(&m) }

// UnitDone records how the training of a unit of work ended.
func (s *Stream) UnitDone(r profiles.UnitResult) { s.put(&r) }

// Log records a line worth reading; its time is that of the call, since Begin.
func (s *Stream) Log(text string) { s.put(&profiles.LogEntry{Text: text}) }

// Refuse is Log of what was asked for and could not be done.
func (s *Stream) Refuse(text string) { s.put(&profiles.LogEntry{Text: text, Refused: true}) }

// State records what the run does from now on; why is what made it fail, or the
// limit that Finished it, and is empty otherwise. Time spent in Running is the snapshot's Elapsed.
func (s *Stream) State(state profiles.State, why string) {
	s.put(&profiles.StateChange{State: state, Why: why})
}

// Memory records the run's memory by category; the newest counts.
func (s *Stream) Memory(m profiles.Memory) { s.put(&m) }

// Layers records the times of the layers, and the roofs that they were judged by, nil
// for none; the newest counts, and nil layers end them. They must not change afterwards.
func (s *Stream) Layers(layers []profiles.Layer, roofs *profiles.Roofs) {
	s.put(&profiles.LayerTimes{Layers: layers, Roofs: roofs})
}

// Ablation publishes the state of an ablation; the newest counts, and it stays
// when the run begins again.
func (s *Stream) Ablation(a *profiles.Ablation) { s.put(a) }

// Fork publishes the state of a fork; the newest counts.
func (s *Stream) Fork(f *profiles.Fork) { s.put(f) }

// WantPicture asks the run for pictures of its present state.
func (s *Stream) WantPicture() { s.wanted.Store(true) }

// PictureWanted is whether pictures were asked for since the last answer. The loop
// looks between iterations.
func (s *Stream) PictureWanted() bool { return s.wanted.Load() }

// Picture publishes a picture. It must not change afterwards.
func (s *Stream) Picture(p *profiles.Picture) { s.put(p) }

// Answered says that the pictures that were asked for have been published.
func (s *Stream) Answered() { s.wanted.Store(false) }
