package pane

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// The pane of the caches: rows of rates and savings, and advice in few words.

// Caches specifies the pane of the caches' hit rates and savings.
var Caches = Spec{
	Name:  "caches",
	Shape: layout.Shape{Width: layout.Extent{Least: 34, Good: 38, Most: 52, Weight: 1}, Height: layout.Extent{Least: 5, Good: 8, Most: 13, Weight: 1}},
	Needs: func(r *profiles.RunInfo) bool { return len(r.Schema.Caches) > 0 },
	New:   func(h Host) Pane { return newCaches(h) },
}

// caches shows the lookups, hit rate and saving of each cache.
type caches struct {
	Box
	host Host
	why  bool // explanations instead of numbers
	widget.Scroll
}

func newCaches(h Host) *caches { return &caches{Box: Box{Title: "Caches", Past: true}, host: h} }

// Cells returns the pane as it is on the screen.
func (p *caches) Cells() *chart.Canvas { return p.Render(p.draw) }

// Press switches between numbers and explanations (v), and scrolls the explanations.
func (p *caches) Press(key string) bool {
	if key == "v" {
		p.why = !p.why
		p.ToTop()
	} else if !p.why || !p.Scroll.Move(key) {
		return false
	}
	p.Stale = true
	return true
}

// Hints returns the keys of the current view.
func (p *caches) Hints() []Hint {
	if p.why {
		return []Hint{{"v", "numbers"}, {"↑↓", "scroll"}}
	}
	return []Hint{{"v", "why"}}
}

// Explain describes the contents of the caches and how savings are measured.
func (p *caches) Explain() []string {
	var what, notes string
	if p.Snap != nil {
		for _, c := range p.Snap.Run.Schema.Caches {
			if c.What != "" {
				what += "The " + c.Long + " " + c.What + ". "
			}
			if c.Note != "" {
				notes += c.Note + " "
			}
		}
	}
	return explanations.Of("caches", "{caches}", what, "{notes}", notes, "{least}",
		fmt.Sprintf("%.1f %%", 100*profiles.SavingLeast))
}

const cacheTitleWidth = 11

// cacheOff marks a disabled cache.
const cacheOff = "off"

// Minimum widths for the share and for the word that marks a saving; in narrower rows the frame
// states it once.
const (
	cacheShareWidth = 36
	cacheWordWidth  = 46
)

func (p *caches) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	_, h := c.Size()
	if s.State == profiles.Preparing {
		Message(c, "not set up yet")
		return "", theme.Faint
	}
	n := len(words.CachesOf(s))
	if n == 0 { // of the run before: the pane may still be zoomed
		Message(c, "this run has no caches")
		return "", theme.Faint
	}
	if p.why {
		return p.words(c, s)
	}
	if w, _ := c.Size(); h >= 5*n+1 && w >= 56 {
		return p.full(c, s)
	}
	return p.rows(c, s)
}

// rows draws one to three rows for each cache.
func (p *caches) rows(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	n := len(words.CachesOf(s))
	each := min(max(h/n, 1), 2)
	switch {
	case w >= cacheWordWidth:
		p.Aside("recent", theme.Faint)
	case w >= cacheShareWidth-4:
		p.Aside("recent, per iteration", theme.Faint)
	default:
		p.Aside("recent, each iter", theme.Faint)
	}
	y := 0
	for id, v := range words.CachesOf(s) {
		p.row(c, y, id, s)
		if each == 2 {
			text, style := cacheDetail(v, w-1)
			end := c.Text(1, y+1, chart.Cut(text, w-1), style)
			if all := words.SavedInAll(v, false) + " in all"; v.Hits+v.Misses > 0 && !v.Uncertain() &&
				end+3+chart.Width(all) <= w {
				c.TextRight(w, y+1, all, theme.Faint)
			}
		}
		y += each
		if h >= 3*n {
			if w < cacheShareWidth {
				c.Text(1, y, shareRow(s, v), theme.Faint)
			}
			y++
		}
	}
	why := p.whyNoHits(s)
	switch {
	case why != "" && h-y >= 2 && len(words.Wrap(why+".", w)) <= h-y:
		WriteWrapped(c, 0, y, h-y, why+".", theme.Warn)
		return "", theme.Faint
	case why != "":
		return words.FittingOrLast(p.EdgeRoom()-2, "asked once per "+s.Run.Schema.Unit.One, "asked once"), theme.Warn
	case p.Focus:
		return "v: why", theme.Faint
	}
	return "", theme.Faint
}

// onceUse returns the declared use of a cache that is asked for nothing twice in the whole run; nil of another.
func onceUse(s *profiles.Snapshot, id int) *profiles.CacheUse {
	if use := s.Run.Schema.Caches[id].Use(s.Settings); use != nil && use.Once && s.Run.Passes <= 1 {
		return use
	}
	return nil
}

// withoutCache returns what a disabled cache means, from long to short: its work is done again, unless nobody asks
// twice.
func withoutCache(s *profiles.Snapshot, id int) []string {
	if onceUse(s, id) != nil {
		return []string{", nothing is asked twice", ", asked once"}
	}
	return []string{", work done again", ", done again"}
}

