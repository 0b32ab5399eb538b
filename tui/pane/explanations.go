package pane

import (
	_ "embed"
	"strings"
)

// The texts that explain panes, parsed from Markdown.

//go:embed explain.md
var explainMarkdown string

// explanations are the texts of this package's panes.
var explanations = ParseExplanations(explainMarkdown)

// Explanations are the paragraphs of a Markdown file by the headings of its sections.
type Explanations map[string][]string

// ParseExplanations reads a Markdown file of sections "## name". Text before the first one is ignored.
func ParseExplanations(markdown string) Explanations {
	e := Explanations{}
	for i, section := range strings.Split("\n"+markdown, "\n## ") {
		if i == 0 {
			continue
		}
		name, body, _ := strings.Cut(section, "\n")
		for paragraph := range strings.SplitSeq(body, "\n\n") {
			if text := strings.Join(strings.Fields(paragraph), " "); text != "" {
				e[name] = append(e[name], text)
			}
		}
	}
	return e
}

// Of returns the paragraphs of a section. The pairs replace placeholders: "{unit}", "sample".
// A paragraph left empty is omitted.
func (e Explanations) Of(section string, pairs ...string) []string {
	r := strings.NewReplacer(pairs...)
	var all []string
	for _, paragraph := range e[section] {
		if text := strings.Join(strings.Fields(r.Replace(paragraph)), " "); text != "" {
			all = append(all, text)
		}
	}
	return all
}
