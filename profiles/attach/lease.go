package attach

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"prismtop/profiles/settings"
)

// Run is a run that can be operated; see tui/control for its methods.
type Run interface {
	SetMany(sets []settings.Assignment) error
	Decide(sets []settings.Assignment) error
	Check(sets []settings.Assignment) error
	Pause(paused bool)
	Step()
	Restart() error
	CanRestart() error
	StartAblation() error
	StartFactorial(factors []settings.Factor) error
	StopAblation()
	Replicate(before []settings.Assignment, iteration int64) error
	Fork(before []settings.Assignment, iteration int64) error
	Save() error
	Checkpoint() error
	Clear() error
	Note(author, text string) error
	Stop()
	Attend()
}

// Lease is the right to operate a run, which one screen at a time has.
type Lease struct {
	log func(string) // gets a line when the lease changes hands

	mu      sync.Mutex
	holder  *Seat
	asking  *Seat         // asks the holder for it; nil for none
	changed chan struct{} // closed when one of them changes
	noters  map[string]noting
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

// Seat is a screen's place at a run. Its methods are those of the run: notes are taken from
// annotators and operators, and everything else is carried out only while the seat has the lease.
type Seat struct {
	lease  *Lease
	run    Run
	who    string
	role   Role
	own    bool         // it is the screen of the run's process, which takes a free lease as a matter of course at first
	had    bool         // it has had the lease; guarded by the lease's mu
	refuse func(string) // gets why something was not done that has no result
}

// notesAtOnce and noteSpan bound how many notes one name takes in a time, on all its screens: its share of the run's. mostNoters
// bounds the names that are kept.
const (
	notesAtOnce = 5
	noteSpan    = 10 * time.Second
	mostNoters  = 256
)

var errManyNotes = fmt.Errorf("too many notes: must be at most %d in %v from one user", notesAtOnce, noteSpan)

// noting is how many notes a name wrote in its newest span.
type noting struct {
	began time.Time
	notes int
}

// note counts a note of a name, and reports whether there may be one more now.
func (l *Lease) note(who string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.noters, func(_ string, n noting) bool { return now.Sub(n.began) >= noteSpan })
	n, known := l.noters[who]
	switch {
	case !known && len(l.noters) >= mostNoters, n.notes >= notesAtOnce:
		return false
	case !known:
		n.began = now
	}
	if n.notes++; l.noters == nil {
		l.noters = map[string]noting{}
	}
	l.noters[who] = n
	return true
}

// Seat returns a place at a run for a screen with a role. refuse gets the reason when a request
// without a result is not carried out.
func (l *Lease) Seat(r Run, who string, role Role, refuse func(string)) *Seat {
	return &Seat{lease: l, run: r, who: nameOf(who), role: role, refuse: refuse}
}

// MayOperate reports whether the seat may have the lease.
func (s *Seat) MayOperate() bool { return s.role >= Operator }

// MayAnnotate reports whether the seat may write notes.
func (s *Seat) MayAnnotate() bool { return s.role >= Annotator }

// Operates reports whether the seat has the lease.
func (s *Seat) Operates() bool { return s.may(Operator) == nil }

// Asks returns the name of the screen that asks for the lease, empty if none does.
func (s *Seat) Asks() string {
	_, now, _ := s.lease.state(s)
	return now.Asks
}

// Operator returns the name of the screen that has the lease, empty if none has.
func (s *Seat) Operator() string { return s.lease.Operator() }

// Operate takes a lease that is free, asks for one that another seat has, and takes it when it asks
// again. Otherwise it returns the lease, to the seat that asks for it if there is one.
func (s *Seat) Operate(on bool) {
	if err := s.operate(on); err != nil {
		s.refuse("not asked to operate the run: " + err.Error())
	}
}

func (s *Seat) operate(on bool) error {
	l := s.lease
	if !on {
		s.Release()
		return nil
	}
	if s.role < Operator {
		return &RoleError{s.role, Operator}
	}
	l.mu.Lock()
	holder := l.holder
	asks := holder != nil && holder != s && l.asking != s
	if asks {
		l.asking = s
		l.announce()
	}
	l.mu.Unlock()
	if !asks {
		s.Request(true)
		return nil
	}
	l.log(s.who + " asks to operate the run, which " + holder.who + " does")
	return nil
}

// Own makes the seat that of the screen in the run's process.
func (s *Seat) Own() *Seat {
	s.own = true
	return s
}

// Request gives the seat the lease if it is free, or if it may be taken from another, and reports
// whether the seat has it.
func (s *Seat) Request(take bool) bool {
	l := s.lease
	if s.role < Operator {
		return false
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
		l.log(s.who + " operates the run")
	default:
		l.log(s.who + " operates the run, which " + before.who + " did")
	}
	return granted
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
		l.log(next.who + " operates the run, which " + s.who + " handed over")
	case had:
		l.log(s.who + " no longer operates the run")
	}
}

// state returns whether a seat has the lease, who has it and who asks for it, and a channel that is
// closed when that changes.
func (l *Lease) state(s *Seat) (operates bool, now leaseState, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != nil {
		now.Operator = l.holder.who
	}
	if l.asking != nil {
		now.Asks = l.asking.who
	}
	now.Operates = s != nil && l.holder == s
	return now.Operates, now, l.changed
}

// Operator returns the name of the screen that has the lease, empty if none has.
func (l *Lease) Operator() string {
	_, now, _ := l.state(nil)
	return now.Operator
}

