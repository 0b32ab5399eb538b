//go:build unix

package recording

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"prismtop/sim/prism"
)

// BenchmarkRecording measures the processor time of recording a run at its pace: all of this process,
// which does nothing else but make up iterations as different from one another as real ones. Its
// share is that of one core.
//
//	go test ./profiles/recording -run '^$' -bench Recording -benchtime 100x
func BenchmarkRecording(b *testing.B) {
	for _, rate := range []int{100, 1000} {
		b.Run(fmt.Sprintf("%d-it-s", rate), func(b *testing.B) {
			noise := rand.New(rand.NewPCG(1, 2))
			r := begin(New(Options{Path: filepath.Join(b.TempDir(), "run.sqlite")}))
			ticker := time.NewTicker(100 * time.Millisecond)
			defer ticker.Stop()
			started, before := time.Now(), used()
			for b.Loop() { // ticks
				for range rate / 10 {
					for p := range 5 {
						r.it.Phases[p] = int64(1e6 * (1 + 0.05*noise.NormFloat64()))
					}
					r.it.Series[prism.SeriesLossNew] = float64(noise.Float32())
					r.it.Series[prism.SeriesLossOld] = float64(noise.Float32())
					for c := range 3 {
						spent := int64(300 + 50*noise.Float64())
						r.it.Caches[c].Spent += spent
						r.it.Caches[c].SpentSquares += float64(spent) * float64(spent) * 0.9
					}
					r.iterate()
				}
				r.tick(0)
				<-ticker.C
			}
			share := (used() - before).Seconds() / time.Since(started).Seconds()
			b.ReportMetric(100*share, "%-of-a-core")
			b.ReportMetric(1e6*share/float64(rate), "µs/iteration")
			b.ReportMetric(0, "ns/op")
			if err := r.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// used returns the processor time of this process.
func used() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
