// Package runreport writes a run as a report for people: one HTML file that needs nothing else, or
// Markdown.
package runreport

import (
	"io"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/export"
	"prismtop/profiles/export/digest"
	"prismtop/profiles/export/figure"
	"prismtop/profiles/report"
)

// Writer writes a report when the run is closed. It is not safe for concurrent use.
type Writer struct {
	digest digest.Digest
	from   export.Source
	to     io.Writer
	write  func(*facts, io.Writer) error
}

// NewHTML returns a writer of an HTML file.
func NewHTML(to io.Writer, from export.Source) *Writer {
	return &Writer{from: from, to: to, write: (*facts).html}
}

// NewMarkdown returns a writer of Markdown with the tables of GitHub.
func NewMarkdown(to io.Writer, from export.Source) *Writer {
	return &Writer{from: from, to: to, write: (*facts).markdown}
}

// Take adds an event.
func (w *Writer) Take(e *profiles.Event) { w.digest.Take(e) }

// See takes a snapshot of the run, which must not be modified later.
func (w *Writer) See(s *profiles.Snapshot) { w.digest.See(s) }

// Close writes the report, with the number of events that did not reach Take; the destination stays
// open.
func (w *Writer) Close(lost int64) error {
	w.digest.Lost = lost
	s := w.digest.Snapshot()
	return w.write(&facts{&w.digest, s, export.Summarize(s, w.from), w.from}, w.to)
}

// markdown writes the report as Markdown.
func (f *facts) markdown(to io.Writer) error {
	d := report.Document{Title: figure.Title(f.summary)}
	d.Paragraph("%s", figure.Facts(f.digest, f.summary))
	for _, s := range f.sections() {
		d.Heading(2, s.Title)
		if s.Intro != "" {
			d.Paragraph("%s", s.Intro)
		}
		if len(s.Rows) > 0 {
			t := d.Table(s.Head...)
			t.Rows, t.Align = s.Rows, s.Align
		}
	}
	if _, err := io.WriteString(to, atomicfile.Generated+"\n\n"); err != nil {
		return err
	}
	return d.WriteMarkdown(to)
}
