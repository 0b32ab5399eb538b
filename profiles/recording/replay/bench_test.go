package replay

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

var length = flag.Int("iterations", 20_000, "length of the recording of the benchmark of scrubbing")

// BenchmarkScrubbing measures how soon a long recording shows its first snapshot, how long its index
// takes, and how long it takes to show any moment once the index is complete, and at once.
//
//	go test ./profiles/recording/replay -run '^$' -bench Scrubbing -benchtime 1x -iterations 1000000
func BenchmarkScrubbing(b *testing.B) {
	path := filepath.Join(b.TempDir(), "long.sqlite")
	r := newRun(b, recording.Options{Path: path})
	r.begin(settingsOf(), 0)
	for done := 0; done < *length; done += 8000 { // as many as the recorder has room for
		r.iterate(8000)
		r.Measure(prismtest.ComparedAll(r.it.Index-1, 20, 0.5, 4))
		for written := int64(0); written < int64(done); {
			reader, err := recording.Open(b.Context(), path, func(string) *settings.Table { return prism.Table })
			if err != nil {
				continue // it is being made
			}
			if s, err := reader.Status(b.Context()); err == nil {
				written = s.Iterations
			}
			reader.Close()
		}
	}
	reader := r.close(b)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		began := time.Now()
		p := New(b.Context(), reader)
		p.playback.seek(0)
		p.playback.work()
		if p.playback.shown == nil {
			b.Fatal("nothing is shown")
		}
		b.ReportMetric(time.Since(began).Seconds()*1e3, "open-ms")
		began = time.Now()
		p.playback.index.fill(b.Context())
		b.ReportMetric(time.Since(began).Seconds()*1e3, "index-ms")
		var times []float64
		for range 50 {
			began := time.Now()
			p.playback.seek(time.Duration(rand.Float64() * float64(p.playback.last())))
			for p.playback.target != nil {
				p.playback.work()
			}
			times = append(times, time.Since(began).Seconds()*1e3)
		}
		slices.Sort(times)
		b.ReportMetric(times[25], "seek-ms-median")
		b.ReportMetric(times[49], "seek-ms-max")
	}
	b.ReportMetric(float64(info.Size())/float64(*length), "bytes/iteration")
	b.ReportMetric(0, "ns/op")
}
