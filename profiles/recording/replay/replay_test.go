package replay

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/export/table"
	"prismtop/profiles/recording"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// recorded returns a recorded run and a playback of it, whose index is complete.
func recorded(t *testing.T) (*run, *playback) {
	t.Helper()
	r := newRun(t, recording.Options{})
	r.live()
	b := New(t.Context(), r.close(t)).playback
	b.index.fill(t.Context())
	return r, b
}

// to plays until the target is reached.
func (b *playback) arrive(t *testing.T) {
	t.Helper()
	for b.target != nil {
		b.work()
	}
	if b.err != "" {
		t.Fatal(b.err)
	}
}

// A recording gives every snapshot that the screen had, in order.
func TestAReplayShowsWhatWasShownLive(t *testing.T) {
	r, b := recorded(t)
	var before *profiles.Snapshot
	for i, live := range r.shots {
		if live == before { // a tick that gave nothing new
			continue
		}
		before = live
		for shown := b.aggregator.Last(); b.aggregator.Last() == shown; b.consume() {
			if b.upcoming() == nil {
				t.Fatalf("tick %d of %d is missing (%s)", i, len(r.shots), b.err)
			}
		}
		same(t, fmt.Sprintf("tick %d of %d, iteration %d, %v", i, len(r.shots), live.Index, live.State), live, b.shown)
	}
	for shown := b.aggregator.Last(); b.upcoming() != nil; b.consume() {
		if b.aggregator.Last() != shown {
			t.Fatal("there is more than what was shown")
		}
	}
	if last := b.shown; last.State != profiles.Finished || last.Run.PriorStarts != 1 || len(last.Effects) > 0 || last.Ablation == nil {
		t.Errorf("the run ended as %v after %d starts", last.State, last.Run.PriorStarts)
	}
}

// From anywhere to anywhere, a replay shows what was shown live at that moment.
func TestSeekingShowsWhatWasShownLive(t *testing.T) {
	r, b := recorded(t)
	if len(b.index.keys) < 2 {
		t.Fatalf("the index has %d keys: the recording is too short to test it", len(b.index.keys))
	}
	origin := r.ticks[0]
	last := len(r.ticks) - 1
	for _, i := range []int{last, 3, last / 2, last/2 + 1, 0, last - 20, last / 3, last/3 - 1, last / 4} {
		for i > 0 && r.shots[i] == r.shots[i-1] {
			i--
		}
		b.seek(b.first() + r.ticks[i].Sub(origin))
		b.arrive(t)
		same(t, r.ticks[i].Sub(origin).String(), r.shots[i], b.shown)
	}
}

// Step goes to the next snapshot and to the one before.
func TestSteps(t *testing.T) {
	r, b := recorded(t)
	b.seek(b.first() + r.ticks[20].Sub(r.ticks[0]))
	b.arrive(t)
	b.step(1)
	same(t, "a step on", r.shots[21], b.shown)
	b.step(-1)
	b.arrive(t)
	same(t, "a step back", r.shots[20], b.shown)
}

// Playing shows a second of the run in a second, and skips the time in which nothing happened.
func TestPlayingFollowsTheClockOfTheRun(t *testing.T) {
	_, b := recorded(t)
	b.seek(b.first())
	b.arrive(t)
	from := b.at
	b.speed = 2
	for range 10 {
		b.advance(50 * time.Millisecond)
	}
	if played := b.at - from; played < 800*time.Millisecond || played > time.Second {
		t.Errorf("half a second at twice the speed showed %v of the run", played)
	}
	b.speed = fastest
	for i := 0; b.playing; i++ {
		if b.advance(time.Second); i > 100 {
			t.Fatalf("after %d s at the highest speed it is at %v of %v", i, b.at, b.last())
		}
	}
	if !b.atEnd() {
		t.Errorf("it stopped at %v of %v", b.at, b.last())
	}
}