// NotOperatorError refuses a request of a screen without the lease.
type NotOperatorError struct{ Operator string }

// Error says who operates the run.
func (e *NotOperatorError) Error() string {
	if e.Operator == "" {
		return "this screen only watches the run"
	}
	return "this screen only watches the run, which " + e.Operator + " operates"
}

// may returns an error unless the seat has a role, or a higher one, and as an operator the lease. It
// is the one place that decides what a screen may do.
func (s *Seat) may(least Role) error {
	if s.role < least {
		return &RoleError{s.role, least}
	}
	if operates, now, _ := s.lease.state(s); least == Operator && !operates {
		return &NotOperatorError{now.Operator}
	}
	return nil
}

// do carries out a request that has no result.
func (s *Seat) do(what string, request func()) {
	if err := s.may(Operator); err != nil {
		s.refuse(what + ": " + err.Error())
		return
	}
	request()
}

// try carries out a request that has a result.
func (s *Seat) try(request func() error) error {
	if err := s.may(Operator); err != nil {
		return err
	}
	return request()
}

// Decide changes settings by a press of a key.
func (s *Seat) Decide(sets []settings.Assignment) error {
	return s.try(func() error { return s.run.Decide(sets) })
}

// SetMany changes settings.
func (s *Seat) SetMany(sets []settings.Assignment) error {
	return s.try(func() error { return s.run.SetMany(sets) })
}

// Check returns the error that a restart would return for settings. It changes nothing, but reads
// what they name.
func (s *Seat) Check(sets []settings.Assignment) error {
	return s.try(func() error { return s.run.Check(sets) })
}

// Pause pauses the run, or resumes it.
func (s *Seat) Pause(paused bool) {
	what := "not resumed"
	if paused {
		what = "not paused"
	}
	s.do(what, func() { s.run.Pause(paused) })
}

// Step runs one iteration of a paused run.
func (s *Seat) Step() { s.do("no step", s.run.Step) }

// Restart restarts the run.
func (s *Seat) Restart() error { return s.try(s.run.Restart) }

// CanRestart returns the error that Restart would return.
func (s *Seat) CanRestart() error { return s.try(s.run.CanRestart) }

// StartAblation starts an ablation.
func (s *Seat) StartAblation() error { return s.try(s.run.StartAblation) }

// StartFactorial starts an ablation of every combination of factors.
func (s *Seat) StartFactorial(factors []settings.Factor) error {
	return s.try(func() error { return s.run.StartFactorial(factors) })
}

// StopAblation ends an ablation.
func (s *Seat) StopAblation() { s.do("the ablation goes on", s.run.StopAblation) }

// Replicate starts a replication.
func (s *Seat) Replicate(before []settings.Assignment, iteration int64) error {
	return s.try(func() error { return s.run.Replicate(before, iteration) })
}

// Fork starts a fork.
func (s *Seat) Fork(before []settings.Assignment, iteration int64) error {
	return s.try(func() error { return s.run.Fork(before, iteration) })
}

// Save saves the result of the run.
func (s *Seat) Save() error { return s.try(s.run.Save) }

// Checkpoint writes the state of the run.
func (s *Seat) Checkpoint() error { return s.try(s.run.Checkpoint) }

// Clear clears the caches of the run.
func (s *Seat) Clear() error { return s.try(s.run.Clear) }

// Annotate writes a note.
func (s *Seat) Annotate(text string) error {
	if err := s.may(Annotator); err != nil {
		return err
	}
	if !s.Operates() && !s.lease.note(s.who, time.Now()) {
		return errManyNotes
	}
	return s.run.Note(s.who, text)
}

// Stop ends the run.
func (s *Seat) Stop() { s.do("not stopped", s.run.Stop) }

// Attend reports the input of an operator's screen, which the run's budget for watching makes way for. Others' input changes
// nothing of the run, not even that.
func (s *Seat) Attend() {
	if s.MayOperate() {
		s.run.Attend()
	}
}

// errUnknown refuses a command that this version does not know.
type errUnknown string

func (e errUnknown) Error() string { return fmt.Sprintf("%q: not a command", string(e)) }

// carryOut carries out the command of a client.
func (s *Seat) carryOut(c *command) error {
	void := func(request func()) error {
		return s.try(func() error { request(); return nil })
	}
	switch c.Do {
	case "set":
		return s.SetMany(c.Sets)
	case "decide":
		return s.Decide(c.Sets)
	case "check":
		return s.Check(c.Sets)
	case "pause":
		return void(func() { s.run.Pause(c.On) })
	case "step":
		return void(s.run.Step)
	case "restart":
		return s.Restart()
	case "can restart":
		return s.CanRestart()
	case "ablation":
		return s.StartAblation()
	case "factorial":
		return s.StartFactorial(c.Factors)
	case "stop ablation":
		return void(s.run.StopAblation)
	case "replicate":
		return s.Replicate(c.Sets, c.Iteration)
	case "fork":
		return s.Fork(c.Sets, c.Iteration)
	case "save":
		return s.Save()
	case "checkpoint":
		return s.Checkpoint()
	case "clear":
		return s.Clear()
	case "stop":
		return void(s.run.Stop)
	case "attend":
		s.Attend()
		return nil
	case "operate":
		return s.operate(c.On)
	case "note":
		return s.Annotate(c.Text)
	}
	return errUnknown(c.Do)
}
