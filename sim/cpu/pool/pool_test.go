package pool

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestForCoversEveryIndexOnce(t *testing.T) {
	for _, procs := range []int{1, 2} {
		for threads := 1; threads <= 5; threads++ {
			t.Run(fmt.Sprintf("procs %d threads %d", procs, threads), func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				p := New(threads)
				defer p.Close()
				for _, n := range []int{0, 1, 2, 3, 7, 64, 1000, 5001} {
					for _, grain := range []int{0, 1, 3, 100, 1 << 20} {
						counts := make([]int32, n)
						p.For(n, grain, func(lo, hi int) {
							for i := lo; i < hi; i++ {
								atomic.AddInt32(&counts[i], 1)
							}
						})
						for i, c := range counts {
							if c != 1 {
								t.Fatalf("n %d grain %d: index %d ran %d times", n, grain, i, c)
							}
						}
					}
				}
			})
		}
	}
}

// The caller begins with the first elements and a worker with the last ones, so that each has its part of the loops
// before in its caches.
func TestThreadsBeginAtBothEnds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	p := New(2)
	defer p.Close()
	const n = 64
	for range 10 {
		var calls, first, last atomic.Int32
		var both sync.WaitGroup
		both.Add(2)
		p.For(n, 1, func(lo, hi int) {
			if calls.Add(1) > 2 {
				return
			}
			if lo == 0 {
				first.Add(1)
			}
			if hi == n {
				last.Add(1)
			}
			both.Done()
			both.Wait() // until the other thread has begun
		})
		if first.Load() != 1 || last.Load() != 1 {
			t.Fatalf("of the two threads' first elements %d begin the loop and %d end it, want 1 and 1", first.Load(), last.Load())
		}
	}
}

// Loops follow each other at once, so that late workers meet the next loop.
func TestManyShortLoopsKeepTheirResultsApart(t *testing.T) {
	p := New(4)
	defer p.Close()
	x := make([]int, 16)
	add := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x[i]++
		}
	}
	const loops = 20_000
	for range loops {
		p.For(len(x), 1, add)
	}
	for i, v := range x {
		if v != loops {
			t.Fatalf("x[%d] = %d after %d loops", i, v, loops)
		}
	}
}

func TestSetThreadsWhileLoopsRun(t *testing.T) {
	p := New(1)
	defer p.Close()
	stop := make(chan struct{})
	var changes sync.WaitGroup
	changes.Go(func() {
		for n := 1; ; n = n%5 + 1 {
			select {
			case <-stop:
				return
			default:
				p.SetThreads(n)
				runtime.Gosched()
			}
		}
	})
	var sum atomic.Int64
	body := func(lo, hi int) { sum.Add(int64(hi - lo)) }
	for range 2000 {
		p.For(100, 1, body)
	}
	close(stop)
	changes.Wait()
	if got := sum.Load(); got != 2000*100 {
		t.Errorf("%d indices ran, want %d", got, 2000*100)
	}
}

func TestNestedLoopRunsInPlace(t *testing.T) {
	p := New(3)
	defer p.Close()
	var sum atomic.Int64
	p.For(10, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			p.For(10, 1, func(lo, hi int) { sum.Add(int64(hi - lo)) })
		}
	})
	if sum.Load() != 100 {
		t.Errorf("%d inner indices ran, want 100", sum.Load())
	}
}

func TestPanicReachesTheCallerAndThePoolLivesOn(t *testing.T) {
	for threads := 1; threads <= 3; threads++ {
		p := New(threads)
		for bad := range 6 {
			func() {
				defer func() {
					v := recover()
					if threads == 1 {
						if v != "boom" {
							t.Errorf("recovered %v", v)
						}
						return
					}
					var f *Panic
					if err, ok := v.(error); !ok || !errors.As(err, &f) || f.Value != "boom" || !strings.Contains(f.Error(), "boom") {
						t.Errorf("threads %d: recovered %v, want a *Panic", threads, v)
					}
				}()
				p.For(6, 1, func(lo, hi int) {
					if lo <= bad && bad < hi {
						panic("boom")
					}
				})
				t.Error("For returned")
			}()
		}
		var n atomic.Int64
		p.For(50, 1, func(lo, hi int) { n.Add(int64(hi - lo)) })
		if n.Load() != 50 {
			t.Errorf("after panics %d indices ran, want 50", n.Load())
		}
		p.Close()
	}
}

func TestForAllocatesNothing(t *testing.T) {
	p := New(3)
	defer p.Close()
	x := make([]float32, 4096)
	body := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x[i]++
		}
	}
	if n := testing.AllocsPerRun(200, func() { p.For(len(x), 16, body) }); n != 0 {
		t.Errorf("%g allocations per loop", n)
	}
}

func BenchmarkFor(b *testing.B) {
	for _, threads := range []int{1, 2} {
		p := New(threads)
		b.Run(fmt.Sprintf("empty/threads %d", threads), func(b *testing.B) {
			body := func(lo, hi int) {}
			for b.Loop() {
				p.For(threads, 1, body)
			}
		})
		b.Run(fmt.Sprintf("100 µs/threads %d", threads), func(b *testing.B) {
			var sinks [64]float64
			body := func(lo, hi int) {
				for i := lo; i < hi; i++ {
					x := float64(i)
					for range 1000 {
						x = x*0.999 + 1
					}
					sinks[i] = x
				}
			}
			for b.Loop() {
				p.For(32, 1, body)
			}
		})
		p.Close()
	}
}
