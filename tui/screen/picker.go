package screen

import (
	"cmp"
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file shows the list of a setting's values and toggles a setting between off and its last
// value.

// valueList is the open list of values.
type valueList struct {
	table *settings.Table
	keys  []string // the settings to cycle through
	at    int      // index in keys of the listed setting
	row   int      // index of the selected value
}

// openPicks opens the value list.
func (m *Model) openPicks() { m.openPicker(m.keys.picks) }

// openPicker lists the values of the first of the given settings.
func (m *Model) openPicker(keys []string) {
	if m.snap == nil {
		m.complain(errNotBegun.Error())
		return
	}
	p := &valueList{table: m.table, keys: keys}
	p.from(m, 0)
	m.lay(p)
}

// from switches to another setting and selects its current value.
func (p *valueList) from(m *Model, at int) {
	p.at = (at + len(p.keys)) % len(p.keys)
	p.row = max(0, slices.Index(p.values(), m.asked(p.key())))
}

func (p *valueList) key() string { return p.keys[p.at] }

func (p *valueList) values() []string {
	k, _ := p.table.Lookup(p.key())
	return k.Allowed
}

func (p *valueList) press(m *Model, s string) (cmd tea.Cmd, left bool) {
	n := len(p.values())
	switch {
	case m.closes(s) || m.keys.Is("choose", s):
		m.lift()
	case s == "left":
		p.from(m, p.at-1)
	case s == "right":
		p.from(m, p.at+1)
	case s == "enter" || s == "space":
		p.pick(m, p.row)
	default:
		p.row, _ = widget.Around(s, p.row, n)
		if isDigit(s) && int(s[0]-'1') < n {
			p.pick(m, int(s[0]-'1'))
		}
	}
	return nil, false
}

// pick requests a value and closes the list.
func (p *valueList) pick(m *Model, row int) {
	key, value := p.key(), p.values()[row]
	m.lift()
	if value == m.asked(key) {
		m.say(m.nameOf(key) + " is " + value + " already")
		return
	}
	m.set(key, value)
}

func (p *valueList) box(m *Model) []string {
	values, key := p.values(), p.key()
	foot := "enter or a digit sets it, esc leaves"
	if len(p.keys) > 1 {
		foot = "enter or a digit, ← → other settings, esc"
	}
	top := 0
	if len(p.keys) > 1 {
		top = 2
	}
	rows := min(len(values)+top, m.layout.H-2)
	return m.dialog(words.Capital(m.nameOf(key)), foot, 70, rows, func(c *chart.Canvas) {
		w, _ := c.Size()
		x := 0
		for i, k := range p.keys[:top/2*len(p.keys)] {
			style := theme.Faint
			if i == p.at {
				style = theme.Strong
			}
			x = c.Text(x, 0, m.nameOf(k), style) + 3
		}
		for i, v := range values {
			y := top + i
			if i == p.row {
				c.Text(0, y, "▸", theme.Key)
			}
			c.Text(2, y, strconv.Itoa(i+1), theme.Key)
			lamp, style, name := "○", theme.Faint, theme.Plain
			switch {
			case v == m.asked(key):
				lamp, style = "●", theme.Good
			case m.unavailable(key, v) != "":
				lamp, name = "–", theme.Faint
			}
			c.Text(4, y, lamp, style)
			c.Text(6, y, v, name)
			c.Text(18, y, chart.Cut(m.valueNote(key, v), max(w-18, 0)), theme.Faint)
		}
	})
}

// toggle switches a setting off, to the first of its values, or back to the last other value
// used.
func (m *Model) toggle(k *settings.Key) {
	off, on := k.Allowed[0], k.Usual()
	if value, _ := m.value(k.Name); value != off {
		m.lastUsed[k.Name] = value
		m.set(k.Name, off)
		return
	}
	m.set(k.Name, cmp.Or(m.lastUsed[k.Name], on))
	if !m.status.bad && k.Listed > 0 && m.when(k.Name) == "" {
		m.status.brief = append([]string{m.status.text}, m.status.brief...)
		m.status.text += m.keys.Say(listsModes)
	}
}
