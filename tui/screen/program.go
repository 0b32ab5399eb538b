package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/control"
	"prismtop/tui/notice"
	"prismtop/tui/pane"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// framesPerSecond is how often Bubble Tea looks whether the terminal's modes are to
// change. Frames do not wait for it: see wire.
const framesPerSecond = 50

// Times that leaving may take, with terminal.DrainLimit less than two seconds
// together: for Bubble Tea to end in order and then by force, and for the run's last
// snapshot to come.
const (
	leaveLimit = 800 * time.Millisecond
	killLimit  = 300 * time.Millisecond
	lastLimit  = 300 * time.Millisecond
)

// Run shows the run on a terminal until the user leaves, ctx ends or the
// snapshots' channel is closed. It stops the run when the user quits, restores
// the terminal and prints a summary to it, and returns within two seconds even
// where the terminal has stopped reading.
//
// The error is nil when the user quit or the snapshots ended, ErrInterrupted
// after ctrl+c, SIGINT, SIGTERM or SIGHUP, ctx's cause when ctx ended, and what
// went wrong otherwise.
func Run(ctx context.Context, source control.Source, o Options) error {
	own := o.Output == nil
	o = o.withDefaults().onTerminal()
	if over, err := standAside(ctx, source, o); over {
		return err
	}
	var caught *terminal.Stray
	reads := true // the terminal, to the end
	if own {
		var err error
		if caught, err = terminal.CatchStray(); err == nil {
			defer func() {
				caught.Release()
				if reads {
					caught.Replay(os.Stderr)
				}
			}()
			o.Output = caught.Terminal()
		}
	}
	m := New(source, o)
	m.stray = caught
	running, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	var program *tea.Program
	streams := terminal.Streams{Input: o.Input, Output: o.Output, Environ: o.Environ, NoColor: o.NoColor, Size: o.size}
	console, err := terminal.Open(streams, func() { program.Send(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}) }, running.Done())
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	m.console, m.out = console, terminal.NewOutput(console.Writer())

	signals, release := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer release()
	program = tea.NewProgram(m, append(console.Options(m.out),
		tea.WithContext(running), tea.WithoutSignalHandler(), tea.WithFPS(framesPerSecond),
		tea.WithFilter(m.hold))...)
	defer terminal.OnDeath(func() bool {
		console.Restore()
		reads := console.Surrender(m.out)
		if caught != nil {
			caught.Release()
		}
		return reads
	})()
	if err := console.Take(); err != nil {
		m.out.Close(0)
		console.Close()
		return fmt.Errorf("terminal: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := program.Run()
		ended <- err
	}()
	go console.WatchSize(program.Send)
	err = m.await(signals, ended, program.Quit, kill)
	reads = m.finish(o, err)
	return m.verdict(ctx, signals, err)
}

// finish gives the terminal back after the program ended with err, prints the summary
// and reports whether the terminal took everything.
func (m *Model) finish(o Options, err error) (reads bool) {
	stuck := errors.Is(err, errStuck)
	if stuck {
		m.out.Seize()
	}
	if stuck || err != nil && m.out.Shown() {
		m.out.Last(terminal.NormalScreen)
	}
	m.leave()
	m.rememberLast()
	text := ""
	if m.crash == nil {
		text = m.lastWords()
		m.out.Last(text)
	}
	if reads = m.out.Close(terminal.DrainLimit); !reads {
		m.console.Rescue(m.out, text)
	}
	if m.answersDue(time.Now()) {
		m.console.FlushInput()
	}
	m.console.GiveBack()
	if !stuck { // else its goroutines may still be there
		m.console.Close()
	}
	return reads
}

// errStuck says that Bubble Tea did not end in time.
var errStuck = errors.New("the terminal did not let go")

// await is the program's end, or errStuck when it was asked to end and did not.
// It is killed only when it does not quit: killed, it closes its input while it
// may still be reading.
func (m *Model) await(ctx context.Context, ended <-chan error, quit, kill func()) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		go quit() // waits while the program is busy
	case <-m.left:
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(leaveLimit):
		kill()
	}
	select {
	case <-ended:
	case <-time.After(killLimit):
	}
	return errStuck
}

// verdict is what Run returns.
func (m *Model) verdict(ctx, signals context.Context, err error) error {
	switch {
	case m.crash != nil:
		return m.crash
	case m.interrupted:
		return control.ErrInterrupted
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case signals.Err() != nil:
		return control.ErrInterrupted
	case errors.Is(err, errStuck):
		return nil
	}
	return err
}

