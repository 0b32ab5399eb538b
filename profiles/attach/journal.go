package attach

import (
	"io"
	"reflect"
	"slices"
	"sort"
	"sync"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/recording"
	"prismtop/profiles/stream"
)

// The journal: what a run's aggregator consumed, in pieces within a bound, and reading it from any point.

const (
	// sealIterations and sealAfter bound the newest part of a journal, which is not packed yet.
	sealIterations = 2048
	sealAfter      = 15 * time.Second
	// journalLimit bounds the packed parts in bytes. Iterations take some 50 bytes, so that it holds
	// more than half a million of them; beyond it, the oldest parts are dropped.
	journalLimit = 32 << 20
)

// Journal keeps what the aggregator of a run consumes, so that a screen that is attached later gets
// the same snapshots. It is an aggregate.Tape. Its moments, the ticks and drains of the aggregator,
// are counted from 0: that count is the offset from which a screen goes on.
type Journal struct {
	began time.Time
	limit int

	mu      sync.Mutex
	parts   []*part // packed or being packed, oldest first
	bytes   int     // of the packed data of parts
	tail    recording.Piece
	tailed  int64                                   // moments before the tail
	sealed  time.Time                               // of the newest moment before the tail
	shown   [profiles.MaxPictures]*profiles.Picture // the newest pictures before the tail
	layers  *profiles.LayerTimes                    // likewise; nil for none
	newest  *profiles.Snapshot
	begun   time.Time          // when the run began, or began anew
	last    profiles.Iteration // the newest
	moved   bool               // an event came since the last moment
	changed chan struct{}
	ended   bool
	live    map[int64]*shared // of the tail up to its newest moment, by their first

	past   *stream.Stream // state of the run after the parts that were dropped; nil if there are none
	pastAt time.Time      // the end of those

	watchers int
	away     Away
	alerts   map[string]bool // that stood when the snapshot before was made
}

// part is a stretch of a journal.
type part struct {
	first, count int64
	end          time.Time        // of its last moment
	state        []profiles.Event // what is left of it for the state of the run after it

	once  sync.Once
	piece recording.Piece // empty once it is packed
	done  bool            // likewise; guarded by the journal's mu
	data  []byte
	err   error
}

// shared is the data frame of some moments of the tail: packed once for all screens that ask for them.
type shared struct {
	once  sync.Once
	frame []byte
	err   error
}

// packers are packers that are not in use. A new one takes a megabyte.
var packers = sync.Pool{New: func() any { return new(recording.Packer) }}

// pack packs the moments of a piece from a number of them on; see recording.Packer.
func pack(p *recording.Piece, from int64, newest bool) ([]byte, error) {
	k := packers.Get().(*recording.Packer)
	defer packers.Put(k)
	return k.Pack(p, from, newest)
}

// Away is what happened since the last screen left a run, or since a run without a screen began.
type Away struct {
	Since   time.Time // zero if a screen shows it
	Began   bool      // no screen has shown it yet
	Changes int       // of settings, by boundary
	Alerts  int       // raised
	Stalls  int       // of them
	Units   int       // of work that ended
	Notes   int
}

// NewJournal returns a journal of a run that begins now.
func NewJournal() *Journal { return newJournal(time.Now(), journalLimit) }

func newJournal(began time.Time, limit int) *Journal {
	return &Journal{began: began, limit: limit, tail: recording.Piece{Began: began}, changed: make(chan struct{})}
}

// Began returns the origin of the journal's times.
func (j *Journal) Began() time.Time { return j.began }

// Event keeps an event; see aggregate.Tape.
func (j *Journal) Event(e *profiles.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.moved = true
	j.tail.Event(e)
	switch b := e.Body.(type) {
	case *profiles.Begin:
		j.begun = e.At
	case *profiles.Iteration:
		j.last = *b
	}
	if j.away.Since.IsZero() {
		return
	}
	switch b := e.Body.(type) {
	case *profiles.UnitResult:
		j.away.Units++
	case *profiles.Note:
		j.away.Notes++
	case *profiles.Changed:
		if !b.Ablation {
			j.away.Changes++
		}
	}
}

// Tick keeps a tick; see aggregate.Tape. Ticks at which nothing happened are left out.
func (j *Journal) Tick(now time.Time, s *profiles.Snapshot) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.moved && s == j.newest {
		return
	}
	j.newest = s
	j.tail.Tick(now, s.Own)
	j.count(s.Alerts)
	j.next(now)
}

