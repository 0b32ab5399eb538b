package transport

import (
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/tui/chart"
)

// The clock goes by what is recorded, as the track and the keys do: a gap before a resume takes no time.
func TestTheClockLeavesOutGaps(t *testing.T) {
	p := profiles.Position{At: 101 * time.Second, From: time.Second, To: 111 * time.Second,
		Gaps: []profiles.Gap{{From: 21 * time.Second, To: 91 * time.Second}}}
	var c chart.Canvas
	c.Resize(60, 1)
	Draw(&c, 0, p, true)
	got := ""
	for _, cell := range c.Row(0) {
		got += string(cell.Rune)
	}
	if !strings.Contains(got, "00:00:30 of 00:00:40") {
		t.Errorf("%q", got)
	}
}
