package tui

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// caches shows what each cache was asked and what it saves.
type caches struct {
	box
	why bool // words instead of numbers
	scroll
}

func newCaches() *caches { return &caches{box: box{title: "Caches"}} }

func (p *caches) View() string    { return join(p.lines()) }
func (p *caches) lines() []string { return p.render(p.draw) }

// Press changes between numbers and words, and scrolls the words.
func (p *caches) Press(key string) bool {
	if key == "v" {
		p.why, p.top = !p.why, 0
	} else if !p.why || !p.scroll.press(key) {
		return false
	}
	p.stale = true
	return true
}

// Hints are the keys of the views.
func (p *caches) Hints() []hint {
	if p.why {
		return []hint{{"v", "numbers"}, {"↑↓", "scroll"}}
	}
	return []hint{{"v", "why"}}
}

// Explain says what the caches keep and how savings are measured.
func (p *caches) Explain() []string {
	return []string{
		"The measurement cache keeps what one aperture sees of the object; FFT plans are tables of twiddle factors per size; masks/grids are " +
			"aperture masks and coordinates. Off, the work is done again at every use.",
		"Hit rate is hits over lookups since the run began. Recent is the same over the newest 512 iterations under the present settings.",
		"Saved is measured, not estimated from rates: for every hit the median of the latest times that it took to compute an entry of that size, " +
			"less what the lookup took, hashing included; a miss counts what its lookup and storing took as a loss. Below 0 the cache costs more than " +
			"it saves, and the screen says costs.",
		"ms/it is that sum over the recent iterations, divided by their number. The share beside it is of the iteration without the cache: " +
			"saved ÷ (mean iteration + saved).",
		"A miss is the mean time to compute an entry, a lookup the mean time of all lookups, hashing and storing included.",
	}
}

var cacheTitles = [profiles.NumCaches]string{"measurement", "FFT plans", "masks/grids"}

// cacheKeys are the keys that switch the caches.
var cacheKeys = [profiles.NumCaches]string{"m", "f", "g"}

const cacheTitleWidth = 11

// Widths from which a row has the share, and says that time is saved; below, the
// frame says so once.
const (
	cacheShareWidth = 36
	cacheWordWidth  = 46
)

func (p *caches) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	_, h := c.Size()
	if s.State == profiles.Preparing {
		message(c, "not set up yet")
		return "", theme.Faint
	}
	if p.why {
		return p.words(c, s)
	}
	n := int(profiles.NumCaches)
	if w, _ := c.Size(); h >= 5*n+1 && w >= 56 {
		return p.full(c, s)
	}
	return p.rows(c, s)
}

// rows is one to three rows for each cache.
func (p *caches) rows(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	n := int(profiles.NumCaches)
	each := min(max(h/n, 1), 2)
	if w < cacheWordWidth {
		p.aside("saved per iteration", theme.Faint)
	}
	y := 0
	for id, v := range s.Caches {
		p.row(c, y, id, s)
		if each == 2 {
			c.Text(1, y+1, chart.Cut(cacheDetail(v, w-1), w-1), theme.Faint)
		}
		y += each
		if h >= 3*n {
			if w < cacheShareWidth {
				c.Text(1, y, shareRow(s, v), theme.Faint)
			}
			y++
		}
	}
	why := whyNoHits(s)
	switch {
	case why != "" && h-y >= 2:
		writeWrapped(c, 0, y, h-y, why+".", theme.Warn)
		return "", theme.Faint
	case why != "":
		return "trainer pattern: asked once per sample", theme.Warn
	case p.focus:
		return "v: why", theme.Faint
	}
	return "", theme.Faint
}

