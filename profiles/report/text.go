package report

import (
	"io"
	"strings"
	"unicode/utf8"

	"prismtop/profiles/visible"
)

// A document as text for a terminal.

// WriteText writes the document as text. Paragraphs are wrapped at a width in cells; 0 is unlimited.
func (d *Document) WriteText(w io.Writer, width int) error {
	t := plain{width: width}
	d.write(&t)
	_, err := io.WriteString(w, t.b.String())
	return err
}

// WriteText writes the table as text.
func (t *Table) WriteText(w io.Writer) error {
	var d Document
	d.add(func(f form) { f.table(t) })
	return d.WriteText(w, 0)
}

// plain is a document's text so far.
type plain struct {
	b     strings.Builder
	width int
	last  string // the kind of the newest part
}

// begin begins a part: an empty line stands between parts, but not below a heading and between paragraphs.
func (t *plain) begin(kind string) {
	if t.last != "" && t.last != "heading" && (kind != "paragraph" || t.last != kind) {
		t.b.WriteByte('\n')
	}
	t.last = kind
}

// shown returns a text as a terminal shows it.
func shown(s string) string {
	return markup{visible.Text, visible.Text, func(text, _ string) string { return visible.Text(text) }}.of(s)
}

func (t *plain) heading(level int, s string) {
	if t.last == "heading" {
		t.last = "title"
	}
	t.begin("heading")
	s = shown(s)
	t.b.WriteString(s + "\n")
	if level == 1 {
		t.b.WriteString(strings.Repeat("=", utf8.RuneCountInString(s)) + "\n")
	}
}

func (t *plain) paragraph(s string) {
	t.begin("paragraph")
	t.wrap(shown(s), 0)
}

// wrap writes a text that begins at a column in as many lines as it needs; the others are indented further.
func (t *plain) wrap(s string, at int) {
	indent := at + 3
	for i, word := range strings.Split(s, " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case t.width > 0 && at+1+n > t.width:
			t.b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			t.b.WriteByte(' ')
			at++
		}
		t.b.WriteString(word)
		at += n
	}
	t.b.WriteByte('\n')
}

func (t *plain) facts(all []Fact) {
	t.begin("facts")
	for _, f := range all {
		if f.Name != "" {
			f.Text = f.Name + ": " + f.Text
		}
		t.wrap(shown(f.Text), 0)
	}
}

func (t *plain) table(of *Table) {
	t.begin("table")
	rows := of.Rows
	if of.Head != nil {
		rows = append([][]string{of.Head}, rows...)
	}
	aligned := make([][]string, len(rows)) // of each row the columns that are beside each other
	var widths []int
	for i, row := range rows {
		if of.Notes > 0 {
			row = row[:of.Notes]
		}
		for k, cell := range row {
			cell = shown(cell)
			aligned[i] = append(aligned[i], cell)
			if k == len(widths) {
				widths = append(widths, 0)
			}
			widths[k] = max(widths[k], utf8.RuneCountInString(cell))
		}
	}
	gap, whole := "  ", -2
	for _, w := range widths {
		whole += w + 2
	}
	if t.width > 0 && whole > t.width {
		gap = " "
	}
	for i, row := range aligned {
		line := ""
		for k, cell := range row {
			fill := strings.Repeat(" ", widths[k]-utf8.RuneCountInString(cell))
			if of.right(k) {
				line += gap + fill + cell
			} else {
				line += gap + cell + fill
			}
		}
		t.b.WriteString(strings.TrimRight(line[min(len(gap), len(line)):], " ") + "\n")
		if of.Notes == 0 || of.Head != nil && i == 0 {
			continue
		}
		for _, note := range rows[i][of.Notes:] {
			if note != "" {
				t.b.WriteString("    ")
				t.wrap(shown(note), 4)
			}
		}
	}
}

func (*plain) figure(string, string) {}
