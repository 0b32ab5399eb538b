package figure

import (
	"fmt"
	"io"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/export/digest"
	"prismtop/profiles/unit"
)

// The writer of figures, and the title and facts of a run above them.

// Writer draws a run at its end: its charts side by side, and its changes of settings below them. It is
// not safe for concurrent use.
type Writer struct {
	digest digest.Digest
	from   export.Source
	to     io.Writer
	write  func(*Drawing, io.Writer) error
}

// NewSVG returns a writer of an SVG.
func NewSVG(to io.Writer, from export.Source) *Writer {
	return &Writer{from: from, to: to, write: (*Drawing).WriteSVG}
}

// NewPNG returns a writer of a PNG.
func NewPNG(to io.Writer, from export.Source) *Writer {
	return &Writer{from: from, to: to, write: (*Drawing).WritePNG}
}

// Take adds an event.
func (w *Writer) Take(e *profiles.Event) { w.digest.Take(e) }

// See takes a snapshot of the run.
func (w *Writer) See(s *profiles.Snapshot) { w.digest.See(s) }

// Close draws the run; the destination stays open.
func (w *Writer) Close(lost int64) error {
	w.digest.Lost = lost
	return w.write(Whole(&w.digest, export.Summarize(w.digest.Snapshot(), w.from)), w.to)
}

// Measures of the figure in pixels.
const (
	figureWidth            = 1120
	margin, between        = 26, 34
	headRoom               = 78
	chartWidth             = (figureWidth - 2*margin - between) / 2
	chartHeight, rowSpace  = 224, 16
	lineHeight, mostListed = 17, 12
	outcomeWidth           = figureWidth - 2*margin - 402
)

// Whole draws a run and its summary.
func Whole(d *digest.Digest, sum *export.Summary) *Drawing {
	set := Charts(d, sum.Changes)
	shown := []*Chart{}
	quality := d.Info.Schema.Quality
	for i := range set.Charts {
		switch c := &set.Charts[i]; c.ID {
		case "iteration", "phases", "loss", "hits", "memory":
			shown = append(shown, c)
		case quality:
			shown = append(shown, c)
		}
	}
	rows := (len(shown) + 1) / 2
	listed := min(len(sum.Changes), mostListed)
	height := float64(headRoom + rows*(chartHeight+rowSpace) + margin)
	outcomes, lines := make([][]string, listed), 0
	for i := range outcomes {
		outcomes[i] = outcome(&sum.Changes[i])
		lines += len(outcomes[i])
	}
	if listed > 0 {
		height += float64((lines + 2) * lineHeight)
	}
	out := &Drawing{Width: figureWidth, Height: height, Title: Title(sum), About: About(d, sum)}
	out.rectangle(Paper, 0, 0, out.Width, out.Height)
	const inner = figureWidth - 2*margin
	out.text(margin, 34, 18, inner, Start, Ink, out.Title)
	out.bold()
	out.text(margin, 54, textSize, inner, Start, Muted, Facts(d, sum))
	for i, c := range shown {
		x := float64(margin + i%2*(chartWidth+between))
		set.draw(out, c, x, float64(headRoom+i/2*(chartHeight+rowSpace)), chartWidth, chartHeight)
	}
	y := float64(headRoom + rows*(chartHeight+rowSpace) + lineHeight)
	for i := range listed {
		if i == 0 {
			out.text(margin, y, textSize, inner, Start, Ink,
				"Changes of settings, and the time of an iteration under them with its 95 % interval")
			out.bold()
		}
		y += lineHeight
		c := &sum.Changes[i]
		out.text(margin+16, y, textSize, 24, End, Ink, fmt.Sprint(i+1))
		out.text(margin+24, y, textSize, 104, Start, Ink, fmt.Sprintf("iteration %d", c.Iteration))
		out.text(margin+134, y, textSize, 260, Start, Ink, c.What())
		for k, text := range outcomes[i] {
			if k > 0 {
				y += lineHeight
			}
			out.text(margin+402, y, textSize, outcomeWidth, Start, Ink, text)
		}
	}
	if more := len(sum.Changes) - listed; more > 0 {
		out.text(margin+24, y+lineHeight, textSize, inner, Start, Muted,
			fmt.Sprintf("and %s more", unit.Plural(more, "change", "changes")))
	}
	return out
}

// outcome returns what a change did, in lines.
func outcome(c *export.Change) []string {
	text := c.Verdict()
	if shift := c.Shift(); shift != "–" {
		text = shift + ", " + text
	}
	return wrap(text, textSize, outcomeWidth)
}

// Title names a run: "moon, preset baseline".
func Title(sum *export.Summary) string {
	if sum.Object == nil {
		return "prismtop: " + sum.ObjectReason
	}
	if sum.Preset == nil {
		return *sum.Object
	}
	return *sum.Object + ", preset " + *sum.Preset
}

// Facts returns when and where a run was, how it ended, and how fast it was.
func Facts(d *digest.Digest, sum *export.Summary) string {
	var parts []string
	if d.Begun() {
		parts = append(parts, d.Began.UTC().Format("2006-01-02 15:04 UTC"))
	}
	ran := unit.Clock(time.Duration(sum.WallSeconds * float64(time.Second)))
	iterations := unit.Plural(int(sum.Iterations), "iteration", "iterations")
	if sum.ResumedAfter > 0 {
		ran += " since a checkpoint" + sum.InAll() + ","
		iterations += fmt.Sprintf(", %d before it", sum.ResumedAfter)
	}
	parts = append(parts, ran+" "+sum.State, iterations)
	if v := sum.IterationMS; v != nil {
		parts = append(parts, "median "+unit.Duration(v.Median*1e6))
	}
	m := &sum.Machine
	if m.CPU != nil {
		parts = append(parts, *m.CPU)
	}
	if m.Kernels != nil {
		kernels := *m.Kernels
		if m.Threads != nil {
			kernels += " on " + unit.Plural(*m.Threads, "thread", "threads")
		}
		parts = append(parts, kernels)
	}
	return strings.Join(append(parts, "prismtop "+sum.Version), " · ")
}

// About describes the charts of a run to those who do not see them.
func About(d *digest.Digest, sum *export.Summary) string {
	text := "Iteration time, phases, loss, quality, cache hit rates and memory over the iterations. " +
		Facts(d, sum) + "."
	for i := range sum.Changes {
		if i == mostListed {
			break
		}
		c := &sum.Changes[i]
		text += fmt.Sprintf(" Change %d at iteration %d: %s: %s, %s.", i+1, c.Iteration, c.What(), c.Shift(),
			c.Verdict())
	}
	return text
}
