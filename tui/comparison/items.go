package comparison

import (
	"cmp"
	"strings"

	"prismtop/profiles/compare"
	"prismtop/profiles/visible"
	"prismtop/tui/theme"
)

// This file lists what the table shows: warnings first, since they qualify all else, the rows by group,
// and the settings that differ.

// item is a line of the list: a row of the comparison, or a text.
type item struct {
	row   *compare.Row
	text  string
	style theme.Style
	// full is the text of a line that is cut, for the lines about the selected item.
	full string
}

// arrange makes the list for the side and the filter. The selected row stays selected.
func (s *Screen) arrange() {
	var before *compare.Row
	if s.list.At < len(s.items) {
		before = s.items[s.list.At].row
	}
	s.items = s.items[:0]
	line := func(text string, style theme.Style) {
		s.items = append(s.items, item{text: visible.Text(text), style: style, full: visible.Text(text)})
	}
	for _, w := range s.c.Warnings {
		line("▴ "+w.Text, theme.Warn)
	}
	if common := &s.c.Common[s.side-1]; common.Text != "" {
		line(capital(common.Text)+".", theme.Strong)
	}
	group := compare.Group(255)
	hidden := 0
	for i := range s.c.Rows {
		r := &s.c.Rows[i]
		if !s.shown.passes(r.Against[s.side-1].Verdict) {
			hidden++
			continue
		}
		if r.Group != group {
			group = r.Group
			s.items = append(s.items, item{text: group.String(), style: theme.Title})
		}
		if r == before {
			s.list.At = len(s.items)
		}
		s.items = append(s.items, item{row: r})
	}
	if hidden > 0 {
		line(plural(hidden, "row is", "rows are")+" hidden: v", theme.Faint)
	}
	s.items = append(s.items, item{text: "settings that differ", style: theme.Title})
	for _, set := range s.c.Settings {
		var values []string
		for k, v := range set.Values {
			values = append(values, compare.Letter(k)+" "+cmp.Or(v, "none"))
		}
		text := " " + set.Key + "  " + strings.Join(values, ", ")
		if set.Limit {
			text += "  (only ends a unit or the run)"
		}
		line(text, theme.Plain)
	}
	if len(s.c.Settings) == 0 {
		line(" none", theme.Faint)
	}
	s.list.Select(min(s.list.At, len(s.items)-1), len(s.items))
	s.skipTitle(false)
}

// passes reports whether a filter shows a row with a verdict.
func (f filter) passes(v compare.Verdict) bool {
	switch f {
	case judgedRows:
		return v != compare.InNoise && v != compare.NotComparable
	case differences:
		return v == compare.Faster || v == compare.Slower || v == compare.More || v == compare.Less
	}
	return true
}

// style returns the colour of a verdict.
func style(r *compare.Row, i int) theme.Style {
	switch r.Sense(i) {
	case 1:
		return theme.Good
	case -1:
		return theme.Bad
	}
	switch r.Against[i].Verdict {
	case compare.More, compare.Less:
		return theme.Strong
	case compare.Equal:
		return theme.Plain
	}
	return theme.Faint
}

// brief returns a row's verdict for w cells.
func brief(r *compare.Row, i, w int) string {
	d := &r.Against[i]
	full := r.Words(i)
	if d.Verdict == compare.NotComparable && d.Briefly != "" {
		full += ": " + d.Briefly
	}
	texts := []string{visible.Text(full), r.Words(i)}
	switch d.Verdict {
	case compare.Equal:
		if d.Within != 0 {
			texts = append(texts, "equal ±"+r.Amount(d.Within))
		}
		texts = append(texts, "equal")
	case compare.NotComparable:
		texts = append(texts, visible.Text(d.Briefly), "–")
	}
	for _, text := range texts {
		if width(text) <= w && text != "" {
			return text
		}
	}
	return texts[len(texts)-1]
}
