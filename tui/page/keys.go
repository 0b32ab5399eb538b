package page

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/terminal"
	"prismtop/tui/widget"
)

// This file handles keys and the mouse.

// doubleClick is the maximum time between the two clicks of a double click.
const doubleClick = 400 * time.Millisecond

// click is the last click, the possible first half of a double click.
type click struct {
	x, y int
	at   time.Time
}

// keys are the page's own bindings.
func (p *Page) keys() Table {
	return Table{"The page", []Binding{
		{Keys: []string{"?", "h"}, Help: "these keys", Short: "help", Run: p.toggleHelp},
		{Keys: []string{"M"}, Help: "mouse on or off", Run: p.toggleMouse},
		{Keys: []string{"C"}, Help: "colours", Run: p.cycleColours},
		{Keys: []string{"esc"}, Help: "close what is open", Run: p.back},
		{Keys: []string{"ctrl+l"}, Help: "redraw the screen", Run: func() tea.Cmd { return tea.ClearScreen }},
		{Keys: []string{"ctrl+z"}, Help: "suspend", Run: p.suspend},
		{Keys: []string{"q"}, Help: "back, or quit", Short: "quit", Run: p.Quit},
		{Keys: []string{"ctrl+c"}, Help: "quit at once", Run: p.interrupt},
	}}
}

// tables returns all bindings.
func (p *Page) tables() []Table { return append(slices.Clip(p.content.Tables()), p.keys()) }

// press runs the action of a key.
func (p *Page) press(msg tea.KeyPressMsg) tea.Cmd {
	if rest, escaped := terminal.WithoutEsc(msg); escaped {
		return tea.Batch(p.press(tea.KeyPressMsg{Code: tea.KeyEscape}), p.press(rest))
	}
	key := msg.String()
	switch {
	case key == "ctrl+c":
		return p.interrupt()
	case p.help != nil && key == "esc":
		return p.back()
	case p.help != nil && p.help.Move(key):
		return nil
	}
	if p.help == nil {
		if cmd, handled := p.content.Press(key); handled {
			return cmd
		}
	}
	for _, table := range p.tables() {
		for _, b := range table.Keys {
			if slices.Contains(b.Keys, key) {
				if !slices.Contains(b.Keys, "?") && !slices.Contains(b.Keys, "C") {
					p.help = nil
				}
				return b.Run()
			}
		}
	}
	p.Say(key + " has no meaning here: ? lists the keys")
	return nil
}

func (p *Page) toggleHelp() tea.Cmd {
	if p.help != nil {
		p.help = nil
	} else {
		p.help = &widget.Scroll{}
	}
	return nil
}

// back closes the help. What else is open closes itself on esc.
func (p *Page) back() tea.Cmd {
	p.help = nil
	return nil
}

func (p *Page) interrupt() tea.Cmd {
	p.interrupted = true
	return p.Quit()
}

func (p *Page) toggleMouse() tea.Cmd {
	p.mouse = !p.mouse
	if p.mouse {
		p.Say("mouse on: a click selects, a double click opens; shift selects text")
	} else {
		p.Say("mouse off")
	}
	return nil
}

func (p *Page) cycleColours() tea.Cmd {
	p.colours = p.colours.Next()
	p.retheme()
	text := "colours " + p.colours.String()
	if p.colours == terminal.AutoColours {
		text += ": by the terminal's answers"
	}
	p.Say(text)
	return nil
}

// suspend stops the process until the shell continues it.
func (p *Page) suspend() tea.Cmd {
	switch {
	case p.stage.Console == nil || p.asleep:
		return nil
	case !p.stage.Console.Suspends():
		p.Say("a program cannot be suspended here")
		return nil
	}
	p.asleep = true
	return tea.Exec(p.stage.Console.Suspension(p.stage.Output, func() {}), func(err error) tea.Msg { return awakeMsg{err} })
}

// clicked closes the help, or hands a click to the content.
func (p *Page) clicked(e tea.Mouse) tea.Cmd {
	if e.Button != tea.MouseLeft {
		return nil
	}
	if p.help != nil {
		return p.back()
	}
	now := p.now()
	twice := p.click.x == e.X && p.click.y == e.Y && now.Sub(p.click.at) <= doubleClick
	p.click = click{e.X, e.Y, now}
	if twice {
		p.click.at = time.Time{}
	}
	return p.content.Click(e.X, e.Y-1, twice)
}

// wheeled scrolls the help or the content.
func (p *Page) wheeled(e tea.Mouse) {
	step := "down"
	switch e.Button {
	case tea.MouseWheelUp:
		step = "up"
	case tea.MouseWheelDown:
	default:
		return
	}
	if p.help != nil {
		p.help.Move(step)
		return
	}
	p.content.Wheel(step == "down")
}

// KeySections returns the keys that every page has, for the manuals.
func KeySections() []widget.KeySection {
	keys := (&Page{}).keys()
	return Sections("", []Table{{"The table of runs and the comparison alike", keys.Keys}})
}

// Sections returns bindings for the manuals, where titles follow the name of their page.
func Sections(of string, tables []Table) []widget.KeySection {
	var sections []widget.KeySection
	for _, t := range tables {
		s := widget.KeySection{Title: t.Title}
		if of != "" {
			s.Title = of + ": " + strings.ToLower(t.Title[:1]) + t.Title[1:]
		}
		for _, b := range t.Keys {
			s.Keys = append(s.Keys, widget.ManualKey{Keys: b.Keys, Does: b.Help})
		}
		sections = append(sections, s)
	}
	return sections
}
