package helptext

import (
	_ "embed" // the page's texts
	"strings"
	"time"

	mango "github.com/muesli/mango-cobra"
	"github.com/muesli/roff"
	"github.com/spf13/cobra"

	"prismtop/tui/keys"
)

// besides has the sections on what is neither a command nor a key.
//
//go:embed manual.md
var besides string

// Manual returns the manual page of a program: the command line's part is generated from the commands
// and their flags, the part about keys from the tables of bindings of the screens.
func Manual(root *cobra.Command, listed []keys.Listing) (string, error) {
	root.Long = strings.ReplaceAll(root.Long, "\n", " ")
	page, err := mango.NewManPage(1, root)
	if err != nil {
		return "", err
	}
	doc := &manualPage{roff.NewDocument()}
	page.Build(doc)
	doc.Section("Keys")
	doc.Text("On the live screen, in a replay, in the table of runs and in a comparison:")
	for _, s := range listed {
		doc.Paragraph()
		doc.TextItalic(s.Title + ":")
		for _, r := range s.Rows {
			doc.entry(strings.Join(r.Keys, ", "), r.Help)
		}
	}
	doc.Paragraph()
	doc.Text("A pane that has the keys takes arrows, pgup, pgdown, home, end, and the keys of its view, scale and " +
		"drawing for itself; its help says what they do there.")
	for part := range strings.SplitSeq(strings.TrimSpace(besides), "\n\n") {
		switch title, text, _ := strings.Cut(part, "\n"); {
		case strings.HasPrefix(part, "# "):
		case strings.HasPrefix(part, "## "):
			doc.Section(part[len("## "):])
		case strings.HasPrefix(part, "### "):
			doc.entry(title[len("### "):], text)
		default:
			doc.Text(part)
		}
	}
	text := strings.ReplaceAll(doc.String(), "--", `\-\-`) // hyphens that can be copied
	return strings.TrimRight(text, "\n") + "\n", nil
}

// manualPage is a page without a date: its content depends only on the program.
type manualPage struct{ *roff.Document }

// Heading writes the header of the page.
func (p *manualPage) Heading(section uint, title, _ string, _ time.Time) {
	p.Document.Heading(section, title, "User commands", time.Time{})
}

// Text writes text in which per cent signs are literal.
func (p *manualPage) Text(text string) { p.Document.Text(strings.ReplaceAll(text, "%", "%%")) }

// TextBold writes text in bold.
func (p *manualPage) TextBold(text string) {
	p.Document.TextBold(strings.ReplaceAll(text, "%", "%%"))
}

// String returns the page without the date that Heading inserts.
func (p *manualPage) String() string {
	return strings.Replace(p.Document.String(), time.Time{}.Format("2006-01-02"), "", 1)
}

// entry writes a term and its description.
func (p *manualPage) entry(word, means string) {
	p.TaggedParagraph(-1)
	p.TextBold(word)
	p.EndSection()
	p.Text(means)
}
