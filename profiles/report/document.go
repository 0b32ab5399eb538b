// Package report is the one model of what the program reports in tables, and its writers. A Document holds headings,
// paragraphs, facts, tables and figures in order; WriteText, WriteMarkdown and WriteHTML turn the same document into
// text for a terminal, a page of Markdown and a page of HTML that requests nothing, and Table.WriteCSV a table into
// CSV. Interval and Spread are the two ways in which a report gives a number that varies.
//
// What a package measured it keeps in types of its own, which it also writes as JSON; here it says how they read. Texts
// may come from outside: each writer escapes what its form would take for markup, and what could steer a terminal.
package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
)

// Document is a report under construction. The zero value is empty.
type Document struct {
	Title string // what a page begins with; a terminal's text has none
	parts []func(form)
}

// form is a writer's form of each kind of part.
type form interface {
	heading(level int, text string)
	paragraph(text string)
	facts(all []Fact)
	table(t *Table)
	figure(caption, svg string)
}

// Fact is a line of a list, whose name may be empty.
type Fact struct{ Name, Text string }

func (d *Document) add(part func(form)) { d.parts = append(d.parts, part) }

// Heading adds a heading below the title, of level 2 and so on. In a terminal's text, one of level 1 is underlined.
func (d *Document) Heading(level int, text string) {
	d.add(func(f form) { f.heading(level, text) })
}

// Paragraph adds a paragraph. Those that follow each other are lines of one block in a terminal's text.
func (d *Document) Paragraph(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	d.add(func(f form) { f.paragraph(text) })
}

// Facts adds a list.
func (d *Document) Facts(all ...Fact) {
	if len(all) > 0 {
		d.add(func(f form) { f.facts(all) })
	}
}

// Table adds a table with the titles of its columns, and returns it for its rows.
func (d *Document) Table(head ...string) *Table {
	t := &Table{Head: head}
	d.add(func(f form) { f.table(t) })
	return t
}

// Figure adds a drawing and its caption, which only a page of HTML shows. An empty drawing is left out.
func (d *Document) Figure(caption, svg string) {
	if svg != "" {
		d.add(func(f form) { f.figure(caption, svg) })
	}
}

// write writes the parts in a form.
func (d *Document) write(f form) {
	for _, part := range d.parts {
		part(f)
	}
}

// Table is a table of texts.
type Table struct {
	Head []string // titles of the columns; none for a list of names and values
	Rows [][]string
	// "l" or "r" for each column, at which side its texts end; the last is that of all others, and none is "l"
	Align string
	Notes int // in a terminal's text, columns from here on are lines below their row; 0 for none
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// right reports whether the texts of a column end at its right, as those of numbers do.
func (t *Table) right(column int) bool {
	return t.Align != "" && t.Align[min(column, len(t.Align)-1)] == 'r'
}

// WriteCSV writes the table as CSV.
func (t *Table) WriteCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(t.Head); err != nil {
		return err
	}
	return c.WriteAll(t.Rows)
}

// Strong marks a text that is emphasised, within a paragraph, a fact or a cell. A page of HTML gives it the text as its
// class.
func Strong(text string) string { return "\x0e" + text + "\x0f" }

// Link marks a text that leads to a file beside the document.
func Link(text, to string) string { return "\x11" + text + "\x12" + to + "\x13" }

// marks matches what Strong and Link mark.
var marks = regexp.MustCompile("\x0e([^\x0e\x0f]*)\x0f|\x11([^\x11-\x13]*)\x12([^\x11-\x13]*)\x13")

// markup is how a form writes a text, and what is marked in it.
type markup struct {
	plain, strong func(text string) string
	link          func(text, to string) string
}

// of returns a text in the form.
func (m markup) of(text string) (s string) {
	at := 0
	for _, found := range marks.FindAllStringSubmatchIndex(text, -1) {
		s += m.plain(text[at:found[0]])
		if found[2] >= 0 {
			s += m.strong(text[found[2]:found[3]])
		} else {
			s += m.link(text[found[4]:found[5]], text[found[6]:found[7]])
		}
		at = found[1]
	}
	return s + m.plain(text[at:])
}
