package command

import (
	"testing"
	"time"

	"prismtop/profiles/attach"
)

// A screen says what happened since the last one left; the first, to which nobody left anything, only what
// happened since the run began.
func TestWhatAScreenHasMissed(t *testing.T) {
	now := time.Unix(1e9, 0)
	info := attach.Info{Unit: "sample", UnitMany: "samples"}
	for _, c := range []struct {
		away attach.Away
		want string
	}{
		{attach.Away{}, ""},
		{attach.Away{Since: now.Add(-5 * time.Second), Began: true}, ""},
		{attach.Away{Since: now.Add(-5 * time.Second), Began: true, Alerts: 1, Units: 2}, "since the run began 00:00:05 ago: 1 alert, 2 samples"},
		{attach.Away{Since: now.Add(-5 * time.Second)}, "since you left 00:00:05 ago: no change, no alert"},
		{attach.Away{Since: now.Add(-5 * time.Second), Changes: 1}, "since you left 00:00:05 ago: 1 change"},
	} {
		if got := away(c.away, info, now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.away, got, c.want)
		}
	}
}
