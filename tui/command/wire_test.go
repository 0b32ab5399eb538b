//go:build unix

package command

import (
	"flag"
	"os/exec"
	"testing"
	"time"

	"prismtop/tui/ptytest"
)

var wireTime = flag.Duration("wire", 2*time.Second, "how long the benchmark of the wire watches each program")

// trueColor is the environment of a terminal with 24-bit colours.
var trueColor = []string{"COLORTERM=truecolor"}

// BenchmarkWire measures the output of programs to a terminal of 120x40 cells and 256 or 24-bit
// colours: bytes per second, updates per second, bytes per update. An update is the output of
// one burst. Other monitors packaged by Debian run at their defaults if they are installed and
// have something to show.
//
//	go test ./tui/command -run '^$' -bench Wire -benchtime 1x -wire 20s
func BenchmarkWire(b *testing.B) {
	run := func(more ...string) []string { return append(append([]string{"prismtop"}, endless...), more...) }
	for _, program := range []struct {
		name    string
		command []string
		ready   string
		keys    []string // pressed before measuring
		env     []string
	}{
		{"prismtop/full", run("--bandwidth", "full"), "sample ", nil, nil},
		{"prismtop/full-truecolor", run("--bandwidth", "full"), "sample ", nil, trueColor},
		{"prismtop/auto", run(), "sample ", nil, nil},
		{"prismtop/auto-truecolor", run(), "sample ", nil, trueColor},
		{"prismtop/low", run("--bandwidth", "low"), "sample ", nil, nil},
		{"prismtop/low-truecolor", run("--bandwidth", "low"), "sample ", nil, trueColor},
		{"prismtop/paused", run(), "sample ", []string{"space"}, nil},
		{"htop", []string{"htop"}, "PID", nil, nil},
		{"btop", []string{"btop"}, "cpu", nil, nil},
		{"nvtop", []string{"nvtop"}, "GPU", nil, nil},
	} {
		b.Run(program.name, func(b *testing.B) {
			if _, err := exec.LookPath(program.command[0]); err != nil {
				b.Skipf("skipped: %s is not here", program.command[0])
			}
			for b.Loop() {
				x := ptytest.Open(b, 120, 40)
				cmd := exec.Command(program.command[0], program.command[1:]...)
				cmd.Env = program.env
				x.Start(cmd)
				x.See(program.ready)
				x.Press(program.keys...)
				time.Sleep(3 * time.Second) // exclude the first paints from the rate
				bytes, bursts := x.Traffic()
				time.Sleep(*wireTime)
				after, updates := x.Traffic()
				bytes, bursts = after-bytes, updates-bursts
				b.ReportMetric(float64(bytes)/wireTime.Seconds(), "B/s")
				b.ReportMetric(float64(bursts)/wireTime.Seconds(), "updates/s")
				b.ReportMetric(float64(bytes)/float64(max(bursts, 1)), "B/update")
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
		})
	}
}
