package stream

import (
	"sync"
	"time"

	"prismtop/profiles"
)

// A reader of the stream: its queue of rare events, and what it asks of the run.

// maxEvents bounds the rare events queued for a reader: beyond it, events for a
// reader that does not drain its queue are dropped and counted.
const maxEvents = 4096

// Reader follows a Stream. It is independent of other readers of the stream, and counts
// the events it loses by falling behind. Only Report and Dropped may be called by
// several goroutines.
type Reader struct {
	stream *Stream
	ring   *Ring
	first  bool // it reports readings

	mu     sync.Mutex
	queue  []placed
	newest newest
	lost   uint64 // events dropped because the queue was full

	spare []placed // memory for the next queue
}

// placed is a rare event with its position: the slots of the ring written before it.
type placed struct {
	profiles.Event
	position uint64
}

// newest holds events of which only the newest matters, and those that must not be lost
// if the queue is full. A slot without a body is empty.
type newest struct {
	memory, layers, ablation, compared, resident, sensors profiles.Event
	recording, tasks, output, ranks                       profiles.Event
	pictures                                              [profiles.MaxPictures]profiles.Event

	changed, state profiles.Event // for which the queue had no room
	next           profiles.Event
}

// lasting returns the events that outlive a restart.
func (n *newest) lasting() newest {
	return newest{ablation: n.ablation, compared: n.compared, resident: n.resident, sensors: n.sensors,
		recording: n.recording, output: n.output}
}

// each calls take with the events, in a fixed order.
func (n *newest) each(take func(*profiles.Event)) (any bool) {
	one := func(e *profiles.Event) {
		if e.Body != nil {
			take(e)
			any = true
		}
	}
	one(&n.memory)
	one(&n.layers)
	for i := range n.pictures {
		one(&n.pictures[i])
	}
	older, newer := &n.compared, &n.ablation
	if newer.At.Before(older.At) {
		older, newer = newer, older
	}
	one(older)
	one(newer)
	one(&n.tasks)
	one(&n.output)
	one(&n.ranks)
	one(&n.changed)
	one(&n.next)
	one(&n.resident)
	one(&n.sensors)
	one(&n.recording)
	one(&n.state)
	return any
}

// slot returns the slot for an event of which only the newest matters; nil for any
// other.
func (n *newest) slot(b profiles.Body) *profiles.Event {
	switch b := b.(type) {
	case *profiles.Memory:
		return &n.memory
	case *profiles.LayerTimes:
		return &n.layers
	case *profiles.Ablation:
		if b.HasTable() { // a replication does not replace it
			return &n.compared
		}
		return &n.ablation
	case *profiles.Tasks:
		return &n.tasks
	case *profiles.Output:
		return &n.output
	case *profiles.Ranks:
		return &n.ranks
	case *profiles.Resident:
		return &n.resident
	case *profiles.Sensors:
		return &n.sensors
	case *profiles.RecordingState:
		return &n.recording
	case *profiles.Next:
		return &n.next
	case *profiles.Picture:
		return &n.pictures[b.ID]
	}
	return nil
}

// put queues an event, keeping its position among the iterations.
func (r *Reader) put(e profiles.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.newest.slot(e.Body); s != nil {
		if a, ok := s.Body.(*profiles.Ablation); ok && !a.Running { // the next may begin at once
			r.enqueue(*s)
		}
		*s = e
		return
	}
	if _, begins := e.Body.(*profiles.Begin); begins {
		r.newest = r.newest.lasting()
		if len(r.queue) >= maxEvents {
			r.lost += uint64(len(r.queue))
			r.queue = r.queue[:0]
		}
	}
	r.enqueue(e)
}

// enqueue puts an event into the queue, or keeps what must not be lost where that is full.
func (r *Reader) enqueue(e profiles.Event) {
	if len(r.queue) < maxEvents {
		r.queue = append(r.queue, placed{e, r.ring.Written()})
		return
	}
	r.lost++
	switch e.Body.(type) {
	case *profiles.Changed:
		r.newest.changed = e
	case *profiles.StateChange:
		r.newest.state = e
	}
}

// Drain calls take with every event since the last call. Of pictures, memory, layers, an
// ablation under way, a list of tasks and the settings of the next start it passes only the
// newest, after all others.
func (r *Reader) Drain(take func(*profiles.Event)) (any bool) {
	limit := r.ring.Written()
	r.mu.Lock()
	queue, latest := r.queue, r.newest
	r.queue, r.newest = r.spare[:0], newest{}
	r.mu.Unlock()
	// Iterations up to limit belong to the events: all before the last event, and
	// none that an event not yet queued could precede.
	if n := len(queue); n > 0 {
		limit = max(limit, queue[n-1].position)
	}
	for i := range queue {
		any = r.pop(queue[i].position, take) || any
		take(&queue[i].Event)
	}
	any = r.pop(limit, take) || any || len(queue) > 0
	any = latest.each(take) || any
	clear(queue) // releases pictures and settings
	r.spare = queue
	return any
}

// pop takes the iterations up to a position in the ring.
func (r *Reader) pop(limit uint64, take func(*profiles.Event)) (any bool) {
	var it profiles.Iteration
	e := profiles.Event{Body: &it}
	for r.ring.Read() < limit && r.ring.Pop(&it) {
		take(&e)
		any = true
	}
	return any
}

// WantPicture requests a picture from the run.
func (r *Reader) WantPicture() { r.stream.WantPicture() }

// Thin suspends or thins the work that the run does to be watched, if this is the first reader.
func (r *Reader) Thin(dark bool, sparse int) {
	if r.first {
		r.stream.thin(dark, sparse)
	}
}

// Report sends a reading of the machine to all readers, if this is the first reader:
// one per process is enough.
func (r *Reader) Report(at time.Time, reading profiles.Body) {
	if r.first {
		r.stream.Put(profiles.Event{At: at, Body: reading})
	}
}

// Reports reports whether Report sends anything.
func (r *Reader) Reports() bool { return r.first }

// Dropped returns the number of iterations and events that this reader lost.
func (r *Reader) Dropped() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(r.ring.Dropped() + r.lost)
}

// Close ends the reader: the stream keeps nothing more for it.
func (r *Reader) Close() { r.stream.leave(r) }
