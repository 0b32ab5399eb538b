package sweep

import (
	"encoding/csv"
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

	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// The table as text, Markdown, CSV and HTML. The same cells serve all of them.

// Formats are the names of the forms of the table, the default first.
var Formats = []string{"text", "markdown", "json", "csv", "html"}

// grid is a titled table of texts; columns from the second on are numbers.
type grid struct {
	title string
	head  []string
	rows  [][]string
}

// Title sums up the sweep: "12 arms × 2 replicates: 20 of 24 runs done, 1 failed".
func (t *Table) Title() string {
	all := len(t.Arms) * t.Replicates
	text := unit.Plural(len(t.Arms), "arm", "arms")
	if t.Replicates > 1 {
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

// Columns of the arms.
func (t *Table) arms() grid {
	g := grid{head: []string{"arm", "runs", "ms/iteration", "against " + t.Reference, "time", "quality", "difference", "CPU", "front"}}
	if t.Metric.Name != "" {
		g.head[5] = t.Metric.Name
	}
	for i := range t.Arms {
		r := &t.Arms[i]
		front := ""
		if r.Front {
			front = "•"
		}
		g.rows = append(g.rows, []string{r.Name, fmt.Sprintf("%d/%d", r.Counts[Done], t.Replicates), r.MS.text(three), t.Faster(r), r.Seconds.short(seconds),
			r.Quality.text(three), t.Better(r), r.CPU.short(seconds), front})
	}
	return g
}

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
func signed(v float64) string { return unit.Signed(v, digits(v)) }

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

// terms are the factorial's effects.
func (t *Table) terms() grid {
	f := t.Factorial
	g := grid{title: "Effects and interactions", head: []string{"setting", "time", "quality"}}
	if t.Metric.Name != "" {
		g.head[2] = t.Metric.Name
	}
	for i := range f.Terms {
		term := &f.Terms[i]
		name := term.Name
		if len(term.Of) == 1 {
			of := f.Factors[term.Of[0]]
			name += ": " + orPreset(of.Off) + " → " + orPreset(of.On)
		}
		g.rows = append(g.rows, []string{name, term.Time.times(), term.Quality.quality(t.Metric)})
	}
	return g
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
			note += fmt.Sprintf(" The words faster, slower, equal, better and worse hold for all %d differences together in 95 of 100 sweeps.", t.Judged)
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
	if t.Factorial == nil {
		all = append(all, "No effects of single settings: "+t.NoFactors+".")
	} else {
		all = append(all, fmt.Sprintf("Effects are averages over all combinations of the other settings, of %s.", unit.Plural(t.Factorial.Runs, "complete replicate", "complete replicates")))
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

// grids are the tables.
func (t *Table) grids() []grid {
	all := []grid{t.arms()}
	if t.Factorial != nil {
		all = append(all, t.terms())
	}
	return all
}

// WriteText writes the table as text.
func (t *Table) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", visible.Text(t.Folder), t.Title())
	for _, g := range t.grids() {
		b.WriteByte('\n')
		if g.title != "" {
			b.WriteString(g.title + "\n")
		}
		widths := make([]int, len(g.head))
		for _, row := range append([][]string{g.head}, g.rows...) {
			for i, cell := range row {
				widths[i] = max(widths[i], len([]rune(visible.Text(cell))))
			}
		}
		for _, row := range append([][]string{g.head}, g.rows...) {
			line := ""
			for i, cell := range row {
				cell = visible.Text(cell)
				line += cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	b.WriteByte('\n')
	for _, note := range t.notes() {
		b.WriteString(visible.Text(note) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// begins matches the beginning of a table in each of its forms.
var begins = regexp.MustCompile(`\A(?:[^\n]+\n\d+ arms?(?: × \d+ replicates)?: \d+ of \d+ runs? done|# Sweep\n\n|arm,replicates,done,|` +
	`(?s:<!DOCTYPE html>.*<title>Sweep: )|\{\s*"schema": \d+,\s*"version": "[^"]*",\s*"folder": )`)

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

// WriteMarkdown writes the table as Markdown.
func (t *Table) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	escape := strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;")
	text := func(s string) string { return escape.Replace(visible.Text(s)) }
	fmt.Fprintf(&b, "# Sweep\n\n%s\n", text(t.Title()))
	for _, g := range t.grids() {
		if g.title != "" {
			fmt.Fprintf(&b, "\n## %s\n", g.title)
		}
		b.WriteString("\n")
		for i, row := range append([][]string{g.head}, g.rows...) {
			for _, cell := range row {
				b.WriteString("| " + text(cell) + " ")
			}
			b.WriteString("|\n")
			if i == 0 {
				b.WriteString("|---" + strings.Repeat("|---:", len(g.head)-1) + "|\n")
			}
		}
	}
	for _, note := range t.notes() {
		fmt.Fprintf(&b, "\n%s\n", text(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCSV writes the arms as CSV, a row each: numbers with all their digits, empty where they are not known.
func (t *Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	head := []string{"arm", "replicates", "done", "running", "interrupted", "failed", "iterations"}
	for _, name := range []string{"iteration_ms", "time_change", "seconds", "quality", "quality_change", "cpu_seconds"} {
		head = append(head, name, name+"_low", name+"_high")
	}
	head = append(head, "quality_metric", "front")
	if err := c.Write(head); err != nil {
		return err
	}
	for i := range t.Arms {
		r := &t.Arms[i]
		row := []string{r.Name, strconv.Itoa(t.Replicates), strconv.Itoa(r.Counts[Done]), strconv.Itoa(r.Counts[Running]), strconv.Itoa(r.Counts[Interrupted]),
			strconv.Itoa(r.Counts[Failed]), strconv.FormatInt(r.Iterations, 10)}
		for _, e := range []Estimate{r.MS, r.Faster.Estimate, r.Seconds, r.Quality, r.Better.Estimate, r.CPU} {
			for _, v := range []float64{e.Value, e.Low, e.High} {
				text := ""
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					text = strconv.FormatFloat(v, 'g', -1, 64)
				}
				row = append(row, text)
			}
		}
		if err := c.Write(append(row, t.Metric.Name, strconv.FormatBool(r.Front))); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// style is that of the page, which requests nothing.
const style = `:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:1rem 0}th,td{border-bottom:1px solid #8885;padding:.3rem .7rem;text-align:right;white-space:nowrap}
th:first-child,td:first-child{text-align:left}.scroll{overflow-x:auto}svg{max-width:100%;height:auto}svg text{fill:currentColor;font-size:12px}`

// WriteHTML writes the table as one page that requests nothing.
func (t *Table) WriteHTML(w io.Writer) error {
	var b strings.Builder
	text := func(s string) string { return html.EscapeString(visible.Text(s)) }
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>Sweep: %s</title>\n<style>%s</style>\n</head>\n<body>\n<h1>Sweep</h1>\n<p>%[1]s</p>\n",
		text(t.Title()), style)
	for i, g := range t.grids() {
		if g.title != "" {
			fmt.Fprintf(&b, "<h2>%s</h2>\n", text(g.title))
		}
		b.WriteString("<div class=\"scroll\"><table>\n")
		for i, row := range append([][]string{g.head}, g.rows...) {
			tag := "td"
			if i == 0 {
				tag = "th"
			}
			b.WriteString("<tr>")
			for _, cell := range row {
				fmt.Fprintf(&b, "<%s>%s</%[1]s>", tag, text(cell))
			}
			b.WriteString("</tr>\n")
		}
		b.WriteString("</table></div>\n")
		if i == 0 {
			b.WriteString(t.plane())
		}
	}
	for _, note := range t.notes() {
		fmt.Fprintf(&b, "<p>%s</p>\n", text(note))
	}
	b.WriteString("</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
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
	fmt.Fprintf(&b, "<h2>Time and quality</h2>\n<svg viewBox=\"0 0 %g %g\" width=\"%[1]g\" role=\"img\" aria-label=\"Time and quality of each arm\">\n", w, h)
	fmt.Fprintf(&b, "<path d=\"M%g %gV%gH%g\" fill=\"none\" stroke=\"currentColor\" stroke-opacity=\".5\"/>\n", left, edge/2, h-edge, w-edge)
	for _, v := range []float64{slices.Min(x), slices.Max(x)} {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", px(v), h-edge+18, html.EscapeString(seconds(v)))
	}
	for _, v := range []float64{slices.Min(y), slices.Max(y)} {
		fmt.Fprintf(&b, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", left-8, py(v)+4, html.EscapeString(three(v)))
	}
	fmt.Fprintf(&b, "<text x=\"%g\" y=\"14\">%s</text>\n", left-8, html.EscapeString(strings.TrimSpace(t.Metric.Name+" "+t.Metric.Unit)))
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
		fmt.Fprintf(&b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" stroke=\"currentColor\" fill=\"%s\"><title>%s</title></circle>", px(r.Seconds.Value), py(r.Quality.Value), fill, name)
		if r.Front || len(x) <= 24 {
			fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\">%s</text>", px(r.Seconds.Value)+7, py(r.Quality.Value)-6, name)
		}
		b.WriteByte('\n')
	}
	b.WriteString("</svg>\n")
	return b.String()
}
