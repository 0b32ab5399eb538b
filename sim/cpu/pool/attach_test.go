package pool

import (
	"context"
	"sync/atomic"
	"testing"
)

// A loop checks the context before every piece and skips the rest.
func TestAnAttachedContextEndsLoopsEarly(t *testing.T) {
	for _, threads := range []int{1, 4} {
		p := New(threads)
		defer p.Close()
		ctx, cancel := context.WithCancel(t.Context())
		if before := p.Attach(ctx); before != nil {
			t.Fatalf("%v was attached before", before)
		}
		const n, piece = 1 << 20, 1 << 4
		var done atomic.Int64
		p.ForPieces(n, 1, piece, func(lo, hi int) {
			if hi-lo > piece {
				t.Errorf("%d threads: a piece of %d elements, want at most %d", threads, hi-lo, piece)
			}
			done.Add(int64(hi - lo))
			cancel()
		})
		// Every thread may have looked just before the end, and claims no more than it has.
		if most := int64(threads * chunksPerThread * piece); done.Load() == 0 || done.Load() > most {
			t.Errorf("%d threads: %d of %d elements ran, want at most %d", threads, done.Load(), n, most)
		}
		if !p.Ended() {
			t.Error("the pool does not know that its context has ended")
		}
		p.For(n, 1, func(lo, hi int) { t.Errorf("%d threads: [%d, %d) ran under a context that has ended", threads, lo, hi) })
		if before := p.Attach(context.Background()); before != ctx {
			t.Errorf("%v was attached, want the context", before)
		}
		done.Store(0)
		p.For(n, 1, func(lo, hi int) { done.Add(int64(hi - lo)) })
		if done.Load() != n {
			t.Errorf("%d threads: %d of %d elements ran once nothing was attached", threads, done.Load(), n)
		}
	}
}

// Pieces cover everything once, whatever their size.
func TestPiecesCoverEveryIndexOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, threads := range []int{1, 3} {
		p := New(threads)
		defer p.Close()
		p.Attach(ctx)
		for _, n := range []int{1, 7, 64, 5001} {
			for _, piece := range []int{1, 3, 1000} {
				counts := make([]int32, n)
				p.ForPieces(n, 2, piece, func(lo, hi int) {
					for i := lo; i < hi; i++ {
						atomic.AddInt32(&counts[i], 1)
					}
				})
				for i, c := range counts {
					if c != 1 {
						t.Fatalf("%d threads, n %d, pieces of %d: index %d ran %d times", threads, n, piece, i, c)
					}
				}
			}
		}
	}
}

func TestALoopWithAContextAllocatesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := New(2)
	defer p.Close()
	x := make([]float32, 1<<16)
	body := func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x[i]++
		}
	}
	loop := func() {
		defer p.Attach(p.Attach(ctx))
		p.ForPieces(len(x), 16, 256, body)
	}
	loop()
	if n := testing.AllocsPerRun(100, loop); n != 0 {
		t.Errorf("%v allocations per loop", n)
	}
}
