package profiles

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"prismtop/profiles/visible"
)

const (
	// LongestNote bounds the text of a Note, in characters.
	LongestNote = 200
	// longestAuthor bounds its author, likewise.
	longestAuthor = 64
	// MostNotes is how many notes of a run are shown, the newest; a recording has all.
	MostNotes = 500
)

// Note is a remark of somebody who watches a run. It marks a moment of it.
type Note struct {
	Author    string // the screen or the person; empty if that is not known
	Text      string // one line without control characters
	Iteration int64  // Index of the next iteration
	// Written is when it was written, since the run began.
	Written time.Duration
}

// EarlierNote is a note of an earlier start of a run.
type EarlierNote struct {
	Note
	Start int // starts before it; 0 for the first
}

// Errors of a text that makes no note.
var (
	errNoText = errors.New("it has no text")
	errLong   = fmt.Errorf("it is too long: must have at most %d characters", LongestNote)
)

// NewNote returns a note without a place, or the reason why the text makes none.
func NewNote(author, text string) (n Note, err error) {
	n.Author, n.Text = visible.Text(author), visible.Text(text)
	if r := []rune(n.Author); len(r) > longestAuthor {
		n.Author = string(r[:longestAuthor])
	}
	switch {
	case n.Text == "":
		return n, errNoText
	case utf8.RuneCountInString(n.Text) > LongestNote:
		return n, errLong
	}
	return n, nil
}

// String returns the note in one line: "pts/1: looks converged".
func (n *Note) String() string {
	if n.Author == "" {
		return n.Text
	}
	return n.Author + ": " + n.Text
}

// NoteSpan is the time in which a NoteCount takes a number of notes.
const NoteSpan = 10 * time.Second

// NoteCount counts the notes of a run, or of an author, so that there are not too many.
type NoteCount struct {
	began time.Time // the newest span
	notes int       // in it
}

// Take counts a note, and reports whether it is among the first of its span.
func (c *NoteCount) Take(now time.Time, most int) bool {
	if c.Over(now) {
		*c = NoteCount{began: now}
	}
	if c.notes >= most {
		return false
	}
	c.notes++
	return true
}

// Over reports whether the newest span is over.
func (c *NoteCount) Over(now time.Time) bool { return now.Sub(c.began) >= NoteSpan }
