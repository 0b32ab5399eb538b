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

// framesPerSecond is how often Bubble Tea checks for changes of the terminal's modes. Frames do
// not wait for it: see terminal.Output.
const framesPerSecond = 50

// Time limits for leaving; with terminal.DrainLimit less than two seconds in total. They apply to
// Bubble Tea's orderly end, to its forced end, and to the wait for the run's last snapshot.
const (
	leaveLimit = 800 * time.Millisecond
	killLimit  = 300 * time.Millisecond
	lastLimit  = 300 * time.Millisecond
)

// Run shows the run on a terminal until the user quits, ctx ends or the channel of snapshots is
// closed. It stops the run when the user quits, restores the terminal and prints a summary, and
// returns within two seconds even if the terminal has stopped reading.
//
// The error is nil if the user quit or the snapshots ended; ErrDetached or ErrHungUp if the run is to
// go on without the screen (Options.Leave); ErrInterrupted after ctrl+c, SIGINT, SIGTERM or SIGHUP; ctx's cause if ctx ended; and otherwise describes the failure.
func Run(ctx context.Context, source control.Source, o Options) error {
	own := o.Output == nil
	o = o.withDefaults().onTerminal()
	if over, err := standAside(ctx, source, o); over {
		return err
	}
	var caught *terminal.Stray
	reads := true // whether the terminal reads to the end
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
	streams := terminal.Streams{Input: o.Input, Output: o.Output, Environ: o.Environ, NoColor: o.NoColor, Size: o.Size}
	console, err := terminal.Open(streams, func() { program.Send(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}) }, running.Done())
	if err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	m.console, m.out = console, terminal.NewOutput(console.Writer())

	ends := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	hangup := make(chan os.Signal, 1)
	if o.Leave.OnHangup {
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
	} else {
		ends = append(ends, syscall.SIGHUP)
	}
	signals, release := signal.NotifyContext(ctx, ends...)
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
	lost := make(chan struct{}) // never closed unless the run is to go on
	if o.Leave.OnHangup {
		lost = m.lostWith(hangup, running.Done())
	}
	err = m.await(signals, ended, lost, program.Quit, kill)
	if o.Leave.OnHangup && m.lostTerminal(lost) {
		m.gone = control.ErrHungUp
	}
	reads = m.finish(o, err)
	return m.verdict(ctx, signals, err)
}

// finish releases the terminal after the program ended with err, prints the summary and reports
// whether the terminal accepted all output.
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
	if !stuck { // its goroutines may still be running otherwise
		m.console.Close()
	}
	return reads
}

// errStuck reports that Bubble Tea did not end in time.
var errStuck = errors.New("the terminal did not let go")

// await waits for the program's end, and returns errStuck if it does not end when asked to. It is
// killed only if it does not quit, because killing closes its input while it may still be
// reading.
func (m *Model) await(ctx context.Context, ended <-chan error, lost <-chan struct{}, quit, kill func()) error {
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		go quit() // blocks while the program is busy
	case <-lost:
		go quit()
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

// lostWith returns a channel that is closed when the terminal is lost, by a signal or as reading
// it shows.
func (m *Model) lostWith(hangup <-chan os.Signal, over <-chan struct{}) chan struct{} {
	lost := make(chan struct{})
	go func() {
		select {
		case <-hangup:
		case <-m.console.Lost():
		case <-over:
			return
		}
		close(lost)
	}()
	return lost
}

// lostTerminal reports whether the program ended because the terminal was lost.
func (m *Model) lostTerminal(lost <-chan struct{}) bool {
	select {
	case <-lost:
		return true
	default:
		return m.out.Failed()
	}
}

// verdict returns the result of Run.
func (m *Model) verdict(ctx, signals context.Context, err error) error {
	switch {
	case m.crash != nil:
		return m.crash
	case m.gone != nil:
		return m.gone
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

// onTerminal fills in the process's own terminal, and NO_COLOR, which applies with any non-empty
// value.
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

// awaitLast takes snapshots until the run has ended or lastLimit has passed.
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

// lastWords returns the run's summary for the normal screen. A run whose end has not been
// reported in time is "stopping".
func (m *Model) lastWords() string {
	if m.goesOn() {
		return strings.ReplaceAll(ansi.ResetStyle+"\r"+m.options.Leave.Text, "\n", "\r\n")
	}
	m.awaitLast()
	if m.closed && m.options.Leave.Always && m.snap != nil && !words.Ended(m.snap.State) { // its process was killed
		return ""
	}
	if m.options.Summary == nil || m.snap == nil || m.snap.Run.Schema.Workload == "" { // the newest run had not begun
		return ""
	}
	m.notify() // an event of the last snapshot
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

// The following functions delay the end of the program until the terminal has answered its
// initial queries: later answers would appear as input at the shell's prompt.

// answersLimit is how long answers are expected after the queries, and holdLimit how long they
// may delay the end.
const (
	answersLimit = 2 * time.Second
	holdLimit    = 600 * time.Millisecond
)

// leaveMsg retries leaving.
type leaveMsg struct{}

// answersDue reports whether the terminal may still answer.
func (m *Model) answersDue(now time.Time) bool {
	if m.out == nil || m.out.Failed() || m.crash != nil || m.questioned.IsZero() || now.Sub(m.questioned) > answersLimit {
		return false
	}
	return m.graphics.AnswerDue()
}

// hold keeps Bubble Tea from ending while answers are due. It filters every message before
// Update.
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

// leaveSoon retries leaving after a short delay.
func leaveSoon() tea.Cmd {
	return tea.Tick(10*time.Millisecond, func(time.Time) tea.Msg { return tea.QuitMsg{} })
}

// Options configure the screen and its terminal. The zero value is a screen on the process's own
// terminal, with the capabilities of that terminal.
type Options struct {
	// ASCII limits drawing to 7-bit characters.
	ASCII bool
	// NoColor disables colours. Run also does so if the environment's NO_COLOR is not empty.
	NoColor bool
	// Colours are the colours of the screen; terminal.AutoColours queries the terminal's
	// background and assumes a dark one until it answers. FixedColours ignores remembered
	// colours.
	Colours      terminal.Colours
	FixedColours bool
	// Bandwidth limits the output of the screen. FixedBandwidth ignores the remembered bandwidth.
	Bandwidth      terminal.Bandwidth
	FixedBandwidth bool
	// Cores is the number of threads that a setting of 0 means; 0 detects it.
	Cores int
	// Panes are the available panes; nil means all of them.
	Panes []pane.Spec
	// Summary returns the text that Run prints when it ends, given the state of the run as text,
	// the number of cores that a threads setting of 0 means, and the number of columns of the
	// terminal. If nil, nothing is printed.
	Summary func(s *profiles.Snapshot, state string, cores, columns int) string

	// Leave says how the run goes on without the screen.
	Leave Leave

	// Notices are the ways to notify the user that the run finished, failed or stalled.
	Notices notice.Ways

	// Settings are the settings with which the run starts; their table determines the keys until
	// the first snapshot arrives.
	Settings settings.Values
	// Origins holds the origin of each setting's value; nil if unknown.
	Origins settings.Origins

	// Remember is the file in which the screen stores its state (RememberedPath); empty disables
	// it.
	Remember string

	// Output, Input and Environ are the terminal; nil means os.Stdout, os.Stdin and the process's
	// environment.
	Output  io.Writer
	Input   io.Reader
	Environ []string
	// Now is the clock; nil is time.Now.
	Now func() time.Time

	// Size is the size in columns and rows of an Output that is not a terminal.
	Size [2]int
}
