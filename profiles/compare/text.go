package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"prismtop/profiles/report"
	"prismtop/profiles/unit"
)

// A comparison as text and as Markdown.

const (
	// titleWidth is the most cells that a row's title takes of a terminal's line.
	titleWidth = 18
	// floorWidth is the width in cells from which the table has the A/A floor too, and the verdicts in full.
	floorWidth = 96
)

// WriteText writes a comparison as text for a terminal of a width in cells; 0 is unlimited. The table
// needs 80.
func WriteText(w io.Writer, c *Comparison, width int) error {
	if width > 0 {
		width = max(width, 80)
	}
	l := written{Comparison: c, short: width > 0 && width < floorWidth, terminal: true, narrow: width > 0}
	if width == 0 {
		width = 100 // of the sentences
	}
	return l.document().WriteText(w, width)
}

// WriteMarkdown writes a comparison as Markdown.
func WriteMarkdown(w io.Writer, c *Comparison) error {
	return (&written{Comparison: c}).document().WriteMarkdown(w)
}

// begins matches the beginning of a comparison as Markdown: its title, and the first recording with its iterations.
var begins = regexp.MustCompile(`\A# Comparison\n\nA\s+[^\n]+: \d+ iterations? in \d`)

// IsMarkdown reports whether a text is the beginning of a comparison as Markdown.
func IsMarkdown(head []byte) bool { return begins.Match(head) }

// written is a comparison as a document.
type written struct {
	*Comparison
	short    bool // without the A/A floors, with short verdicts
	terminal bool // without what a page has room for
	narrow   bool // with short titles
}

// document returns the comparison as a document.
func (l *written) document() *report.Document {
	d := &report.Document{Title: "Comparison"}
	l.sides(d)
	if l.Kind != "" {
		d.Paragraph("times of: %s", l.Kind)
	}
	for _, common := range l.Common {
		if common.Text != "" {
			d.Paragraph("%s.", upper(common.Text))
		}
	}
	for k := 1; k < len(l.Sides); k++ {
		if !l.terminal {
			d.Heading(2, Letter(k)+" against "+Letter(0))
		}
		l.rows(d, k)
	}
	l.settings(d)
	for _, warning := range l.Warnings {
		d.Paragraph("! %s", warning.Text)
	}
	d.Paragraph("%s", l.Footnote())
	return d
}

// Footnote says what the intervals mean.
func (c *Comparison) Footnote() string {
	if c.Intervals == 0 {
		return c.unsampled()
	}
	all := fmt.Sprintf("All %d intervals hold together in 95 of 100 comparisons (Bonferroni)", c.Intervals)
	switch c.Design {
	case Alternating:
		return all + "; those of times are from rounds in the order A B B A or B A A B."
	case Replicated:
		return all + "; those of times are as wide as the recordings of a side differ."
	}
	return all + "; those of times are from blocks of half a second or more, and never narrower than what " +
		"either side differs from itself."
}

// unsampled says what the intervals mean where none is of a sample.
func (c *Comparison) unsampled() string {
	for i := range c.Rows {
		for k := range c.Rows[i].Against {
			if c.Rows[i].Interval(k) != "" {
				return "No time could be compared. The intervals of memory and results are as wide as these numbers " +
					"stray by themselves."
			}
		}
	}
	return "No number has an interval."
}

// Letter names a side in tables: A is the base.
func Letter(side int) string {
	if side < 26 {
		return string(rune('A' + side))
	}
	return fmt.Sprint(side + 1)
}

// sides adds what is compared.
func (l *written) sides(d *report.Document) {
	for i := range l.Sides {
		s := &l.Sides[i]
		if l.Design == Alternating {
			all := int64(0)
			for j := range s.Runs {
				all += s.Runs[j].Iterations
			}
			d.Paragraph("%s  %s: %s in %s", Letter(i), s.Name, unit.Plural(int(all), "iteration", "iterations"),
				unit.Plural(len(s.Runs), "start", "starts"))
			continue
		}
		for j := range s.Runs {
			r := &s.Runs[j]
			letter := Letter(i)
			if j > 0 {
				letter = " "
			}
			about := fmt.Sprintf("%s in %s, %s", unit.Plural(int(r.Iterations), "iteration", "iterations"),
				unit.Clock(time.Duration(r.Seconds*1e9)), unit.Plural(r.Blocks, "block", "blocks"))
			if r.LeftOut.Disturbed > 0 {
				about += fmt.Sprintf(", %d disturbed", r.LeftOut.Disturbed)
			}
			if !l.terminal {
				about += fmt.Sprintf("; prismtop %s on %s", r.Program, r.Processor)
			}
			d.Paragraph("%s  %s: %s", letter, r.Name, about)
		}
	}
}

