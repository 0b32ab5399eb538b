package pool

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// burner makes the test binary a process that keeps one processor busy until its
// standard input closes.
const burner = "PRISMTOP_POOL_BURNER"

func TestMain(m *testing.M) {
	if os.Getenv(burner) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	runtime.GOMAXPROCS(2)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for x := 1.0; ; x *= 1.0000001 {
	}
}

// compete starts n busy processes that end with the benchmark.
func compete(b *testing.B, n int) {
	b.Helper()
	for range n {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), burner+"=1")
		in, err := c.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			_ = in.Close()
			_ = c.Wait()
		})
	}
}

// policies are the ways to wait that BenchmarkUnderLoad compares.
var policies = []struct {
	name    string
	threads int
	spin    time.Duration
}{
	{"one thread", 1, 0},
	{"park", 2, 0},
	{"spin 10µs", 2, 10 * time.Microsecond},
	{"spin 40µs", 2, 40 * time.Microsecond},
	{"spin 200µs", 2, 200 * time.Microsecond},
}

// BenchmarkUnderLoad uses the pool like an iteration, with a mix of loops of 20 to 150 µs with
// some serial work between them, a quarter of an iteration's, while other processes want the
// processors. The policies take turns, so that all meet the same load.
func BenchmarkUnderLoad(b *testing.B) {
	for busy := range 3 {
		b.Run(fmt.Sprintf("busy %d", busy), func(b *testing.B) {
			compete(b, busy)
			times := make([]durations, len(policies))
			pools := make([]*Pool, len(policies))
			for b.Loop() {
				for i, o := range policies {
					if pools[i] == nil {
						pools[i] = newPool(o.threads, o.spin)
						b.Cleanup(pools[i].Close)
					}
					for range 16 {
						times[i] = append(times[i], iteration(pools[i]))
					}
				}
			}
			for i, o := range policies {
				times[i].report(b, o.name)
			}
		})
	}
}

// iteration is the time of a quarter of one.
func iteration(p *Pool) time.Duration {
	var sinks [64]float64
	body := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			sinks[i] = work(1000)
		}
	}
	start := time.Now()
	for k := range 20 {
		p.For([]int{8, 8, 16, 64}[k%4], 2, body)
		sinks[0] = work(2000)
	}
	return time.Since(start)
}

// work takes about a nanosecond a step.
func work(steps int) float64 {
	x := 1.0
	for range steps {
		x = x*0.999 + 1
	}
	return x
}

// durations are the times of iterations.
type durations []time.Duration

func (d durations) report(b *testing.B, policy string) {
	slices.Sort(d)
	var sum time.Duration
	for _, t := range d {
		sum += t
	}
	b.Logf("%-10s  mean %5d  least %5d  p10 %5d  median %5d  p90 %5d µs", policy, sum.Microseconds()/int64(len(d)),
		d[0].Microseconds(), d[len(d)/10].Microseconds(), d[len(d)/2].Microseconds(), d[len(d)*9/10].Microseconds())
}
