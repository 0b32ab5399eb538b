package ablation

import (
	"cmp"
	"fmt"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
)

// Choice is the list from which an ablation is started: of single settings, which is selected
// first, or of every combination of chosen ones.
type Choice struct {
	table   *settings.Table
	factors []settings.Factor
	chosen  []bool
	row     int // the two kinds of ablation, then the factors
}

// Rows of the list before the factors.
const (
	singleRow = iota
	factorialRow
	factorRows
)

// Offered reports whether a table has enough settings for a factorial ablation.
func Offered(t *settings.Table) bool { return len(t.Compares()) >= settings.LeastFactors }

// NewChoice opens the list for a table. remembered names the factors chosen before; without any
// that exist, the table's default is chosen.
func NewChoice(t *settings.Table, remembered []string) *Choice {
	c := &Choice{table: t, factors: t.Factors()}
	c.chosen = make([]bool, len(c.factors))
	for i, f := range c.factors {
		if slices.Contains(remembered, f.Name) && len(c.overlapping(i)) == 0 && len(c.Names()) < settings.MostFactors {
			c.chosen[i] = true
		}
	}
	if len(c.Names()) == 0 {
		for i, f := range c.factors {
			c.chosen[i] = f.Default
		}
	}
	return c
}

// Press handles a key that selects a row or chooses a factor, and returns what to tell
// about it; known is false for other keys.
func (c *Choice) Press(key string) (said string, known bool) {
	if key == "space" {
		return c.toggle(), true
	}
	c.row, known = widget.Around(key, c.row, factorRows+len(c.factors))
	return "", known
}

// toggle chooses the selected factor, or no longer. One that switches a setting of others replaces
// them.
func (c *Choice) toggle() (said string) {
	i := c.row - factorRows
	if i < 0 {
		return "space chooses a setting of the factorial below"
	}
	replaced := c.overlapping(i)
	switch {
	case c.chosen[i]:
		c.chosen[i] = false
	case len(c.Names())-len(replaced) >= settings.MostFactors:
		return fmt.Sprintf("at most %d: choose one less first", settings.MostFactors)
	default:
		for _, j := range replaced {
			c.chosen[j] = false
		}
		c.chosen[i] = true
	}
	return ""
}

// overlapping lists the chosen factors, other than i, that switch one of its settings.
func (c *Choice) overlapping(i int) (all []int) {
	for j := range c.factors {
		if j != i && c.chosen[j] && c.factors[j].Overlaps(&c.factors[i]) {
			all = append(all, j)
		}
	}
	return all
}

// Factorial reports whether a factorial ablation is selected.
func (c *Choice) Factorial() bool { return c.row != singleRow }

// Factors returns the chosen factors. An error says how many there must be.
func (c *Choice) Factors() ([]settings.Factor, error) {
	var chosen []settings.Factor
	for i, f := range c.factors {
		if c.chosen[i] {
			chosen = append(chosen, f)
		}
	}
	if n := len(chosen); n < settings.LeastFactors || n > settings.MostFactors {
		return nil, fmt.Errorf("choose %d to %d settings with space", settings.LeastFactors, settings.MostFactors)
	}
	return chosen, nil
}

// Names returns the names of the chosen factors.
func (c *Choice) Names() (names []string) {
	for i, f := range c.factors {
		if c.chosen[i] {
			names = append(names, f.Name)
		}
	}
	return names
}

// Rows returns the height of the list.
func (c *Choice) Rows() int { return factorRows + len(c.factors) }

// Width of the list, and the column of the notes.
const (
	ChoiceWidth = 74
	choiceNote  = 26
)

// Draw draws the list, scrolled so that the selected row is visible. Where its note has no room
// beside it, the last line has it.
func (c *Choice) Draw(canvas *chart.Canvas, s *profiles.Snapshot) {
	w, h := canvas.Size()
	if note, from := c.note(s); chart.Width(note) > w-from && h > factorRows {
		h--
		canvas.Text(2, h, chart.Cut(note, max(w-2, 0)), theme.Faint)
	}
	first := max(0, min(c.row-h/2, c.Rows()-h))
	for y := range min(h, c.Rows()) {
		row := first + y
		if row == c.row {
			canvas.Text(0, y, "▸", theme.Key)
		}
		note, from := "", choiceNote
		if row < factorRows {
			name, estimate := c.kind(row, s)
			note, from = estimate, kindNote(canvas.Text(2, y, name, theme.Strong))
		} else {
			note = c.drawFactor(canvas, y, row-factorRows)
		}
		canvas.Text(from, y, chart.Cut(note, max(w-from, 0)), theme.Faint)
	}
}

// note returns the note of the selected row, and its column.
func (c *Choice) note(s *profiles.Snapshot) (text string, from int) {
	if c.row < factorRows {
		name, estimate := c.kind(c.row, s)
		return estimate, kindNote(2 + chart.Width(name))
	}
	f := &c.factors[c.row-factorRows]
	if text = f.Text(); text == f.Name {
		text = ""
	}
	return text, choiceNote
}

// kindNote returns the column of the note of a kind of ablation, whose name ends at a column.
func kindNote(end int) int { return max(choiceNote+6, end+2) }

// kind returns the name of a kind of ablation and how long it takes.
func (c *Choice) kind(row int, s *profiles.Snapshot) (name, estimate string) {
	if row == singleRow {
		return "each alone, ● and ○", cmp.Or(Length(s), fmt.Sprintf("%d comparisons", pairsOf(c.table)))
	}
	n := len(c.Names())
	name = fmt.Sprintf("all combinations of %d ●", n)
	if n < settings.LeastFactors {
		return name, fmt.Sprintf("choose %d to %d", settings.LeastFactors, settings.MostFactors)
	}
	return name, cmp.Or(FactorialLength(s, n), fmt.Sprintf("%d combinations", 1<<n))
}

// drawFactor draws a factor, and returns what it switches unless its name says so.
func (c *Choice) drawFactor(canvas *chart.Canvas, y, i int) (note string) {
	f := &c.factors[i]
	lamp, style := "○", theme.Faint
	if c.chosen[i] {
		lamp, style = "●", theme.Good
	}
	canvas.Text(4, y, lamp, style)
	canvas.Text(6, y, chart.Cut(f.Name, choiceNote-7), theme.Plain)
	if text := f.Text(); text != f.Name {
		return text
	}
	return ""
}
