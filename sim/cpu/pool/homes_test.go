package pool

import (
	"testing"
	"time"
)

// Frames take a processor now and then; a competing program takes a third of it or more.
func TestATenureEndsWhereOthersWantTheProcessors(t *testing.T) {
	now := time.Unix(0, 0)
	var own tenure
	pass := func(n int, busy float64) (gaveUp int) {
		for range n {
			const wall = 5 * time.Millisecond
			now = now.Add(wall)
			if now.Before(own.until) {
				continue
			}
			if own.add(now, wall, time.Duration(busy*float64(wall))) {
				gaveUp++
			}
		}
		return gaveUp
	}
	if n := pass(2000, 0.97); n != 0 {
		t.Errorf("given up %d times where frames take 3 %%", n)
	}
	if n := pass(2000, 0.6); n < 3 || n > 5 { // after 0.1, 1.2, 3.3 and 7.4 seconds of 10
		t.Errorf("given up %d times in 10 s where others take 40 %%, want few trials", n)
	}
	pass(60000, 0.6)
	if rest := own.until.Sub(now); own.rest != restMost || rest > restMost {
		t.Errorf("the rest is %v, with %v left, want at most %v", own.rest, rest, restMost)
	}
	pass(8000, 0.97) // 40 seconds: the rest, and then
	if n := pass(2000, 0.97); n != 0 || own.rest >= restLeast {
		t.Errorf("given up %d times after the others have ended; the next rest would follow %v", n, own.rest)
	}
}