// row is a cache's switch, hit rate and what it saves of an iteration.
func (p *caches) row(c *chart.Canvas, y, id int, s *profiles.Snapshot) {
	w, _ := c.Size()
	v := s.Caches[id]
	cacheName(c, y, id, v)
	x := cacheTitleWidth + 3
	hits, ok := v.HitRate()
	switch {
	case !v.Enabled && w-x < 20:
		c.Text(x, y, "off, done again", theme.Faint)
		return
	case !v.Enabled:
		c.Text(x, y, "off, work done again", theme.Faint)
		return
	case !ok:
		c.Text(x, y, "no lookups yet", theme.Faint)
		return
	}
	c.Text(x, y, hitRate(hits), theme.Strong)
	each, share, known := savedEach(s, v)
	if !known {
		c.TextRight(w, y, "–", theme.Faint)
		return
	}
	word, style := "saves", theme.Good
	if each < 0 {
		word, style = "costs", theme.Warn
	}
	end := w
	if w >= cacheShareWidth {
		c.TextRight(end, y, percent(max(share, -share)), style)
		end -= 5
	}
	if w >= cacheWordWidth {
		text := perIteration(max(each, -each)) + "/it"
		c.TextRight(end-chart.Width(text)-1, y, word, theme.Faint)
		c.TextRight(end, y, text, style)
		return
	}
	c.TextRight(end, y, perIteration(each), style)
}

// shareRow is the share that a cache saves or costs; empty where it is not known.
func shareRow(s *profiles.Snapshot, v profiles.CacheView) string {
	ns, share, ok := savedEach(s, v)
	if _, asked := v.HitRate(); !ok || !asked || !v.Enabled {
		return ""
	}
	word := "saves "
	if ns < 0 {
		word = "costs "
	}
	return word + trim(percentFine(max(share, -share))) + " of an iteration"
}

// perIteration is a time per iteration, 10 wide: "   0.48 ms". Below 10 µs, where
// two decimals of a millisecond say nothing, it is in smaller units.
func perIteration(ns float64) string {
	text := seconds(ns)
	if a := max(ns, -ns); a >= 10e3 {
		text = trim(fixed(a/1e6, 5)) + " ms"
		if ns < 0 {
			text = "−" + text
		}
	}
	return fmt.Sprintf("%10s", trim(text))
}

func cacheName(c *chart.Canvas, y, id int, v profiles.CacheView) {
	name, lamp, style := theme.Plain, '●', theme.Good
	if !v.Enabled {
		name, lamp, style = theme.Faint, '○', theme.Faint
	}
	c.Text(0, y, cacheTitles[id], name)
	c.Set(cacheTitleWidth+1, y, lamp, style)
}

// savedEach is what a cache saves of an iteration: in nanoseconds and as a share
// of the iteration without it.
func savedEach(s *profiles.Snapshot, v profiles.CacheView) (ns, share float64, ok bool) {
	ns, ok = v.SavedPerIteration()
	if !ok || s.Total.N == 0 || s.Total.Mean+ns <= 0 {
		return ns, 0, ok && s.Total.N > 0
	}
	return ns, ns / (s.Total.Mean + ns), true
}

// cacheDetail is what a cache was asked and what it holds, in at most w cells
// where that can be.
func cacheDetail(v profiles.CacheView, w int) string {
	size := strings.TrimSpace(byteSize(v.Bytes))
	return fittingParts(w, []string{lookups(v), plural(v.Entries, "entry", "entries"), size, trim(seconds(float64(v.Saved))) + " in all"},
		[]string{lookups(v), plural(v.Entries, "entry", "entries"), size},
		[]string{lookups(v) + ", " + count(v.Entries) + " in " + size}, []string{lookups(v) + ", " + size})
}

func lookups(v profiles.CacheView) string {
	if v.Hits+v.Misses == 0 {
		return "not asked"
	}
	return plural(v.Hits, "hit", "hits") + " " + plural(v.Misses, "miss", "misses")
}

// whyNoHits explains a measurement cache that cannot hit: the trainer measures
// each sample of the object once (spec/prism.md §9.1).
func whyNoHits(s *profiles.Snapshot) string {
	v := s.Caches[profiles.MeasurementCache]
	if s.Settings.Pattern != "trainer" || !v.Enabled || v.Hits > 0 || v.Misses == 0 {
		return ""
	}
	return "Trainer pattern: each sample is measured once, so this cache cannot hit; p remeasures every iteration"
}
