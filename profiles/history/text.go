package history

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"prismtop/profiles/report"
	"prismtop/profiles/unit"
)

// Columns are the columns of PRISM's table of versions.
var Columns = []string{"Version", "Forward (ms)", "Memory (MB)", "Training (ms)", "Notes"}

// cells returns an entry as a row of the table. With machines the note names the machine.
func (e *Entry) cells(machines bool) []string {
	number := func(name string, factor float64) string {
		if f := e.Find(name); f != nil {
			return fmt.Sprintf("%.2f", f.Value*factor)
		}
		return "–"
	}
	return []string{e.Build.String(), number(Forward, 1), number(Memory, 1e-6), number(Iteration, 1), e.notes(machines)}
}

// notes says what an entry is.
func (e *Entry) notes(machines bool) string {
	parts := []string{e.Began().Local().Format("2006-01-02 15:04"), e.Work + " " + e.Preset}
	if f := e.Find(Speedup); f != nil {
		text := fmt.Sprintf("speed-up %.2fx", f.Value)
		if f.Low != nil && f.High != nil {
			text += fmt.Sprintf(" [%.2f, %.2f]", *f.Low, *f.High)
		}
		parts = append(parts, text)
	}
	if e.Foreign != nil && *e.Foreign >= 0.01 {
		parts = append(parts, "other programs "+unit.Share(*e.Foreign))
	}
	if machines {
		parts = append(parts, "machine "+e.Machine.ID())
	}
	if e.Note != "" {
		parts = append(parts, e.Note)
	}
	return strings.Join(parts, " · ")
}

// ofPRISM are the rows of the table in PRISM's baseline-v0.2.0.md. Its memory is what Python's allocator held.
var ofPRISM = [][]string{
	{"PRISM 0.1.0", "–", "–", "–", "before its refactoring, not measured"},
	{"PRISM 0.2.0", "1.32", "0.14", "3.93",
		"by its own document, on an unnamed CUDA GPU; memory of Python's objects alone"},
}

// TableOf returns entries as PRISM's table of versions below PRISM's own rows, the newest last.
func TableOf(entries []Entry, machines bool) *report.Table {
	t := &report.Table{Head: Columns, Rows: slices.Clone(ofPRISM)}
	for i := range entries {
		t.Add(entries[i].cells(machines)...)
	}
	return t
}

// row returns a row of a check as cells.
func (r *Row) cells() []string {
	interval := "–"
	if r.Low != nil && r.High != nil {
		interval = fmt.Sprintf("[%s, %s]", percent(*r.Low-1), percent(*r.High-1))
	}
	scale, name := 1.0, r.Unit
	if name == "bytes" {
		scale, name = 1e-6, "MB"
	}
	return []string{r.Name, fmt.Sprintf("%.4g %s", r.Reference*scale, name),
		fmt.Sprintf("%.4g %s", r.New*scale, name), percent(r.Ratio - 1), interval, string(r.Verdict), r.Reason}
}

// document returns a check as a document, without its title.
func (c *Check) document() *report.Document {
	d := &report.Document{}
	d.Paragraph("%s", c.Reason)
	facts := []report.Fact{{Name: "new", Text: fmt.Sprintf("%s, %s", c.New.Build,
		unit.Plural(c.NewCount, "measurement", "measurements"))}}
	add := func(name, format string, values ...any) {
		facts = append(facts, report.Fact{Name: name, Text: fmt.Sprintf(format, values...)})
	}
	if c.Reference != nil {
		same := ""
		if c.SameBuild {
			same = ": the same program, so that what differs is the machine"
		}
		add("reference", "%s, %s, the last at %s%s", c.Reference.Build,
			unit.Plural(c.Entries, "measurement", "measurements"), c.Reference.Time, same)
	}
	if c.Reference != nil && c.Reference.stored() {
		add("stored", "%s", c.Reference.origin())
	}
	add("machine", "%s", c.New.where())
	switch {
	case c.Reference == nil:
	case c.Spread == nil:
		add("certainty", "unknown: the history has no build that was measured twice on this machine")
	default:
		add("certainty", "times of one and the same build differ by ±%s on this machine (standard deviation, %s); the "+
			"intervals allow for that",
			unit.Share(*c.Spread), unit.Plural(c.Degrees, "degree of freedom", "degrees of freedom"))
	}
	if f := c.New.Foreign; f != nil && *f >= 0.01 {
		add("load", "other programs took %s of the processors during this measurement", unit.Share(*f))
	}
	add("work", "%s, preset %s; a figure may be worse by %s", c.New.Work, c.New.Preset, unit.Share(c.Limit))
	d.Facts(facts...)
	if len(c.Rows) > 0 {
		t := d.Table("figure", "reference", "new", "change", "95 % interval", "verdict", "")
		for i := range c.Rows {
			t.Add(c.Rows[i].cells()...)
		}
	}
	return d
}

// WriteText writes a check.
func (c *Check) WriteText(w io.Writer) error {
	if _, err := io.WriteString(w, strings.ToUpper(string(c.Verdict))+": "); err != nil {
		return err
	}
	return c.document().WriteText(w, 0)
}

// WriteMarkdown writes a check as the text of an issue.
func (c *Check) WriteMarkdown(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "## Performance: %s\n\n", c.Verdict); err != nil {
		return err
	}
	return c.document().WriteMarkdown(w)
}