// Jumps go from one change or alert to the next, and back.
func TestJumps(t *testing.T) {
	r := newRun(t, recording.Options{})
	r.live()
	b := New(t.Context(), r.close(t)).playback
	b.seek(b.first())
	b.arrive(t)
	jump := func(direction int, kind profiles.MarkKind) time.Duration {
		t.Helper()
		at := profiles.Position{At: b.at, Marks: b.marks}
		if m := at.Next(direction, kind); m != nil {
			b.seek(m.At)
			b.arrive(t)
		}
		return b.at
	}
	var changes, alerts []profiles.Mark
	for _, m := range b.marks {
		if m.Kind == profiles.ChangeMark {
			changes = append(changes, m)
		} else {
			alerts = append(alerts, m)
		}
	}
	if len(changes) != 2 || len(alerts) < 2 { // a change of two settings, and a start
		t.Fatalf("marks %v", b.marks)
	}
	first := jump(1, profiles.ChangeMark)
	if second := jump(1, profiles.ChangeMark); second <= first || second > changes[1].At {
		t.Errorf("the second change is at %v after %v, want %v", second, first, changes[1].At)
	}
	if again := jump(1, profiles.ChangeMark); again <= first {
		t.Errorf("beyond the last change it went to %v", again)
	}
	if back := jump(-1, profiles.ChangeMark); back != first {
		t.Errorf("back at %v, want %v", back, first)
	}
	b.seek(b.first())
	b.arrive(t)
	if at := jump(1, profiles.AlertMark); at > alerts[0].At || alerts[0].At-at > 200*time.Millisecond {
		t.Errorf("the first alert is at %v, want %v", at, alerts[0].At)
	}
	// What was marked between two moments comes with the later one.
	b.step(1)
	note := profiles.Mark{At: b.at + 1, Kind: profiles.NoteMark}
	b.marks = append(b.marks, note)
	b.seek(b.first())
	b.arrive(t)
	if at := jump(1, profiles.NoteMark); at < note.At {
		t.Errorf("the note is at %v, want %v", at, note.At)
	} else if again := jump(1, profiles.NoteMark); again != at {
		t.Errorf("the note came twice, at %v and %v", at, again)
	}
}

