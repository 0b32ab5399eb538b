package report

import (
	"bufio"
	"io"
	"strings"

	"prismtop/profiles/export/figure"
	"prismtop/profiles/visible"
)

// markdown writes the report as Markdown.
func (f *facts) markdown(to io.Writer) error {
	w := bufio.NewWriter(to)
	put := func(parts ...string) {
		for _, part := range parts {
			_, _ = w.WriteString(part) // Flush returns the error
		}
	}
	put("# ", plain(figure.Title(f.summary)), "\n\n", plain(figure.Facts(f.digest, f.summary)), "\n")
	for _, s := range f.sections() {
		put("\n## ", s.Title, "\n")
		if s.Intro != "" {
			put("\n", plain(s.Intro), "\n")
		}
		if len(s.Rows) == 0 {
			continue
		}
		put("\n|")
		for _, h := range s.Head {
			put(" ", plain(h), " |")
		}
		put("\n|")
		for i := range s.Head {
			if s.Numbers > 0 && i >= s.Numbers {
				put("---:|")
			} else {
				put("---|")
			}
		}
		for _, row := range s.Rows {
			put("\n|")
			for _, cell := range row {
				put(" ", plain(cell), " |")
			}
		}
		put("\n")
	}
	return w.Flush()
}

// special are the characters that may mean something in Markdown.
const special = "\\`*_{}[]<>()#+!|~&$"

// plain returns a text on one line that Markdown shows as it is.
func plain(s string) string {
	s = visible.Text(s)
	var b strings.Builder
	for i, r := range s {
		switch {
		case strings.ContainsRune("()+", r), r == '_' && inWord(s, i): // they mean nothing here
		case strings.ContainsRune(special, r):
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
