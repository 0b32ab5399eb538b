package screen

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/control"
	"prismtop/tui/keys"
	"prismtop/tui/notice"
	"prismtop/tui/pane"
	"prismtop/tui/program"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// Running the screen on a terminal: Run, its Options, and what package program asks of a model.

// Run shows the run on a terminal until the user quits, ctx ends or the channel of snapshots is
// closed. It stops the run when the user quits, restores the terminal and prints a summary, and
// returns within two seconds even if the terminal has stopped reading.
//
// The error is nil if the user quit or the snapshots ended; ErrDetached or ErrHungUp if the run is to
// go on without the screen (Options.Leave); ErrInterrupted after ctrl+c, SIGINT, SIGTERM or SIGHUP;
// ctx's cause if ctx ended; and otherwise describes the failure.
func Run(ctx context.Context, source control.Source, o Options) error {
	on := o.streams()
	o = o.withDefaults().onTerminal()
	if over, err := standAside(ctx, source, o); over {
		return err
	}
	on.NoColor = o.NoColor
	return program.Run(ctx, New(source, o), on)
}

// streams returns the terminal of the options.
func (o Options) streams() terminal.Streams {
	return terminal.Streams{Input: o.Input, Output: o.Output, Environ: o.Environ, NoColor: o.NoColor, Size: o.Size,
		Sizes: o.Sizes, Remote: o.Remote}
}

// onTerminal fills in the process's own terminal.
func (o Options) onTerminal() Options {
	on := o.streams().OrOwn()
	o.Input, o.Output, o.Environ, o.NoColor = on.Input, on.Output, on.Environ, on.NoColor
	return o
}

// Mount takes the terminal.
func (m *Model) Mount(on program.Stage) { m.console, m.out, m.stray = on.Console, on.Output, on.Stray }

// LastWords writes what is remembered and returns the run's summary for the normal screen. A run whose
// end has not been reported in time is "stopping".
func (m *Model) LastWords() string {
	m.keeper.finish(m.keep)
	if m.crash != nil {
		return ""
	}
	if m.goesOn() {
		return strings.ReplaceAll(ansi.ResetStyle+"\r"+m.leave.Text, "\n", "\r\n")
	}
	m.awaitLast()
	if m.closed && m.leave.Always && m.snap != nil && !words.Ended(m.snap.State) { // its process was killed
		return ""
	}
	if m.options.Summary == nil || m.snap == nil || m.snap.Run.Schema.Workload == "" { // the newest run had not begun
		return ""
	}
	m.notify("") // an event of the last snapshot
	state := m.snap.State.String()
	if !words.Ended(m.snap.State) {
		if state = "stopping"; m.leave.Always { // in another process, which may not hear of it
			state = "told to stop"
		}
	}
	text := strings.ReplaceAll(m.options.Summary(m.snap, state, m.options.Cores, m.layout.W), "\n", "\r\n")
	if m.options.ASCII {
		text = strings.Map(theme.ASCII, text)
	}
	return ansi.ResetStyle + "\r" + text
}

// AnswersDue reports whether the terminal may still answer.
func (m *Model) AnswersDue(now time.Time) bool { return m.crash == nil && m.display.answersDue(now) }

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

	// Advice returns what was measured of values of settings on this machine, for a run under some settings; an entry
	// without a value holds for all of them. Nil for runs that may be of other machines.
	Advice func(run profiles.RunInfo, v settings.Values) []profiles.Caution

	// Leave says how the run goes on without the screen.
	Leave Leave

	// Notices are the ways to notify the user that the run finished, failed or stalled.
	Notices notice.Ways

	// Settings are the settings with which the run starts; their table determines the keys until
	// the first snapshot arrives.
	Settings settings.Values
	// Origins holds the origin of each setting's value; nil if unknown.
	Origins settings.Origins

	// Keys are the user's choices of keys; nil for the defaults.
	Keys *keys.Own

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

	// Size is the size in columns and rows of an Output that is not a terminal, Sizes delivers its later
	// ones, and Remote marks it as a terminal elsewhere; see terminal.Streams.
	Size   [2]int
	Sizes  <-chan [2]int
	Remote bool
}
