package main

import (
	"context"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/creack/pty"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/stats"
	"prismtop/sim"
	"prismtop/tui"
)

// BenchmarkWatching measures what the screen costs: iterations a second of the
// baseline with a screen of 120x40 at ten frames a second, and with the profile of
// the layers beside, over those without either, by turns. The terminal's other end reads and draws nothing, as it is elsewhere
// when the program is used over SSH.
//
//	go test . -run '^$' -bench Watching -benchtime 10x
func BenchmarkWatching(b *testing.B) {
	const each = 3 * time.Second
	var alone, watched, profiled []float64
	for b.Loop() {
		without := paceOf(b, each, nil)
		alone = append(alone, without)
		watched = append(watched, paceOf(b, each, openDrain(b))/without)
		profiled = append(profiled, paceOf(b, each, openDrain(b), "layer_profile=true")/without)
	}
	for name, values := range map[string][]float64{
		"headless-it/s": alone, "watched/headless": watched, "profiled/headless": profiled,
	} {
		slices.Sort(values)
		b.ReportMetric(stats.Quantile(values, 0.5), name)
	}
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

// paceOf is the iterations a second of the baseline's progressive phase over a
// time, with a screen on a terminal, or without one where there is none.
func paceOf(b *testing.B, each time.Duration, tty *os.File, sets ...string) float64 {
	settings, _, err := preset.Resolve(preset.Sources{Preset: "baseline", Sets: append([]string{"init_iterations=0", "threshold=0"}, sets...)})
	if err != nil {
		b.Fatal(err)
	}
	pictures := time.Duration(0)
	if tty != nil {
		pictures = 300 * time.Millisecond
		defer tty.Close()
	}
	stream := profiles.NewStream(8192)
	r, err := sim.New(sim.Options{Settings: settings, Stream: stream, Metrics: 500 * time.Millisecond, Roofs: keptRoofs})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	show := live{r, profiles.NewAggregator(stream, profiles.Options{Pictures: pictures})}
	ctx, cancel := context.WithTimeout(context.Background(), each)
	defer cancel()
	go show.aggregator.Run(ctx, 100*time.Millisecond)
	show.Start(ctx)
	if tty != nil {
		_ = tui.Run(ctx, show, tui.Options{Output: tty, Input: tty, NoSummary: true, Environ: []string{"TERM=xterm-256color"}})
	} else {
		tui.Plain(ctx, io.Discard, show, time.Second)
	}
	r.Stop()
	if err := r.Wait(); err != nil {
		b.Fatal(err)
	}
	for range show.Snapshots() { // until the last one is in
	}
	s := show.aggregator.Last()
	if s.Index == 0 || s.Elapsed <= 0 {
		b.Fatal("no iteration ran")
	}
	return float64(s.Index) / s.Elapsed.Seconds()
}
