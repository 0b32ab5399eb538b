package compare

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// A comparison as text: its table, footnotes, settings and warnings.

// Widths of the table's columns in cells, without the gaps between them.
const (
	textTitle, textValue, textRaw, textInterval, textFloor = 18, 9, 7, 19, 7
	// leastWidth is the width of the table; from floorWidth on it has the A/A floor too, and the
	// verdicts in full.
	leastWidth = 80
	floorWidth = 96
)

// WriteText writes a comparison as text for a terminal of a width in cells; 0 is unlimited. The table
// needs 80.
func WriteText(w io.Writer, c *Comparison, width int) error {
	t := textTable{Comparison: c, full: width == 0 || width >= floorWidth, width: max(width, leastWidth)}
	if width == 0 {
		t.width = 100
	}
	for i := range c.Sides {
		t.side(i)
	}
	if c.Kind != "" {
		fmt.Fprintf(&t.b, "times of: %s\n", visible.Text(c.Kind))
	}
	for _, common := range c.Common {
		if common.Text != "" {
			t.wrapped(upper(common.Text) + ".")
		}
	}
	for k := 1; k < len(c.Sides); k++ {
		t.rows(k)
	}
	t.settings()
	for _, warning := range c.Warnings {
		t.wrapped("! " + visible.Text(warning.Text))
	}
	t.wrapped(c.Footnote())
	_, err := io.WriteString(w, t.b.String())
	return err
}

// Footnote says what the intervals mean.
func (c *Comparison) Footnote() string {
	if c.Intervals == 0 {
		return "No number has an interval that could miss by chance."
	}
	all := fmt.Sprintf("All %d intervals hold together in 95 of 100 comparisons (Bonferroni)", c.Intervals)
	switch c.Design {
	case Alternating:
		return all + "; those of times are from rounds in the order A B B A or B A A B."
	case Replicated:
		return all + "; those of times are as wide as the recordings of a side differ."
	}
	return all + "; those of times are from blocks of half a second or more, and never narrower than what either side differs from itself."
}

// textTable is a comparison being written.
type textTable struct {
	*Comparison
	b     strings.Builder
	width int
	full  bool
}

// Letter names a side in tables: A is the base.
func Letter(side int) string {
	if side < 26 {
		return string(rune('A' + side))
	}
	return fmt.Sprint(side + 1)
}

// side describes a side.
func (t *textTable) side(i int) {
	s := &t.Sides[i]
	if t.Design == Alternating {
		all := int64(0)
		for j := range s.Runs {
			all += s.Runs[j].Iterations
		}
		t.wrapped(fmt.Sprintf("%s  %s: %s in %s", Letter(i), visible.Text(s.Name), unit.Plural(int(all), "iteration", "iterations"), unit.Plural(len(s.Runs), "start", "starts")))
		return
	}
	for j := range s.Runs {
		r := &s.Runs[j]
		letter := Letter(i)
		if j > 0 {
			letter = " "
		}
		about := fmt.Sprintf("%s  %s: %s in %s", letter, visible.Text(r.Name), unit.Plural(int(r.Iterations), "iteration", "iterations"), unit.Clock(time.Duration(r.Seconds*1e9)))
		about += ", " + unit.Plural(r.Blocks, "block", "blocks")
		if r.LeftOut.Disturbed > 0 {
			about += fmt.Sprintf(", %d disturbed", r.LeftOut.Disturbed)
		}
		t.wrapped(about)
	}
}

// rows writes the table of a side against the base.
func (t *textTable) rows(k int) {
	beside := false
	for i := range t.Rows {
		beside = beside || t.Rows[i].Against[k-1].Beside
	}
	change := "difference"
	if beside {
		change = "beside the others"
	}
	fmt.Fprintf(&t.b, "\n%s %s %s %s %s", pad("", textTitle), left(Letter(0), textValue), left(Letter(k), textValue), left("change", textRaw), left(change, textInterval))
	if t.full {
		t.b.WriteString(" " + left("floor", textFloor))
	}
	t.b.WriteString("  verdict\n")
	var reasons []string
	group := Group(255)
	for i := range t.Rows {
		r := &t.Rows[i]
		d := &r.Against[k-1]
		if r.Group != group {
			group = r.Group
			fmt.Fprintln(&t.b, group)
		}
		interval := r.Interval(k - 1)
		if d.Verdict == NotComparable {
			interval = visible.Text(d.Briefly)
		}
		fmt.Fprintf(&t.b, "%s %s %s %s %s", pad(" "+visible.Text(r.Title), textTitle), left(r.Shown(0), textValue), left(r.Shown(k), textValue),
			left(r.Change(k-1), textRaw), left(interval, textInterval))
		if t.full {
			t.b.WriteString(" " + left(r.ShownFloor(k), textFloor))
		}
		t.b.WriteString("  " + t.verdict(r, k-1) + "\n")
		if d.Verdict == NotComparable && !slices.Contains(reasons, d.Reason) {
			reasons = append(reasons, d.Reason)
		}
	}
	for _, about := range t.Abouts() {
		t.wrapped(visible.Text(about))
	}
	for _, reason := range reasons {
		t.wrapped("not comparable: " + visible.Text(reason))
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
func (t *textTable) verdict(r *Row, i int) string {
	switch d := &r.Against[i]; {
	case t.full:
	case d.Verdict == NotComparable:
		return "–"
	case d.Verdict == Equal && d.Within > 0 && !r.Absolute:
		return "equal ±" + r.Amount(d.Within)
	case d.Verdict == Equal:
		return "equal"
	case d.Verdict == InNoise:
		return "in noise"
	}
	return r.Words(i)
}

// settings writes the settings that differ.
func (t *textTable) settings() {
	if len(t.Settings) == 0 {
		t.b.WriteString("\nno setting differs\n")
		return
	}
	t.b.WriteString("\nsettings that differ\n")
	for _, s := range t.Settings {
		var values []string
		for k, v := range s.Values {
			values = append(values, Letter(k)+" "+visible.Text(v))
		}
		t.wrapped(pad(" "+visible.Text(s.Key), textTitle) + "  " + strings.Join(values, ", "))
	}
}

// wrapped writes a line, in several if it is too long, which are indented.
func (t *textTable) wrapped(line string) {
	at := 0
	for i, word := range strings.Split(line, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+n > t.width:
			t.b.WriteString("\n   ")
			at = 3
		default:
			t.b.WriteString(" ")
			at++
		}
		t.b.WriteString(word)
		at += n
	}
	t.b.WriteString("\n")
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// pad and left fill a text up to a width, at its end and at its beginning. A text that is too long is
// cut.
func pad(s string, width int) string {
	n := utf8.RuneCountInString(s)
	if n > width {
		return string([]rune(s)[:width-1]) + "…"
	}
	return s + strings.Repeat(" ", width-n)
}

func left(s string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s))) + s
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
