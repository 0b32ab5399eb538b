package sim

import (
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stream"
	"prismtop/sim/workloads"
)

// In a dark block the loop marks its iterations and does nothing only to be watched; afterwards it
// does what was due.
func TestAnUnwatchedLoopDoesNothingToBeWatched(t *testing.T) {
	s := configured(t, append(small, "iterations=1000000", "init_iterations=0", "threshold=0", "threads=1", "layer_profile=true")...)
	events := stream.New(1 << 10)
	reader := events.Follow()
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s, Stream: events, Metrics: time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	looked := func(dark bool) (pictures, measurements, layers, unwatched int) {
		reader.Thin(dark, 1)
		reader.Drain(func(*profiles.Event) {})
		reader.WantPicture()
		r.loop.layers.since = time.Now().Add(-time.Hour) // due
		for range 5 {
			if _, done, err := r.Next(t.Context()); err != nil || done {
				t.Fatal(done, err)
			}
		}
		reader.Drain(func(e *profiles.Event) {
			switch b := e.Body.(type) {
			case *profiles.Picture:
				pictures++
			case *profiles.Measurement:
				measurements++
			case *profiles.LayerTimes:
				layers++
			case *profiles.Iteration:
				if b.Flags&profiles.Unwatched != 0 {
					unwatched++
				}
			}
		})
		return pictures, measurements, layers, unwatched
	}
	if _, _, err := r.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p, m, l, u := looked(true); p+m+l != 0 || u != 5 {
		t.Errorf("in the dark: %d pictures, %d comparisons, %d layer profiles; %d of 5 iterations marked", p, m, l, u)
	}
	if p, m, l, u := looked(false); p != 1 || m < 1 || l != 1 || u != 0 {
		t.Errorf("watched: %d pictures, %d comparisons, %d layer profiles; %d iterations marked", p, m, l, u)
	}
}

// A thin density makes comparisons and layer profiles rarer by its factor.
func TestAThinDensityIsSparse(t *testing.T) {
	events := stream.New(16)
	reader := events.Follow()
	v := view{stream: events, every: time.Second, compared: time.Unix(100, 0)}
	p := layerProfile{n: 1, since: time.Unix(100, 0)}
	for _, tt := range []struct {
		sparse    int
		after     time.Duration
		due, show bool
	}{
		{1, 400 * time.Millisecond, false, false}, {1, time.Second, true, true},
		{4, 1900 * time.Millisecond, false, false}, {4, 2 * time.Second, false, true}, {4, 4 * time.Second, true, true},
	} {
		reader.Thin(false, tt.sparse)
		now := time.Unix(100, 0).Add(tt.after)
		if due, show := v.due(now), p.due(now, tt.sparse); due != tt.due || show != tt.show {
			t.Errorf("%d times as sparse after %v: comparison %v, layers %v", tt.sparse, tt.after, due, show)
		}
	}
}
