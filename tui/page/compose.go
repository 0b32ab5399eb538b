package page

import (
	"fmt"

	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// This file draws a page: a line of header, the content, and a line of keys and answers.

// compose assembles the frame.
func (p *Page) compose() {
	c := &p.frame
	c.Resize(p.w, p.h)
	if p.w < MinWidth || p.h < MinHeight {
		p.tooSmall(c)
		return
	}
	p.header(c)
	body := c.Sub(0, 1, p.w, p.h-2)
	p.content.Draw(&body)
	p.footer(c)
	box := p.content.Dialog(p.w, p.h)
	if p.help != nil {
		box = p.sheet()
	}
	if box != nil {
		widget.Overlay(c, box)
	}
}

// tooSmall asks for a larger terminal.
func (p *Page) tooSmall(c *chart.Canvas) {
	y := max(0, p.h/2-1)
	for i, s := range []string{
		fmt.Sprintf("terminal too small: %dx%d needed", MinWidth, MinHeight),
		fmt.Sprintf("this is %dx%d", p.w, p.h),
		p.Keys.Say("{quit|quitting} quits"),
	} {
		s = chart.Cut(s, p.w)
		c.Text((p.w-chart.Width(s))/2, y+i, s, theme.Plain)
	}
}

func (p *Page) header(c *chart.Canvas) {
	x := c.Text(1, 0, "prismtop", theme.Brand)
	status := p.content.Status()
	right := p.w - 1 - widget.Width(status)
	c.Text(x+2, 0, chart.Cut(p.content.Title(), max(0, right-x-4)), theme.Strong)
	widget.Put(c, right, 0, status)
}

// footer draws the keys and the answer to the last one.
func (p *Page) footer(c *chart.Canvas) {
	groups := p.content.Prompt()
	if groups == nil || p.help != nil {
		groups = nil
		for _, table := range p.tables() {
			for _, b := range table.Keys {
				if b.Short != "" {
					groups = append(groups, widget.Hint(b.Name(), b.Short, b.Rank))
				}
			}
		}
	}
	room := p.w - 2
	keys, _ := widget.FitKeys(groups, room)
	style := theme.Warn
	if p.answer.bad {
		style = theme.Bad
	}
	widget.Tell(c, p.h-1, room, keys, p.answer.text, style)
}

// sheet draws the help.
func (p *Page) sheet() *chart.Canvas {
	columns, width := widget.Columns(p.w-4, p.h-2, func(width int) [][]widget.Line {
		var blocks [][]widget.Line
		for _, t := range p.tables() {
			block := widget.Title(t.Title, width)
			for _, b := range t.Keys {
				block = append(block, widget.KeyLines(b.Name(), b.Help, width)...)
			}
			blocks = append(blocks, block)
		}
		var notes []widget.Line
		for _, n := range p.content.Notes() {
			notes = append(notes, widget.Wrapped(n, width, theme.Faint)...)
		}
		if notes == nil {
			return blocks
		}
		return append(blocks, notes)
	})
	return widget.Sheet(p.help, "Keys", "", columns, len(columns)*(width+2)-2, p.w, p.h)
}
