package screen

import (
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// cost is the cost of watching, for the footer and the help: what the run measured, and the
// output of the screen, which it sums once a second.
type cost struct {
	run     *asking
	pause   *pausing
	display *display
	tiles   *tiling

	bytes int64 // total written at the last sum
	drawn int64 // total frames at the last sum
	at    time.Time

	rate  float64 // bytes per second
	fps   float64 // frames per second
	known bool
}

func (c *cost) sum(now time.Time, written, drawn int64) {
	if span := now.Sub(c.at).Seconds(); !c.at.IsZero() && span > 0 {
		c.rate = float64(written-c.bytes) / span
		c.fps = float64(drawn-c.drawn) / span
		c.known = true
	}
	c.at, c.bytes, c.drawn = now, written, drawn
}

// skippedLife is how long the footer shows skipped frames.
const skippedLife = 10 * time.Second

// Minimum screen widths for the long form of the cost in the footer, and for the bytes and frames
// per second beside it.
const (
	longCostWidth = 120
	ratesWidth    = 220
)

// pieces returns the cost of the screen and any losses, for the footer; brief omits the interval.
func (c *cost) pieces(brief bool) []widget.Piece {
	var ps []widget.Piece
	if c.run.snap != nil && c.run.snap.Own.Dropped > 0 {
		ps = append(ps, widget.Piece{Text: fmt.Sprintf("%d dropped  ", c.run.snap.Own.Dropped), Style: theme.Warn})
	}
	text, style := c.watchingText(brief)
	if c.tiles.layout.W >= ratesWidth && !brief {
		text += c.rates()
	}
	// replaces the cost at the same width
	if c.display.skipped > 0 && c.display.now().Sub(c.display.skippedAt) < skippedLife {
		w := chart.Width(text)
		skipped := words.FittingOrLast(w, unit.About(c.display.skipped, "frame", "frames")+" skipped",
			fmt.Sprintf("%d skipped", c.display.skipped), "skipped")
		return append(ps, widget.Piece{Text: fmt.Sprintf("%*s", w, skipped), Style: theme.Warn})
	}
	return append(ps, widget.Piece{Text: text, Style: style})
}

// rates formats the bytes and frames per second at a fixed width.
func (c *cost) rates() string {
	if !c.known {
		return "      – KB/s   – fps"
	}
	return fmt.Sprintf("  %s KB/s %3.0f fps", unit.Fixed(c.rate/1000, 5), min(c.fps, 99))
}

// watchingText formats the cost of watching at a fixed width.
func (c *cost) watchingText(brief bool) (string, theme.Style) {
	var w profiles.WatchingCost
	if c.run.snap != nil {
		w = c.run.snap.Own.Watching
	}
	label, width := "ui", len("ui −0.2 % [−0.9, 0.6]")-2*(len("−")-1)
	if c.tiles.layout.W >= longCostWidth {
		label, width = "watching", len("watching −0.2 % [−0.9, 0.6]")-2*(len("−")-1)
	}
	if w.Thinned {
		label = "thinned"
	}
	style := theme.Faint
	text := label + ": not measured"
	switch {
	case w.Known:
		text = label + " " + unit.ShareWithin(w.Value, w.Low, w.High)
		if w.Budget > 0 && stats.AtMost(w.Budget).Judge(w.Low, w.High) == stats.Above {
			style = theme.Warn
		}
	case w.Measured && w.Reason == "" && c.pause.still():
		text = label + ": –"
	case w.Measured && w.Reason == "":
		text = label + ": measuring"
	}
	if brief {
		width = len(label + " 12.3 %")
		text = label + ": –"
		if w.Known {
			text = label + " " + unit.Share(w.Value)
		}
	}
	return fmt.Sprintf("%*s", width, text), style
}

// notes explains the cost for the help, as far as it is known.
func (c *cost) notes() (notes []string) {
	if c.run.snap == nil || !c.run.snap.Own.Watching.Measured {
		return nil
	}
	w := c.run.snap.Own.Watching
	switch {
	case w.Reason != "":
		notes = append(notes, "The cost of watching is not measured: "+w.Reason+".")
	case w.Known:
		notes = append(notes, "Watching costs "+unit.ShareWithin(w.Value, w.Low, w.High)+
			" of the run's speed, measured by not watching for a quarter of a second now and then.")
	case c.pause.still():
		notes = append(notes, "The cost of watching is not known: it is measured only while a run computes, which "+
			"takes about a minute.")
	default:
		notes = append(notes, "The cost of watching is being measured, which takes about a minute.")
	}
	if w.Thinned {
		text := fmt.Sprintf("Watching is thinned to a frame every %s", unit.Duration(float64(w.Period)))
		if w.Sparse > 1 {
			text += fmt.Sprintf(", and pictures, quality and layers %d times as rarely", w.Sparse)
		}
		notes = append(notes, text+", for a budget of "+unit.Share(w.Budget)+" (--watch-budget).")
	}
	sent := "Collecting the data takes " + unit.Share(c.run.snap.Own.Aggregator) + " of a processor"
	if c.known {
		sent += fmt.Sprintf("; the terminal gets %.1f KB and %s a second", c.rate/1000,
			unit.Plural(int(math.Round(c.fps)), "frame", "frames"))
	}
	return append(notes, sent+".")
}