// Drained keeps that events were consumed without a tick; see aggregate.Tape.
func (j *Journal) Drained(now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.moved {
		j.tail.Drained(now)
		j.next(now)
	}
}

// Kept returns the size of its packed parts in bytes; see aggregate.Keeper.
func (j *Journal) Kept() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int64(j.bytes)
}

// count counts the alerts that were raised.
func (j *Journal) count(now []profiles.Alert) {
	if len(now) == 0 && len(j.alerts) == 0 {
		return
	}
	standing := make(map[string]bool, len(now))
	for i := range now {
		id := now[i].ID
		standing[id] = true
		if !j.away.Since.IsZero() && !j.alerts[id] {
			if j.away.Alerts++; id == profiles.StallAlert {
				j.away.Stalls++
			}
		}
	}
	j.alerts = standing
}

// next ends a moment; the caller holds mu.
func (j *Journal) next(now time.Time) {
	j.moved, j.live = false, nil
	close(j.changed)
	j.changed = make(chan struct{})
	if j.tail.Iterations() < sealIterations && j.tail.Length() < sealAfter {
		return
	}
	p := &part{first: j.tailed, count: j.tail.Ticks(), end: now, piece: j.tail}
	j.parts = append(j.parts, p)
	j.tailed += p.count
	j.sealed = now
	j.tail = recording.Piece{Began: j.began}
	p.state = stateAfter(&p.piece)
	p.piece.Bodies(func(e profiles.Event) {
		switch b := e.Body.(type) {
		case *profiles.Begin:
			j.shown, j.layers = [profiles.MaxPictures]*profiles.Picture{}, nil
		case *profiles.Picture:
			if b.ID >= 0 && b.ID < len(j.shown) {
				j.shown[b.ID] = b
			}
		case *profiles.LayerTimes:
			j.layers = b
		}
	})
	go j.seal(p)
}

// stateResults is the number of results that stateAfter keeps: an estimate of the time left needs so many. The others
// are counted.
const stateResults = 10

// stateAfter returns the events of a piece that the state of the run after it depends on, without
// pictures and layers.
func stateAfter(p *recording.Piece) []profiles.Event {
	var all []profiles.Event
	var results []profiles.Event
	last := map[reflect.Type]int{} // place of the newest event of a kind of which only that counts
	p.Bodies(func(e profiles.Event) {
		switch b := e.Body.(type) {
		case *profiles.Picture, *profiles.LayerTimes, *profiles.LogEntry, *profiles.Answer, *profiles.Load:
			return
		case *profiles.UnitResult:
			results = append(results, e)
			return
		case *profiles.Moved:
			taken := min(b.Again, len(results)) // the rest are of parts before
			results = results[:len(results)-taken]
			moved := *b
			moved.Again -= taken
			e.Body = &moved
		case *profiles.Begin:
			results = nil
		case *profiles.StateChange, *profiles.Note, *profiles.Ended:
		default:
			kind := reflect.TypeOf(e.Body)
			if i, ok := last[kind]; ok {
				if m, ok := b.(*profiles.Measurement); ok {
					e.Body = m.Over(all[i].Body.(*profiles.Measurement))
				}
				all[i].Body = nil
			}
			last[kind] = len(all)
		}
		all = append(all, e)
	})
	all = slices.DeleteFunc(all, func(e profiles.Event) bool { return e.Body == nil })
	if old := results[:max(0, len(results)-stateResults)]; len(old) > 0 {
		ended := &profiles.Ended{}
		for _, e := range old {
			ended.Add(e.Body.(*profiles.UnitResult))
		}
		all = append(all, profiles.Event{At: old[0].At, Body: ended})
	}
	return append(all, slices.Clone(results[max(0, len(results)-stateResults):])...)
}

// seal packs a part, and drops the oldest ones beyond the limit.
func (j *Journal) seal(p *part) {
	data, _ := p.pack() // whoever asks for the part gets the error
	j.mu.Lock()
	defer j.mu.Unlock()
	p.done = true
	j.bytes += len(data)
	for j.bytes > j.limit && len(j.parts) > 1 && j.parts[0].done {
		j.drop(j.parts[0])
		j.parts = slices.Delete(j.parts, 0, 1)
	}
}

// drop forgets a part but for the state of the run after it; the caller holds mu.
func (j *Journal) drop(p *part) {
	if j.past == nil {
		j.past = stream.New(1)
		j.past.Follow().Close() // the first reader gets everything, and no one reads it
	}
	for _, e := range p.state {
		j.past.Put(e)
	}
	j.pastAt = p.end
	j.bytes -= len(p.data)
}

