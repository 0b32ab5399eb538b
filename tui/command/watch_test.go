//go:build unix

package command

import (
	"bytes"
	"flag"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"prismtop/profiles/stats"
	"prismtop/tui/ptytest"
)

var watchTime = flag.Duration("watch", time.Second, "how long the benchmark of watching lets each program run")

// BenchmarkWatching measures the cost of the screen: the iterations of the baseline in a fixed
// time with a screen of 120x40 at ten frames per second, and with layer profiling in addition,
// relative to the program without a screen. Each is a separate program, as users run it, in this
// order and the reverse in every round. It prints the medians of the rounds' ratios with their
// 10th and 90th percentiles.
//
//	go test ./tui/command -run '^$' -bench Watching -benchtime 8x -watch 6s
func BenchmarkWatching(b *testing.B) {
	ways := []func(*testing.B) float64{headlessPace, watchedPace, profiledPace}
	var alone, watched, profiled []float64
	for b.Loop() {
		var sums [3]float64
		for _, i := range []int{0, 1, 2, 2, 1, 0} {
			sums[i] += ways[i](b)
		}
		alone = append(alone, sums[0]/2)
		watched = append(watched, sums[1]/sums[0])
		profiled = append(profiled, sums[2]/sums[0])
	}
	for name, values := range map[string][]float64{
		"headless-it/s": alone, "watched/headless": watched, "profiled/headless": profiled,
	} {
		slices.Sort(values)
		b.ReportMetric(stats.Quantile(values, 0.5), name)
		b.ReportMetric(stats.Quantile(values, 0.1), name+"-p10")
		b.ReportMetric(stats.Quantile(values, 0.9), name+"-p90")
	}
	b.ReportMetric(0, "ns/op")
}

// endlessFor returns the arguments of a baseline run that ends after a fixed time.
func endlessFor(more ...string) []string {
	return append(append(append([]string{"run"}, endless...), "--max-time", watchTime.String()), more...)
}

var iterationsTold = regexp.MustCompile(`iterations +(\d+) in`)

// paceTold returns the iterations per second printed in a summary.
func paceTold(b *testing.B, text string) float64 {
	all := iterationsTold.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		b.Fatalf("no summary in %q", text)
	}
	n, err := strconv.Atoi(all[len(all)-1][1])
	if err != nil || n == 0 {
		b.Fatal(n, err)
	}
	return float64(n) / watchTime.Seconds()
}

func headlessPace(b *testing.B) float64 {
	var out bytes.Buffer
	cmd := exec.Command("prismtop", endlessFor("--headless")...)
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	return paceTold(b, out.String())
}

func watchedPace(b *testing.B) float64 { return screenPace(b) }

func profiledPace(b *testing.B) float64 { return screenPace(b, "--set", "layer_profile=true") }

func screenPace(b *testing.B, more ...string) float64 {
	x := ptytest.OpenDrain(b, 120, 40)
	cmd := exec.Command("prismtop", endlessFor(more...)...)
	x.Start(cmd)
	time.Sleep(*watchTime + 2*time.Second)
	x.Press("q")
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // wait for the last bytes
	return paceTold(b, x.Received())
}
