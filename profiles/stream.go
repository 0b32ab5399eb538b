package profiles

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/profiles/preset"
)

// maxEvents bounds the queue of rare events: a run that nobody watches stops
// growing it here and counts what it drops.
const maxEvents = 4096

// Stream is what a run writes to and an Aggregator reads from. Iteration and
// PictureWanted are for the loop: they neither wait nor allocate. The other
// methods are for rare events; they hold a mutex for some nanoseconds, keep their
// place among the iterations, and never wait for the reader.
//
// Begin, Iteration, Change, Next, Quality, SampleDone, Memory, Layers, Coverage, Truth
// and Picture are called from the run's goroutine; State, Log, Refuse, WantPicture and
// PictureWanted from any.
type Stream struct {
	ring   *Ring
	wanted atomic.Bool // a picture was asked for

	mu     sync.Mutex
	events []event
	latest latest
	lost   uint64 // events dropped because the queue was full
	clock  func() time.Time
}

// latest holds what only the newest value of matters.
type latest struct {
	memory   Memory
	coverage float64
	picture  *Picture
	ablation *Ablation

	hasMemory, hasCoverage bool

	layers    []Layer
	roofs     *Roofs
	hasLayers bool

	// What must not be lost when the queue is full.
	settings *preset.Settings
	state    *event

	next *preset.Settings // of the next start
}

type eventKind uint8

const (
	beginEvent eventKind = iota
	changeEvent
	qualityEvent
	sampleEvent
	stateEvent
	logEvent
	truthEvent
)

// event is one rare event and its place: the number of iteration records that
// were written before it.
type event struct {
	kind     eventKind
	position uint64
	at       time.Time

	info     *RunInfo
	settings *preset.Settings
	change   Change
	quality  Quality
	result   SampleResult
	state    State
	text     string
	refused  bool // of logEvent
	picture  *Picture
}

// NewStream returns a stream whose ring holds at least capacity iterations.
// 8192 of them (3.3 MiB) are more than a second of the fastest loop.
func NewStream(capacity int) *Stream {
	return &Stream{ring: NewRing(capacity), clock: time.Now}
}

// Begin says that a run starts, or starts again: what was aggregated before is
// dropped, the log kept. The state becomes Preparing.
func (s *Stream) Begin(info RunInfo, settings preset.Settings) {
	e := event{kind: beginEvent, info: &info, settings: cloneSettings(settings)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) >= maxEvents {
		s.lost += uint64(len(s.events))
		s.events = s.events[:0]
	}
	s.latest = latest{ablation: s.latest.ablation}
	s.add(e)
}

// Iteration records what one iteration measured. A full ring drops the record
// and counts it (Dropped).
func (s *Stream) Iteration(it *Iteration) { s.ring.Push(it) }

// Change records a setting that changed, and all settings after it. It comes
// before the first iteration under the new value; c.Iteration is that iteration's
// Index.
func (s *Stream) Change(c Change, after preset.Settings) {
	settings := cloneSettings(after)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.add(event{kind: changeEvent, change: c, settings: settings}) {
		s.latest.settings = settings
	}
}

// Next records the settings that a restart will begin with, where they were changed; the
// newest counts, until Begin.
func (s *Stream) Next(settings preset.Settings) {
	next := cloneSettings(settings)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.next = next
}

// Quality records a comparison of the reconstruction with the truth.
func (s *Stream) Quality(q Quality) { s.put(event{kind: qualityEvent, quality: q}) }

// SampleDone records how the training of a sample ended.
func (s *Stream) SampleDone(r SampleResult) { s.put(event{kind: sampleEvent, result: r}) }

// Log records a line worth telling; its time is that of the call, since Begin.
func (s *Stream) Log(text string) { s.put(event{kind: logEvent, text: text}) }

// Refuse is Log of what was asked for and could not be done.
func (s *Stream) Refuse(text string) { s.put(event{kind: logEvent, text: text, refused: true}) }

// Truth publishes the object on the window of the reconstruction. p must not
// change afterwards.
func (s *Stream) Truth(p *Picture) { s.put(event{kind: truthEvent, picture: p}) }

// State records what the run is doing from now on; why says what made it fail, or the
// limit that Finished it, and is empty otherwise. Time spent in Running is the snapshot's Elapsed.
func (s *Stream) State(state State, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := event{kind: stateEvent, state: state, text: why}
	if !s.add(e) {
		e.at, e.position = s.clock(), s.ring.Written()
		s.latest.state = &e
	}
}

// Memory records the run's memory by category; the newest counts.
func (s *Stream) Memory(m Memory) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.memory, s.latest.hasMemory = m, true
}

// Layers records the times of the layers, and the roofs that they were judged by, nil
// for none; the newest counts, and nil layers end them. They must not change afterwards.
func (s *Stream) Layers(layers []Layer, roofs *Roofs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.layers, s.latest.roofs, s.latest.hasLayers = layers, roofs, true
}

// Ablation publishes the state of an ablation; the newest counts, and it stays
// when the run begins again. It is called from the run's goroutine.
func (s *Stream) Ablation(a *Ablation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.ablation = a
}

// Coverage records the share of k-space, 0 to 1, that the accumulated mask
// covers; the newest counts.
func (s *Stream) Coverage(share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.coverage, s.latest.hasCoverage = share, true
}

// WantPicture asks the run for a picture of the reconstruction.
func (s *Stream) WantPicture() { s.wanted.Store(true) }

// PictureWanted is whether a picture was asked for since the last one. The loop
// looks between iterations.
func (s *Stream) PictureWanted() bool { return s.wanted.Load() }

// Picture publishes the reconstruction, asked for or not, and answers
// WantPicture. p must not change afterwards.
func (s *Stream) Picture(p *Picture) {
	s.wanted.Store(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.picture = p
}

// Dropped is the number of iteration records and events that were lost because
// the reader fell behind.
func (s *Stream) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.ring.Dropped() + s.lost)
}

func (s *Stream) put(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(e)
}

// add stamps and queues e; false when the queue is full. The caller holds mu, so
// that places in the queue and among the iterations agree.
func (s *Stream) add(e event) bool {
	if len(s.events) >= maxEvents {
		s.lost++
		return false
	}
	e.at, e.position = s.clock(), s.ring.Written()
	s.events = append(s.events, e)
	return true
}

// batch is what take hands over.
type batch struct {
	events  []event
	latest  latest
	limit   uint64 // records to pop, counted like Ring.Read
	dropped int64
}

// take hands over the events since the last call, with spare to queue the next
// ones in. Records up to limit belong with them: every record before the last
// event, and none that an event not yet queued could precede.
func (s *Stream) take(spare []event) batch {
	limit := s.ring.Written()
	s.mu.Lock()
	defer s.mu.Unlock()
	b := batch{events: s.events, latest: s.latest, limit: limit}
	if n := len(b.events); n > 0 {
		b.limit = max(b.limit, b.events[n-1].position)
	}
	b.dropped = int64(s.ring.Dropped() + s.lost)
	s.events = spare[:0]
	s.latest = latest{}
	return b
}

func cloneSettings(s preset.Settings) *preset.Settings {
	s.Channels = slices.Clone(s.Channels)
	return &s
}
