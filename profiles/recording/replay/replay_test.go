package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/recording"
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
	p.Seek(time.Hour)
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
