package page

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"

	"prismtop/tui/chart"
	"prismtop/tui/control"
	"prismtop/tui/keys"
	"prismtop/tui/program"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// note is a page's content that counts what it is told.
type note struct {
	pressed string
	open    bool // a dialog takes all keys
	opened  int
	crashes bool
}

func (n *note) Begin(context.Context) tea.Cmd { return nil }
func (n *note) Title() string                 { return "title" }
func (n *note) Status() []widget.Piece        { return []widget.Piece{{Text: "status", Style: theme.Faint}} }
func (n *note) Paste(string)                  {}
func (n *note) Wheel(string)                  {}
func (n *note) Hear(tea.Msg) tea.Cmd          { return nil }
func (n *note) Prompt() []widget.KeyGroup     { return nil }
func (n *note) Notes() []string               { return []string{"a note"} }

func (n *note) Draw(c *chart.Canvas) {
	if n.crashes {
		panic("out of cheese")
	}
	c.Text(0, 0, "content", theme.Plain)
}

func (n *note) Dialog(w, h int) *chart.Canvas { return nil }

func (n *note) Press(key string) (tea.Cmd, bool) {
	n.pressed += key + " "
	return nil, n.open
}

func (n *note) Click(_, _ int, twice bool) tea.Cmd {
	if twice {
		n.opened++
	}
	return nil
}

func (n *note) Tables() []Table {
	return []Table{{"Keys", []Binding{{keys.Row{Keys: []string{"o"}, Help: "open it", Short: "open"}, func() tea.Cmd { n.opened++; return nil }}}}}
}

// shown returns a page of the given size.
func shown(n *note, w, h int) *Page {
	at := time.Unix(1e9, 0)
	p := New(n, Options{Now: func() time.Time { return at }, On: terminal.Streams{Environ: []string{"TERM=xterm"}}})
	p.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	p.Update(tea.WindowSizeMsg{Width: w, Height: h})
	return p
}

func (p *Page) text() string { return ansi.Strip(p.View().Content) }

func key(name string) tea.KeyPressMsg {
	switch name {
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	case "alt+o":
		return tea.KeyPressMsg{Code: 'o', Mod: tea.ModAlt}
	}
	return tea.KeyPressMsg{Code: rune(name[0]), Text: name}
}

// Keys go to the content first, then to the bindings; the help takes those that scroll it.
func TestKeysOfAPage(t *testing.T) {
	n := &note{}
	p := shown(n, 80, 24)
	for _, want := range []string{"prismtop  title", "status", "content", "o open", "? help", "q quit"} {
		if !strings.Contains(p.text(), want) {
			t.Errorf("%q is missing:\n%s", want, p.text())
		}
	}
	p.Update(key("o"))
	p.Update(key("y"))
	if n.opened != 1 || !strings.Contains(p.text(), "y has no meaning here") {
		t.Errorf("opened %d times:\n%s", n.opened, p.text())
	}
	p.Update(key("?"))
	if !strings.Contains(p.text(), "open it") || !strings.Contains(p.text(), "a note") {
		t.Errorf("the help lacks a key or a note:\n%s", p.text())
	}
	p.Update(key("esc"))
	if strings.Contains(p.text(), "open it") {
		t.Error("esc leaves the help open")
	}
	p.Update(key("alt+o")) // esc and o, which a slow line delivered together
	if n.opened != 2 {
		t.Error("o after esc is lost")
	}
	before := p.View().Content
	if p.Update(key("C")); p.colours != terminal.DarkColours || p.View().Content == before {
		t.Error("C leaves the colours")
	}
}

// ctrl+c ends the page from a dialog that takes all other keys.
func TestInterruptingAPage(t *testing.T) {
	p := shown(&note{open: true}, 80, 24)
	if p.Update(key("q")); p.Failure() != nil {
		t.Error("a key of the dialog ends the page")
	}
	_, cmd := p.Update(key("ctrl+c"))
	if cmd == nil || !errors.Is(p.Failure(), control.ErrInterrupted) {
		t.Errorf("ctrl+c ends it with %v", p.Failure())
	}
	select {
	case <-p.Left():
	default:
		t.Error("it is not left")
	}
}

// A panic while drawing ends the program with an error.
func TestAPanicOfAPage(t *testing.T) {
	n := &note{}
	p := shown(n, 80, 24)
	n.crashes = true
	_, cmd := p.Update(key("o"))
	if err := p.Failure(); cmd == nil || err == nil || !strings.Contains(err.Error(), "out of cheese") {
		t.Errorf("the page ended with %v", err)
	}
}

// The end waits for the terminal's answers only while they may come.
func TestAnswersOfTheTerminal(t *testing.T) {
	p := shown(&note{}, 80, 24)
	now := time.Now()
	p.Mount(program.Stage{Output: terminal.Held()})
	if p.AnswersDue(now) {
		t.Error("answers are due, and nothing was asked")
	}
	p.Init()
	if !p.AnswersDue(time.Now()) || p.AnswersDue(time.Now().Add(time.Minute)) {
		t.Error("answers are due after a minute, or not at once")
	}
	if p.Update(uv.PrimaryDeviceAttributesEvent{}); p.AnswersDue(time.Now()) {
		t.Error("answers are due after the last")
	}
	p.Leave()
}

// A double click is two clicks on a cell within a moment.
func TestDoubleClicks(t *testing.T) {
	n := &note{}
	p := shown(n, 80, 24)
	at := time.Unix(1e9, 0)
	p.now = func() time.Time { return at }
	click := func(x int, later time.Duration) {
		at = at.Add(later)
		p.Update(tea.MouseClickMsg{X: x, Y: 5, Button: tea.MouseLeft})
	}
	click(5, 0)
	click(6, 0)
	click(6, time.Second)
	if n.opened != 0 {
		t.Error("clicks on two cells, or a second apart, are a double click")
	}
	if click(6, 100*time.Millisecond); n.opened != 1 {
		t.Error("a double click is none")
	}
	if click(6, 100*time.Millisecond); n.opened != 1 {
		t.Error("a third click is another double click")
	}
}

func TestAPageThatIsTooSmall(t *testing.T) {
	p := shown(&note{}, MinWidth-1, MinHeight)
	if !strings.Contains(p.text(), "terminal too small: 60x15 needed") {
		t.Errorf("it shows\n%s", p.text())
	}
}
