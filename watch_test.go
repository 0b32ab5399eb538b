package main

import (
	"context"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/stats"
	"prismtop/sim"
	"prismtop/tui"
)

// Times of one slice of BenchmarkWatching: until screen and settings have settled, and
// what is measured then. Slices are short, so that those which are compared meet the
// same machine.
const (
	watchSettle = 400 * time.Millisecond
	watchSlice  = time.Second
)

// BenchmarkWatching measures what the screen costs: iterations a second of the
// baseline with a screen of 120x40 at ten frames a second, and with the profile of
// the layers beside, over those without either. It is one run that is watched by
// turns: every round has two slices of each kind, in an order and then in the reverse,
// and gives one ratio of each kind; medians of these and their 10th and 90th
// percentiles are told. The terminal's other end reads and draws nothing, as it is
// elsewhere when the program is used over SSH.
//
// Where other programs take the processors, paces say little. The processors' time
// that an iteration takes, screen and all, says more then; its ratio, headless over
// watched so that it reads like the other, is told as -cpu.
//
//	go test . -run '^$' -bench Watching -benchtime 10x
func BenchmarkWatching(b *testing.B) {
	w := newWatched(b)
	kinds := []func() slice{w.alone, w.screen, w.profiled}
	values := map[string][]float64{}
	ratio := func(name string, a, b float64) { values[name] = append(values[name], a/b) }
	w.screen() // warms up both
	for b.Loop() {
		var sums [3]slice
		for _, i := range []int{0, 1, 2, 2, 1, 0} {
			sums[i].add(kinds[i]())
		}
		ratio("headless-it/s", sums[0].pace(), 1)
		for i, name := range []string{"watched", "profiled"} {
			ratio(name+"/headless", sums[i+1].pace(), sums[0].pace())
			ratio(name+"/headless-cpu", sums[0].work(), sums[i+1].work())
		}
	}
	for name, v := range values {
		slices.Sort(v)
		b.ReportMetric(stats.Quantile(v, 0.5), name)
		b.ReportMetric(stats.Quantile(v, 0.1), name+"-p10")
		b.ReportMetric(stats.Quantile(v, 0.9), name+"-p90")
	}
	w.end()
}

// slice is a part of a run: its iterations, the time that they took, and the
// processors' time of everything.
type slice struct{ iterations, seconds, used float64 }

func (s *slice) add(t slice) {
	s.iterations += t.iterations
	s.seconds += t.seconds
	s.used += t.used
}

func (s *slice) pace() float64 { return s.iterations / s.seconds }

// work is the processors' time of an iteration.
func (s *slice) work() float64 { return s.used / s.iterations }

// processorTime is what this process has used, in seconds.
func processorTime(b *testing.B) float64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// watched is a run in its first sample, for ever, that screens come to and leave.
type watched struct {
	live
	b      *testing.B
	stream *profiles.Stream
	stop   context.CancelFunc
}

func newWatched(b *testing.B) *watched {
	settings, _, err := preset.Resolve(preset.Sources{Preset: "baseline", Sets: []string{"init_iterations=0", "threshold=0", "iterations=1000000"}})
	if err != nil {
		b.Fatal(err)
	}
	stream := profiles.NewStream(8192)
	r, err := sim.New(sim.Options{Settings: settings, Stream: stream, Metrics: 500 * time.Millisecond, Roofs: keptRoofs})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &watched{live{r, profiles.NewAggregator(stream, profiles.Options{})}, b, stream, stop}
	go w.aggregator.Run(ctx, 100*time.Millisecond)
	w.Start(ctx)
	return w
}

// end stops the run, which must have gone well.
func (w *watched) end() {
	w.Stop()
	if err := w.Wait(); err != nil {
		w.b.Fatal(err)
	}
	w.stop()
	w.Close()
}

// alone is a slice that nobody but a line of text looks at.
func (w *watched) alone() slice {
	return w.during(func(ctx context.Context) { tui.Plain(ctx, io.Discard, w, time.Second) })
}

// screen is a slice with a screen, and with what it asks of the run.
func (w *watched) screen() slice {
	tty := openDrain(w.b)
	defer tty.Close()
	return w.during(func(ctx context.Context) {
		go func() {
			for ctx.Err() == nil {
				w.stream.WantPicture()
				time.Sleep(300 * time.Millisecond)
			}
		}()
		_ = tui.Run(ctx, w, tui.Options{Output: tty, Input: tty, NoSummary: true, Environ: []string{"TERM=xterm-256color"}})
	})
}

// profiled is a slice with a screen and the profile of the layers.
func (w *watched) profiled() slice {
	w.set("layer_profile", "true")
	defer w.set("layer_profile", "false")
	return w.screen()
}

func (w *watched) set(key, value string) {
	if err := w.Set(key, value); err != nil {
		w.b.Fatal(err)
	}
}

// during is a slice beside watch, by the run's own account of every iteration.
func (w *watched) during(watch func(context.Context)) slice {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch(ctx)
	}()
	time.Sleep(watchSettle)
	before, used := w.aggregator.Last(), processorTime(w.b)
	time.Sleep(watchSlice)
	after, usedAfter := w.aggregator.Last(), processorTime(w.b)
	cancel()
	<-done
	n, m := before.Whole.Total, after.Whole.Total
	s := slice{float64(m.N - n.N), (float64(m.N)*m.Mean - float64(n.N)*n.Mean) / 1e9, usedAfter - used}
	if s.iterations <= 0 {
		w.b.Fatal("no iteration ran")
	}
	return s
}

// openDrain opens a terminal whose other end is read as fast as it can be.
func openDrain(b *testing.B) *os.File {
	ptmx, tty, err := pty.Open()
	if err != nil {
		b.Skipf("skipped: no pseudo-terminal here: %v", err)
	}
	if err := pty.Setsize(ptmx, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		b.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, ptmx) }()
	b.Cleanup(func() { _ = ptmx.Close() })
	return tty
}
