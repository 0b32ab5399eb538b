package terminal

import (
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// Streams are the input, output and environment of a screen.
type Streams struct {
	Input   io.Reader
	Output  io.Writer
	Environ []string
	// NoColor requests a screen without colours.
	NoColor bool
	// Size is the size of an output that is not a terminal, in columns and rows, and Sizes delivers
	// its later ones; nil if it stays.
	Size  [2]int
	Sizes <-chan [2]int
	// Remote marks the streams as a terminal elsewhere that a server shows a screen on. Signals of the
	// process and its job control are the server's. Input must implement cancelreader.CancelReader.
	Remote bool
}

// OrOwn returns the streams with those of the process's own terminal in place of missing ones, and
// without colours if NO_COLOR has any value.
func (s Streams) OrOwn() Streams {
	if s.Output == nil {
		s.Output = os.Stdout
	}
	if s.Input == nil {
		s.Input = os.Stdin
	}
	if s.Environ == nil {
		s.Environ = os.Environ()
	}
	for _, v := range s.Environ {
		if value, ok := strings.CutPrefix(v, "NO_COLOR="); ok && value != "" {
			s.NoColor = true
		}
	}
	return s
}

// Console is the terminal of a screen: the modes and keys of its input, and the size of its
// output. In tests, either may be something other than a terminal.
type Console struct {
	streams Streams
	input   io.Reader              // for Bubble Tea
	tty     *tty                   // nil if the input is not a terminal of this machine
	keys    *keyboard              // nil if tty is, unless the terminal is elsewhere
	output  *os.File               // nil if the output is not a terminal
	fresh   *os.File               // output reopened with its own file description, or nil
	began   [2]int                 // the size of the output with which the screen began
	newest  atomic.Pointer[[2]int] // the newest of streams.Sizes; nil for none
	resized chan os.Signal
	away    atomic.Bool     // the screen is released, to be taken again
	done    <-chan struct{} // closed when the screen's program ends
}

// Open prepares a terminal for a screen without changing it. Ctrl+c calls interrupt; done is
// closed when the screen's program ends.
func Open(s Streams, interrupt func(), done <-chan struct{}) (*Console, error) {
	c := &Console{streams: s, input: s.Input, tty: holdTTY(s.Input), resized: make(chan os.Signal, 1), done: done}
	var from io.Reader
	switch {
	case c.tty != nil:
		from = c.tty.file
	case s.Remote:
		from = s.Input
	}
	if from != nil {
		var err error
		if c.keys, err = newKeyboard(from, interrupt); err != nil {
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

// Writer returns the writer for the screen, used by an Output.
func (c *Console) Writer() io.Writer {
	if c.fresh != nil {
		return c.fresh
	}
	return c.streams.Output
}

// Take switches the terminal to the modes of the screen. What was typed before is discarded: it was for no screen that
// anybody saw.
func (c *Console) Take() error {
	if c.keys == nil {
		return nil
	}
	if ownsTTY && c.tty != nil {
		flushInput(c.tty.file) // while ctrl+c is still a signal
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

// Lost returns a channel that is closed when the terminal is gone, as far as reading it shows; nil
// if it is not known.
func (c *Console) Lost() <-chan struct{} {
	if c.keys == nil {
		return nil
	}
	return c.keys.ended()
}

// Restore restores the modes that the terminal had before Take.
func (c *Console) Restore() { c.tty.restore() }

// GiveBack returns the terminal to the shell.
func (c *Console) GiveBack() {
	if c.keys != nil {
		c.keys.stop()
	}
	c.tty.restore()
}

// Hush drops what is typed from now on. The last key of a hushed keyboard follows what was typed before.
func (c *Console) Hush() {
	if c.keys != nil {
		c.keys.hush()
	}
}

// lastKey is what a hushed keyboard hands over last: the end of a sequence and of a paste that were cut off, and F35,
// which no keyboard has.
const lastKey = cutOff + "\x1b[201~" + "\x1b[57398u"

// IsLastKey reports whether a key is the last of a hushed keyboard.
func IsLastKey(k tea.KeyPressMsg) bool { return k.Code == tea.KeyF35 && k.Mod == 0 }

// Suspends reports whether a screen on the terminal can suspend the process: not if other screens are
// shown by it, too.
func (c *Console) Suspends() bool { return JobControl && (c == nil || !c.streams.Remote) }

// Close releases the terminal once it is no longer read or written.
func (c *Console) Close() {
	if c.keys != nil {
		_ = c.keys.Close()
	}
	if c.fresh != nil {
		_ = c.fresh.Close()
	}
}

// DrainLimit is the time allowed for a slow terminal to take the restoring sequences.
const DrainLimit = 500 * time.Millisecond

// Surrender restores the normal screen while the screen's program is still running, and reports
// whether the terminal took everything.
func (c *Console) Surrender(out *Output) (reads bool) {
	out.Seize()
	out.Last(cutOff + NormalScreen)
	reads = out.Close(DrainLimit)
	if !reads {
		c.Rescue(out, "")
	}
	return reads
}

// Rescue leaves the normal screen and text for a terminal that did not take everything before
// out was closed.
func (c *Console) Rescue(out *Output, text string) {
	if c.output != nil {
		out.rescue(cutOff+NormalScreen+text, func() { flushOutput(c.output) })
	}
}

// FlushInput discards unread input of the terminal.
func (c *Console) FlushInput() { flushInput(c.streams.Input) }

// Options configures Bubble Tea for the terminal, with out as its output.
func (c *Console) Options(out *Output) []tea.ProgramOption {
	options := []tea.ProgramOption{
		tea.WithInput(c.input), tea.WithOutput(screenOutput(out, c.output)), tea.WithEnvironment(c.streams.Environ),
	}
	switch size := c.streams.Size; {
	case c.output != nil:
		c.began[0], c.began[1] = screenSize(c.output.Fd())
		options = append(options, tea.WithWindowSize(c.began[0], c.began[1]))
	case size[0] > 0:
		options = append(options, tea.WithWindowSize(size[0], size[1]))
	}
	switch {
	case c.streams.NoColor:
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	case c.output != nil:
		options = append(options, tea.WithColorProfile(colorprofile.Detect(c.output, c.streams.Environ)))
	default: // stands for a terminal
		options = append(options, tea.WithColorProfile(colorprofile.Env(c.streams.Environ)))
	}
	return options
}

// WatchSize sends the program the new sizes of the terminal until it ends.
func (c *Console) WatchSize(send func(tea.Msg)) {
	if c.output == nil {
		c.watchSizes(send)
		return
	}
	onResize(c.resized)
	defer signal.Stop(c.resized)
	if width, height := screenSize(c.output.Fd()); c.began != [2]int{width, height} { // before signals were caught
		send(tea.WindowSizeMsg{Width: width, Height: height})
	}
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

// watchSizes sends the program the sizes of an output that is not a terminal.
func (c *Console) watchSizes(send func(tea.Msg)) {
	for {
		select {
		case size, ok := <-c.streams.Sizes:
			if !ok {
				return
			}
			c.newest.Store(&size)
			send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		case <-c.done:
			return
		}
	}
}

// Newest returns the newest size of the terminal. Bubble Tea may deliver the first size after a newer one.
func (c *Console) Newest(size tea.WindowSizeMsg) tea.WindowSizeMsg {
	if c.output != nil {
		size.Width, size.Height = screenSize(c.output.Fd())
	} else if newest := c.newest.Load(); newest != nil {
		size.Width, size.Height = newest[0], newest[1]
	}
	return size
}

// NormalScreen undoes the modes that Bubble Tea may have set, for ends at which it does not do
// so itself. It terminates a partial frame, and may be sent twice.
const NormalScreen = ansi.ResetModeSynchronizedOutput + ansi.ResetStyle +
	ansi.ResetModifyOtherKeys + "\x1b[<1u" + // pops the keyboard's mode of this screen
	ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
	ansi.ResetModeFocusEvent + ansi.ResetModeBracketedPaste + ansi.ResetModeUnicodeCore +
	ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable

// cutOff terminates a partially received sequence, including a string.
const cutOff = "\x18\x1b\\"
