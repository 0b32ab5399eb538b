package runreport

import (
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/export/figure"
	"prismtop/profiles/report"
	"prismtop/profiles/visible"
)

// A report as one HTML file, with its charts and their data.

var (
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// markup is HTML under construction.
type markup struct{ report.Page }

// chartSize are the width and height of a chart in pixels, before the page scales it.
var chartSize = [2]float64{560, 250}

// html writes the report as one HTML file, which requests nothing: its policy allows no more than its
// own style and script, by their hashes.
func (f *facts) html(w io.Writer) error {
	style := ":root{" + figure.Light.Variables() + "}@media screen and (prefers-color-scheme:dark){:root{" +
		figure.Dark.Variables() + "}}" + figure.Classes() + "\n" + pageStyle
	sections, title := f.sections(), figure.Title(f.summary)
	var m markup
	m.Put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	m.WriteString(atomicfile.Generated + "\n")
	m.WriteString(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ` + hash(style) + `; script-src ` + hash(pageScript) +
		`; img-src data:; base-uri 'none'; form-action 'none'">` + "\n")
	m.Put(`<meta name="viewport" content="width=device-width, initial-scale=1">` + "\n" + `<meta name="color-scheme" content="light dark">` + "\n" +
		`<meta name="referrer" content="no-referrer">` + "\n" + `<link rel="icon" href="data:,">` + "\n")
	m.Put("<title>%s</title>\n", title)
	m.WriteString("<style>" + style + "</style>\n</head>\n<body>\n")
	m.Put("<header>\n<h1>%s</h1>\n<p class=\"muted\">%s</p>\n<nav aria-label=\"Sections\"><ul>", title,
		figure.Facts(f.digest, f.summary))
	for i := range sections {
		m.Put(`<li><a href="#%s">%s</a></li>`, sections[i].ID, sections[i].Title)
	}
	m.Put("</ul></nav>\n</header>\n<main>\n")
	f.pictures(&m)
	data, err := f.charts(&m)
	if err != nil {
		return err
	}
	for i := range sections {
		m.section(&sections[i])
	}
	m.Put("</main>\n")
	m.WriteString(`<script type="application/json" id="data">` + data + "</script>\n<script>" + pageScript + "</script>\n</body>\n</html>\n")
	_, err = io.WriteString(w, m.String())
	return err
}

// charts writes the charts, and returns the values that the script shows, as JSON without < and >.
func (f *facts) charts(m *markup) (data string, err error) {
	m.Put(`<section aria-labelledby="charts">` + "\n" + `<h2 id="charts">Charts</h2>` + "\n" +
		`<p class="muted">Dashed lines are changes of settings, with their numbers in the table below.<span id="hint" hidden> ` +
		"Values at the pointer are below each chart; with a chart in focus, the arrow keys, Home and End " +
		"move through the iterations.</span></p>\n<div class=\"charts\">\n")
	set := figure.Charts(f.digest, f.summary.Changes)
	values := chartData{First: set.First, Last: set.Last, Seconds: set.Seconds, Charts: []curveData{}}
	for i := range set.Charts {
		c := &set.Charts[i]
		id, about := "chart-"+strconv.Itoa(i), latest(c)
		drawing, plot := set.Alone(c, chartSize[0], chartSize[1], about)
		m.Put(`<figure class="chart" data-chart="%s" aria-label="%s">`, id, c.Title)
		m.WriteString(drawing.Inline(id)) // escapes its texts
		m.Put(`<figcaption id="%s-values">%s</figcaption></figure>`+"\n", id, about)
		values.Charts = append(values.Charts, dataOf(id, c, plot))
	}
	m.Put("</div>\n</section>\n")
	encoded, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("the values of the charts: %w", err)
	}
	return string(encoded), nil
}

// section writes a section.
func (m *markup) section(s *section) {
	m.Put(`<section aria-labelledby="%s">`+"\n"+`<h2 id="%[1]s">%s</h2>`+"\n", s.ID, s.Title)
	if s.Intro != "" {
		m.Put("<p class=\"muted\">%s</p>\n", s.Intro)
	}
	if len(s.Rows) > 0 {
		if s.Folded {
			m.Put("<details><summary>%s rows</summary>\n", strconv.Itoa(len(s.Rows)))
		}
		m.Table(&report.Table{Head: s.Head, Rows: s.Rows, Align: s.Align})
		if s.Folded {
			m.Put("</details>\n")
		}
	}
	m.Put("</section>\n")
}

// hash returns the source of a policy that allows a text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// latest gives the newest values of a chart's curves in a sentence.
func latest(c *figure.Chart) string {
	var parts []string
	for i := range c.Curves {
		for k := len(c.Curves[i].Y) - 1; k >= 0; k-- {
			if v := c.Curves[i].Y[k]; !math.IsNaN(v) {
				parts = append(parts, c.Curves[i].Name+" "+strings.TrimSpace(number(v)+" "+c.Of))
				break
			}
		}
	}
	if len(parts) == 0 {
		return c.Reason
	}
	return "Newest values: " + strings.Join(parts, ", ")
}

// chartData is what the script shows at the cursor.
type chartData struct {
	First   []int64     `json:"first"`
	Last    []int64     `json:"last"`
	Seconds values      `json:"seconds"`
	Charts  []curveData `json:"charts"`
}

// curveData is a chart.
type curveData struct {
	ID     string     `json:"id"`
	Unit   string     `json:"unit"`
	Plot   [6]float64 `json:"plot"` // x, y, width, height, first and last iteration
	Curves []valued   `json:"curves"`
}

// valued is a curve.
type valued struct {
	Name string `json:"name"`
	Y    values `json:"y"`
	Low  values `json:"low,omitempty"`
	High values `json:"high,omitempty"`
	Most values `json:"most,omitempty"`
}

// values are numbers of five digits; null for NaN.
type values []float64

// MarshalJSON writes an array.
func (v values) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, x := range v {
		if i > 0 {
			b = append(b, ',')
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b = append(b, "null"...)
		} else {
			b = strconv.AppendFloat(b, x, 'g', 5, 64)
		}
	}
	return append(b, ']'), nil
}