// A player delivers snapshots while a run goes on, up to the newest.
func TestARunThatGoesOnIsFollowed(t *testing.T) {
	r := newRun(t, recording.Options{})
	r.begin(settingsOf(), 0)
	r.iterate(300)
	reader := grown(t, r, 300)
	p := New(t.Context(), reader)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	if err := p.Do(profiles.Command{Kind: profiles.SeekCommand, At: int64(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	until := func(index int64) *profiles.Snapshot {
		for s := range p.Snapshots() {
			if s.Index >= index {
				return s
			}
		}
		t.Fatal("the player ended")
		return nil
	}
	until(300)
	for range 12 { // until blocks were joined meanwhile
		r.iterate(300)
	}
	if s := until(r.it.Index); s.State != profiles.Running {
		t.Errorf("it is %v", s.State)
	}
	if !p.Position().Growing {
		t.Error("it does not say that the run goes on")
	}
	r.State(profiles.Stopped, "")
	r.tick()
	if err := r.recorder.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for s := range p.Snapshots() {
		if s.State == profiles.Stopped {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Nothing is played before the first snapshot was taken: a screen that takes a while to begin shows the
// beginning.
func TestPlayingBeginsWithTheFirstLook(t *testing.T) {
	r := newRun(t, recording.Options{})
	r.begin(settingsOf(), 0)
	for range 3 {
		r.iterate(300)
	}
	p := New(t.Context(), r.close(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	time.Sleep(5 * frame) // more than the recording takes
	if at := p.Position(); at.At-at.From > at.To-at.At || !at.Playing {
		t.Errorf("it is at %v of %v to %v, playing %v", at.At, at.From, at.To, at.Playing)
	}
	<-p.Snapshots()
	for at := p.Position(); at.At != at.To; at = p.Position() {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Contents that make no sense end the replay with an error, not the program.
func TestAPanicEndsTheReplayOnly(t *testing.T) {
	r := newRun(t, recording.Options{})
	r.begin(settingsOf(), 0)
	r.iterate(300)
	p := New(t.Context(), r.close(t))
	p.ask(func(*playback) { panic("stage 99 of 2") })
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the recording is damaged: stage 99 of 2") {
		t.Error(err)
	}
	for range p.Snapshots() { // it is closed
	}
}

// A recording that a resumed run joined plays on behind the time between the two.
func TestAResumedRunIsReplayed(t *testing.T) {
	first := newRun(t, recording.Options{})
	first.begin(settingsOf(), 0)
	first.iterate(500)
	path := first.recorder.Path()
	first.close(t)
	time.Sleep(time.Until(first.now)) // its clock is ahead
	j, err := recording.Join(t.Context(), path, first.recorder.Began(), 1, 300, recording.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again := newRun(t, recording.Options{Joined: j})
	again.now = again.now.Add(time.Hour)
	again.loadAt = again.now
	again.begin(settingsOf(), 0)
	again.it.Index = 300
	again.iterate(500)
	reader := again.close(t)
	b := New(t.Context(), reader).playback
	b.index.fill(t.Context())
	if len(b.gaps) != 1 || b.gaps[0].To-b.gaps[0].From < 59*time.Minute {
		t.Fatalf("gaps %v", b.gaps)
	}
	b.seek(b.gaps[0].From)
	b.arrive(t)
	if s := b.shown; s.Index != 500 || s.Run.PriorStarts != 0 {
		t.Errorf("before the gap it is at iteration %d of start %d", s.Index, s.Run.PriorStarts)
	}
	b.seek(b.at + 10*time.Second) // into the gap
	b.arrive(t)
	if b.at < b.gaps[0].To {
		t.Errorf("from within the gap it went to %v of %v", b.at, b.gaps[0])
	}
	b.seek(b.last())
	b.arrive(t)
	live := again.shots[len(again.shots)-1]
	if s := b.shown; s.Index != 800 || s.Run.PriorStarts != 1 || s.Elapsed != live.Elapsed || s.Whole.Total.Median != live.Whole.Total.Median {
		t.Errorf("at the end it is at iteration %d of start %d after %v, live after %v", s.Index, s.Run.PriorStarts, s.Elapsed, live.Elapsed)
	}
	starts := 0
	last, err := Events(t.Context(), reader, func(e *profiles.Event) {
		if _, ok := e.Body.(*profiles.Begin); ok {
			starts++
		}
	}, func(*profiles.Snapshot) {})
	if err != nil || starts != 2 || last.Index != 800 {
		t.Errorf("%d starts, the last at iteration %d (%v)", starts, last.Index, err)
	}
}

// A start that is reported after it began, and after a tick since then, is replayed as it was: the iterations count
// from it.
func TestAStartIsReplayedAtItsTime(t *testing.T) {
	r := newRun(t, recording.Options{})
	follower := r.Follow()
	r.now = r.now.Add(-3 * time.Millisecond) // before there was a recorder
	r.begin(settingsOf(), 0)
	r.iterate(250)
	r.stand(1)
	r.now = r.now.Add(-2 * time.Millisecond) // before the tick
	r.begin(settingsOf(), 1)
	r.iterate(150)
	r.Measure(prismtest.ComparedAll(r.it.Index-1, 20, math.Inf(1), 4))
	r.State(profiles.Finished, "")
	r.tick()
	tables := func(each func(take func(*profiles.Event))) string {
		var iterations, changes bytes.Buffer
		w := table.New(&iterations, &changes, nil)
		each(w.Take)
		if err := w.Close(0); err != nil {
			t.Fatal(err)
		}
		return iterations.String() + changes.String()
	}
	live := tables(func(take func(*profiles.Event)) {
		for follower.Drain(take) {
		}
	})
	reader := r.close(t)
	replayed := tables(func(take func(*profiles.Event)) {
		if _, err := Events(t.Context(), reader, take, func(*profiles.Snapshot) {}); err != nil {
			t.Fatal(err)
		}
	})
	want, got := strings.Split(live, "\r\n"), strings.Split(replayed, "\r\n")
	if len(want) < 400 || len(got) != len(want) {
		t.Fatalf("%d lines live, %d replayed", len(want), len(got))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("line %d live:\n%s\nreplayed:\n%s", i, want[i], got[i])
		}
	}
}

// killedFile is the environment variable that makes a test a run that waits to be killed.
const killedFile = "PRISMTOP_TEST_KILLED"

// A run that is killed while it is followed says so.
func TestAFollowedRunThatIsKilled(t *testing.T) {
	if path := os.Getenv(killedFile); path != "" {
		r := newRun(t, recording.Options{Path: path})
		r.begin(settingsOf(), 0)
		r.iterate(300)
		select {}
	}
	path := filepath.Join(t.TempDir(), "killed.sqlite")
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), killedFile+"="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := New(t.Context(), grownAt(t, path, 300)).playback
	if !b.growing || b.ending != "" {
		t.Errorf("growing %v, %q", b.growing, b.ending)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	b.refresh(time.Now().Add(time.Minute))
	b.tell()
	if p := b.player.Position(); p.Growing || p.Ending != "the run was killed" {
		t.Errorf("growing %v, %q", p.Growing, p.Ending)
	}
}

// execute executes a statement on a file.
func execute(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(2000)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// threeBlocks records 9000 iterations, in blocks of 3000, with a change and a measurement in the first, and
// returns the path.
func threeBlocks(t *testing.T) string {
	t.Helper()
	r := newRun(t, recording.Options{Every: time.Hour}) // blocks end where the test says
	r.begin(settingsOf(), 0)
	for done := 0; done < 9000; done += 3000 {
		r.iterate(1000)
		if done == 0 {
			s := prism.Settings{AMP: "bf16", LearningRate: 1e-3}
			r.set("amp", "off", "bf16", s.Values().Settled(), false)
			r.Measure(prismtest.ComparedAll(r.it.Index-1, 20, 0.5, 4))
			r.Log("a line of the log")
		}
		r.iterate(2000)
		r.recorder.Flush(t.Context())
	}
	r.State(profiles.Finished, "max_iterations = 9000")
	r.tick()
	r.close(t)
	return r.recorder.Path()
}

// Without its first block a run is shown with its start, its settings and what follows.
func TestADamagedFirstBlockLeavesTheRest(t *testing.T) {
	for name, statement := range map[string]string{
		"damaged": "UPDATE blocks SET data = x'00ff' WHERE tick = 0",
		"deleted": "DELETE FROM blocks WHERE tick = 0",
	} {
		t.Run(name, func(t *testing.T) {
			path := threeBlocks(t)
			execute(t, path, statement)
			var told []string
			last, err := Whole(t.Context(), open(t, path), func(l profiles.LogLine) { told = append(told, l.Text) })
			var damaged *recording.DamagedError
			if !errors.As(err, &damaged) || damaged.Iterations != 3000 || !strings.Contains(err.Error(), "missing (0 to 2999)") {
				t.Errorf("%v", err)
			}
			if last == nil {
				t.Fatal("nothing is shown")
			}
			if last.Index != 9000 || last.State != profiles.Finished || last.Own.Dropped != 3000 || last.Settings.Get("amp") != "bf16" || last.Settings.Get("learning_rate") != "0.001" {
				t.Errorf("%d of %d iterations are missing, %v, amp is %s after %d changes", last.Own.Dropped, last.Index, last.State, last.Settings.Get("amp"), len(last.Changes))
			}
			if text := strings.Join(told, "; "); !strings.Contains(text, "3000 iterations are missing") || !strings.Contains(text, "with amp: off → bf16") {
				t.Errorf("the log says %q", text)
			}
		})
	}
}

// Without the row of a start there is nothing to show until the run is started again.
func TestADamagedStartLeavesNothing(t *testing.T) {
	path := threeBlocks(t)
	execute(t, path, "DELETE FROM starts")
	execute(t, path, "UPDATE blocks SET data = x'00ff' WHERE tick = 0")
	reader := open(t, path)
	var damaged *recording.DamagedError
	if last, err := Whole(t.Context(), reader, func(profiles.LogLine) {}); last != nil || !errors.As(err, &damaged) {
		t.Errorf("%v, and a snapshot: %v", err, last != nil)
	}
	b := New(t.Context(), reader).playback
	b.seek(b.last())
	for range 1000 {
		b.work()
	}
	b.tell()
	if p := b.player.Position(); b.shown != nil || p.Err != "9000 iterations missing" {
		t.Errorf("it says %q, and shows a snapshot: %v", p.Err, b.shown != nil)
	}
}

// Blocks that were deleted are missing as damaged ones are, wherever they were.
func TestDeletedBlocksAreSaidToBeMissing(t *testing.T) {
	for name, c := range map[string]struct {
		which string
		want  string // iterations
		index int64  // of the end
		amp   string // whose change is in the first block
	}{
		"in the middle": {"first >= 3000 AND last < 6000", "(3000 to 5999)", 9000, "bf16"},
		"at the end":    {"last >= 3000", "(3000 to 8999)", 3000, "bf16"},
		"all":           {"1", "(0 to 8999)", 0, "off"},
	} {
		t.Run(name, func(t *testing.T) {
			path := threeBlocks(t)
			execute(t, path, "DELETE FROM blocks WHERE "+c.which)
			reader := open(t, path)
			var told []string
			last, err := Whole(t.Context(), reader, func(l profiles.LogLine) { told = append(told, l.Text) })
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("%v, want %s", err, c.want)
			}
			if last == nil || last.Index != c.index || last.State != profiles.Finished || last.Settings.Get("amp") != c.amp {
				t.Fatalf("the end is %+v", last)
			}
			if text := strings.Join(told, "; "); !strings.Contains(text, c.want) {
				t.Errorf("the log says %q", text)
			}
			b := New(t.Context(), reader).playback
			b.index.every = 1
			b.index.fill(t.Context())
			for range 2 { // from the beginning, and from the index
				b.seek(b.last())
				for b.target != nil {
					b.work()
				}
				b.tell()
				if p := b.player.Position(); !strings.HasSuffix(p.Err, "000 iterations missing") || b.shown.Own.Dropped != b.missing.iterations {
					t.Errorf("it says %q, and that %d are missing", p.Err, b.shown.Own.Dropped)
				}
				b.seek(b.first())
				for b.target != nil {
					b.work()
				}
			}
		})
	}
}

// A block that cannot be read is missing in the totals, which say so, and the log says why.
func TestADamagedBlockIsSaidToBeMissing(t *testing.T) {
	r := newRun(t, recording.Options{Every: time.Hour})
	r.begin(settingsOf(), 0)
	for range 3 { // a block each
		r.iterate(3000)
		r.recorder.Flush(t.Context())
	}
	r.close(t)
	db, err := sql.Open("sqlite", r.recorder.Path())
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	const second = "(SELECT tick FROM blocks ORDER BY tick LIMIT 1 OFFSET 1)"
	err = db.QueryRowContext(t.Context(), "SELECT last - first + 1 FROM blocks WHERE tick = "+second).Scan(&lost)
	if err == nil {
		_, err = db.ExecContext(t.Context(), "UPDATE blocks SET data = x'00ff' WHERE tick = "+second)
	}
	if err := errors.Join(err, db.Close()); err != nil || lost == 0 {
		t.Fatal(lost, err)
	}
	reader := open(t, r.recorder.Path())
	var told []string
	last, err := Whole(t.Context(), reader, func(l profiles.LogLine) { told = append(told, l.Text) })
	var damaged *recording.DamagedError
	if !errors.As(err, &damaged) || damaged.Iterations != int64(lost) || last.Own.Dropped != int64(lost) || last.Index != 9000 {
		t.Errorf("%v: %d of %d are missing", err, last.Own.Dropped, last.Index)
	}
	if text := strings.Join(told, "; "); !strings.Contains(text, fmt.Sprintf("%d iterations are missing", lost)) || !strings.Contains(text, "a block is damaged") {
		t.Errorf("the log says %q", text)
	}
	b := New(t.Context(), reader).playback
	b.seek(b.last())
	for b.target != nil {
		b.work()
	}
	b.tell()
	if p := b.player.Position(); p.Err != fmt.Sprintf("%d iterations missing", lost) || b.shown.Own.Dropped != int64(lost) {
		t.Errorf("it says %q, and that %d are missing", p.Err, b.shown.Own.Dropped)
	}
	b.seek(b.first())
	for b.target != nil {
		b.work()
	}
	b.tell()
	if p := b.player.Position(); p.Err != "" {
		t.Errorf("before it: %q", p.Err)
	}
}
