package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/stream"
	"prismtop/sim/workloads"
)

// A note takes its place among the iterations, also in a run that is paused; the run goes on bit for
// bit as without it.
func TestNotesTakeTheirPlace(t *testing.T) {
	plain, _ := stepped(t, 12, func(int, *Run) {})
	noted, _ := stepped(t, 12, func(i int, r *Run) {
		if i == 7 {
			if err := r.Do(profiles.Command{Kind: profiles.NoteCommand, By: "pts/1", Text: "flat"}); err != nil {
				t.Error(err)
			}
		}
	})
	if fmt.Sprint(plain) != fmt.Sprint(noted) {
		t.Error("a note changed the results")
	}
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "samples=60", "threshold=0")...), Linger: true})
	until(t, a, "iterations", func(s *profiles.Snapshot) bool { return s.Index > 3 })
	do(t, r, profiles.PauseCommand)
	paused := until(t, a, "the pause", func(s *profiles.Snapshot) bool { return s.State == profiles.Paused })
	if err := r.Do(profiles.Command{Kind: profiles.NoteCommand, By: "pts/1", Text: "what \x1b[2J happens"}); err != nil {
		t.Fatal(err)
	}
	s := until(t, a, "the note", func(s *profiles.Snapshot) bool { return len(s.Notes) > 0 })
	n := s.Notes[0]
	if n.Iteration != paused.Index || n.Author != "pts/1" || n.Text != `what \x1b[2J happens` || n.Written <= 0 {
		t.Errorf("at iteration %d: %+v", paused.Index, n)
	}
	until(t, a, "the note in the log", func(s *profiles.Snapshot) bool {
		last := s.Log[len(s.Log)-1]
		return last.Text == `pts/1: what \x1b[2J happens` && last.At == n.Written
	})
}

// Clearing the caches is logged and changes no result; every cache is cleared; a run that is over, and one without
// caches, refuse.
func TestCachesAreClearedOnRequest(t *testing.T) {
	remeasure := append(append([]string(nil), small...), "pattern=remeasure", "samples=60", "threshold=0")
	r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, remeasure...), Linger: true})
	before := until(t, a, "a measurement in the cache", func(s *profiles.Snapshot) bool { return s.Caches[0].Bytes > 0 && s.Caches[0].Hits > 0 })
	if err := ask(r, profiles.ClearCommand); err != nil {
		t.Fatal(err)
	}
	until(t, a, "the log", func(s *profiles.Snapshot) bool {
		return slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool {
			return strings.HasPrefix(l.Text, "all caches cleared: ")
		})
	})
	until(t, a, "the same centre measured again", func(s *profiles.Snapshot) bool { return s.Caches[0].Misses > before.Caches[0].Misses })
	until(t, a, "the same FFT planned again", func(s *profiles.Snapshot) bool { return s.Caches[1].Misses > before.Caches[1].Misses })
	r.Stop()
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := ask(r, profiles.ClearCommand); err == nil {
		t.Error("a run that is over was cleared")
	}
	plain, _ := stepped(t, 12, func(int, *Run) {})
	cleared, _ := stepped(t, 12, func(i int, r *Run) {
		if i == 7 {
			if err := ask(r, profiles.ClearCommand); err != nil {
				t.Error(err)
			}
		}
	})
	if fmt.Sprint(plain) != fmt.Sprint(cleared) {
		t.Error("clearing changed the results")
	}
}

// Once the pace is known, the log says how long the run takes at most, with a warning if that is long.
func TestALongRunIsForetold(t *testing.T) {
	for _, c := range []struct {
		sets []string
		want string
	}{
		{[]string{"iterations=100000000", "threshold=0"}, "; set max_seconds to bound it"},
		{[]string{"iterations=100000000", "threshold=0", "max_seconds=600"}, "ended by max_seconds = 600"},
	} {
		r, a := start(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(append([]string(nil), small...), c.sets...)...), Foresee: true})
		until(t, a, c.want, func(s *profiles.Snapshot) bool {
			return slices.ContainsFunc(s.Log, func(l profiles.LogLine) bool { return strings.Contains(l.Text, c.want) })
		})
		r.Stop()
		if err := r.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// A run takes a bounded number of notes of a bounded length.
func TestNotesOfARunAreBounded(t *testing.T) {
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, small...), Stream: stream.New(1)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for text, want := range map[string]string{"": "no text", strings.Repeat("ä", profiles.LongestNote+1): "at most 200 characters"} {
		if err := r.Do(profiles.Command{Kind: profiles.NoteCommand, By: "pts/1", Text: text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := r.Do(profiles.Command{Kind: profiles.NoteCommand, By: strings.Repeat("a", 1000), Text: strings.Repeat("ä", profiles.LongestNote)}); err != nil {
		t.Error(err)
	}
	for range notesAtOnce - 1 {
		if err := r.Do(profiles.Command{Kind: profiles.NoteCommand, By: "", Text: "a"}); err != nil {
			t.Error(err)
		}
	}
	if err := r.Do(profiles.Command{Kind: profiles.NoteCommand, By: "", Text: "a"}); err == nil || !strings.Contains(err.Error(), "at most 20") {
		t.Errorf("one note too many: %v", err)
	}
	taken := 0
	for c, ok := r.take(); ok; c, ok = r.take() {
		if taken++; len(c.note.Author) > 64 {
			t.Errorf("an author of %d bytes", len(c.note.Author))
		}
	}
	if taken != notesAtOnce {
		t.Errorf("%d notes were queued, want %d", taken, notesAtOnce)
	}
}
