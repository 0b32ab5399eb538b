// Package stream delivers the events of a run to its observers: one writer, several
// readers. The loop never waits: every reader has a ring for iterations and a queue for the
// rest, and a reader that falls behind loses events without affecting others and counts
// them.
package stream

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// The stream: the writer's side, and what readers want together.

// Stream receives the events of a live run; readers follow it. Iteration, PictureWanted
// and Watched are for the loop: they neither wait nor allocate. The other methods
// are for rare events; they hold a mutex for some nanoseconds for each reader, keep
// their place among the iterations, and never wait for a reader.
//
// State, Log, Refuse, Recording, WantPicture, PictureWanted, Watched and Follow may be called by any
// goroutine, all other methods only by the run's.
type Stream struct {
	readers atomic.Pointer[[]*Reader]
	wanted  atomic.Bool  // a picture was requested
	density atomic.Int64 // of watching: the factor, negative in a dark block; 0 is full
	clock   func() time.Time
	room    int // capacity of a reader in iterations
	slots   int // of an iteration, by the run's schema; 0 before the run begins

	mu      sync.Mutex
	claimed bool // the first reader was returned
	known   known
}

// known is the state passed first to later readers.
type known struct {
	begin    *profiles.Event // with the settings in force
	state    *profiles.Event
	ran      time.Duration    // running time before state
	results  []profiles.Event // the newest
	earlier  profiles.Ended   // units before those
	measured *profiles.Event  // the newest value of each series
	notes    []profiles.Event // the newest
	newest
}

// Room is the capacity of a run's stream, in iterations: a reader may pause for more than half a second beside the
// fastest loop. Every reader takes 3 MiB for it.
const Room = 4096

// New returns a stream whose first reader has room for at least capacity iterations, or fewer if the schema
// is so large that each takes several slots. Events
// written before the first call of Follow are kept for the first reader.
func New(capacity int) *Stream { return WithClock(capacity, time.Now) }

// WithClock is New with a clock other than the machine's, which must not run
// backwards.
func WithClock(capacity int, clock func() time.Time) *Stream {
	s := &Stream{clock: clock, room: capacity}
	s.readers.Store(&[]*Reader{{stream: s, ring: NewRing(capacity), first: true}})
	return s
}

