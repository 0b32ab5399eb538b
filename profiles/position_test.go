package profiles

import (
	"testing"
	"time"
)

// A gap takes no room among what is recorded.
func TestShareLeavesOutGaps(t *testing.T) {
	p := Position{From: time.Second, To: 111 * time.Second, Gaps: []Gap{{21 * time.Second, 91 * time.Second}}} // 40 seconds are recorded
	for _, c := range []struct {
		at    time.Duration
		share float64
		back  time.Duration
	}{
		{time.Second, 0, time.Second},
		{11 * time.Second, 0.25, 11 * time.Second},
		{50 * time.Second, 0.5, 21 * time.Second}, // within the gap
		{101 * time.Second, 0.75, 101 * time.Second},
		{111 * time.Second, 1, 111 * time.Second},
		{200 * time.Second, 1, 111 * time.Second},
	} {
		if got := p.Share(c.at); got != c.share {
			t.Errorf("%v is at %g, want %g", c.at, got, c.share)
		}
		if got := p.Moment(time.Duration(c.share * float64(p.Recorded(p.To)))); got != c.back {
			t.Errorf("at %g is %v, want %v", c.share, got, c.back)
		}
	}
	if got := (&Position{}).Share(time.Second); got != 0 {
		t.Errorf("nothing recorded: %g", got)
	}
}