// pack returns the packed data of a part.
func (p *part) pack() ([]byte, error) {
	p.once.Do(func() {
		p.data, p.err = pack(&p.piece, 0, true)
		p.piece = recording.Piece{}
	})
	return p.data, p.err
}

// place is how far a screen has got in a journal.
type place struct {
	next  int64 // moment; −1 for a screen that has nothing yet
	shown bool  // it has the newest pictures before the tail
}

// fetched is what comes next for a screen.
type fetched struct {
	reset bool  // everything before is void
	extra bool  // its moments are not counted
	rests bool  // none follows yet
	first int64 // number of its first moment
	data  []byte
}

// fetch returns the data frame of what follows a place, and moves it. If there is nothing yet, it
// returns a channel that is closed when there is more, or io.EOF at the end. The frame may be sent to
// other screens as well.
func (j *Journal) fetch(at *place) (frame []byte, more <-chan struct{}, err error) {
	j.mu.Lock()
	start := j.tailed
	if len(j.parts) > 0 {
		start = j.parts[0].first
	}
	switch {
	case at.next < start:
		*at = place{next: start}
		state := j.state()
		j.mu.Unlock()
		f := fetched{reset: true, extra: true, first: start}
		if state.Ticks() > 0 {
			f.data, err = pack(state, 0, true)
		}
		return dataOf(&f), nil, err
	case at.next < j.tailed:
		i := sort.Search(len(j.parts), func(i int) bool { return j.parts[i].first+j.parts[i].count > at.next })
		p := j.parts[i]
		j.mu.Unlock()
		*at = place{next: p.first + p.count}
		f := fetched{first: p.first}
		f.data, err = p.pack()
		return dataOf(&f), nil, err
	case !at.shown:
		at.shown = true
		if p := j.pictures(); p.Ticks() > 0 {
			f := fetched{extra: true, rests: j.tail.Ticks() == 0, first: at.next}
			j.mu.Unlock()
			f.data, err = pack(p, 0, false)
			return dataOf(&f), nil, err
		}
	}
	from, to := at.next, j.tailed+j.tail.Ticks()
	if from == to {
		defer j.mu.Unlock()
		if j.ended {
			return nil, nil, io.EOF
		}
		return nil, j.changed, nil
	}
	live := j.live[from]
	if live == nil {
		if j.live == nil {
			j.live = map[int64]*shared{}
		}
		live = &shared{}
		j.live[from] = live
	}
	tail, tailed := j.tail, j.tailed
	j.mu.Unlock()
	at.next = to
	live.once.Do(func() {
		f := fetched{first: from}
		f.data, live.err = pack(&tail, from-tailed, false)
		live.frame = dataOf(&f)
	})
	return live.frame, nil, live.err
}

// state returns the state of the run after the parts that were dropped; the caller holds mu.
func (j *Journal) state() *recording.Piece {
	p := &recording.Piece{Began: j.began}
	if j.past == nil {
		return p
	}
	r := j.past.Follow()
	r.Drain(p.Event)
	r.Close()
	p.Drained(j.pastAt)
	return p
}

// pictures returns the newest pictures and layers before the tail; the caller holds mu.
func (j *Journal) pictures() *recording.Piece {
	p := &recording.Piece{Began: j.began}
	for _, picture := range j.shown {
		if picture != nil {
			p.Event(&profiles.Event{At: j.sealed, Body: picture})
		}
	}
	if j.layers != nil {
		p.Event(&profiles.Event{At: j.sealed, Body: j.layers})
	}
	if p.Events() > 0 {
		p.Drained(j.sealed)
	}
	return p
}

// moments returns the number of moments so far.
func (j *Journal) moments() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.tailed + j.tail.Ticks()
}

// End ends the journal: screens that have everything get no more.
func (j *Journal) End() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended {
		j.ended = true
		close(j.changed)
		j.changed = make(chan struct{})
	}
}

// Begin counts what happens from now on for the first screen.
func (j *Journal) Begin() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.away = Away{Since: time.Now(), Began: true}
}

// Enter counts a screen that shows the run, and returns what happened while there was none.
func (j *Journal) Enter() Away {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.watchers++
	was := j.away
	j.away = Away{}
	return was
}

// Leave counts a screen that no longer shows the run.
func (j *Journal) Leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.watchers--; j.watchers == 0 {
		j.away = Away{Since: time.Now()}
	}
}

// Watched returns the number of screens that show the run.
func (j *Journal) Watched() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.watchers
}
