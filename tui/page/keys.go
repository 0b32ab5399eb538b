package page

import (
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/tui/keys"
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
	return p.Bind(keys.Page, map[profiles.Action]func() tea.Cmd{
		"help": p.toggleHelp, "mouse": p.toggleMouse, "colours": p.cycleColours, "close": p.back,
		"redraw": func() tea.Cmd { return tea.ClearScreen }, "suspend": p.suspend, "quit": p.Quit,
		"interrupt": p.interrupt,
	})
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
			if !b.Has(key) {
				continue
			}
			if b.Action != "help" && b.Action != "colours" {
				p.help = nil
			}
			if b.Run == nil {
				return nil
			}
			return b.Run()
		}
	}
	p.Say(key + " has no meaning here: " + p.Keys.Say("{help|the help} lists the keys"))
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
	return tea.Exec(p.stage.Console.Suspension(p.stage.Output, func() {}), func(err error) tea.Msg {
		return awakeMsg{err}
	})
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
	p.content.Wheel(step)
}
