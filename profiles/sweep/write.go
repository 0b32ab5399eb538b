package sweep

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// The table as text, Markdown, CSV and HTML.

// Formats are the names of the forms of the table, the default first.
var Formats = []string{"text", "markdown", "json", "csv", "html"}

// Title sums up the sweep: "12 arms × 2 replicates: 20 of 24 runs done, 1 failed".
func (t *Table) Title() string {
	all := 0
	for _, n := range t.Counts {
		all += n
	}
	text := unit.Plural(len(t.Arms), "arm", "arms")
	if t.Replicates > 1 && t.Search == nil {
		text += fmt.Sprintf(" × %d replicates", t.Replicates)
	}
	text += fmt.Sprintf(": %d of %s done", t.Counts[Done], unit.Plural(all, "run", "runs"))
	for _, s := range []State{Running, Interrupted, Failed} {
		if n := t.Counts[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, s)
		}
	}
	return text
}

// arms adds the table of the arms.
func (t *Table) arms(d *report.Document) {
	of := d.Table("arm", "runs", "ms/"+t.Each(), "against "+t.Reference, "time", cmp.Or(t.Metric.Name, "quality"),
		"difference", "CPU", "front")
	for i := range t.Arms {
		r := &t.Arms[i]
		front := ""
		if r.Front {
			front = "•"
		}
		of.Add(r.Name, fmt.Sprintf("%d/%d", r.Counts[Done], r.Runs), r.Each.text(three), t.Faster(r),
			r.Seconds.short(seconds),
			r.Quality.text(three), t.Better(r), r.CPU.short(seconds), front)
	}
}

// Each names what is timed: an iteration, or an item of its batch.
func (t *Table) Each() string { return cmp.Or(t.Item, "iteration") }

// Faster words the difference of an arm's times from the reference: "−31 % [−33, −29] faster".
func (t *Table) Faster(r *Row) string {
	if r.Name == t.Reference {
		return "reference"
	}
	return r.Faster.times()
}

// Better words the difference of an arm's quality from the reference.
func (t *Table) Better(r *Row) string {
	if r.Name == t.Reference {
		return ""
	}
	return r.Better.quality(t.Metric)
}

// times words a difference of times.
func (d Difference) times() string {
	if !d.Known() {
		return "–"
	}
	if !d.Sure() {
		return unit.Signed(100*d.Value, decimals(100*d.Value)) + " %"
	}
	n := decimals(100 * max(math.Abs(d.Low), math.Abs(d.High), math.Abs(d.Value)))
	text := unit.Signed(100*d.Value, n) + " % [" + unit.Signed(100*d.Low, n) + ", " + unit.Signed(100*d.High, n) + "]"
	switch d.Finding {
	case stats.Below:
		text += " faster"
	case stats.Above:
		text += " slower"
	case stats.Within:
		text += " equal"
	}
	return text
}

// quality words a difference of qualities.
func (d Difference) quality(m Metric) string {
	if !d.Known() {
		return "–"
	}
	if !d.Sure() {
		return signed(d.Value)
	}
	text := signed(d.Value) + " [" + signed(d.Low) + ", " + signed(d.High) + "]"
	switch {
	case d.Low == d.High && d.Value == 0:
		return "equal"
	case d.Finding == stats.Below && m.Less || d.Finding == stats.Above && !m.Less:
		text += " better"
	case d.Finding.Excluded():
		text += " worse"
	}
	return text
}

// signed formats a number with its sign and three digits.
func signed(v float64) string {
	if a := math.Abs(v); a > 0 && a < 1e-5 {
		_, size, _ := strings.Cut(strconv.FormatFloat(a, 'e', 2, 64), "e")
		power, _ := strconv.Atoi(size) // it is a number
		return unit.Signed(v/math.Pow10(power), 2) + "e" + size
	}
	return unit.Signed(v, digits(v))
}

// decimals returns how many decimals a percentage needs.
func decimals(percent float64) int {
	if math.Abs(percent) >= 9.95 {
		return 0
	}
	return 1
}

// digits returns the number of decimals of three significant digits.
func digits(v float64) int {
	if a := math.Abs(v); a > 0 {
		return min(max(2-int(math.Floor(math.Log10(a))), 0), 6)
	}
	return 0
}

