//go:build unix

package command

import (
	"context"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/stats"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/ptytest"
	"prismtop/tui/screen"
)

// endless is a run of the default preset that trains from its start and does not end.
var endless = []string{"--set", "init_iterations=0", "--set", "threshold=0"}

// BenchmarkFirstFrame measures the time from the start of the program until its panes are
// displayed on a terminal of 120x40.
//
//	go test ./tui/command -run '^$' -bench FirstFrame -benchtime 20x
func BenchmarkFirstFrame(b *testing.B) {
	var times []float64
	for b.Loop() {
		x := ptytest.Open(b, 120, 40)
		cmd := exec.Command("prismtop")
		began := time.Now()
		x.Start(cmd)
		x.When("Phases", true)
		times = append(times, milliseconds(time.Since(began)))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	report(b, times)
}

// BenchmarkKeyToCells measures the time from a key press until the changed cells are displayed
// on a terminal of 120x40 while the run computes on all processors.
//
//	go test ./tui/command -run '^$' -bench KeyToCells -benchtime 300x
func BenchmarkKeyToCells(b *testing.B) {
	x := ptytest.Open(b, 120, 40)
	cmd := exec.Command("prismtop", endless...)
	x.Start(cmd)
	x.See("sample ")
	time.Sleep(2 * time.Second)
	var times []float64
	shown := false
	for b.Loop() {
		shown = !shown
		key := "?"
		if !shown {
			key = "esc"
		}
		began := time.Now()
		x.Press(key)
		x.When("Where to look", shown)
		took := time.Since(began)
		if shown { // an escape is held back to distinguish it from sequences
			times = append(times, milliseconds(took))
		}
		time.Sleep(time.Duration(30+7*(len(times)%13)) * time.Millisecond) // not in step with the frames
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	report(b, times)
}

// BenchmarkOtherKeysToCells is BenchmarkKeyToCells for keys that open a list or a question, and
// for one that changes a setting.
//
//	go test ./tui/command -run '^$' -bench OtherKeysToCells -benchtime 100x
func BenchmarkOtherKeysToCells(b *testing.B) {
	for _, k := range []struct{ name, key, shows, back, shown string }{
		{"values", ".", "enter or a digit", "esc", ""},
		{"alerts", "!", "─ Alerts ─", "esc", ""},
		{"restart", "R", "Restart?", "n", ""},
		{"AMP", "a", "AMP: off → bf16", "a", "AMP: bf16 → off"},
	} {
		b.Run(k.name, func(b *testing.B) {
			x := ptytest.Open(b, 120, 40)
			cmd := exec.Command("prismtop", append([]string{"--set", "decide=off"}, endless...)...) // no blocks after a press
			x.Start(cmd)
			x.See("sample ")
			time.Sleep(2 * time.Second)
			var times []float64
			for b.Loop() {
				began := time.Now()
				x.Press(k.key)
				x.When(k.shows, true)
				times = append(times, milliseconds(time.Since(began)))
				time.Sleep(time.Duration(30+7*(len(times)%13)) * time.Millisecond) // not in step with the frames
				x.Press(k.back)
				if x.When(k.shows, false); k.shown != "" {
					x.When(k.shown, true)
				}
				time.Sleep(time.Duration(30+7*(len(times)%11)) * time.Millisecond)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			report(b, times)
		})
	}
}

func report(b *testing.B, times []float64) {
	slices.Sort(times)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(stats.Quantile(times, 0.5), "p50-ms")
	b.ReportMetric(stats.Quantile(times, 0.99), "p99-ms")
	b.ReportMetric(times[len(times)-1], "max-ms")
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// taped is a recorded run: it delivers its snapshots again, ten per second.
type taped struct{ snapshots chan *profiles.Snapshot }

func (taped) Able(s *profiles.Snapshot) profiles.Kinds { return s.Able() }
func (taped) Do(profiles.Command) error                { return nil }
func (r taped) Snapshots() <-chan *profiles.Snapshot   { return r.snapshots }

// BenchmarkScreenCPU measures the processor time of the screen: all of this process while a
// recorded run is shown on a terminal of 120x40 at ten snapshots per second, including the work
// of Bubble Tea but no computation, in 256 and in 24-bit colours. The other end of the terminal
// is read but not drawn.
//
//	go test ./tui/command -run '^$' -bench ScreenCPU -benchtime 1x
func BenchmarkScreenCPU(b *testing.B) {
	recorded := record(b, 5*time.Second)
	for name, env := range map[string][]string{"256": nil, "truecolor": trueColor} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				showRecorded(b, recorded, append([]string{"TERM=xterm-256color"}, env...))
			}
		})
	}
}

// showRecorded shows snapshots, ten per second, and reports the cost.
func showRecorded(b *testing.B, recorded []*profiles.Snapshot, env []string) {
	tty := ptytest.OpenDrain(b, 120, 40).TTY()
	r := taped{make(chan *profiles.Snapshot)}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for _, s := range recorded {
			<-tick.C
			r.snapshots <- s
		}
		stop()
	}()
	used, began := processorTime(b), time.Now()
	_ = screen.Run(ctx, r, screen.Options{Settings: recorded[0].Settings, Output: tty, Input: tty, Environ: env})
	b.ReportMetric(100*(processorTime(b)-used)/time.Since(began).Seconds(), "%-of-a-core")
}

// record returns the snapshots of a run, ten per second.
func record(b *testing.B, length time.Duration) (all []*profiles.Snapshot) {
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Sets: []string{"init_iterations=0", "threshold=0"}})
	if err != nil {
		b.Fatal(err)
	}
	events := stream.New(stream.Room)
	r, err := sim.New(b.Context(), sim.Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: v, Stream: events, Metrics: 500 * time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	show := cli.Live{Run: r, Aggregator: aggregate.New(events.Follow(), aggregate.Options{Pictures: 300 * time.Millisecond})}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	go show.Aggregator.Run(ctx, 100*time.Millisecond)
	show.Start(ctx)
	for s := range show.Snapshots() {
		all = append(all, s)
	}
	r.Stop()
	if err := r.Wait(); err != nil {
		b.Fatal(err)
	}
	return all
}

// processorTime returns the processor time of this process in seconds.
func processorTime(b *testing.B) float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
