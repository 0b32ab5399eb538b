package tui

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// caches shows what each cache was asked and what it saved.
type caches struct{ box }

func newCaches() *caches { return &caches{box{title: "Caches"}} }

func (p *caches) View() string    { return join(p.lines()) }
func (p *caches) lines() []string { return p.render(p.draw) }

var cacheTitles = [profiles.NumCaches]string{"measurement", "FFT plans", "masks/grids"}

const cacheTitleWidth = 11

// savedWidth is the width from which every row says that its time was saved;
// below, the frame says so once.
const savedWidth = 36

func (p *caches) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	if s.State == profiles.Preparing {
		message(c, "not set up yet")
		return "", theme.Faint
	}
	n := int(profiles.NumCaches)
	details := h >= 2*n // a second row for each
	if w < savedWidth {
		p.aside("saved", theme.Faint)
	}
	y := 0
	for id, v := range s.Caches {
		p.row(c, y, id, v, !details && w >= 62)
		y++
		if details {
			c.Text(1, y, chart.Cut(cacheDetail(v, w-1), w-1), theme.Faint)
			y++
			if h >= 3*n+1 {
				y++
			}
		}
	}
	why := whyNoHits(s)
	if why == "" {
		return "", theme.Faint
	}
	if h-y >= 2 {
		wrapped(c, 0, y, h-y, why+".", theme.Warn)
		return "", theme.Faint
	}
	return "trainer pattern: asked once per sample", theme.Warn
}

// row is a cache's switch, hit rate and saving; wide adds the counts.
func (p *caches) row(c *chart.Canvas, y, id int, v profiles.CacheView, wide bool) {
	w, _ := c.Size()
	name, lamp, lampStyle := theme.Plain, '●', theme.Good
	if !v.Enabled {
		name, lamp, lampStyle = theme.Faint, '○', theme.Faint
	}
	c.Text(0, y, cacheTitles[id], name)
	c.Set(cacheTitleWidth+1, y, lamp, lampStyle)
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
	saved, style := fmt.Sprintf("%9s", seconds(float64(v.Saved))), theme.Plain
	if v.Saved < 0 {
		style = theme.Warn
	}
	c.TextRight(w, y, saved, style)
	if w >= savedWidth {
		c.TextRight(w-9, y, "saved", theme.Faint)
	}
	if wide {
		text := fmt.Sprintf("%s · %s", lookups(v), strings.TrimSpace(byteSize(v.Bytes)))
		c.Text(x+9, y, chart.Cut(text, w-x-9-15), theme.Faint)
	}
}

// cacheDetail is what a cache was asked and what it holds, in at most w cells
// where that can be.
func cacheDetail(v profiles.CacheView, w int) string {
	size := strings.TrimSpace(byteSize(v.Bytes))
	return longest(w, []string{lookups(v), plural(v.Entries, "entry", "entries"), size},
		[]string{lookups(v) + ", " + count(v.Entries) + " in " + size}, []string{lookups(v) + ", " + size})
}

func lookups(v profiles.CacheView) string {
	if v.Hits+v.Misses == 0 {
		return "not asked"
	}
	return plural(v.Hits, "hit", "hits") + " " + plural(v.Misses, "miss", "misses")
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
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