// onTerminal fills in the process' own terminal, and NO_COLOR, which counts
// with any value that is not empty.
func (o Options) onTerminal() Options {
	if o.Output == nil {
		o.Output = os.Stdout
	}
	if o.Input == nil {
		o.Input = os.Stdin
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	for _, v := range o.Environ {
		if value, ok := strings.CutPrefix(v, "NO_COLOR="); ok && value != "" {
			o.NoColor = true
		}
	}
	return o
}

// awaitLast takes snapshots until the run has ended or the time for it is over.
func (m *Model) awaitLast() {
	timer := time.NewTimer(lastLimit)
	defer timer.Stop()
	for m.snap != nil && !words.Ended(m.snap.State) {
		select {
		case s, ok := <-m.source.Snapshots():
			if !ok {
				return
			}
			if s != nil {
				m.snap = s
			}
		case <-timer.C:
			return
		}
	}
}

// lastWords is the run's summary for the normal screen. A run whose end was not heard
// of in time is stopping.
func (m *Model) lastWords() string {
	m.awaitLast()
	if m.options.Summary == nil || m.snap == nil || m.snap.Run.Schema.Workload == "" { // the last had not begun
		return ""
	}
	m.notify() // which may not have been seen before
	state := m.snap.State.String()
	if !words.Ended(m.snap.State) {
		state = "stopping"
	}
	text := strings.ReplaceAll(m.options.Summary(m.snap, state, m.options.Cores, m.layout.W), "\n", "\r\n")
	if m.options.ASCII {
		text = strings.Map(theme.ASCII, text)
	}
	return ansi.ResetStyle + "\r" + text
}

// What follows holds the end of the program up until the terminal has answered what it
// was asked at the start: what comes later is typed at the shell's prompt.

// Answers are awaited for so long after the questions, and hold up the end for so long.
const (
	answersLimit = 2 * time.Second
	holdLimit    = 600 * time.Millisecond
)

// leaveMsg tries again to leave.
type leaveMsg struct{}

// answersDue says whether the terminal may still answer.
func (m *Model) answersDue(now time.Time) bool {
	if m.out == nil || m.out.Failed() || m.crash != nil || m.questioned.IsZero() || now.Sub(m.questioned) > answersLimit {
		return false
	}
	return m.graphics.AnswerDue()
}

// hold keeps Bubble Tea from ending while answers are due. It is asked about every
// message before Update.
func (m *Model) hold(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.QuitMsg); !ok || !m.answersDue(time.Now()) {
		return msg
	}
	if m.leaving.IsZero() {
		m.leaving = time.Now()
	}
	if time.Since(m.leaving) > holdLimit {
		return msg
	}
	return leaveMsg{}
}

// leaveSoon is the way from a leaveMsg to the next try.
func leaveSoon() tea.Cmd {
	return tea.Tick(10*time.Millisecond, func(time.Time) tea.Msg { return tea.QuitMsg{} })
}

// Options are how the screen looks, and where it is. The zero value is a screen
// on the process' own terminal, with what that terminal can do.
type Options struct {
	// ASCII draws with 7-bit characters only.
	ASCII bool
	// NoColor draws without colours. Run also does so where the environment's
	// NO_COLOR is not empty.
	NoColor bool
	// Colours are the screen's; terminal.AutoColours asks the terminal for its ground and is
	// dark until it answers. FixedColours lets nothing remembered change them.
	Colours      terminal.Colours
	FixedColours bool
	// Bandwidth is how much of the line the screen may take. FixedBandwidth lets
	// nothing remembered change it.
	Bandwidth      terminal.Bandwidth
	FixedBandwidth bool
	// Cores is the number of threads that a setting of 0 means; 0 asks the Go
	// runtime.
	Cores int
	// Panes are the panes that there are; all of them where it is nil.
	Panes []pane.Spec
	// Summary is the text that Run prints after the screen is gone: of a run that does what state
	// says, where threads 0 is one for each of so many cores, for a terminal of so many columns.
	// Nothing is printed where it is nil.
	Summary func(s *profiles.Snapshot, state string, cores, columns int) string

	// Notices are how the user is told that the run finished, failed or stalled.
	Notices notice.Ways

	// Settings are those that the run starts with; their table says which keys there are
	// until the first snapshot does.
	Settings settings.Values
	// Origins says where each setting came from, by its key; nil where nobody knows.
	Origins settings.Origins

	// Remember is the file in which the screen keeps how it was left
	// (RememberedPath); nothing is kept where it is empty.
	Remember string

	// Output, Input and Environ are the terminal: os.Stdout, os.Stdin and the
	// process' environment where they are nil.
	Output  io.Writer
	Input   io.Reader
	Environ []string
	// Now is the clock; nil is time.Now.
	Now func() time.Time

	size [2]int // of an output that is no terminal, in cells
}
