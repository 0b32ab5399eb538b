package pool

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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
	var over atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		over.Store(true)
	}()
	for x := 1.0; !over.Load(); {
		for range 1 << 16 {
			x *= 1.0000001
		}
	}
}

// compete starts n busy processes that end with the benchmark, or with the call of end, which
// returns their processor time.
func compete(b *testing.B, n int) (end func() (took time.Duration)) {
	b.Helper()
	var ends []func() time.Duration
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
		ends = append(ends, sync.OnceValue(func() time.Duration {
			_ = in.Close()
			_ = c.Wait()
			return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		}))
	}
	end = func() (took time.Duration) {
		for _, one := range ends {
			took += one()
		}
		return took
	}
	b.Cleanup(func() { end() })
	return end
}

// BenchmarkBesideOthers measures what a pool and busy processes leave each other: the mean and
// the 90th percentile of a quarter of an iteration, and how many processors the others had.
func BenchmarkBesideOthers(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2 * runtime.NumCPU()))
	for _, busy := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("busy %d", busy), func(b *testing.B) {
			p := New(2)
			defer p.Close()
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			end, began := compete(b, busy), time.Now()
			var times durations
			for b.Loop() {
				for range 16 {
					before := p.Attach(ctx) // as a run does
					times = append(times, iteration(p))
					p.Attach(before)
				}
			}
			span := time.Since(began).Seconds()
			slices.Sort(times)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(span*1e6/float64(len(times)), "mean-µs")
			b.ReportMetric(float64(times[len(times)*9/10].Microseconds()), "p90-µs")
			b.ReportMetric(end().Seconds()/span, "others-processors")
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