// rows adds the table of a side against the base.
func (l *written) rows(d *report.Document, k int) {
	change := "difference"
	if slices.ContainsFunc(l.Rows, func(r Row) bool { return r.Against[k-1].Beside }) {
		change = "beside the others"
	}
	head := []string{"", Letter(0), Letter(k), "change", change, "floor", "verdict"}
	t := d.Table(head...)
	t.Align = "lrrrrrl"
	if l.short {
		t.Head, t.Align = slices.Delete(head, 5, 6), "lrrrrl"
	}
	var reasons []string
	group := Group(255)
	for i := range l.Rows {
		r := &l.Rows[i]
		of := &r.Against[k-1]
		if r.Group != group {
			group = r.Group
			t.Add(report.Strong(group.String()))
		}
		title, interval, verdict := r.Title, r.Interval(k-1), l.verdict(r, k-1)
		if l.terminal {
			title = " " + title
			if l.narrow {
				title = cut(title, titleWidth)
			}
		}
		if of.Verdict == NotComparable {
			interval = of.Briefly
			if !slices.Contains(reasons, of.Reason) {
				reasons = append(reasons, of.Reason)
			}
		}
		if of.Verdict == Faster || of.Verdict == Slower {
			verdict = report.Strong(verdict)
		}
		row := []string{title, r.Shown(0), r.Shown(k), r.Change(k - 1), interval, r.ShownFloor(k), verdict}
		if l.short {
			row = slices.Delete(row, 5, 6)
		}
		t.Add(row...)
	}
	for _, about := range l.Abouts() {
		d.Paragraph("%s", about)
	}
	for _, reason := range reasons {
		d.Paragraph("not comparable: %s", reason)
	}
}

// Abouts lists the different About of the rows.
func (c *Comparison) Abouts() (all []string) {
	for i := range c.Rows {
		if about := c.Rows[i].About; about != "" && !slices.Contains(all, about) {
			all = append(all, about)
		}
	}
	return all
}

// verdict is the verdict of a row as far as there is room.
func (l *written) verdict(r *Row, i int) string {
	switch d := &r.Against[i]; {
	case !l.short:
	case d.Verdict == NotComparable:
		return "–"
	case d.Verdict == Equal && d.Within > 0 && !r.Absolute:
		return "equal ±" + r.Amount(d.Within)
	case d.Verdict == Equal:
		return "equal"
	}
	return r.Words(i)
}

// settings adds the settings that differ.
func (l *written) settings(d *report.Document) {
	if len(l.Settings) == 0 {
		d.Heading(2, "No setting differs")
		return
	}
	d.Heading(2, "Settings that differ")
	var facts []report.Fact
	for _, s := range l.Settings {
		var values []string
		for k, v := range s.Values {
			values = append(values, Letter(k)+" "+cmp.Or(v, "none"))
		}
		facts = append(facts, report.Fact{Name: s.Key, Text: strings.Join(values, ", ")})
	}
	d.Facts(facts...)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// cut shortens a text to a number of cells.
func cut(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Shown is the row's value of a side, with its unit: "7.41 ms"; "–" if there is none.
func (r *Row) Shown(side int) string {
	v := r.Values[side].Value
	switch {
	case !finite(v):
		return "–"
	case r.Unit == "B":
		return unit.Size(int64(math.Round(v)))
	case r.Unit == "1":
		return strings.TrimSpace(unit.HitRate(v))
	case r.Group == Quality || math.Abs(v) >= 1000:
		return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, r.Unit))
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", v, r.Unit))
}

// Change is the difference of the row's values i: "+7.7 %".
func (r *Row) Change(i int) string {
	d := &r.Against[i]
	switch {
	case !finite(d.Raw):
		return "–"
	case !r.Absolute:
		return unit.Signed(100*d.Raw, visibly(100*d.Raw)) + " %"
	case r.Unit == "1":
		return unit.Signed(100*d.Raw, decimals(100*d.Raw)) + " pt"
	}
	return signed3(d.Raw)
}

// Interval is the difference that the verdict is about, with its interval: "+0.2 [−0.9, +1.3] %"; empty
// if there is none.
func (r *Row) Interval(i int) string {
	d := &r.Against[i]
	if !finite(d.Low) || !finite(d.High) || d.Low == d.High {
		return ""
	}
	if r.Absolute && r.Unit != "1" {
		return signed3(d.Value) + " [" + signed3(d.Low) + ", " + signed3(d.High) + "]"
	}
	text := func(v float64) string { return unit.Signed(100*v, decimals(100*v)) }
	end := " %"
	if r.Absolute {
		end = " pt"
	}
	return text(d.Value) + " [" + text(d.Low) + ", " + text(d.High) + "]" + end
}

// ShownFloor is the larger of the A/A floors of the base and a side: "0.8 %"; empty if none is known.
func (r *Row) ShownFloor(side int) string {
	f := math.Max(r.Values[0].Floor, r.Values[side].Floor)
	if r.Unit == "B" && f == 0 || !finite(f) {
		return ""
	}
	if r.Unit == "B" {
		return unit.Size(int64(f))
	}
	return r.Amount(f)
}

// visibly is decimals for a difference that has a verdict: one that is not 0 does not look like it.
func visibly(v float64) int {
	if a := math.Abs(v); a > 0 && a < 0.05 {
		return min(6, int(math.Ceil(-math.Log10(a))))
	}
	return decimals(v)
}

func decimals(v float64) int {
	if math.Abs(v) >= 9.95 {
		return 0
	}
	return 1
}

// signed3 formats a difference with its sign and three digits at most.
func signed3(v float64) string {
	text := fmt.Sprintf("%.2g", math.Abs(v))
	switch {
	case v < 0:
		return "−" + text
	case v > 0:
		return "+" + text
	}
	return text
}