// row draws a cache's switch, hit rate and saving per iteration.
func (p *caches) row(c *chart.Canvas, y, id int, s *profiles.Snapshot) {
	w, _ := c.Size()
	v := s.Caches[id]
	cacheName(c, y, words.CacheTitle(s, id), v)
	x := cacheTitleWidth + 3
	_, ok := v.HitRate()
	switch {
	case !v.Enabled:
		c.Text(x, y, cacheOff+words.Fitting(w-x-len(cacheOff), withoutCache(s, id)...), theme.Faint)
		return
	case !ok:
		c.Text(x, y, words.NotAsked+words.Yet(s), theme.Faint)
		return
	}
	each, share, known := savedEach(s, v)
	switch {
	case v.RecentN > 0:
		c.Text(x, y, unit.HitRate(v.RecentRate), theme.Strong)
	default:
		c.Text(x, y, words.NotAsked, theme.Faint)
		if w-x < 20 { // no room for the saving: about nothing
			return
		}
	}
	if !known {
		c.TextRight(w, y, "–", theme.Faint)
		return
	}
	word, style := "saves", savingStyle(s, v)
	if each.Value < 0 {
		word = "costs"
	}
	if nothingSaved(s, each) {
		if w >= cacheShareWidth {
			w -= 5
		}
		c.TextRight(w, y, words.AboutNothing, style)
		return
	}
	end := w
	if w >= cacheShareWidth {
		c.TextRight(end, y, unit.Percent(max(share, -share)), style)
		end -= 5
	}
	if w >= cacheWordWidth {
		text := perIteration(max(each.Value, -each.Value)) + "/it"
		c.TextRight(end-chart.Width(text)-1, y, word, theme.Faint)
		c.TextRight(end, y, text, style)
		return
	}
	c.TextRight(end, y, perIteration(each.Value), style)
}

// shareRow formats the share that a cache saves or costs; empty if unknown.
func shareRow(s *profiles.Snapshot, v profiles.CacheView) string {
	each, share, ok := savedEach(s, v)
	if _, asked := v.HitRate(); !ok || !asked || !v.Enabled {
		return ""
	}
	word := "saves "
	if nothingSaved(s, each) {
		return word + words.AboutNothing + " of an iteration"
	}
	if each.Value < 0 {
		word = "costs "
	}
	return word + strings.TrimSpace(unit.PercentFine(max(share, -share))) + " of an iteration"
}

func cacheName(c *chart.Canvas, y int, title string, v profiles.CacheView) {
	name, lamp, style := theme.Plain, '●', theme.Good
	if !v.Enabled {
		name, lamp, style = theme.Faint, '○', theme.Faint
	}
	c.Text(0, y, title, name)
	c.Set(cacheTitleWidth+1, y, lamp, style)
}

// cacheDetail returns a cache's lookups, contents and the basis of its price, in at most w cells
// where possible.
func cacheDetail(v profiles.CacheView, w int) (string, theme.Style) {
	size, entries := unit.Size(v.Bytes), unit.About(v.Entries, "entry", "entries")
	switch {
	case v.Hits+v.Misses == 0 && !v.Enabled: // the row already shows that it is off
		return words.FittingParts(w, []string{entries, size}, []string{entries}), theme.Faint
	case v.Hits+v.Misses == 0:
		return words.FittingParts(w, []string{words.NotAsked, entries, size}, []string{words.NotAsked}), theme.Faint
	}
	all := "total " + words.Lookups(v) // unlike the rate above it
	if v.Enabled && v.Uncertain() {
		timed := fmt.Sprintf("%d timed: uncertain", v.PricedBy)
		return words.FittingParts(w, []string{timed, all, entries, size}, []string{timed, all, size},
			[]string{timed, all}, []string{timed}), theme.Warn
	}
	choices := [][]string{{all, entries, size}, {all + ", " + unit.Count(v.Entries) + " in " + size},
		{all + ", " + size}, {all}}
	if v.PricedBy > 0 {
		timed := fmt.Sprintf("%d timed", v.PricedBy)
		choices = append([][]string{{all, entries, size, timed}}, choices...)
	}
	return words.FittingParts(w, choices...), theme.Faint
}

// advice names the key that would change a cache of a running, tunable run.
func (p *caches) advice(s *profiles.Snapshot, text string) string {
	if !p.host.Tunable() {
		return ""
	}
	return words.WhileRunning(s, text)
}

// hint says which key would make a cache of a running, tunable run hit.
func (p *caches) hint(s *profiles.Snapshot, id int) string {
	use := s.Run.Schema.Caches[id].Use(s.Settings)
	if use == nil || use.Hint == "" {
		return ""
	}
	return p.advice(s, "; "+p.host.Keys().Say(use.Hint))
}

// whyNoHits explains for the first cache that cannot hit under the current settings why; empty if
// there is none.
func (p *caches) whyNoHits(s *profiles.Snapshot) string {
	for id := range words.CachesOf(s) {
		if words.CannotHit(s, id) {
			where := ", so this cache cannot hit"
			if s.Run.Passes > 1 {
				where += " in the first"
			}
			return words.Capital(words.OncePerPass(s, id)) + where + p.hint(s, id)
		}
	}
	return ""
}