// three formats a number with about three digits.
func three(v float64) string {
	if a := math.Abs(v); a > 0 && (a < 1e-4 || a >= 1e6) {
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', digits(v), 64)
}

// seconds formats a time in seconds.
func seconds(v float64) string {
	if v < 60 {
		return three(v) + " s"
	}
	return unit.Clock(time.Duration(v * float64(time.Second)))
}

// short formats the value alone.
func (e Estimate) short(form func(float64) string) string {
	if !e.Known() {
		return "–"
	}
	return form(e.Value)
}

// text formats an estimate with its interval, if it has one.
func (e Estimate) text(form func(float64) string) string {
	text := e.short(form)
	if e.Sure() && e.Low != e.High {
		text += " [" + form(e.Low) + ", " + form(e.High) + "]"
	}
	return text
}

// terms adds the factorial's effects.
func (t *Table) terms(d *report.Document) {
	f := t.Factorial
	if f == nil {
		return
	}
	d.Heading(2, "Effects and interactions")
	of := d.Table("setting", "time", cmp.Or(t.Metric.Name, "quality"))
	for i := range f.Terms {
		term := &f.Terms[i]
		name := term.Name
		if len(term.Of) == 1 {
			of := f.Factors[term.Of[0]]
			name += ": " + orPreset(of.Off) + " → " + orPreset(of.On)
		}
		of.Add(name, term.Time.times(), term.Quality.quality(t.Metric))
	}
}

func orPreset(value string) string {
	if value == "" {
		return "(preset)"
	}
	return value
}

// notes say how the numbers are to be read.
func (t *Table) notes() (all []string) {
	if t.Replicates > 1 || t.Judged > 0 {
		note := "Brackets are intervals of 95 % each, over replicates."
		if t.Judged > 1 {
			note += fmt.Sprintf(" The words faster, slower, equal, better and worse hold for all %d differences "+
				"together in 95 of 100 sweeps.", t.Judged)
		}
		all = append(all, note)
	} else {
		all = append(all, "One replicate has no interval: replicates = 2 or more give one.")
	}
	byTurns := slices.ContainsFunc(t.Arms, func(r Row) bool { return r.Faster.ByTurns })
	if byTurns {
		all = append(all, "Differences of times are of runs by turns on one machine.")
	}
	if slices.ContainsFunc(t.Arms, func(r Row) bool { return r.Front }) {
		all = append(all, "• on the front: no other arm takes less time for better quality.")
	}
	if s := t.Search; s != nil {
		if s.Optimum != nil {
			all = append(all, s.Key+": "+s.Optimum.Sentence+".")
		}
		if s.Edge != nil {
			all = append(all, s.Edge.Sentence)
		}
	} else if t.Factorial == nil {
		all = append(all, "No effects of single settings: "+t.NoFactors+".")
	} else {
		all = append(all, fmt.Sprintf("Effects are averages over all combinations of the other settings, of %s.",
			unit.Plural(t.Factorial.Runs, "complete replicate", "complete replicates")))
	}
	for i := range t.Arms {
		for _, change := range t.Arms[i].Changes {
			all = append(all, t.Arms[i].Name+" was changed during "+change)
		}
		for _, e := range t.Arms[i].Errors {
			all = append(all, t.Arms[i].Name+" failed: "+e)
		}
	}
	return all
}

// document returns the table as a document.
func (t *Table) document() *report.Document {
	d := &report.Document{Title: "Sweep"}
	d.Paragraph("%s", t.Title())
	t.arms(d)
	d.Figure("Time and quality of each arm. Filled: on the front.", t.plane())
	t.terms(d)
	for _, note := range t.notes() {
		d.Paragraph("%s", note)
	}
	return d
}

// WriteText writes the table as text.
func (t *Table) WriteText(w io.Writer) error {
	if _, err := fmt.Fprintln(w, visible.Text(t.Folder)); err != nil {
		return err
	}
	return t.document().WriteText(w, 0)
}

// WriteMarkdown writes the table as Markdown.
func (t *Table) WriteMarkdown(w io.Writer) error { return t.document().WriteMarkdown(w) }

// WriteHTML writes the table as one page that requests nothing.
func (t *Table) WriteHTML(w io.Writer) error { return t.document().WriteHTML(w) }

// begins matches the beginning of a table in each of its forms. A title alone, or the head of a page, is any program's.
var begins = regexp.MustCompile(`\A(?:[^\n]+\n` + counts + `|# Sweep\n\n` + counts + `|arm,replicates,done,running,interrupted,failed,iterations,|` +
	`(?s:<!DOCTYPE html>.*<h1>Sweep</h1>\s*<p>)` + counts + `|\{\s*"schema": \d+,\s*"version": "[^"]*",\s*"folder": )`)

// counts matches how a title begins.
const counts = `\d+ arms?(?: × \d+ replicates)?: \d+ of \d+ runs? done`

// IsTable reports whether a file is a table of a sweep, in any of its forms.
func IsTable(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 4<<10))
	return err == nil && begins.Match(head)
}

