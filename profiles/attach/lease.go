package attach

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"prismtop/profiles"
)

// The lease, the right to operate a run, and the seats of screens, which ask for commands under it.

// Run is a run that can be operated; sim.Run is one.
type Run interface {
	Do(profiles.Command) error
}

// Lease is the right to operate a run, which one screen at a time has.
type Lease struct {
	log func(string) // gets a line when the lease changes hands

	mu      sync.Mutex
	holder  *Seat
	asking  *Seat         // asks the holder for it; nil for none
	changed chan struct{} // closed when one of them changes
	noters  map[string]profiles.NoteCount
}

// NewLease returns a lease that no screen has. log gets a line whenever it changes hands.
func NewLease(log func(string)) *Lease { return &Lease{log: log, changed: make(chan struct{})} }

// hand gives the lease to a seat, or to none; the caller holds mu.
func (l *Lease) hand(to *Seat) {
	l.holder = to
	if l.asking == to {
		l.asking = nil
	}
	l.announce()
}

// announce ends the wait for a change; the caller holds mu.
func (l *Lease) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Seat is a screen's place at a run. It passes on the commands that its role and the lease allow.
type Seat struct {
	lease *Lease
	run   Run
	who   string
	role  Role
	own   bool // it is the screen of the run's process, which takes a free lease as a matter of course at first
	had   bool // it has had the lease; guarded by the lease's mu
}

// notesAtOnce bounds how many notes one name takes in profiles.NoteSpan, on all its screens: its share of the run's.
// mostNoters bounds the names that are kept.
const (
	notesAtOnce = 5
	mostNoters  = 256
)

var errManyNotes = fmt.Errorf("too many notes: must be at most %d in %v from one user", notesAtOnce, profiles.NoteSpan)

// note counts a note of a name, and reports whether there may be one more now.
func (l *Lease) note(who string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.noters, func(_ string, n profiles.NoteCount) bool { return n.Over(now) })
	n, known := l.noters[who]
	if !known && len(l.noters) >= mostNoters || !n.Take(now, notesAtOnce) {
		return false
	}
	if l.noters == nil {
		l.noters = map[string]profiles.NoteCount{}
	}
	l.noters[who] = n
	return true
}

// Seat returns a place at a run for a screen with a role.
func (l *Lease) Seat(r Run, who string, role Role) *Seat {
	return &Seat{lease: l, run: r, who: nameOf(who), role: role}
}

// Control returns which screen operates the run.
func (s *Seat) Control() profiles.Control {
	now, _ := s.lease.state(s)
	return now
}

// Able returns the commands that the seat may ask for now, of those that the run of a snapshot carries out.
func (s *Seat) Able(of *profiles.Snapshot) profiles.Kinds {
	return able(of, s.role, s.Control().Operates)
}

// Do carries out a command if the seat may ask for it.
func (s *Seat) Do(c profiles.Command) error {
	if err := s.may(c.Kind); err != nil {
		return err
	}
	c.By = s.who
	switch c.Kind {
	case profiles.OperateCommand:
		s.operate()
		return nil
	case profiles.HandOverCommand:
		s.Release()
		return nil
	case profiles.NoteCommand:
		if !c.Try && !s.Control().Operates && !s.lease.note(s.who, time.Now()) {
			return errManyNotes
		}
	}
	return s.run.Do(c)
}

// operate takes a lease that is free, asks for one that another seat has, and takes it when it asks again.
func (s *Seat) operate() {
	l := s.lease
	l.mu.Lock()
	holder := l.holder
	asks := holder != nil && holder != s && l.asking != s
	if asks {
		l.asking = s
		l.announce()
	}
	l.mu.Unlock()
	if asks {
		l.log(s.who + " wants control; " + holder.who + " has it")
		return
	}
	s.Request(true)
}

// Own makes the seat that of the screen in the run's process.
func (s *Seat) Own() *Seat {
	s.own = true
	return s
}

// Request gives the seat the lease if it is free, or if it may be taken from another.
func (s *Seat) Request(take bool) {
	l := s.lease
	if s.role < Operator {
		return
	}
	l.mu.Lock()
	before := l.holder
	granted, again := before == nil || before == s || take, s.had
	s.had = s.had || granted
	if granted && before != s {
		l.hand(s)
	}
	l.mu.Unlock()
	switch {
	case !granted, before == s, before == nil && s.own && !again:
	case before == nil:
		l.log(s.who + " has control")
	default:
		l.log(s.who + " took control from " + before.who)
	}
}

// Release returns the lease if the seat has it, to the seat that asks for it if there is one. A seat
// that asks for it no longer does.
func (s *Seat) Release() {
	l := s.lease
	l.mu.Lock()
	had, next := l.holder == s, l.asking
	switch {
	case had:
		l.hand(next)
	case next == s:
		l.asking = nil
		l.announce()
	}
	l.mu.Unlock()
	switch {
	case had && next != nil:
		l.log(s.who + " handed control to " + next.who)
	case had:
		l.log(s.who + " gave up control")
	}
}

// state returns who has the lease and who asks for it, as a seat sees it, and a channel that is closed when that
// changes.
func (l *Lease) state(s *Seat) (now profiles.Control, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != nil {
		now.Operator = l.holder.who
	}
	if l.asking != nil {
		now.Asks = l.asking.who
	}
	now.Operates = s != nil && l.holder == s
	return now, l.changed
}

// Operator returns the name of the screen that has the lease, empty if none has.
func (l *Lease) Operator() string {
	now, _ := l.state(nil)
	return now.Operator
}

// NotOperatorError refuses a request of a screen without the lease.
type NotOperatorError struct{ Operator string }

func (e *NotOperatorError) Error() string {
	if e.Operator == "" {
		return "this screen only watches the run"
	}
	return e.Operator + " has control; this screen only watches"
}

// may returns an error unless the seat may ask for a kind of command.
func (s *Seat) may(k profiles.CommandKind) error {
	n := needOf(k)
	if s.role < n.role {
		return &RoleError{s.role, n.role}
	}
	if now := s.Control(); n.lease && !now.Operates {
		return &NotOperatorError{now.Operator}
	}
	return nil
}
