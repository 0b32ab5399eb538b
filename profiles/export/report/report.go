// Package report writes a run as a report for people: one HTML file that needs nothing else, or
// Markdown.
package report

import (
	"io"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/export/digest"
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
