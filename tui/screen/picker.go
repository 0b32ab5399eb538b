package screen

import (
	"slices"
	"strconv"

	tea "charm.land/bubbletea/v2"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// valueList is the open list of a setting's values, of which it requests the selected one.
type valueList struct {
	*tuning
	listed []string // the settings to cycle through
	at     int      // index in listed of the setting whose values are shown
	row    int      // index of the selected value
}

// newValueList returns the values of the first of the given settings.
func newValueList(t *tuning, keys []string) *valueList {
	p := &valueList{tuning: t, listed: keys}
	p.from(0)
	return p
}

// from switches to another setting and selects its current value.
func (p *valueList) from(at int) {
	p.at = (at + len(p.listed)) % len(p.listed)
	p.row = max(0, slices.Index(p.values(), p.asked(p.key())))
}

func (p *valueList) key() string { return p.listed[p.at] }

func (p *valueList) values() []string {
	k, _ := p.table.Lookup(p.key())
	return k.Allowed
}

func (p *valueList) press(s string) (tea.Cmd, outcome) {
	n := len(p.values())
	switch {
	case p.keys.closes(s) || p.keys.Is("choose", s):
		return nil, closed
	case s == "left":
		p.from(p.at - 1)
	case s == "right":
		p.from(p.at + 1)
	case s == "enter" || s == "space":
		p.pick(p.row)
		return nil, closed
	case isDigit(s) && int(s[0]-'1') < n:
		p.pick(int(s[0] - '1'))
		return nil, closed
	default:
		return nil, selects(&p.row, s, n)
	}
	return nil, held
}

// pick requests a value.
func (p *valueList) pick(row int) {
	key, value := p.key(), p.values()[row]
	if value == p.asked(key) {
		p.say(p.nameOf(key) + " is " + value + " already")
		return
	}
	p.set(key, value)
}

func (p *valueList) box(in room) *chart.Canvas {
	values, key := p.values(), p.key()
	foot := "enter or a digit sets it, esc leaves"
	if len(p.listed) > 1 {
		foot = "enter or a digit, ← → other settings, esc"
	}
	top := 0
	if len(p.listed) > 1 {
		top = 2
	}
	rows := min(len(values)+top, in.h-2)
	return in.dialog(words.Capital(p.nameOf(key)), foot, 70, rows, func(c *chart.Canvas) {
		w, _ := c.Size()
		x := 0
		for i, k := range p.listed[:top/2*len(p.listed)] {
			style := theme.Faint
			if i == p.at {
				style = theme.Strong
			}
			x = c.Text(x, 0, p.nameOf(k), style) + 3
		}
		for i, v := range values {
			y := top + i
			if i == p.row {
				c.Text(0, y, "▸", theme.Key)
			}
			c.Text(2, y, strconv.Itoa(i+1), theme.Key)
			lamp, style, name := "○", theme.Faint, theme.Plain
			switch {
			case v == p.asked(key):
				lamp, style = "●", theme.Good
			case p.unavailable(key, v) != "":
				lamp, name = "–", theme.Faint
			}
			c.Text(4, y, lamp, style)
			c.Text(6, y, v, name)
			c.Text(18, y, chart.Cut(p.valueNote(key, v), max(w-18, 0)), theme.Faint)
		}
	})
}
