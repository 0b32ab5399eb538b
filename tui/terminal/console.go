package terminal

import (
	"io"
	"os"
	"os/signal"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Streams are what a screen reads and writes, and what its environment says of them.
type Streams struct {
	Input   io.Reader
	Output  io.Writer
	Environ []string
	// NoColor asks for a screen without colours.
	NoColor bool
	// Size is that of an output that is no terminal, in columns and rows.
	Size [2]int
}

// Console is the terminal of a screen: the modes and the keys of its input, the size of
// its output. Either may be something else, in tests.
type Console struct {
	streams Streams
	input   io.Reader // for Bubble Tea
	tty     *tty      // nil where the input is no terminal
	keys    *keyboard // nil there, too
	output  *os.File  // nil where the output is no terminal
	fresh   *os.File  // output by a description of its own, nil where there is none
	resized chan os.Signal
	done    <-chan struct{} // closed when the screen's program ends
}

// Open prepares a terminal for a screen without changing it. Ctrl+c is carried out by
// interrupt; done is closed when the screen's program ends.
func Open(s Streams, interrupt func(), done <-chan struct{}) (*Console, error) {
	c := &Console{streams: s, input: s.Input, tty: holdTTY(s.Input), resized: make(chan os.Signal, 1), done: done}
	if c.tty != nil {
		var err error
		if c.keys, err = newKeyboard(c.tty.file, interrupt); err != nil {
			return nil, err
		}
		if ownsTTY {
			c.input = c.keys
		}
	}
	if f, ok := s.Output.(*os.File); ok && term.IsTerminal(f.Fd()) {
		c.output = f
		c.fresh = reopen(f)
	}
	return c, nil
}

// Writer is where the screen is written, by an Output.
func (c *Console) Writer() io.Writer {
	if c.fresh != nil {
		return c.fresh
	}
	return c.streams.Output
}

// Take makes the terminal the screen's.
func (c *Console) Take() error {
	if c.tty == nil {
		return nil
	}
	if ownsTTY {
		if err := c.tty.makeRaw(); err != nil {
			return err
		}
	}
	if err := c.keys.start(); err != nil {
		c.tty.restore()
		return err
	}
	return nil
}

// Restore brings the modes back that the terminal had before Take.
func (c *Console) Restore() { c.tty.restore() }

// GiveBack makes the terminal the shell's.
func (c *Console) GiveBack() {
	if c.tty != nil {
		c.keys.stop()
		c.tty.restore()
	}
}

// Close forgets the terminal, once nothing reads or writes it any more.
func (c *Console) Close() {
	if c.keys != nil {
		_ = c.keys.Close()
	}
	if c.fresh != nil {
		_ = c.fresh.Close()
	}
}

// DrainLimit is how long a slow terminal may take for what restores it.
const DrainLimit = 500 * time.Millisecond

// Surrender brings the normal screen back while the screen's program goes on, and
// reports whether the terminal took everything.
func (c *Console) Surrender(out *Output) (reads bool) {
	out.Seize()
	out.Last(cutOff + NormalScreen)
	reads = out.Close(DrainLimit)
	if !reads {
		c.Rescue(out, "")
	}
	return reads
}

// Rescue leaves the normal screen and text to a terminal that did not take everything
// before out was closed.
func (c *Console) Rescue(out *Output, text string) {
	if c.output != nil {
		out.rescue(cutOff+NormalScreen+text, func() { flushOutput(c.output) })
	}
}

// FlushInput throws away what the terminal has sent and nobody has read.
func (c *Console) FlushInput() { flushInput(c.streams.Input) }

// Options tell Bubble Tea about the terminal, on which it writes to out.
func (c *Console) Options(out *Output) []tea.ProgramOption {
	options := []tea.ProgramOption{
		tea.WithInput(c.input), tea.WithOutput(screenOutput(out, c.output)), tea.WithEnvironment(c.streams.Environ),
	}
	switch size := c.streams.Size; {
	case c.output != nil:
		options = append(options, tea.WithWindowSize(screenSize(c.output.Fd())))
	case size[0] > 0:
		options = append(options, tea.WithWindowSize(size[0], size[1]))
	}
	switch {
	case c.streams.NoColor:
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	case c.output != nil:
		options = append(options, tea.WithColorProfile(colorprofile.Detect(c.output, c.streams.Environ)))
	}
	return options
}

// WatchSize tells the program about new sizes of the terminal until it ends.
func (c *Console) WatchSize(send func(tea.Msg)) {
	if c.output == nil {
		return
	}
	onResize(c.resized)
	defer signal.Stop(c.resized)
	for {
		select {
		case <-c.resized:
			width, height := screenSize(c.output.Fd())
			send(tea.WindowSizeMsg{Width: width, Height: height})
		case <-c.done:
			return
		}
	}
}

// NormalScreen undoes what Bubble Tea may have switched on, where it does not
// do so itself. It ends a frame that was cut off, and may come twice.
const NormalScreen = ansi.ResetModeSynchronizedOutput + ansi.ResetStyle +
	ansi.ResetModifyOtherKeys + "\x1b[<1u" + // pops the keyboard's mode of this screen
	ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
	ansi.ResetModeFocusEvent + ansi.ResetModeBracketedPaste + ansi.ResetModeUnicodeCore +
	ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable

// cutOff ends a sequence that the terminal received in part, a string as well.
const cutOff = "\x18\x1b\\"
