package report

import (
	_ "embed" // the page's style
	"fmt"
	"html"
	"io"
	"net/url"
	"strings"
	"unicode"

	"prismtop/profiles/visible"
)

// A document as a page of HTML, which requests nothing: its policy allows its own style and no script.

//go:embed page.css
var style string

// WriteHTML writes the document as one page.
func (d *Document) WriteHTML(w io.Writer) error {
	var p Page
	p.Put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "+
		"content=\"width=device-width, initial-scale=1\">\n"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "+
		"img-src data:\">\n<title>%s</title>\n<style>\n", d.Title)
	p.WriteString(style + "</style>\n</head>\n<body>\n")
	p.heading(1, d.Title)
	d.write(&p)
	p.WriteString("</body>\n</html>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// Page is HTML under construction.
type Page struct{ strings.Builder }

// Put writes HTML in which each %s stands for one of the texts, escaped. What of a text could not be seen
// is written out.
func (p *Page) Put(format string, texts ...string) {
	all := make([]any, len(texts))
	for i, t := range texts {
		all[i] = markup{escaped, func(s string) string { return `<strong class="` + class(s) + `">` + escaped(s) + "</strong>" },
			func(text, to string) string {
				return `<a href="` + (&url.URL{Path: to}).EscapedPath() + `">` + escaped(text) + "</a>"
			}}.of(t)
	}
	fmt.Fprintf(p, format, all...)
}

func escaped(s string) string { return html.EscapeString(visible.Text(s)) }

// class returns a text as a class: its letters in lower case, and a dash for anything else.
func class(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) {
			return '-'
		}
		return unicode.ToLower(r)
	}, s)
}

func (p *Page) heading(level int, s string) {
	p.Put(fmt.Sprintf("<h%d>%%s</h%[1]d>\n", level), s)
}

func (p *Page) paragraph(s string) { p.Put("<p>%s</p>\n", s) }

func (p *Page) facts(all []Fact) {
	p.Put("<ul>\n")
	for _, f := range all {
		if f.Name != "" {
			f.Text = Strong(f.Name) + ": " + f.Text
		}
		p.Put("<li>%s</li>\n", f.Text)
	}
	p.Put("</ul>\n")
}

// longText is the number of bytes from which a cell of a table gets more than the least width.
const longText = 60

func (p *Page) table(t *Table) { p.Table(t) }

// Table writes a table.
func (p *Page) Table(t *Table) {
	p.Put("<div class=\"table\"><table>\n")
	if t.Head != nil {
		p.Put("<thead><tr>")
		p.cells(t, `<th scope="col"`, "th", t.Head)
		p.Put("</tr></thead>\n")
	}
	p.Put("<tbody>\n")
	for _, row := range t.Rows {
		p.Put("<tr>")
		p.cells(t, "<td", "td", row)
		p.Put("</tr>\n")
	}
	p.Put("</tbody>\n</table></div>\n")
}

// cells writes a row of a table.
func (p *Page) cells(t *Table, open, name string, texts []string) {
	for i, text := range texts {
		p.WriteString(open)
		switch {
		case t.right(i):
			p.WriteString(` class="number"`)
		case len(text) > longText:
			p.WriteString(` class="long"`)
		}
		p.Put(">%s", text)
		p.WriteString("</" + name + ">")
	}
}

func (p *Page) figure(caption, svg string) {
	p.WriteString("<figure>\n" + svg)
	p.Put("<figcaption>%s</figcaption>\n</figure>\n", caption)
}
