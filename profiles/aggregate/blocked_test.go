package aggregate

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// A screen whose terminal stopped reading hangs in its write. The aggregator goes
// on, nothing is dropped, and the newest snapshot waits in the slot.
func TestABlockedTerminalStopsNeitherRunNorAggregator(t *testing.T) {
	s := stream.New(256)
	reader := s.Follow()
	a := New(reader, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go a.Run(ctx, 0)

	terminal, writer := io.Pipe() // nobody reads it
	screenGone := make(chan struct{})
	go func() {
		defer close(screenGone)
		fmt.Fprintln(writer, (<-a.Snapshots()).State)
	}()

	s.Begin(prismtest.Info(4), settings.Values{})
	s.State(profiles.Running, "")
	const rounds, each = 5, 200 // the ring holds one round, so that a stopped aggregator shows
	for i := range int64(rounds * each) {
		s.Iteration(&profiles.Iteration{Index: i, Total: 1e6})
		if (i+1)%each != 0 {
			continue
		}
		for a.Last() == nil || a.Last().Index < i+1 {
			time.Sleep(time.Millisecond)
		}
	}
	select {
	case <-screenGone:
		t.Fatal("the screen was not blocked")
	default:
	}
	for newest := range a.Snapshots() { // the slot holds the newest
		if newest.Index == rounds*each {
			break
		}
	}
	if lost := reader.Dropped(); lost != 0 {
		t.Errorf("%d records were dropped", lost)
	}
	terminal.Close()
	<-screenGone
	cancel()
	for range a.Snapshots() {
	}
}

// BenchmarkBlockedTerminal is the law that the loop never waits for a screen: the
// time of an iteration of 50 µs of work alone, with a screen that reads, with one
// whose terminal is blocked, and without anything that drains.
func BenchmarkBlockedTerminal(b *testing.B) {
	for _, c := range []struct {
		name   string
		screen func(*Aggregator, io.Writer)
		watch  bool
		record bool
	}{
		{name: "loop alone"},
		{name: "nobody drains", record: true},
		{name: "screen reads", record: true, watch: true, screen: func(a *Aggregator, _ io.Writer) {
			for snap := range a.Snapshots() {
				fmt.Fprintln(io.Discard, snap.Index)
			}
		}},
		{name: "terminal blocked", record: true, watch: true, screen: func(a *Aggregator, w io.Writer) {
			fmt.Fprintln(w, (<-a.Snapshots()).Index)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := stream.New(8192)
			reader := s.Follow()
			a := New(reader, Options{Pictures: 250 * time.Millisecond})
			ctx, cancel := context.WithCancel(context.Background())
			terminal, writer := io.Pipe()
			ended := make(chan struct{})
			if c.watch {
				go c.screen(a, writer)
				go func() { a.Run(ctx, 0); close(ended) }()
			} else {
				close(ended)
			}
			s.Begin(prismtest.Info(4), settings.Values{})
			s.State(profiles.Running, "")
			it := profiles.Iteration{Kind: prism.KindLaterSample, Unit: 1}
			b.ReportAllocs()
			for b.Loop() {
				it.Total = work50us()
				if c.record {
					s.Iteration(&it)
				}
				if s.PictureWanted() {
					s.Picture(&profiles.Picture{Iteration: it.Index})
					s.Answered()
				}
				it.Index++
			}
			b.ReportMetric(float64(reader.Dropped())/float64(b.N), "dropped/op")
			cancel()
			<-ended
			terminal.Close()
		})
	}
}

var sink float64

// work50us is a fixed amount of arithmetic, some 50 µs on a free core, and a time
// to record for it.
func work50us() int64 {
	v := sink
	for i := range 20_000 {
		v = v*0.999 + float64(i)
	}
	sink = v
	return 50_000 + int64(v)&1023
}
