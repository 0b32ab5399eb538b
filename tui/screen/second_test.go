package screen

import (
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/workloads"
	"prismtop/tui/layout"
)

// tape is a source whose events are kept as they pass, and how many there were at each tick.
type tape struct {
	*stream.Reader
	events []profiles.Event
	ticks  []int
	times  []time.Time
}

// Drain hands the new events over and keeps them.
func (p *tape) Drain(take func(*profiles.Event)) bool {
	return p.Reader.Drain(func(e *profiles.Event) {
		kept := *e
		if it, ok := e.Body.(*profiles.Iteration); ok {
			copied := *it
			kept.Body = &copied
		}
		p.events = append(p.events, kept)
		take(e)
	})
}

// player is a source of what is on a tape, up to one tick after the other.
type player struct {
	*tape
	tick, done int
}

// Drain hands over what came until the present tick.
func (p *player) Drain(take func(*profiles.Event)) (any bool) {
	for ; p.done < p.ticks[p.tick]; p.done++ {
		e := p.events[p.done]
		take(&e)
		any = true
	}
	return any
}

// Dropped is 0: the tape has everything.
func (p *player) Dropped() int64 { return 0 }

// A second screen that is given the events of a run from memory shows the same frames as the one
// that followed it, in every pane.
func TestASecondScreenShowsTheSameFrames(t *testing.T) {
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "quick", Sets: []string{
		"size=64", "object_size=32", "radius=10", "roi_diameter=40", "iterations=20", "init_iterations=10", "channels="}})
	if err != nil {
		t.Fatal(err)
	}
	events := stream.New(1 << 12)
	r, err := sim.New(t.Context(), sim.Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: v, Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	live := &tape{Reader: events.Follow()}
	follow := aggregate.New(live, aggregate.Options{Pictures: time.Millisecond})
	var shots []*profiles.Snapshot
	for i := range 160 {
		if i == 60 {
			if err := r.Set("checkpointing", "true"); err != nil {
				t.Fatal(err)
			}
		}
		if _, done, err := r.Next(t.Context()); err != nil || done {
			t.Fatal(done, err)
		}
		if i%20 == 19 {
			now := time.Now()
			shots = append(shots, follow.Tick(now))
			live.ticks, live.times = append(live.ticks, len(live.events)), append(live.times, now)
		}
	}
	play := &player{tape: live}
	again := aggregate.New(struct{ profiles.Source }{play}, aggregate.Options{})
	first, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256)
	second, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256)
	for i, s := range shots {
		play.tick = i
		replayed := again.Tick(live.times[i])
		replayed.Own = s.Own // what it costs to aggregate
		first.Update(snapshotMsg{s})
		second.Update(snapshotMsg{replayed})
		if a, b := first.View().Content, second.View().Content; a != b {
			t.Fatalf("tick %d: the frames differ:\n%s\n%s", i, a, b)
		}
	}
	for id := range layout.Pane(len(first.panes)) {
		alone(first, id)
		alone(second, id)
		if a, b := first.View().Content, second.View().Content; a != b {
			t.Errorf("%s: the frames differ:\n%s\n%s", first.specs[id].Name, a, b)
		}
	}
}