func dataOf(id string, c *figure.Chart, plot figure.Plot) curveData {
	d := curveData{ID: id, Unit: visible.Text(c.Of), Plot: [6]float64{plot.X, plot.Y, plot.Width, plot.Height,
		plot.From, plot.To}, Curves: []valued{}}
	for _, l := range c.Curves {
		d.Curves = append(d.Curves, valued{visible.Text(l.Name), l.Y, l.Low, l.High, l.Most})
	}
	return d
}

// pictures writes the newest pictures of the run. One that changes has the range of grey of the next in
// the schema that does not, if they are of one size, so that they can be compared.
func (f *facts) pictures(m *markup) {
	some := false
	for i := range f.newest.Run.Schema.Pictures {
		v := f.newest.Pictures[i]
		if !v.Whole() {
			continue
		}
		span := v.Span()
		for k := i; k < len(f.newest.Run.Schema.Pictures); k++ { // the truth follows what is compared with it
			if w := f.newest.Pictures[k]; !f.newest.Run.Schema.Pictures[k].Live && w.Whole() && w.Width == v.Width &&
				w.Height == v.Height {
				span = w.Span()
				break
			}
		}
		if !some {
			m.Put("<div class=\"pictures\">\n")
			some = true
		}
		info := f.newest.Run.Schema.Pictures[i]
		caption := info.Name
		if info.Live {
			caption += fmt.Sprintf(", iteration %d", v.Iteration)
		}
		m.Put(`<figure><img src="%s" alt="%s, %s by %s pixels" width="%[3]s" height="%[4]s"><figcaption>%[5]s; black %[6]s, white %[7]s</figcaption></figure>`+"\n",
			encoded(v, span), info.Name, strconv.Itoa(v.Width), strconv.Itoa(v.Height), caption, number(span[0]),
			number(span[1]))
	}
	if some {
		m.Put("</div>\n")
	}
}

// encoded returns a picture as a URL that holds it.
func encoded(v *profiles.Picture, span [2]float64) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(v.PNG(span))
}
