// Package program runs a full-screen program on a terminal: it takes the terminal, ends in time even if
// the terminal has stopped reading, and gives it back however the program ends.
package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/control"
	"prismtop/tui/terminal"
)

// Model is a Bubble Tea model that draws its own frames. Run calls the other methods.
type Model interface {
	tea.Model
	// Mount hands over the terminal before the program starts.
	Mount(Stage)
	// Left returns a channel that is closed once the model leaves, and Leave makes it leave.
	Left() <-chan struct{}
	Leave()
	// AnswersDue reports whether the terminal may still answer the model's queries: later answers
	// would appear as input at the shell's prompt.
	AnswersDue(now time.Time) bool
	// LastWords returns the text to print on the normal screen, once the program has ended.
	LastWords() string
	// Failure returns a panic of the model, or control.ErrInterrupted if the user interrupted it.
	Failure() error
}

// Outliving is a Model whose work may go on when the terminal is lost.
type Outliving interface {
	// OutlivesTerminal reports whether it goes on.
	OutlivesTerminal() bool
	// TerminalLost is called if it does, once the program has ended because the terminal was lost.
	TerminalLost()
}

// EverySecond waits a second, for the message that made makes of the time; for none if left is closed first.
func EverySecond(left <-chan struct{}, made func(time.Time) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		timer := time.NewTimer(time.Second)
		defer timer.Stop()
		select {
		case t := <-timer.C:
			return made(t)
		case <-left:
			return nil
		}
	}
}

// Stage is the terminal of a model.
type Stage struct {
	Console *terminal.Console
	Output  *terminal.Output
	Stray   *terminal.Stray // output of other code; nil if the output is not the process's own
}

// framesPerSecond is how often Bubble Tea checks for changes of the terminal's modes. Frames do
// not wait for it: see terminal.Output.
const framesPerSecond = 50

// Time limits for leaving: of Bubble Tea's orderly end, and of its forced end. No shell waits for the end of a
// visitor's screen.
const (
	leaveLimit       = 800 * time.Millisecond
	leaveLimitRemote = 5 * time.Second
	killLimit        = 300 * time.Millisecond
)

// answersLimit is how long answers are expected after a query, and holdLimit how long they may delay
// the end.
const (
	answersLimit = 2 * time.Second
	holdLimit    = 600 * time.Millisecond
	holdPeriod   = 10 * time.Millisecond
)

// Bubble Tea's reader waits until each key is taken. If keys were left at the end, it would wait for ever, together
// with the model: the end of a process ends it, that of a visitor's screen does not. The end of a visitor's screen
// therefore waits for the last key of the hushed keyboard, at most for settleLimit, and for settleLost if the
// terminal is lost, which sends no last key.
const (
	settleLimit = 4 * time.Second
	settleLost  = 80 * time.Millisecond
)

// AnswersExpected reports whether a query sent at a time, zero for none, may still be answered.
func AnswersExpected(questioned, now time.Time) bool {
	return !questioned.IsZero() && now.Sub(questioned) <= answersLimit
}

// Run shows a model on a terminal, on the process's own unless the streams name another, until the
// model leaves or ctx ends. It restores the terminal and returns within two seconds even if the terminal
// has stopped reading.
//
// The error is nil if the model quit; control.ErrInterrupted after ctrl+c, and on a terminal of this machine after
// SIGINT, SIGTERM or SIGHUP; ctx's cause if ctx ended; and otherwise describes the failure.
func Run(ctx context.Context, m Model, on terminal.Streams) error {
	own := on.Output == nil
	on = on.OrOwn()
	r := run{model: m, remote: on.Remote}
	reads := true // whether the terminal reads to the end
	if own {
		if caught, err := terminal.CatchStray(); err == nil {
			defer func() {
				caught.Release()
				if reads {
					caught.Replay(os.Stderr)
				}
			}()
			r.Stray = caught
			on.Output = caught.Terminal()
		}
	}
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	var program *tea.Program
	console, err := terminal.Open(on, func() { program.Send(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}) },
		running.Done())
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	r.Console, r.Output = console, terminal.NewOutput(console.Writer())
	m.Mount(r.Stage)

	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if o, ok := m.(Outliving); ok && o.OutlivesTerminal() {
		r.outliving = o
		hangup := make(chan os.Signal, 1)
		if !on.Remote {
			signal.Notify(hangup, syscall.SIGHUP)
			defer signal.Stop(hangup)
		}
		r.lost = lostWith(hangup, console.Lost(), running.Done())
	} else {
		ends = append(ends, syscall.SIGHUP)
	}
	signals, release := ctx, func() {}
	if !on.Remote {
		signals, release = signal.NotifyContext(ctx, ends...)
	}
	defer release()
	program = tea.NewProgram(m, append(console.Options(r.Output),
		tea.WithContext(running), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond),
		tea.WithFilter(func(_ tea.Model, msg tea.Msg) tea.Msg { return r.hold(msg, program.Quit) }))...)
	if !on.Remote {
		defer terminal.OnDeath(func() bool {
			console.Restore()
			reads := console.Surrender(r.Output)
			if r.Stray != nil {
				r.Stray.Release()
			}
			return reads
		})()
	}
	if err := console.Take(); err != nil {
		r.Output.Close(0)
		console.Close()
		return fmt.Errorf("terminal: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := program.Run()
		ended <- err
	}()
	var watched sync.WaitGroup
	watched.Go(func() { console.WatchSize(program.Send) })
	watched.Go(func() { console.WatchContinued(r.Output, program.Send) })
	defer func() { // the caller may close the terminal
		kill()
		watched.Wait()
	}()
	err = r.await(signals, ended, program.Quit, kill)
	r.tellLost()
	reads = r.finish(err)
	return r.verdict(ctx, signals, err)
}

