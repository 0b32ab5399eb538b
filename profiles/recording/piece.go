package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Piece holds in memory what an aggregator consumed during some of its ticks. It is packed as a
// block of a file is, but has the pictures and the layers in it. The zero Piece is empty; Began
// must be set. A copy may be packed by another goroutine while the piece grows.
type Piece struct {
	Began time.Time // origin of its times

	iterations []profiles.Iteration
	entries    []entry
	ticks      int64
}

// Event adds an event, which belongs to the next tick; see aggregate.Tape.
func (p *Piece) Event(e *profiles.Event) {
	if it, ok := e.Body.(*profiles.Iteration); ok {
		p.iterations = append(p.iterations, *it)
		return
	}
	if nameOf(e.Body) != "" {
		p.entries = append(p.entries, entry{after: len(p.iterations), at: e.At.Sub(p.Began), body: e.Body})
	}
}

// Tick adds a tick.
func (p *Piece) Tick(now time.Time, own profiles.OwnCost) {
	p.entries = append(p.entries, entry{after: len(p.iterations), at: now.Sub(p.Began), own: own})
	p.ticks++
}

// Drained adds the end of events that were consumed without a tick. It counts as a tick.
func (p *Piece) Drained(now time.Time) {
	p.entries = append(p.entries, entry{after: len(p.iterations), at: now.Sub(p.Began), drain: true})
	p.ticks++
}

// Ticks returns the number of ticks so far.
func (p *Piece) Ticks() int64 { return p.ticks }

// Iterations returns the number of iterations so far.
func (p *Piece) Iterations() int { return len(p.iterations) }

// Events returns the number of other events so far.
func (p *Piece) Events() int { return len(p.entries) - int(p.ticks) }

// Length returns the time from the first entry to the last.
func (p *Piece) Length() time.Duration {
	if len(p.entries) == 0 {
		return 0
	}
	return p.entries[len(p.entries)-1].at - p.entries[0].at
}

// Bodies calls take with every event but the iterations.
func (p *Piece) Bodies(take func(profiles.Event)) {
	for i := range p.entries {
		if e := &p.entries[i]; e.body != nil {
			take(profiles.Event{At: p.Began.Add(e.at), Body: e.body})
		}
	}
}

// Packer packs pieces. Its memory is used again.
type Packer struct{ packer packer }

// Pack returns the data of a piece from a number of its ticks on. Newest leaves out what only the
// newest of counts: pictures and layers.
func (k *Packer) Pack(p *Piece, from int64, newest bool) ([]byte, error) {
	first, gone := 0, 0 // entries and iterations before it
	for n := int64(0); n < from && first < len(p.entries); first++ {
		if e := &p.entries[first]; e.body == nil {
			n, gone = n+1, e.after
		}
	}
	last := len(p.entries) // after the last tick: what follows belongs to the next
	for last > first && p.entries[last-1].body != nil {
		last--
	}
	b := block{steps: make([]step, 0, last-first)}
	if last > first {
		b.iterations = p.iterations[gone:p.entries[last-1].after]
	}
	steps := stepper{pack: packWhole}
	for i := first; i < last; i++ {
		e := p.entries[i]
		switch e.body.(type) {
		case *profiles.Picture, *profiles.LayerTimes:
			if newest {
				continue
			}
		}
		e.after -= gone
		s, err := steps.step(&e)
		if err != nil {
			return nil, err
		}
		b.steps = append(b.steps, s)
	}
	data, err := k.packer.pack(&b)
	return append([]byte(nil), data...), err
}

// packWhole returns the body of an event with everything in it.
func packWhole(e *entry, inForce settings.Values) ([]byte, error) {
	if p, ok := e.body.(*profiles.Picture); ok {
		return packPicture(p)
	}
	return pack(e.body, inForce)
}

// stepper converts the entries of a piece, in their order. The zero one builds on nothing before it.
type stepper struct {
	pack    func(e *entry, inForce settings.Values) ([]byte, error) // the body of an event
	inForce settings.Values
	own     profiles.OwnCost // of the tick before
	ticked  bool             // there was one
}