// WriteCSV writes the arms as CSV, a row each: numbers with all their digits, empty where they are not known.
func (t *Table) WriteCSV(w io.Writer) error {
	c := report.Table{Head: []string{"arm", "replicates", "done", "running", "interrupted", "failed", "iterations"}}
	for _, name := range []string{"iteration_ms", "time_change", "seconds", "quality", "quality_change", "cpu_seconds",
		"item_ms"} {
		c.Head = append(c.Head, name, name+"_low", name+"_high")
	}
	c.Head = append(c.Head, "quality_metric", "front", "item")
	for i := range t.Arms {
		r := &t.Arms[i]
		row := []string{r.Name, strconv.Itoa(r.Runs), strconv.Itoa(r.Counts[Done]),
			strconv.Itoa(r.Counts[Running]), strconv.Itoa(r.Counts[Interrupted]),
			strconv.Itoa(r.Counts[Failed]), strconv.FormatInt(r.Iterations, 10)}
		for _, e := range []Estimate{r.MS, r.Faster.Estimate, r.Seconds, r.Quality, r.Better.Estimate, r.CPU,
			t.items(r)} {
			for _, v := range []float64{e.Value, e.Low, e.High} {
				text := ""
				if report.Finite(v) != nil {
					text = strconv.FormatFloat(v, 'g', -1, 64)
				}
				row = append(row, text)
			}
		}
		c.Add(append(row, t.Metric.Name, strconv.FormatBool(r.Front), t.Item)...)
	}
	return c.WriteCSV(w)
}

// plane draws the arms by time and quality, those of the front filled; empty for fewer than two.
func (t *Table) plane() string {
	const w, h, left, edge = 760.0, 340.0, 70.0, 40.0
	var x, y []float64
	for i := range t.Arms {
		if r := &t.Arms[i]; r.Seconds.Known() && r.Quality.Known() {
			x, y = append(x, r.Seconds.Value), append(y, r.Quality.Value)
		}
	}
	if len(x) < 2 {
		return ""
	}
	scale := func(v []float64, from, to float64) func(float64) float64 {
		low, high := slices.Min(v), slices.Max(v)
		if low == high {
			low, high = low-1, high+1
		}
		return func(v float64) float64 { return from + (to-from)*(v-low)/(high-low) }
	}
	px, py := scale(x, left+20, w-edge-60), scale(y, h-edge-10, edge)
	var b strings.Builder
	fmt.Fprintf(&b, "<svg viewBox=\"0 0 %g %g\" width=\"%[1]g\" fill=\"currentColor\" font-size=\"12\" role=\"img\" "+
		"aria-label=\"Time and quality of each arm\">\n", w, h)
	fmt.Fprintf(&b, "<path d=\"M%g %gV%gH%g\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".5\"/>\n", left,
		edge/2, h-edge, w-edge)
	for _, v := range []float64{slices.Min(x), slices.Max(x)} {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", px(v), h-edge+18,
			html.EscapeString(seconds(v)))
	}
	for _, v := range []float64{slices.Min(y), slices.Max(y)} {
		fmt.Fprintf(&b, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left-8, py(v)+4,
			html.EscapeString(three(v)))
	}
	fmt.Fprintf(&b, "<text x=\"%g\" y=\"14\">%s</text>\n", left-8,
		html.EscapeString(strings.TrimSpace(t.Metric.Name+" "+t.Metric.Unit)))
	for i := range t.Arms {
		r := &t.Arms[i]
		if !r.Seconds.Known() || !r.Quality.Known() {
			continue
		}
		fill := "none"
		if r.Front {
			fill = "currentColor"
		}
		name := html.EscapeString(visible.Text(r.Name))
		fmt.Fprintf(&b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" stroke=\"currentColor\" "+
			"fill=\"%s\"><title>%s</title></circle>", px(r.Seconds.Value), py(r.Quality.Value), fill, name)
		if r.Front || len(x) <= 24 {
			fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", px(r.Seconds.Value)+7, py(r.Quality.Value)-6, name)
		}
		b.WriteByte('\n')
	}
	b.WriteString("</svg>\n")
	return b.String()
}
