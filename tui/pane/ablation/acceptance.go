package ablation

import (
	"fmt"

	"prismtop/profiles/criteria"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// A list of acceptance, drawn below the table of an ablation with its verdicts and reasons.

// verdictColumns is the width of a verdict with the space after it.
const verdictColumns = 6

// acceptance draws a list of acceptance of a name between row y and end, and returns the next free row and the
// number of criteria that had no room. Reasons are left out if not all of them fit.
func acceptance(c *chart.Canvas, y, end int, name string, list []criteria.Judged) (next, hidden int) {
	w, _ := c.Size()
	w -= 2 + verdictColumns
	whole := make([][]string, len(list))
	rows := 1
	for i, k := range list {
		whole[i] = words.Wrap(sentence(k), w)
		rows += len(whole[i])
	}
	brief := rows > end-y
	if !brief || len(list)+1 <= end-y {
		c.Text(2, y, chart.Cut(name+", judged by this run", w+verdictColumns), theme.Axis)
		y++
	}
	for i, k := range list {
		if y >= end {
			return y, len(list) - i
		}
		word, style := verdictCell(k.Verdict)
		c.Text(2, y, word, style)
		if brief {
			whole[i] = []string{k.Name + " " + k.Measured + ", wanted " + k.Wanted}
			if k.Verdict == criteria.Impossible {
				whole[i][0] = k.Name + " " + string(k.Verdict) + ", " + k.Measured
			}
		}
		for _, line := range whole[i] {
			c.Text(2+verdictColumns, y, chart.Cut(line, w), theme.Plain)
			y++
		}
	}
	return y, 0
}

// verdictCell returns the mark of a verdict.
func verdictCell(v criteria.Verdict) (string, theme.Style) {
	switch v {
	case criteria.Pass:
		return string(v), theme.Good
	case criteria.Fail:
		return string(v), theme.Bad
	case criteria.Undecided:
		return "?", theme.Warn
	}
	return "–", theme.Warn
}

// sentence says what a criterion comes to, and why.
func sentence(k criteria.Judged) string {
	text := fmt.Sprintf("%s %s, wanted %s: ", k.Name, k.Measured, k.Wanted)
	if k.Verdict == criteria.Impossible || k.Verdict == criteria.Undecided {
		text += string(k.Verdict) + ", "
	}
	return text + k.Reason
}

// withList draws the acceptance list below the table, and what else there is room for below it. The text for
// the frame says what had none.
func (p *view) withList(c *chart.Canvas, list []criteria.Judged) (string, theme.Style) {
	a := shown(p.Snap)
	_, h := c.Size()
	y := len(a.Rows) + 1
	if y+1+len(list) < h-1 {
		y++
	}
	y, hidden := acceptance(c, y, h-1, p.Snap.Run.Schema.Acceptance.Name, list)
	p.below(c, y+1, h-1, a)
	p.foot(c, a)
	if hidden > 0 {
		return fmt.Sprintf("%d of the acceptance list in a larger pane", hidden), theme.Faint
	}
	return "", theme.Faint
}
