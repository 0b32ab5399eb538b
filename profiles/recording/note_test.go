package recording

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

// A note is in the block that a replay reads, and among the moments worth going to.
func TestNotesAreRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.prismtop")
	x := begin(New(Options{Path: path}))
	x.tick(50)
	n := profiles.Note{Author: "pts/1", Text: "flat", Iteration: x.it.Index, Written: 30 * time.Millisecond}
	x.Event(&profiles.Event{At: time.Now(), Body: &n})
	x.Event(&profiles.Event{At: time.Now(), Body: &profiles.Note{Text: "nobody's", Iteration: x.it.Index}})
	x.tick(50)
	if err := x.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := Open(t.Context(), path, func(string) *settings.Table { return prism.Table })
	if err != nil {
		t.Fatal(err)
	}
	var got []profiles.Note
	stretches, err := r.Stretches(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Cursor()
	for _, s := range stretches {
		moments, err := c.Read(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for i := range moments {
			moments[i].Each(func(e *profiles.Event) {
				if b, ok := e.Body.(*profiles.Note); ok {
					got = append(got, *b)
				}
			})
		}
	}
	if want := []profiles.Note{n, {Text: "nobody's", Iteration: 50}}; !slices.Equal(got, want) {
		t.Errorf("the blocks have %+v, want %+v", got, want)
	}
	marks, err := r.Marks(t.Context())
	if err != nil || len(marks) != 2 || marks[0].Kind != profiles.NoteMark || marks[0].Text != "pts/1: flat" || marks[1].Text != "nobody's" {
		t.Errorf("marks %+v, %v", marks, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
