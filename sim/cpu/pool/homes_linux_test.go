package pool

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"prismtop/profiles/machine"
)

// masks returns the processors that each thread of a pool may use during a loop.
func masks(t *testing.T, p *Pool) (all []unix.CPUSet) {
	t.Helper()
	n := p.Threads()
	var mu sync.Mutex
	var everyone sync.WaitGroup
	everyone.Add(n)
	p.For(n, 1, func(lo, hi int) {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			t.Error(err)
		}
		mu.Lock()
		all = append(all, set)
		mu.Unlock()
		everyone.Done()
		everyone.Wait() // so that every thread runs one chunk
	})
	return all
}

// distinct reports whether every thread has one processor, and no two the same.
func distinct(all []unix.CPUSet) bool {
	seen := map[unix.CPUSet]bool{}
	for _, set := range all {
		if set.Count() != 1 || seen[set] {
			return false
		}
		seen[set] = true
	}
	return true
}

func TestThreadsKeepAProcessorEach(t *testing.T) {
	n := machine.Processors()
	if n < 2 || n != len(permitted()) {
		t.Skipf("skipped: %d processors of %d, of which a pool with a thread each needs all and two at least", n, len(permitted()))
	}
	p := New(n)
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 3 {
		p.tenure = tenure{} // whatever else runs on this machine
		before := p.Attach(ctx)
		masks(t, p) // workers settle between two loops
		if all := masks(t, p); !distinct(all) {
			t.Errorf("attached, the threads' processors are %v", all)
		}
		p.Attach(before)
		var mine unix.CPUSet
		if err := unix.SchedGetaffinity(0, &mine); err != nil || mine != everywhere {
			t.Fatalf("detached, the caller may use %v of %v: %v", mine, everywhere, err)
		}
	}
	p.SetThreads(n + 1) // more than processors: the operating system places them
	defer p.Attach(p.Attach(ctx))
	masks(t, p)
	for _, set := range masks(t, p) {
		if set != everywhere {
			t.Errorf("with more threads than processors one may use %v of %v", set, everywhere)
		}
	}
}

func TestARestrictedThreadStaysRestricted(t *testing.T) {
	n := machine.Processors()
	if n < 2 || n != len(permitted()) {
		t.Skipf("skipped: %d processors of %d", n, len(permitted()))
	}
	p := New(n)
	defer p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	restricted := make(chan unix.CPUSet)
	go func() {
		runtime.LockOSThread()
		keep(permitted()[1]) // as a user does with taskset; the thread ends with the goroutine
		before := p.Attach(ctx)
		p.Attach(ctx) // nested
		p.Attach(before)
		var set unix.CPUSet
		_ = unix.SchedGetaffinity(0, &set)
		restricted <- set
	}()
	if set := <-restricted; set.Count() != 1 || !set.IsSet(permitted()[1]) {
		t.Errorf("it may use %v", set)
	}
}
