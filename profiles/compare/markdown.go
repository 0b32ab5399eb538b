package compare

import (
	"fmt"
	"io"
	"strings"
	"time"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// WriteMarkdown writes a comparison as Markdown.
func WriteMarkdown(w io.Writer, c *Comparison) error {
	var b strings.Builder
	b.WriteString("# Comparison\n\n| | recording | iterations | time | blocks | program | processor |\n|---|---|---:|---:|---:|---|---|\n")
	for i := range c.Sides {
		for j := range c.Sides[i].Runs {
			r := &c.Sides[i].Runs[j]
			fmt.Fprintf(&b, "| %s | %s | %d | %s | %d | %s | %s |\n", Letter(i), escaped(r.Name), r.Iterations, unit.Clock(time.Duration(r.Seconds*1e9)), r.Blocks, escaped(r.Program), escaped(r.Processor))
		}
	}
	if c.Kind != "" {
		fmt.Fprintf(&b, "\nTimes of: %s.\n", escaped(c.Kind))
	}
	for _, common := range c.Common {
		if common.Text != "" {
			fmt.Fprintf(&b, "\n%s.\n", escaped(upper(common.Text)))
		}
	}
	for k := 1; k < len(c.Sides); k++ {
		fmt.Fprintf(&b, "\n## %s against %s\n\n| | %[2]s | %[1]s | change | interval | A/A floor | verdict |\n|---|---:|---:|---:|---:|---:|---|\n", Letter(k), Letter(0))
		for i := range c.Rows {
			r := &c.Rows[i]
			d := &r.Against[k-1]
			verdict, interval := r.Words(k-1), r.Interval(k-1)
			if d.Verdict == NotComparable {
				verdict += ": " + d.Reason
			}
			if d.Beside && interval != "" {
				interval += " beside the others"
			}
			if verdict == "slower" || verdict == "faster" {
				verdict = "**" + verdict + "**"
			} else {
				verdict = escaped(verdict)
			}
			fmt.Fprintf(&b, "| %s: %s | %s | %s | %s | %s | %s | %s |\n", r.Group, escaped(r.Title), r.Shown(0), r.Shown(k), r.Change(k-1), interval, r.ShownFloor(k), verdict)
		}
	}
	for _, about := range c.Abouts() {
		fmt.Fprintf(&b, "\n%s\n", escaped(upper(about)+"."))
	}
	if len(c.Settings) > 0 {
		b.WriteString("\n## Settings that differ\n\n|")
		for k := range c.Sides {
			b.WriteString(" | " + Letter(k))
		}
		b.WriteString(" |\n|---" + strings.Repeat("|---", len(c.Sides)) + "|\n")
		for _, s := range c.Settings {
			b.WriteString("| " + escaped(s.Key))
			for _, v := range s.Values {
				b.WriteString(" | " + escaped(v))
			}
			b.WriteString(" |\n")
		}
	}
	if len(c.Warnings) > 0 {
		b.WriteString("\n## Warnings\n\n")
		for _, warning := range c.Warnings {
			fmt.Fprintf(&b, "- %s\n", escaped(warning.Text))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", c.Footnote())
	_, err := io.WriteString(w, b.String())
	return err
}

// escaped is a text in which nothing is markup.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range visible.Text(s) {
		if strings.ContainsRune("\\`*_[]<>|#", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
