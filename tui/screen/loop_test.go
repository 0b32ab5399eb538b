package screen

import (
	"context"
	"io"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/tui/ptytest"
	"prismtop/tui/tuitest"
)

// watched is a run that only streams iterations, seen through the aggregator.
type watched struct {
	*tuitest.Recorder
	aggregator *aggregate.Aggregator
}

func (w watched) Snapshots() <-chan *profiles.Snapshot { return w.aggregator.Snapshots() }

// BenchmarkLoopUnderAScreen measures the arithmetic and recording of an iteration, under a screen
// whose terminal reads and under one whose terminal does not: the times must not differ.
func BenchmarkLoopUnderAScreen(b *testing.B) {
	for _, name := range []string{"reading", "stuck"} {
		b.Run(name, func(b *testing.B) {
			var w io.Writer = &counting{}
			if name == "stuck" {
				s := ptytest.NewStuck()
				defer s.Free()
				w = s
			}
			events := stream.New(1 << 14)
			s := tuitest.Running()
			events.Begin(s.Run, s.Settings)
			events.State(profiles.Running, "")
			reader := events.Follow()
			run := watched{tuitest.NewRecorder(), aggregate.New(reader, aggregate.Options{})}
			ctx, stop := context.WithCancel(context.Background())
			go run.aggregator.Run(ctx, 100*time.Millisecond)
			keys, press := io.Pipe()
			defer press.Close()
			ended := make(chan error, 1)
			go func() {
				ended <- Run(ctx, run, Options{Output: w, Input: keys,
					Environ: []string{"TERM=xterm-256color"}, Size: [2]int{120, 40}})
			}()
			it := profiles.Iteration{Kind: prism.KindLaterSample, Series: tuitest.LossesOf(1, 1)}
			sum := 0.0
			for b.Loop() {
				for i := range 200_000 {
					sum += noiseless(i)
				}
				it.Index++
				it.Total = 1e6
				it.Phases[prism.PhaseForward] = 4e5
				events.Iteration(&it)
			}
			b.ReportMetric(float64(reader.Dropped()), "dropped")
			stop()
			<-ended
			if sum == 0 {
				b.Fatal("no work was done")
			}
		})
	}
}

func noiseless(i int) float64 { return float64(i&7) * 0.5 }
