package tui

import (
	"io"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/terminal"
)

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
	Panes []Spec
	// Summary is the text that Run prints after the screen is gone: of a run that does what state
	// says, where threads 0 is one for each of so many cores, for a terminal of so many columns.
	// Nothing is printed where it is nil.
	Summary func(s *profiles.Snapshot, state string, cores, columns int) string

	// Notices are how the user is told that the run finished, failed or stalled.
	Notices Notices

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
