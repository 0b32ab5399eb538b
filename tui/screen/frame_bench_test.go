package screen

import (
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/workloads"
	"prismtop/tui/terminal"
	"prismtop/tui/tuitest"
)

// recordedFrames returns snapshots of a run of the baseline's size, 20 iterations apart, with a
// picture in every third, as a screen gets them at ten frames per second.
func recordedFrames(b *testing.B, n int) (shots []*profiles.Snapshot) {
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "baseline", Sets: []string{
		"size=256", "object_size=128", "channels=", "init_iterations=0", "threshold=0", "threads=1"}})
	if err != nil {
		b.Fatal(err)
	}
	events := stream.New(1 << 12)
	r, err := sim.New(b.Context(), sim.Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: v, Stream: events, Metrics: 50 * time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	a := aggregate.New(events.Follow(), aggregate.Options{})
	for i := range n {
		if i%3 == 0 {
			events.WantPicture()
		}
		for range 20 {
			if _, done, err := r.Next(b.Context()); err != nil || done {
				b.Fatal(done, err)
			}
		}
		shots = append(shots, a.Tick(time.Now()))
	}
	return shots
}

// BenchmarkRecordedFrame measures a frame of 120x40 of a real run: everything from the snapshot to
// the bytes for the terminal.
//
//	go test ./tui/screen -run '^$' -bench RecordedFrame
func BenchmarkRecordedFrame(b *testing.B) {
	shots := recordedFrames(b, 100)
	at := time.Unix(1e9, 0)
	m := New(tuitest.NewRecorder(), Options{Cores: 2, Settings: shots[0].Settings, Now: func() time.Time { return at }})
	m.out = terminal.Held()
	m.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
	b.ReportAllocs()
	bytes := 0
	for i := 0; b.Loop(); i++ {
		at = at.Add(100 * time.Millisecond)
		m.Update(snapshotMsg{shots[i%len(shots)]})
		bytes += len(m.out.Collect())
	}
	b.ReportMetric(float64(bytes)/float64(b.N), "B/frame")
}
