package recording

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// What a loop did half a second ago is in the file, so that a process killed at any moment loses no more: from the ring
// through the aggregator and the recorder to SQLite's log. The clock is that of a bubble, in which every goroutine runs as
// soon as it is able to; a busy machine adds what it keeps them waiting.
func TestNoMoreThanHalfASecondIsUnwritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	synctest.Test(t, func(t *testing.T) {
		const pace = 5 * time.Millisecond
		s := stream.New(8192)
		recorder := New(Options{Path: path})
		a := aggregate.New(s.Follow(), aggregate.Options{Tape: recorder})
		ctx, stop := context.WithCancel(t.Context())
		var aggregating sync.WaitGroup
		aggregating.Go(func() { a.Run(ctx, 100*time.Millisecond) })
		s.Begin(prismtest.Info(4), (&prism.Settings{AMP: "off", Object: "moon"}).Values().Settled())
		s.State(profiles.Running, "")
		it := prismtest.Progressive()
		began, random := time.Now(), rand.New(rand.NewPCG(3, 4))
		longest := time.Duration(0)
		for range 100 {
			for range 1 + random.IntN(60) {
				it.Start, it.Total = int64(time.Since(began)), int64(pace)
				time.Sleep(pace)
				s.Iteration(&it)
				it.Index++
			}
			time.Sleep(pace - time.Nanosecond) // the moment before the next iteration is recorded
			synctest.Wait()
			r, err := OpenOwn(t.Context(), path, func(string) *settings.Table { return prism.Table })
			if err != nil {
				t.Fatal(err)
			}
			status, err := r.Status(t.Context())
			if err != nil || r.Close() != nil {
				t.Fatal(err)
			}
			longest = max(longest, pace*time.Duration(it.Index-status.Iterations))
			time.Sleep(time.Nanosecond)
		}
		t.Logf("at most %v of %v was not in the file", longest, time.Since(began))
		if longest > 500*time.Millisecond || longest == 0 {
			t.Errorf("%v of the loop was not in the file, want at most half a second", longest)
		}
		s.State(profiles.Finished, "")
		stop()
		aggregating.Wait()
		if err := recorder.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
