package recording

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// beganAt returns when a recording began.
func beganAt(t *testing.T, path string) time.Time {
	t.Helper()
	s, err := statusOf(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return s.Began
}

// resume joins a recording after a number of iterations and records more.
func resume(t *testing.T, path string, from int64, iterations int) {
	t.Helper()
	j, err := Join(t.Context(), path, beganAt(t, path), 0, from, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := beginAfter(New(Options{Joined: j}), from)
	r.tick(iterations)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// priorStarts returns the starts before each start of a recording.
func priorStarts(t *testing.T, path string) (all []int) {
	t.Helper()
	r, err := Open(t.Context(), path, func(string) *settings.Table { return prism.Table })
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stretches, err := r.Stretches(t.Context(), 0)
	c := r.Cursor()
	for _, s := range stretches {
		var moments []Moment
		if moments, err = c.Read(t.Context(), s); err != nil {
			break
		}
		for _, m := range moments {
			m.Each(func(e *profiles.Event) {
				if b, ok := e.Body.(*profiles.Begin); ok {
					all = append(all, b.Info.PriorStarts)
				}
			})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A resumed run is one more start of its recording, and what was recorded after the checkpoint stays.
func TestAResumedRunGoesOnInItsRecording(t *testing.T) {
	path := recordedRun(t, 3000)
	resume(t, path, 2000, 1500)
	resume(t, path, 3500, 10)
	if indices, _ := read(t, path); len(indices) != 4510 || indices[2999] != 2999 || indices[3000] != 2000 || indices[4500] != 3500 {
		t.Errorf("%d iterations", len(indices))
	}
	if got := priorStarts(t, path); len(got) != 3 || got[0] != 0 || got[1] != 1 || got[2] != 2 {
		t.Errorf("the starts count %v before them", got)
	}
	if s, err := statusOf(t.Context(), path); err != nil || s.State != Ended || s.Starts != 3 || s.Iterations != 3510 {
		t.Errorf("%+v (%v)", s, err)
	}
	if beside, err := filepath.Glob(path + "-*"); err != nil || len(beside) > 0 {
		t.Errorf("left beside it: %v (%v)", beside, err)
	}
}

// A run that was killed loses nothing that it recorded when it is resumed.
func TestAKilledRecordingIsJoinedWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "killed.sqlite")
	if _, err := killAtRandom(path); err != nil {
		t.Fatal(err)
	}
	before, _ := read(t, path)
	if len(before) == 0 {
		t.Fatal("nothing was recorded")
	}
	resume(t, path, int64(len(before)), 100)
	after, _ := read(t, path)
	if len(after) != len(before)+100 {
		t.Errorf("%d iterations after %d and 100 more", len(after), len(before))
	}
	for i, index := range after {
		if index != int64(i) {
			t.Fatalf("iteration %d comes as number %d", index, i)
		}
	}
}

// The length of a run is the time that it ran, whatever passes meanwhile: since its newest restart, the parts that were resumed
// since included, as far as the checkpoint does not say.
func TestTheLengthIsTheTimeThatItRan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := begin(New(Options{Path: path}))
	ran := func(iterations int, elapsed time.Duration) {
		r.snap.Elapsed = elapsed
		r.tick(iterations)
	}
	check := func(what string, iterations int64, want time.Duration) {
		t.Helper()
		r.Flush(t.Context())
		if got, err := statusOf(t.Context(), path); err != nil || got.Iterations != iterations || got.Length != want {
			t.Errorf("%s: %d iterations in %v, want %d in %v (%v)", what, got.Iterations, got.Length, iterations, want, err)
		}
	}
	ran(100, 3*time.Second)
	r.Tick(r.began.Add(90*time.Second), &r.snap) // it was paused
	r.snap.Index = 100
	r.Tick(r.began.Add(91*time.Second), &r.snap)
	check("paused", 100, 3*time.Second)
	r.start()
	ran(50, 2*time.Second)
	check("restarted", 50, 2*time.Second)
	for i, part := range []struct {
		from int64
		ran  time.Duration
		says time.Duration // the checkpoint; 0 for one that does not
		want time.Duration
	}{{50, 4 * time.Second, 0, 6 * time.Second}, {40, 5 * time.Second, 0, 11 * time.Second},
		{40, 3 * time.Second, 5500 * time.Millisecond, 8500 * time.Millisecond}} {
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		db, err := connect(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), "UPDATE recording SET value = value - 3600000000000 WHERE key = 'began_ns'") // an hour ago
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		j, err := Join(t.Context(), path, beganAt(t, path), 0, part.from, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r = &taped{Recorder: New(Options{Joined: j}), it: prismtest.Progressive(), began: time.Now(), ran: part.says}
		r.startAfter(part.from)
		ran(10, part.ran)
		check(fmt.Sprintf("resumed for the time %d", i+1), part.from+10, part.want)
	}
	r.start()
	ran(10, time.Second)
	check("restarted again", 10, time.Second)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The median is that of the newest start, as in the summary, also of a resumed run, whose length and iterations are those of all parts.
func TestTheMedianIsOfTheNewestPart(t *testing.T) {
	path := recordedRun(t, 3000) // of a millisecond each
	for _, part := range []struct {
		resumes bool
		from    int64
		n       int
		want    float64
	}{{true, 3000, 100, 50}, {true, 3100, 4000, 50}, {false, 0, 10, 7}} {
		j, err := Join(t.Context(), path, beganAt(t, path), 0, part.from, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := beginAfter(New(Options{Joined: j}), part.from)
		ms := 50.0
		if !part.resumes {
			ms = 7
		}
		for range part.n {
			r.it.Total = int64(ms * 1e6)
			r.iterate()
		}
		s := r.snap
		s.Index, s.Whole.Total.N, s.Whole.Total.Median = r.it.Index, part.n, ms*1e6
		r.Tick(time.Now(), &s)
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, err := statusOf(t.Context(), path)
		if err != nil || math.Abs(got.MedianMS-part.want) > 0.01 {
			t.Errorf("after %d iterations from %d: median %v, want %v (%v)", part.n, part.from, got.MedianMS, part.want, err)
		}
	}
}

// A recording that the run cannot go on with says why, and is left as it is.
func TestARecordingThatCannotBeJoinedSaysWhy(t *testing.T) {
	path, cut := recordedRun(t, 3000), filepath.Join(t.TempDir(), "cut")
	stopped := begin(New(Options{Path: cut, Limit: 1, Every: time.Millisecond}))
	for ended := false; !ended; {
		stopped.tick(10)
		select {
		case <-stopped.done:
			ended = true
		default:
		}
	}
	began := beganAt(t, path)
	joined, err := Join(t.Context(), recordedRun(t, 10), time.Time{}, 0, 0, Options{})
	if err == nil {
		t.Fatalf("another run's recording was joined: %v", joined)
	}
	for name, c := range map[string]struct {
		path  string
		began time.Time
		from  int64
		o     Options
		want  string
	}{
		"none":            {path + "x", began, 0, Options{}, "is not there any more"},
		"another":         {path, began.Add(1), 0, Options{}, "is of another run"},
		"shorter":         {path, began, 3001, Options{}, "ends at iteration 3000"},
		"another version": {path, began, 0, Options{Fingerprint: Fingerprint{Version: "2"}}, "another version"},
		"too large":       {path, began, 0, Options{Limit: 1}, "limit of size"},
		"cut short":       {cut, beganAt(t, cut), 0, Options{}, "was cut short: the file has reached"},
	} {
		if _, err := Join(t.Context(), c.path, c.began, 0, c.from, c.o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if s, err := statusOf(t.Context(), path); err != nil || s.State != Ended {
		t.Errorf("it is %v (%v)", s.State, err)
	}
}

// Of two runs that resume from one checkpoint, one goes on in the recording; it is free again once
// that has ended, even before it began.
func TestOneRunJoinsARecording(t *testing.T) {
	path := recordedRun(t, 100)
	began := beganAt(t, path)
	j, err := Join(t.Context(), path, began, 0, 100, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Join(t.Context(), path, began, 0, 100, Options{}); err == nil || !strings.Contains(err.Error(), "by another program") {
		t.Errorf("a second run joined it: %v", err)
	}
	if err := New(Options{Joined: j}).Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := statusOf(t.Context(), path); err != nil || s.State != Ended || s.Iterations != 100 {
		t.Errorf("it is %v after %d iterations (%v)", s.State, s.Iterations, err)
	}
	if j, err = Join(t.Context(), path, began, 0, 100, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := j.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	resume(t, path, 100, 100)
	if _, err := Join(t.Context(), path, began, 1, 100, Options{}); err == nil || !strings.Contains(err.Error(), "another run that went on from there") {
		t.Errorf("another run went on from the same checkpoint: %v", err)
	}
	if j, err = Join(t.Context(), path, began, 2, 150, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := j.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
}
