package report

import (
	"io"
	"net/url"
	"strings"
	"unicode/utf8"

	"prismtop/profiles/visible"
)

// A document as Markdown, with the tables of GitHub.

// WriteMarkdown writes the document as Markdown.
func (d *Document) WriteMarkdown(w io.Writer) error {
	var m markdown
	if d.Title != "" {
		m.heading(1, d.Title)
	}
	d.write(&m)
	_, err := io.WriteString(w, m.b.String())
	return err
}

// markdown is a document's Markdown so far.
type markdown struct{ b strings.Builder }

// begin begins a part: an empty line stands between parts.
func (m *markdown) begin() {
	if m.b.Len() > 0 {
		m.b.WriteByte('\n')
	}
}

// marked returns a text on one line, of which Markdown emphasises what is Strong.
func marked(s string) string {
	return markup{Markdown, func(s string) string { return "**" + Markdown(s) + "**" }, func(text, to string) string {
		return "[" + Markdown(text) + "](" + (&url.URL{Path: to}).EscapedPath() + ")"
	}}.of(s)
}

func (m *markdown) heading(level int, s string) {
	m.begin()
	m.b.WriteString(strings.Repeat("#", level) + " " + marked(s) + "\n")
}

func (m *markdown) paragraph(s string) {
	m.begin()
	m.b.WriteString(marked(s) + "\n")
}

func (m *markdown) facts(all []Fact) {
	m.begin()
	for _, f := range all {
		m.b.WriteString("- ")
		if f.Name != "" {
			m.b.WriteString(marked(Strong(f.Name)) + ": ")
		}
		m.b.WriteString(marked(f.Text) + "\n")
	}
}

func (m *markdown) table(t *Table) {
	m.begin()
	head := t.Head
	if head == nil && len(t.Rows) > 0 {
		head = make([]string, len(t.Rows[0]))
	}
	m.row(head)
	m.b.WriteByte('|')
	for i := range head {
		if t.right(i) {
			m.b.WriteString("---:|")
		} else {
			m.b.WriteString("---|")
		}
	}
	m.b.WriteByte('\n')
	for _, row := range t.Rows {
		m.row(row)
	}
}

func (m *markdown) row(cells []string) {
	m.b.WriteByte('|')
	for _, cell := range cells {
		m.b.WriteString(" " + marked(cell) + " |")
	}
	m.b.WriteByte('\n')
}

func (*markdown) figure(string, string) {}

// special are the characters that may mean something anywhere in Markdown.
const special = "\\`*_|&$"

// Markdown returns a text on one line that Markdown shows as it is, on a line of its own or in a cell.
func Markdown(s string) string {
	s = visible.Text(s)
	var b strings.Builder
	for i, r := range s {
		rest := s[i+utf8.RuneLen(r):]
		switch {
		case r == '_' && inWord(s, i): // means nothing there
		case strings.ContainsRune(special, r),
			r == '~' && strings.Count(s, "~") > 1,
			r == '<' && rest != "" && !strings.ContainsRune(" 0123456789=", rune(rest[0])), // the beginning of a tag
			r == ']' && rest != "" && strings.ContainsRune("([:", rune(rest[0])),           // of a link
			i == 0 && strings.ContainsRune("#>[", r):
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	// An address would become a link.
	return strings.NewReplacer("://", ":&#47;&#47;", "www.", "www&#46;", "@", "&#64;").Replace(b.String())
}

// inWord reports whether the underscore at i is between letters or digits, where it does not begin
// emphasis.
func inWord(s string, i int) bool {
	letter := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
	return i > 0 && i+1 < len(s) && letter(s[i-1]) && letter(s[i+1])
}
