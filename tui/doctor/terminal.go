package doctor

import (
	"fmt"
	"os"
	"strings"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	console "prismtop/tui/terminal"
	"prismtop/tui/theme"
)

// Terminal holds what the environment reveals about the terminal.
type Terminal struct {
	Interactive bool   `json:"interactive"`
	Reason      string `json:"reason,omitempty"` // why the screen cannot be drawn
	Term        string `json:"term"`
	ColorTerm   string `json:"colorterm"`
	Program     string `json:"program,omitempty"` // TERM_PROGRAM
	Multiplexer string `json:"multiplexer,omitempty"`
	Colors      string `json:"colors"`   // colours at the start of the screen
	Pictures    string `json:"pictures"` // how they are drawn
	NoColor     bool   `json:"no_color"`
	Width       int    `json:"width,omitempty"`
	Height      int    `json:"height,omitempty"`
	UTF8        bool   `json:"utf8"`
	Locale      string `json:"locale"` // the variable in effect, "LC_ALL=C"
	Plain       string `json:"-"`      // why the screen is drawn in ASCII, "" if it is not
	SSH         bool   `json:"ssh"`
	// Synchronized reports whether frames are drawn in one piece. Only the terminal itself
	// knows, when the screen queries it.
	Synchronized       *bool    `json:"synchronized_output"`
	SynchronizedReason string   `json:"synchronized_output_reason,omitempty"`
	Advice             []string `json:"advice,omitempty"`
}

// Minimum size of the screen for the panes, in columns and rows.
const (
	minWidth  = 60
	minHeight = 15
)

// terminal reads the environment and the terminal's size.
func terminal(out *os.File, environment []string) Terminal {
	env := environ(environment)
	profile := colorprofile.Detect(out, environment)
	if env["NO_COLOR"] != "" { // with any value
		profile = min(profile, colorprofile.ASCII)
	}
	t := Terminal{
		Term: env["TERM"], ColorTerm: env["COLORTERM"], Program: env["TERM_PROGRAM"],
		Colors: colors(profile), Pictures: pictures(profile),
		NoColor:            env["NO_COLOR"] != "",
		SSH:                env["SSH_TTY"] != "" || env["SSH_CONNECTION"] != "",
		SynchronizedReason: "the screen asks the terminal when it starts",
	}
	t.Locale, t.UTF8 = console.Locale(environment)
	t.Plain = console.Plain(environment)
	switch {
	case env["TMUX"] != "":
		t.Multiplexer = "tmux"
	case env["STY"] != "":
		t.Multiplexer = "screen"
	}
	t.Interactive = out != nil && term.IsTerminal(out.Fd())
	if t.Interactive {
		if w, h, err := term.GetSize(out.Fd()); err == nil {
			t.Width, t.Height = w, h
		}
	} else {
		t.Reason = "stdout is no terminal: runs are headless"
	}
	t.Advice = t.advise()
	return t
}

// advise lists what would improve the screen.
func (t Terminal) advise() []string {
	var advice []string
	if t.Interactive && t.Width > 0 && (t.Width < minWidth || t.Height < minHeight) {
		advice = append(advice, "the window is smaller than 60x15; panes need that much")
	}
	switch {
	case t.Plain != "":
		advice = append(advice, t.Plain+": the screen is drawn in ASCII; --ascii=false draws all characters")
	case !t.UTF8:
		advice = append(advice, "no locale is set: a terminal without UTF-8 needs --ascii")
	}
	if !t.NoColor && t.Interactive && (t.Colors == "none" || t.Colors == "16") {
		advice = append(advice, "few colours: pictures are drawn in braille; TERM=xterm-256color or "+
			"COLORTERM=truecolor gives them colours where the terminal has these")
	}
	if !t.NoColor && t.Interactive && t.Colors == "256" {
		switch {
		case t.Multiplexer == "tmux":
			advice = append(advice, "pictures have 64 levels instead of 24 where tmux may pass 24-bit colours on: set "+
				"-as terminal-features ',*:RGB'")
		case t.SSH && t.ColorTerm == "":
			advice = append(advice, "SSH leaves COLORTERM behind; the screen asks the terminal itself, and "+
				"COLORTERM=truecolor says it where that does not answer")
		}
	}
	return advice
}

// environ returns the environment as a map. The last of duplicate variables counts.
func environ(list []string) map[string]string {
	m := make(map[string]string, len(list))
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		m[name] = value
	}
	return m
}

// colors names a colour profile by its number of colours.
func colors(p colorprofile.Profile) string {
	switch p {
	case colorprofile.TrueColor:
		return "truecolor"
	case colorprofile.ANSI256:
		return "256"
	case colorprofile.ANSI:
		return "16"
	}
	return "none"
}

// pictures describes how the screen draws pictures with a colour profile, before the terminal
// has answered.
func pictures(p colorprofile.Profile) string {
	switch p {
	case colorprofile.TrueColor:
		return fmt.Sprintf("half blocks in 24-bit colours, %d greys", theme.Greys.Levels(theme.TrueColor))
	case colorprofile.ANSI256:
		return fmt.Sprintf("half blocks in the 256-colour palette, %d greys", theme.Greys.Levels(theme.Colors256))
	}
	return "braille"
}
