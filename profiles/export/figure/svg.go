package figure

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/visible"
)

// A drawing as SVG.

// family are the fonts of texts in SVG.
const family = "Helvetica, Arial, 'Liberation Sans', sans-serif"

// class returns the name of a paint in a page: "c0" for the first curve.
func (p Paint) class() string {
	switch {
	case p >= Area:
		return "a" + strconv.Itoa(int(p-Area))
	case p >= Curve:
		return "c" + strconv.Itoa(int(p-Curve))
	}
	return [...]string{"", "paper", "ink", "muted", "grid", "mark", "band"}[p]
}

// encoder writes SVG.
type encoder struct {
	b      strings.Builder
	inPage bool // colours are classes of the page
}

// WriteSVG writes the drawing as a document of its own.
func (d *Drawing) WriteSVG(w io.Writer) error {
	var e encoder
	fmt.Fprintf(&e.b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %[1]s %[2]s" role="img" font-family="%[3]s">`+"\n", decimal(d.Width), decimal(d.Height), family)
	e.b.WriteString(atomicfile.Generated + "\n")
	fmt.Fprintf(&e.b, "<title>%s</title>\n<desc>%s</desc>\n", escaped(d.Title), escaped(d.About))
	e.shapes(d)
	e.b.WriteString("</svg>\n")
	_, err := io.WriteString(w, e.b.String())
	return err
}

// Inline returns the drawing as an element with an id, for a page with the rules of Classes.
func (d *Drawing) Inline(id string) string {
	e := encoder{inPage: true}
	fmt.Fprintf(&e.b, `<svg id="%[1]s" viewBox="0 0 %[2]s %[3]s" role="img" aria-labelledby="%[1]s-title %[1]s-about">`, escaped(id), decimal(d.Width), decimal(d.Height))
	fmt.Fprintf(&e.b, `<title id="%[1]s-title">%[2]s</title><desc id="%[1]s-about">%[3]s</desc>`, escaped(id), escaped(d.Title), escaped(d.About))
	e.shapes(d)
	e.b.WriteString("</svg>")
	return e.b.String()
}

// shapes writes the shapes.
func (e *encoder) shapes(d *Drawing) {
	for i := range d.shapes {
		s := &d.shapes[i]
		if s.text != "" {
			e.text(s)
			continue
		}
		e.b.WriteString(`<path d="`)
		for k, p := range s.points {
			e.b.WriteByte("ML"[min(k, 1)])
			e.b.WriteString(decimal(p.X) + " " + decimal(p.Y))
		}
		if s.fill != None {
			e.b.WriteString("Z")
		}
		e.b.WriteByte('"')
		e.paint("fill", s.fill)
		if s.stroke != None {
			e.paint("stroke", s.stroke)
			fmt.Fprintf(&e.b, ` stroke-width="%s" stroke-linejoin="round"`, decimal(s.width))
			if s.dash != nil {
				lengths := make([]string, len(s.dash))
				for k, v := range s.dash {
					lengths[k] = decimal(v)
				}
				fmt.Fprintf(&e.b, ` stroke-dasharray="%s"`, strings.Join(lengths, " "))
			}
		}
		e.b.WriteString("/>\n")
	}
}

// text writes a text.
func (e *encoder) text(s *shape) {
	fmt.Fprintf(&e.b, `<text x="%s" y="%s" font-size="%s"`, decimal(s.points[0].X), decimal(s.points[0].Y), decimal(s.size))
	if s.anchor != Start {
		fmt.Fprintf(&e.b, ` text-anchor="%s"`, [...]string{"start", "middle", "end"}[s.anchor])
	}
	if s.bold {
		e.b.WriteString(` font-weight="bold"`)
	}
	e.paint("fill", s.fill)
	e.b.WriteString(">" + escaped(s.text) + "</text>\n")
}

// paint writes the colour of a fill or stroke. Several classes of one element would exclude each other:
// no shape has both.
func (e *encoder) paint(of string, p Paint) {
	switch {
	case p == None && of == "fill":
		e.b.WriteString(` fill="none"`)
	case e.inPage:
		fmt.Fprintf(&e.b, ` class="%s-%s"`, of, p.class())
	default:
		fmt.Fprintf(&e.b, ` %s="%s"`, of, Light.hex(p))
	}
}

// decimal formats a length with at most one decimal.
func decimal(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

// escaped returns a text for XML; what could not be seen is written out.
func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(visible.Text(s))) // a Builder takes everything
	return b.String()
}