// run is a running program.
type run struct {
	Stage
	model   Model
	remote  bool      // a server shows it to a visitor
	leaving time.Time // when the end was first asked for
	settled time.Time // until then, the last key is expected; zero while the keyboard is not hushed

	outliving Outliving       // nil if the model ends with its terminal
	lost      <-chan struct{} // closed when the terminal is lost; nil if the model ends with it
}

// lostWith returns a channel that is closed when the terminal is lost, by a signal or as reading it
// shows.
func lostWith(hangup <-chan os.Signal, unreadable, over <-chan struct{}) <-chan struct{} {
	lost := make(chan struct{})
	go func() {
		select {
		case <-hangup:
		case <-unreadable:
		case <-over:
			return
		}
		close(lost)
	}()
	return lost
}

// tellLost tells a model that outlives its terminal if that was lost.
func (r *run) tellLost() {
	if r.outliving == nil {
		return
	}
	select {
	case <-r.lost:
	default:
		if !r.Output.Failed() {
			return
		}
	}
	r.outliving.TerminalLost()
}

// hold keeps Bubble Tea from ending while answers are due, and while what a visitor typed has not arrived, and
// brings sizes up to date. It filters every message before Update.
func (r *run) hold(msg tea.Msg, quit func()) tea.Msg {
	switch msg := msg.(type) {
	case tea.QuitMsg:
		return r.leave(msg, quit)
	case tea.WindowSizeMsg:
		return r.Console.Newest(msg)
	case tea.KeyPressMsg:
		switch {
		case r.settled.IsZero():
		case terminal.IsLastKey(msg):
			return tea.QuitMsg{}
		default: // typed behind the key that leaves
			return nil
		}
	}
	return msg
}

// leave returns the message that ends Bubble Tea, or nil if it comes later.
func (r *run) leave(msg tea.Msg, quit func()) tea.Msg {
	if r.leaving.IsZero() {
		r.leaving = time.Now()
	}
	switch {
	case r.model.AnswersDue(time.Now()) && time.Since(r.leaving) <= holdLimit:
		time.AfterFunc(holdPeriod, quit)
		return nil
	case !r.remote || !r.settled.IsZero() && !time.Now().Before(r.settled):
		return msg
	case r.settled.IsZero():
		limit := settleLimit
		select {
		case <-r.Console.Lost():
			limit = settleLost
		default:
		}
		r.settled = time.Now().Add(limit)
		r.Console.Hush()
		time.AfterFunc(limit+time.Millisecond, quit)
	}
	return nil
}

// errStuck reports that Bubble Tea did not end in time.
var errStuck = errors.New("the terminal did not let go")

// await waits for the program's end, and returns errStuck if it does not end when asked to. It is
// killed only if it does not quit, because killing closes its input while it may still be
// reading.
func (r *run) await(ctx context.Context, ended <-chan error, quit, kill func()) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		go quit() // blocks while the program is busy
	case <-r.lost:
		go quit()
	case <-r.model.Left():
	}
	limit := leaveLimit
	if r.remote {
		limit = leaveLimitRemote
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(limit):
		kill()
	}
	select {
	case <-ended:
	case <-time.After(killLimit):
	}
	return errStuck
}

// finish releases the terminal after the program ended with err, prints the model's last words and
// reports whether the terminal accepted all output.
func (r *run) finish(err error) (reads bool) {
	stuck := errors.Is(err, errStuck)
	if stuck {
		r.Output.Seize()
	}
	if stuck || err != nil && r.Output.Shown() {
		r.Output.Last(terminal.NormalScreen)
	}
	r.model.Leave()
	text := r.model.LastWords()
	r.Output.Last(text)
	if reads = r.Output.Close(terminal.DrainLimit); !reads {
		r.Console.Rescue(r.Output, text)
	}
	if r.model.AnswersDue(time.Now()) {
		r.Console.FlushInput()
	}
	r.Console.GiveBack()
	if !stuck { // its goroutines may still be running otherwise
		r.Console.Close()
	}
	return reads
}

// verdict returns the result of Run.
func (r *run) verdict(ctx, signals context.Context, err error) error {
	failure := r.model.Failure()
	switch {
	case failure != nil:
		return failure
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case signals.Err() != nil:
		return control.ErrInterrupted
	case errors.Is(err, errStuck):
		return nil
	}
	return err
}
