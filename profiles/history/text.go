package history

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
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
	return []string{visible.Text(e.Build.String()), number(Forward, 1), number(Memory, 1e-6), number(Iteration, 1), e.notes(machines)}
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
	return visible.Text(strings.Join(parts, " · "))
}

// ofPRISM are the rows of the table in PRISM's baseline-v0.2.0.md. Its memory is what Python's allocator held.
var ofPRISM = [][]string{
	{"PRISM 0.1.0", "–", "–", "–", "before its refactoring, not measured"},
	{"PRISM 0.2.0", "1.32", "0.14", "3.93", "by its own document, on an unnamed CUDA GPU; memory of Python's objects alone"},
}

// WriteTable writes entries as PRISM's table of versions below PRISM's own rows, the newest last.
func WriteTable(w io.Writer, entries []Entry, machines bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(Columns, "\t"))
	for _, row := range ofPRISM {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	for i := range entries {
		fmt.Fprintln(t, strings.Join(entries[i].cells(machines), "\t"))
	}
	return t.Flush()
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
	return []string{r.Name, fmt.Sprintf("%.4g %s", r.Reference*scale, name), fmt.Sprintf("%.4g %s", r.New*scale, name), percent(r.Ratio - 1), interval, string(r.Verdict), r.Reason}
}

var checkColumns = []string{"", "reference", "new", "change", "95 % interval", "verdict", ""}

// basis says what the check rests on, a line for each fact.
func (c *Check) basis() (lines []string) {
	lines = append(lines, fmt.Sprintf("new        %s, %s", c.New.Build, unit.Plural(c.NewCount, "measurement", "measurements")))
	if c.Reference != nil {
		text := fmt.Sprintf("reference  %s, %s, the last at %s", c.Reference.Build, unit.Plural(c.Entries, "measurement", "measurements"), c.Reference.Time)
		if c.SameBuild {
			text += ": the same program, so that what differs is the machine"
		}
		lines = append(lines, text)
	}
	lines = append(lines, "machine    "+c.New.Machine.String())
	switch {
	case c.Reference == nil:
	case c.Spread == nil:
		lines = append(lines, "certainty  unknown: the history has no build that was measured twice on this machine")
	default:
		lines = append(lines, fmt.Sprintf("certainty  times of one and the same build differ by ±%s on this machine (standard deviation, %s); the intervals allow for that",
			unit.Share(*c.Spread), unit.Plural(c.Degrees, "degree of freedom", "degrees of freedom")))
	}
	if f := c.New.Foreign; f != nil && *f >= 0.01 {
		lines = append(lines, "load       other programs took "+unit.Share(*f)+" of the processors during this measurement")
	}
	for i := range lines {
		lines[i] = visible.Text(lines[i])
	}
	return lines
}

// WriteText writes a check.
func (c *Check) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", strings.ToUpper(string(c.Verdict)), visible.Text(c.Reason))
	for _, line := range c.basis() {
		fmt.Fprintln(&b, line)
	}
	if len(c.Rows) > 0 {
		fmt.Fprintln(&b)
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, strings.Join(checkColumns, "\t"))
		for i := range c.Rows {
			fmt.Fprintln(t, strings.Join(c.Rows[i].cells(), "\t"))
		}
		_ = t.Flush() // writes to memory do not fail
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes a check as the text of an issue.
func (c *Check) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## Performance: %s\n\n%s\n\n", c.Verdict, markdown(c.Reason))
	for _, line := range c.basis() {
		name, text, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, "- **%s**: %s\n", name, markdown(strings.TrimSpace(text)))
	}
	fmt.Fprintf(&b, "- **work**: %s, preset %s; a figure may be worse by %s\n", c.New.Work, markdown(c.New.Preset), unit.Share(c.Limit))
	if len(c.Rows) > 0 {
		b.WriteString("\n| Figure | Reference | New | Change | 95 % interval | Verdict | |\n|---|---|---|---|---|---|---|\n")
		for i := range c.Rows {
			cells := c.Rows[i].cells()
			for k := range cells {
				cells[k] = markdown(cells[k])
			}
			fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// markdown escapes what Markdown would read as a mark.
func markdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", `\<`, "[", `\[`, "\n", " ").Replace(visible.Text(s))
}