// step converts an entry.
func (x *stepper) step(e *entry) (s step, err error) {
	s = step{after: e.after, at: e.at, early: e.early, kind: drainStep}
	switch {
	case e.body != nil:
		s.kind, s.event = eventStep, nameOf(e.body)
		s.body, err = x.pack(e, x.inForce)
		switch b := e.body.(type) {
		case *profiles.Begin:
			x.inForce = b.Settings
		case *profiles.Changed:
			x.inForce = b.Settings
		}
	case !e.drain:
		if s.kind = tickStep; !x.ticked || e.own != x.own {
			x.own, x.ticked = e.own, true
			s.body, err = json.Marshal(packed(reflect.ValueOf(e.own), x.inForce))
		}
	}
	return s, err
}

// packedPicture is a picture within a piece.
type packedPicture struct {
	ID, Width, Height int
	Iteration         int64
	Low, High         float32
	Data              []byte
}

func packPicture(p *profiles.Picture) ([]byte, error) {
	s, err := putPicture(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(packedPicture{p.ID, s.width, s.height, p.Iteration, s.low, s.high, s.data})
}

func unpackPicture(data []byte) (*profiles.Picture, error) {
	var k packedPicture
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, err
	}
	if k.ID < 0 || k.ID >= profiles.MaxPictures {
		return nil, fmt.Errorf("picture %d: must be from 0 to %d", k.ID, profiles.MaxPictures-1)
	}
	s := stored{width: k.Width, height: k.Height, low: k.Low, high: k.High, data: k.Data}
	p, err := s.picture()
	if err != nil {
		return nil, err
	}
	p.ID, p.Iteration = k.ID, k.Iteration
	return p, nil
}

// Unpacker unpacks the pieces of one run in their order.
type Unpacker struct {
	began  time.Time
	unpack unpacker
}

// NewUnpacker returns an unpacker of pieces that begin at a time. tables returns the table of a
// workload's settings, nil for one that is unknown.
func NewUnpacker(began time.Time, tables func(workload string) *settings.Table) *Unpacker {
	return &Unpacker{began: began, unpack: unpacker{table: tables}}
}

// Unpack returns the moments of packed data. Data that make no sense give an error.
func (u *Unpacker) Unpack(data []byte) (moments []Moment, err error) {
	defer func() {
		if v := recover(); v != nil { // reflection on what someone else wrote
			moments, err = nil, fmt.Errorf("a piece makes no sense: %v", v)
		}
	}()
	b, err := unpackBlock(data)
	if err != nil {
		return nil, err
	}
	return momentsOf(b, u.began, &u.unpack, u.body)
}

func (u *Unpacker) body(s *step) (profiles.Body, error) {
	if s.event != "picture" {
		return u.unpack.unpack(s.event, s.body)
	}
	p, err := unpackPicture(s.body)
	if err != nil { // a body that is a nil pointer would be an event
		return nil, fmt.Errorf("event picture: %w", err)
	}
	return p, nil
}

// errBackwards reports a block whose steps are out of order.
var errBackwards = errors.New("the steps of a block are out of order")

// momentsOf converts a block to moments. body decodes an event; nil for one of a kind that this
// version does not know.
func momentsOf(b *block, began time.Time, unpack *unpacker, body func(*step) (profiles.Body, error)) ([]Moment, error) {
	var moments []Moment
	var m Moment
	var own profiles.OwnCost
	from := 0 // iterations of the moments before
	for i := range b.steps {
		s := &b.steps[i]
		at := began.Add(s.at)
		if s.after < from {
			return nil, errBackwards
		}
		if s.kind != eventStep {
			if len(s.body) > 0 {
				own = profiles.OwnCost{}
				if err := unpack.own(s.body, &own); err != nil {
					return nil, err
				}
			}
			m.At, m.Since, m.Drain, m.Own = at, s.at, s.kind == drainStep, own
			m.iterations = b.iterations[from:s.after]
			moments, m, from = append(moments, m), Moment{}, s.after
			continue
		}
		event, err := body(s)
		if err != nil {
			return nil, err
		}
		if event != nil {
			m.events = append(m.events, placed{s.after - from, profiles.Event{At: at, Body: event}})
		}
	}
	return moments, nil
}