// Follow returns a reader of everything from now on; the first one has everything since
// the stream was made. Later ones begin with the current state of the run and have room
// for the same number of iterations as the first.
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
	if s.known.begin != nil && s.known.earlier.Units > 0 {
		r.put(profiles.Event{At: s.known.begin.At, Body: s.known.earlier.Clone()})
	}
	for _, e := range s.known.results {
		r.put(e)
	}
	if s.known.measured != nil {
		r.put(*s.known.measured)
	}
	for _, e := range s.known.notes {
		r.put(e)
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

// leave removes a reader.
func (s *Stream) leave(r *Reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(slices.DeleteFunc(slices.Clone(*s.readers.Load()), func(x *Reader) bool { return x == r }))
}

// Put sends an event that already has a time, such as one of a replay. An
// *Iteration is copied; any other body must not be modified afterwards.
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

// know updates the state for later readers.
func (s *Stream) know(e *profiles.Event) {
	k := &s.known
	switch b := e.Body.(type) {
	case *profiles.Begin:
		s.slots = b.Info.Schema.Slots()
		*k = known{begin: e, newest: k.newest.lasting()}
	case *profiles.Grown:
		s.slots = b.Schema.Slots()
		if k.begin != nil {
			begin := *k.begin.Body.(*profiles.Begin)
			begin.Info.Schema = b.Schema
			k.begin = &profiles.Event{At: k.begin.At, Body: &begin}
		}
	case *profiles.Changed:
		if k.begin != nil {
			begin := *k.begin.Body.(*profiles.Begin)
			begin.Settings = b.Settings
			k.begin = &profiles.Event{At: k.begin.At, Body: &begin}
		}
	case *profiles.Moved:
		if k.begin != nil {
			begin := *k.begin.Body.(*profiles.Begin)
			begin.Info.Move(b)
			k.begin = &profiles.Event{At: k.begin.At, Body: &begin}
		}
		k.results = k.results[:max(0, len(k.results)-b.Again)]
	case *profiles.StateChange:
		if k.state != nil && k.state.Body.(*profiles.StateChange).State == profiles.Running {
			k.ran += max(0, e.At.Sub(k.state.At))
		}
		k.state = e
	case *profiles.UnitResult:
		k.results = append(k.results, *e)
		for len(k.results) > profiles.KeptResults {
			k.earlier.Add(k.results[0].Body.(*profiles.UnitResult))
			k.results = k.results[1:]
		}
	case *profiles.Ended:
		k.earlier.Join(b)
	case *profiles.Note:
		k.notes = append(k.notes, *e)
		k.notes = k.notes[max(0, len(k.notes)-profiles.MostNotes):]
	case *profiles.Measurement:
		if k.measured != nil {
			b = b.Over(k.measured.Body.(*profiles.Measurement))
		}
		k.measured = &profiles.Event{At: e.At, Body: b}
	default:
		if slot := k.slot(e.Body); slot != nil {
			*slot = *e
		}
	}
}

func (s *Stream) put(b profiles.Body) { s.Put(profiles.Event{At: s.clock(), Body: b}) }

// Begin reports that a run starts or restarts: see profiles.Begin.
func (s *Stream) Begin(info profiles.RunInfo, v settings.Values) {
	s.put(&profiles.Begin{Info: info, Settings: v})
}

// Iteration records one iteration. A reader whose ring is full drops it and counts
// it.
func (s *Stream) Iteration(it *profiles.Iteration) {
	slots := max(1, s.slots)
	for _, r := range *s.readers.Load() {
		r.ring.Push(it, slots)
	}
}

// Change records a setting that changed, and all settings after it. It comes
// before the first iteration under the new value; c.Iteration is that iteration's
// Index.
func (s *Stream) Change(c profiles.Change, after settings.Values) {
	s.put(&profiles.Changed{Change: c, Settings: after})
}

// Moved records that the run moved to another device. It comes after the change of settings that it belongs to.
// Grown reports that the run measures more from here on: see profiles.Grown.
func (s *Stream) Grown(schema profiles.Schema) { s.put(&profiles.Grown{Schema: schema}) }

func (s *Stream) Moved(m profiles.Moved) { s.put(&m) }

// Next records the settings for a restart, if they were changed; the newest ones are
// valid until Begin.
func (s *Stream) Next(v settings.Values) {
	s.put(&profiles.Next{Settings: v})
}

// Measure records a measurement.
func (s *Stream) Measure(m profiles.Measurement) { s.put(&m) }

// Ended records units that ended and whose results do not follow.
func (s *Stream) Ended(e *profiles.Ended) { s.put(e) }

// UnitDone records the end of the training of a unit of work.
func (s *Stream) UnitDone(r profiles.UnitResult) { s.put(&r) }

// Log records a log line; its time is that of the call, since Begin.
func (s *Stream) Log(text string) { s.put(&profiles.LogEntry{Text: text}) }

// Keep is Log for a line about a checkpoint that was written.
func (s *Stream) Keep(k profiles.Kept, text string) { s.put(&profiles.LogEntry{Text: text, Kept: k}) }

// Answer records what became of a command.
func (s *Stream) Answer(a profiles.Answer) { s.put(&a) }

// Note records a note.
func (s *Stream) Note(n profiles.Note) { s.put(&n) }

// Refuse is Log for a request that failed.
func (s *Stream) Refuse(text string) { s.put(&profiles.LogEntry{Text: text, Refused: true}) }

// State records a new state; why is the reason why it failed, or the limit that finished it, else
// empty. Time spent in Running is the snapshot's Elapsed.
func (s *Stream) State(state profiles.State, why string) {
	s.put(&profiles.StateChange{State: state, Why: why})
}

// Memory records the run's memory by category; the newest counts.
func (s *Stream) Memory(m profiles.Memory) { s.put(&m) }

// Layers records the times of the layers and the roofs by which they were judged, nil
// for none; the newest counts, and nil layers end the profile. They must not be modified
// afterwards.
func (s *Stream) Layers(layers []profiles.Layer, roofs *profiles.Roofs) {
	s.put(&profiles.LayerTimes{Layers: layers, Roofs: roofs})
}

// Ablation publishes the state of an ablation; the newest counts, and it is kept
// when the run restarts.
func (s *Stream) Ablation(a *profiles.Ablation) { s.put(a) }

// Tasks publishes the state of a list of tasks; the newest counts.
func (s *Stream) Tasks(t *profiles.Tasks) { s.put(t) }

// Ranks publishes the state of the ranks of a training; the newest counts.
func (s *Stream) Ranks(r *profiles.Ranks) { s.put(r) }

// Output publishes what the program of a loop has printed.
func (s *Stream) Output(o *profiles.Output) { s.put(o) }

// Recording publishes the state of the run's recording; the newest counts, and it is kept when the
// run restarts. Any goroutine may call it.
func (s *Stream) Recording(r profiles.RecordingState) { s.put(&r) }

// Fork publishes the state of a fork; the newest counts.
func (s *Stream) Fork(f *profiles.Fork) { s.put(f) }

// WantPicture requests pictures of the run's current state.
func (s *Stream) WantPicture() { s.wanted.Store(true) }

// PictureWanted reports whether pictures were requested since the last Answered.
// The loop checks it between iterations.
func (s *Stream) PictureWanted() bool { return s.wanted.Load() }

// Watched returns whether the run is watched now, and the factor by which the work done only for
// that is rarer than usual. The loop checks it in every iteration.
func (s *Stream) Watched() (watched bool, sparse int) {
	d := s.density.Load()
	return d >= 0, int(max(d, -d, 1))
}

func (s *Stream) thin(dark bool, sparse int) {
	d := int64(max(sparse, 1))
	if dark {
		d = -d
	}
	s.density.Store(d)
}

// Picture publishes a picture. It must not be modified afterwards.
func (s *Stream) Picture(p *profiles.Picture) { s.put(p) }

// Answered reports that the requested pictures have been published.
func (s *Stream) Answered() { s.wanted.Store(false) }
