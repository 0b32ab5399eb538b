package screen

import (
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// This file measures the cost of the screen and shows it in the footer.

// cost is the screen's own cost, summed once a second.
type cost struct {
	spent time.Duration // processor time in Update since the last sum
	bytes int64         // total written at the last sum
	drawn int64         // total frames at the last sum
	at    time.Time
	// skipped counts the frames skipped, up to skippedAt, because the terminal was busy or the
	// budget was spent.
	skipped   int64
	skippedAt time.Time

	share float64 // of one core, for handling messages and drawing
	rate  float64 // bytes per second
	fps   float64 // frames per second
	known bool
}

func (c *cost) sum(now time.Time, written, drawn int64) {
	if span := now.Sub(c.at).Seconds(); !c.at.IsZero() && span > 0 {
		c.share = math.Max(0, c.spent.Seconds()/span)
		c.rate = float64(written-c.bytes) / span
		c.fps = float64(drawn-c.drawn) / span
		c.known = true
	}
	c.at, c.spent, c.bytes, c.drawn = now, 0, written, drawn
}

// skippedLife is how long the footer shows skipped frames.
const skippedLife = 10 * time.Second

// frameRateWidth is the minimum screen width for the frame rate in the footer.
const frameRateWidth = 120

// costPieces returns the cost of the screen and any losses, for the footer.
func (m *Model) costPieces() []piece {
	var ps []piece
	if m.snap != nil && m.snap.Own.Dropped > 0 {
		ps = append(ps, piece{fmt.Sprintf("%d dropped  ", m.snap.Own.Dropped), theme.Warn})
	}
	costs := m.cost.text(m.snap, m.layout.W >= frameRateWidth)
	if m.cost.skipped > 0 && m.now().Sub(m.cost.skippedAt) < skippedLife { // replaces the cost at the same width
		skipped := unit.About(m.cost.skipped, "frame", "frames") + " skipped"
		return append(ps, piece{fmt.Sprintf("%*s", chart.Width(costs), skipped), theme.Warn})
	}
	return append(ps, piece{costs, theme.Faint})
}

// text formats the cost at a fixed width, including the aggregator's share.
func (c *cost) text(s *profiles.Snapshot, frames bool) string {
	share, rate, fps := math.NaN(), math.NaN(), "  –"
	if c.known {
		share, rate, fps = c.share, c.rate/1000, fmt.Sprintf("%3.0f", min(c.fps, 99))
		if s != nil {
			share += s.Own.Aggregator
		}
	}
	text := "ui" + unit.PercentFine(share) + " " + unit.Fixed(rate, 5) + " KB/s"
	if frames {
		text += fps + " fps"
	}
	return text
}
