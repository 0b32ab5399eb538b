package attach

import (
	"fmt"
	"sync"

	"prismtop/profiles/settings"
)

// Run is a run that can be operated; see tui/control for its methods.
type Run interface {
	SetMany(sets []settings.Assignment) error
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
	Stop()
	Attend()
}

// Lease is the right to operate a run, which one screen at a time has.
type Lease struct {
	log func(string) // gets a line when the lease changes hands

	mu      sync.Mutex
	holder  *Seat
	changed chan struct{} // closed when it changes hands
}

// NewLease returns a lease that no screen has. log gets a line whenever it changes hands.
func NewLease(log func(string)) *Lease { return &Lease{log: log, changed: make(chan struct{})} }

// hand gives the lease to a seat, or to none; the caller holds mu.
func (l *Lease) hand(to *Seat) {
	l.holder = to
	close(l.changed)
	l.changed = make(chan struct{})
}

// Seat is a screen's place at a run. Its methods are those of the run, and are carried out only
// while the seat has the lease.
type Seat struct {
	lease  *Lease
	run    Run
	who    string
	role   Role
	own    bool         // it is the screen of the run's process, which takes a free lease as a matter of course
	refuse func(string) // gets why something was not done that has no result
}

// Seat returns a place at a run for a screen with a role. refuse gets the reason when a request
// without a result is not carried out.
func (l *Lease) Seat(r Run, who string, role Role, refuse func(string)) *Seat {
	return &Seat{lease: l, run: r, who: nameOf(who), role: role, refuse: refuse}
}

// MayOperate reports whether the seat may have the lease.
func (s *Seat) MayOperate() bool { return s.role >= Operator }

// Operates reports whether the seat has the lease.
func (s *Seat) Operates() bool { return s.may() == nil }

// Operate takes the lease, from another seat if need be, or returns it.
func (s *Seat) Operate(on bool) {
	if err := s.operate(on); err != nil {
		s.refuse("not asked to operate the run: " + err.Error())
	}
}

func (s *Seat) operate(on bool) error {
	switch {
	case !on:
		s.Release()
	case s.role < Operator:
		return &RoleError{s.role, Operator}
	default:
		s.Request(true)
	}
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
	granted := before == nil || before == s || take
	if granted && before != s {
		l.hand(s)
	}
	l.mu.Unlock()
	switch {
	case !granted, before == s, before == nil && s.own:
	case before == nil:
		l.log(s.who + " operates the run")
	default:
		l.log(s.who + " operates the run, which " + before.who + " did")
	}
	return granted
}

// Release returns the lease if the seat has it.
func (s *Seat) Release() {
	l := s.lease
	l.mu.Lock()
	had := l.holder == s
	if had {
		l.hand(nil)
	}
	l.mu.Unlock()
	if had {
		l.log(s.who + " no longer operates the run")
	}
}

// state returns whether a seat has the lease, the name of who has it, and a channel that is closed
// when it changes hands.
func (l *Lease) state(s *Seat) (operates bool, operator string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != nil {
		operator = l.holder.who
	}
	return l.holder == s, operator, l.changed
}

// Operator returns the name of the screen that has the lease, empty if none has.
func (l *Lease) Operator() string {
	_, operator, _ := l.state(nil)
	return operator
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

// may returns an error unless the seat has the lease. It is the one place that decides what a
// screen may do.
func (s *Seat) may() error {
	if s.role < Operator {
		return &RoleError{s.role, Operator}
	}
	operates, operator, _ := s.lease.state(s)
	if operates {
		return nil
	}
	return &NotOperatorError{operator}
}

// do carries out a request that has no result.
func (s *Seat) do(what string, request func()) {
	if err := s.may(); err != nil {
		s.refuse(what + ": " + err.Error())
		return
	}
	request()
}

// try carries out a request that has a result.
func (s *Seat) try(request func() error) error {
	if err := s.may(); err != nil {
		return err
	}
	return request()
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

// Stop ends the run.
func (s *Seat) Stop() { s.do("not stopped", s.run.Stop) }

// Attend reports a user's input, which any screen may.
func (s *Seat) Attend() { s.run.Attend() }

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
	case "stop":
		return void(s.run.Stop)
	case "attend":
		s.Attend()
		return nil
	case "operate":
		return s.operate(c.On)
	}
	return errUnknown(c.Do)
}
