//go:build unix

package bench

import (
	"flag"
	"testing"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/ptytest"
)

var watchTime = flag.Duration("watch", 4*time.Second, "measured time of a block in the benchmark of watching")

// BenchmarkWatchingByBlocks is the command bench watching on a pseudo-terminal, whose output is
// read by this process: the speed of one run of the baseline while the screen is open, relative to
// that without, and the cost that the footer shows meanwhile. It needs at least six rounds.
//
//	go test ./tui/command/bench -run '^$' -bench WatchingByBlocks -benchtime 8x -watch 4s
func BenchmarkWatchingByBlocks(b *testing.B) {
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "baseline"})
	if err != nil {
		b.Fatal(err)
	}
	cli.ThriftyCollector()
	machine.ShareProcessors()
	tty := ptytest.OpenDrain(b, 120, 40).TTY()
	w := watchingBench{
		Maker: workloads.PRISM(workloads.Devices{}), Settings: v, Rounds: b.N, Block: *watchTime,
		Output: tty, Input: tty, Environ: []string{"TERM=xterm-256color"},
	}
	r, err := w.run(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.Ratio.Value, "watched/alone")
	b.ReportMetric(r.Ratio.Low, "watched/alone-low")
	b.ReportMetric(r.Ratio.High, "watched/alone-high")
	if c := r.Footer; c.Known {
		b.ReportMetric(c.Value, "footer-cost")
		b.ReportMetric(c.Low, "footer-cost-low")
		b.ReportMetric(c.High, "footer-cost-high")
	}
}
