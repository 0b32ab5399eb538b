package tui

import (
	"io"
	"os"
	"os/signal"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
)

// console is the terminal of a screen: the modes and the keys of its input, the size of
// its output. Either may be something else, in tests.
type console struct {
	input   io.Reader // for Bubble Tea
	tty     *tty      // nil where the input is no terminal
	keys    *keyboard // nil there, too
	output  *os.File  // nil where the output is no terminal
	fresh   *os.File  // output by a description of its own, nil where there is none
	resized chan os.Signal
	done    <-chan struct{} // closed when the screen's program ends
}

// openConsole prepares a terminal for a screen without changing it. Ctrl+c is carried
// out by interrupt.
func openConsole(o Options, interrupt func()) (*console, error) {
	c := &console{input: o.Input, tty: holdTTY(o.Input), resized: make(chan os.Signal, 1)}
	if c.tty != nil {
		var err error
		if c.keys, err = newKeyboard(c.tty.file, interrupt); err != nil {
			return nil, err
		}
		if ownsTTY {
			c.input = c.keys
		}
	}
	if f, ok := o.Output.(*os.File); ok && term.IsTerminal(f.Fd()) {
		c.output = f
		c.fresh = reopen(f)
	}
	return c, nil
}

// writer is where the screen is written.
func (c *console) writer(o Options) io.Writer {
	if c.fresh != nil {
		return c.fresh
	}
	return o.Output
}

// take makes the terminal the screen's.
func (c *console) take() error {
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

// giveBack makes the terminal the shell's.
func (c *console) giveBack() {
	if c.tty != nil {
		c.keys.stop()
		c.tty.restore()
	}
}

// close forgets the terminal, once nothing reads or writes it any more.
func (c *console) close() {
	if c.keys != nil {
		_ = c.keys.Close()
	}
	if c.fresh != nil {
		_ = c.fresh.Close()
	}
}

// options tell Bubble Tea about the terminal.
func (c *console) options(o Options) []tea.ProgramOption {
	options := []tea.ProgramOption{tea.WithInput(c.input)}
	switch size := o.size; {
	case c.output != nil:
		options = append(options, tea.WithWindowSize(screenSize(c.output.Fd())))
	case size[0] > 0:
		options = append(options, tea.WithWindowSize(size[0], size[1]))
	}
	switch {
	case o.NoColor:
		options = append(options, tea.WithColorProfile(colorprofile.ASCII))
	case c.output != nil:
		options = append(options, tea.WithColorProfile(colorprofile.Detect(c.output, o.Environ)))
	}
	return options
}

// watchSize tells the program about new sizes of the terminal until it ends.
func (c *console) watchSize(send func(tea.Msg)) {
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

// normalScreen undoes what Bubble Tea may have switched on, where it does not
// do so itself. It ends a frame that was cut off, and may come twice.
const normalScreen = ansi.ResetModeSynchronizedOutput + ansi.ResetStyle +
	ansi.ResetModifyOtherKeys + "\x1b[<1u" + // pops the keyboard's mode of this screen
	ansi.ResetModeMouseButtonEvent + ansi.ResetModeMouseAnyEvent + ansi.ResetModeMouseExtSgr +
	ansi.ResetModeFocusEvent + ansi.ResetModeBracketedPaste + ansi.ResetModeUnicodeCore +
	ansi.ResetModeAltScreenSaveCursor + ansi.SetModeTextCursorEnable

// cutOff ends a sequence that the terminal received in part, a string as well.
const cutOff = "\x18\x1b\\"
