package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"prismtop/profiles/stats"
)

// sample is a document with a part of every kind, and a name from outside that would be markup in each form.
func sample() *Document {
	d := &Document{Title: "A <b>title</b>"}
	d.Paragraph("%s of 12 %%, %s", "9", Strong("not complete"))
	d.Paragraph("a_name with *stars* and \x1b[2J")
	d.Facts(Fact{"Machine", "a | b"}, Fact{"", "without a name, " + Link("a file", "a b/c.md")})
	d.Figure("two lines", "<svg></svg>\n")
	d.Heading(2, "Numbers")
	t := d.Table("what", "ms", "verdict")
	t.Align = "lrl"
	t.Add("one", "1.5", Strong("slower"))
	t.Add("twelve", "12.25", "")
	t = d.Table("claim", "why")
	t.Notes = 1
	t.Add("first", "because it is so")
	return d
}

func TestOneDocumentInEveryForm(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*bytes.Buffer) error
		want  string
	}{
		"text": {func(b *bytes.Buffer) error { return sample().WriteText(b, 20) }, `9 of 12 %, not
   complete
a_name with *stars*
   and \x1b[2J

Machine: a | b
without a name, a
   file

Numbers
what      ms verdict
one      1.5 slower
twelve 12.25

claim
first
    because it is so
`},
		"markdown": {func(b *bytes.Buffer) error { return sample().WriteMarkdown(b) }, `# A \<b>title\</b>

9 of 12 %, **not complete**

a_name with \*stars\* and \\x1b[2J

- **Machine**: a \| b
- without a name, [a file](a%20b/c.md)

## Numbers

| what | ms | verdict |
|---|---:|---|
| one | 1.5 | **slower** |
| twelve | 12.25 |  |

| claim | why |
|---|---|
| first | because it is so |
`},
	} {
		var b bytes.Buffer
		if err := c.write(&b); err != nil || b.String() != c.want {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
	var b bytes.Buffer
	if err := sample().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<title>A &lt;b&gt;title", "<h2>Numbers</h2>", `<p>9 of 12 %, <strong class="not-complete">not complete</strong></p>`, `<td class="number">12.25</td>`, "<svg></svg>",
		`\x1b[2J`, `<a href="a%20b/c.md">a file</a>`, "<figcaption>two lines", "default-src 'none'"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, b.String())
		}
	}
	if strings.ContainsAny(b.String(), "\x1b\x0e\x0f") || strings.Count(b.String(), "<table") != strings.Count(b.String(), "</table>") {
		t.Error(b.String())
	}
}

func TestATableAsCSV(t *testing.T) {
	table := Table{Head: []string{"name", "n"}}
	table.Add("a, b", "1")
	var b bytes.Buffer
	if err := table.WriteCSV(&b); err != nil || b.String() != "name,n\n\"a, b\",1\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

// A table that does not fit has narrower gaps.
func TestATableFitsWhereItCan(t *testing.T) {
	var d Document
	d.Table().Add("12345", "12345", "12345")
	var b bytes.Buffer
	if err := d.WriteText(&b, 17); err != nil || b.String() != "12345 12345 12345\n" {
		t.Errorf("%v, %q", err, b.String())
	}
}

// FuzzMarkdown checks that Markdown shows a text as it is, in a paragraph and in a cell.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{"a", "[a](b)", "[a]: b", "# a", "> a", "*a*", "a_b_c", "_a_", "`a`", "<b>", "a < b", "1 <2", "~~a~~", "a | b", `\`, "https://a.b", "www.a.b", "a@b.c", "![a](b)", "&amp;", "$a$"} {
		f.Add(s)
	}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	f.Fuzz(func(t *testing.T, s string) {
		for _, source := range []string{"a " + Markdown(s) + "\n", "| a |\n|---|\n| " + Markdown(s) + " |\n"} {
			err := ast.Walk(parser.Parse(text.NewReader([]byte(source))), func(n ast.Node, _ bool) (ast.WalkStatus, error) {
				switch n.(type) {
				case *ast.Link, *ast.AutoLink, *ast.Image, *ast.RawHTML, *ast.HTMLBlock, *ast.CodeSpan, *ast.Emphasis, *ast.Heading, *ast.List, *ast.Blockquote:
					t.Errorf("%q became %s in %q", s, n.Kind(), source)
				}
				return ast.WalkContinue, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestIntervals(t *testing.T) {
	i := Between(2, 1, 4)
	if got := i.Through(func(v float64) float64 { return 1 / v }); got.Value != 0.5 || *got.Low != 0.25 || *got.High != 1 {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct{ got, want string }{
		{i.Text("x", 2), "2.00x [1.00, 4.00]"}, {i.In("ms"), "2 [1, 4] ms"}, {Exact(0.5).In("x"), "0.500 x"}, {Exact(0.00001).In(""), "1e-05"},
		{Of(stats.SignedRank([]float64{1, 2})).Text("", 1), "1.5"}, {Optional(nil, 2, " dB"), "–"}, {Number(1234.5), "1234"}, {Number(0.01234), "0.0123"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if Exact(1).Judge(stats.AtMost(2)) != stats.Undecided || i.Judge(stats.AtMost(5)) != stats.Within || Finite(math.NaN()) != nil {
		t.Error("an interval is judged otherwise")
	}
	if s := SpreadOf([]float64{3, 1, 2}); s != (Spread{2, 2, 1.2, 2.8, 3}) {
		t.Errorf("%+v", s)
	}
}
