package pane

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file draws the caches in a large pane with all their numbers, and their explanations.

// full draws a block of rows for each cache, and their sum.
func (p *caches) full(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	each := min((h-1)/len(words.CachesOf(s)), 9)
	sum := profiles.Saving{Bounded: true}
	on, y := 0, 0
	for id, v := range words.CachesOf(s) {
		block := c.Sub(0, y, w, each-1)
		p.block(&block, id, s)
		y += each
		if each, _, ok := savedEach(s, v); ok && v.Enabled {
			sum, on = sum.Plus(each), on+1
		}
	}
	if y < h && on > 0 {
		saved := strings.TrimSpace(perIteration(sum.Value)) + "/it"
		if nothingSaved(s, sum) {
			saved = words.AboutNothing
		}
		text := fmt.Sprintf("together %s saved; an iteration takes %s ms", saved,
			strings.TrimSpace(unit.Milliseconds(s.Total.Mean)))
		c.Text(0, y, chart.Cut(text, w), theme.Strong)
		if part := c.Sub(0, y+1, w, savedRows(s)); h-y > savedRows(s) {
			savedBars(&part, s)
		}
	}
	return "v: why", theme.Faint
}

// savedRows is the height of savedBars.
func savedRows(s *profiles.Snapshot) int { return 2 + len(words.CachesOf(s)) }

// savedBars draws an iteration as a bar and, in a row for each cache, the time saved as a bar
// behind its end. A cache that costs time has no bar.
func savedBars(c *chart.Canvas, s *profiles.Snapshot) {
	const names, number = cacheTitleWidth + 3, 12
	w, _ := c.Size()
	room := w - names - number - 1
	kept := func(v profiles.CacheView) (each profiles.Saving, known bool) {
		each, _, known = savedEach(s, v)
		return each, known && v.Enabled
	}
	top := s.Total.Mean
	for _, v := range words.CachesOf(s) {
		if each, ok := kept(v); ok && !nothingSaved(s, each) {
			top += max(each.Value, 0)
		}
	}
	if room < 10 || !(top > 0) {
		return
	}
	scale := float64(room) / top
	c.Text(0, 1, "iteration", theme.Plain)
	c.TextRight(names+number, 1, strings.TrimSpace(unit.Milliseconds(s.Total.Mean))+" ms ", theme.Strong)
	c.Bar(names+number+1, 1, room, s.Total.Mean*scale, theme.Line)
	at := s.Total.Mean
	for id, v := range words.CachesOf(s) {
		y := 2 + id
		each, ok := kept(v)
		if !ok {
			c.Text(0, y, words.CacheTitle(s, id), theme.Faint)
			continue
		}
		c.Text(0, y, words.CacheTitle(s, id), theme.Plain)
		style := savingStyle(s, v)
		if nothingSaved(s, each) {
			c.TextRight(names+number, y, words.AboutNothing+" ", style)
			continue
		}
		c.TextRight(names+number, y, unit.Signed(each.Value/1e6, 2)+" ms ", style)
		if each.Value > 0 {
			from := int(at * scale)
			c.Fill(names+number+1+from, y, max(int((at+each.Value)*scale)-from, 1), 1, '▇', style)
			at += each.Value
		}
	}
}

// block draws one cache with all its numbers, in up to four rows, and with an explanation if two
// more fit.
func (p *caches) block(c *chart.Canvas, id int, s *profiles.Snapshot) {
	w, h := c.Size()
	v := s.Caches[id]
	cacheName(c, 0, words.CacheTitle(s, id), v)
	x, y := cacheTitleWidth+3, 0
	defer func() {
		if h-y >= 2 && v.Enabled {
			WriteWrapped(c, x, y, h-y, p.cacheReason(s, profiles.CacheID(id)),
				reasonStyle(s, profiles.CacheID(id), theme.Faint))
		}
	}()
	row := func(label string, style theme.Style, choices ...string) {
		c.Text(x, y, label, theme.Faint)
		c.Text(x+9, y, chart.Cut(words.FittingOrLast(w-x-9, choices...), w-x-9), style)
		y++
	}
	hits, asked := v.HitRate()
	switch {
	case !v.Enabled:
		switches := p.switchesOn(s, s.Run.Schema.Caches[id].Setting, "")
		if use := onceUse(s, id); use != nil {
			row(cacheOff, theme.Faint, use.Why+", so it has nothing to save"+switches, "nothing is asked twice")
		} else {
			row(cacheOff, theme.Faint, "the work is done again at every use"+switches, "work done again")
		}
		if !asked {
			return
		}
	case !asked:
		row("hit rate", theme.Faint, words.NotAsked+words.Yet(s))
		return
	}
	if v.Enabled {
		recent := words.NotAsked + " in the newest " + unit.Count(int64(v.RecentIterations)) + " iterations"
		if v.RecentN > 0 {
			recent = strings.TrimSpace(unit.HitRate(v.RecentRate)) + " recently"
		}
		row("hit rate", theme.Strong,
			fmt.Sprintf("%s; %s since the start (%s)", recent, strings.TrimSpace(unit.HitRate(hits)), words.Lookups(v)),
			fmt.Sprintf("%s; %s since the start", recent, strings.TrimSpace(unit.HitRate(hits))), recent)
		p.savings(row, s, v)
	}
	p.prices(row, id, s)
}

// savings writes the time that a cache saves or costs, with its interval if it fits.
func (p *caches) savings(row func(string, theme.Style, ...string), s *profiles.Snapshot, v profiles.CacheView) {
	each, share, ok := savedEach(s, v)
	style, whole := savingStyle(s, v), words.SavedInAll(v, false)+" in all"
	switch {
	case !ok:
		row("saves", theme.Faint, "– (no iteration since the last change)", "– (just changed)")
		return
	case !each.Bounded:
		row("saves", style, "undecided: "+v.Timed(), "undecided")
		return
	case nothingSaved(s, each):
		why := fmt.Sprintf("%s/it, below %.1f %% of an iteration", strings.TrimSpace(perIteration(each.Value)),
			100*profiles.SavingLeast)
		word := words.AboutNothing
		if each.HoldsZero() {
			unit := unitOf(max(-each.Low, each.High))
			word, why = "undecided", fmt.Sprintf("interval %s %s/it holds 0", bounds(each, unit), unit.name)
		}
		row("saves", style, word+": "+why+"; "+whole, word+": "+why, word)
		return
	}
	word := "saves"
	if each.Value < 0 {
		word, share = "costs", -share
		each.Value, each.Low, each.High = -each.Value, -each.High, -each.Low
	}
	amount, interval := strings.TrimSpace(perIteration(each.Value))+"/it", ""
	if each.Bounded {
		interval = " " + bounds(each, perIterationUnit(each.Value))
	}
	of := ", " + strings.TrimSpace(unit.PercentFine(share))
	const without = " of the iteration without it"
	row(word, style, amount+interval+of+without+"; "+whole, amount+interval+of+without, amount+of+without, amount+of)
}

// prices writes the cost of a miss and of a lookup, and the cache's contents.
func (p *caches) prices(row func(string, theme.Style, ...string), id int, s *profiles.Snapshot) {
	v := s.Caches[id]
	miss, lookup, with, style := "an entry was not timed"+words.Yet(s), "", "", theme.Plain
	if v.PricedBy > 0 {
		of := fmt.Sprintf("median of %d", v.PricedBy)
		if v.PricedBy == 1 {
			of = "timed once"
		}
		if v.Uncertain() {
			of, style = of+": uncertain", theme.Warn
		}
		miss = "an entry " + strings.TrimSpace(unit.Seconds(float64(v.Price))) + " (" + of + ")"
	}
	if ns, ok := v.LookupCost(); ok && v.Spent > 0 {
		lookup, with = ", a lookup "+strings.TrimSpace(unit.Seconds(ns)), " with hashing and storing"
	}
	row("takes", style, miss+lookup+with, miss+lookup, miss)
	held := fmt.Sprintf("%s, %s", unit.About(v.Entries, "entry", "entries"), unit.Size(v.Bytes))
	brief := held
	if mb := limit(s, id); mb > 0 {
		held += " of at most " + unit.Size(int64(mb)<<20)
	}
	if v.RecentDropped > 0 {
		held += fmt.Sprintf(", %s dropped recently", unit.Count(v.RecentDropped))
	}
	row("holds", theme.Plain, held, brief)
}

// words explains for each cache why it hits or misses in this pattern.
func (p *caches) words(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	type row struct {
		text  string
		style theme.Style
	}
	var rows []row
	for id := range words.CachesOf(s) {
		if id > 0 && h >= 12 {
			rows = append(rows, row{})
		}
		style := reasonStyle(s, profiles.CacheID(id), theme.Plain)
		for _, text := range words.Wrap(words.CacheTitle(s, id)+": "+p.cacheReason(s, profiles.CacheID(id)), w) {
			rows = append(rows, row{text, style})
		}
	}
	first, last := p.Fit(len(rows), h)
	for i, r := range rows[first:last] {
		c.Text(0, i, chart.Cut(r.text, w), r.style)
	}
	if note := p.Note("above", "below"); note != "" {
		return note + " · v: numbers", theme.Faint
	}
	return "v: numbers", theme.Faint
}

// reasonStyle warns of a cache that cannot hit.
func reasonStyle(s *profiles.Snapshot, id profiles.CacheID, usual theme.Style) theme.Style {
	if words.CannotHit(s, int(id)) {
		return theme.Warn
	}
	return usual
}

// switchesOn names the key that enables a cache during the run, followed by more; empty if there
// is none.
func (p *caches) switchesOn(s *profiles.Snapshot, setting, more string) string {
	keys := p.host.Keys().Changes(setting)
	if keys == "" {
		return ""
	}
	return p.advice(s, "; "+keys+" switches it on"+more)
}

// cacheReason explains a cache's hit rate by the settings that determine it.
func (p *caches) cacheReason(s *profiles.Snapshot, id profiles.CacheID) string {
	v := s.Caches[id]
	setting := s.Run.Schema.Caches[id].Setting
	if once := onceUse(s, int(id)); !v.Enabled && once != nil {
		return cacheOff + "; " + once.Why + ", so it has nothing to save" + p.switchesOn(s, setting, "") + "."
	}
	if !v.Enabled {
		return cacheOff + ", so every use computes it again" +
			p.switchesOn(s, setting, " and the effects pane says what that is worth") + "."
	}
	rate, asked := v.HitRate()
	if !asked {
		return words.NotAsked + words.Yet(s) + "."
	}
	use := s.Run.Schema.Caches[id].Use(s.Settings)
	switch {
	case use == nil:
		return "no explanation of its hits was declared."
	case use.Once:
		return use.Why + p.onceReason(s, int(id)) + "."
	case rate < 0.5 && use.Seldom != "":
		return use.Seldom + "."
	case v.RecentCapacity > 0 && limit(s, int(id)) > 0:
		more := ""
		if key := p.host.Keys().Of(profiles.Action("set " + s.Run.Schema.Caches[id].Limit)); key != "" {
			more = p.advice(s, ": "+key+" gives it more")
		}
		return use.Why + fmt.Sprintf("; but it drops what is asked for again, because %d MiB are full%s.",
			limit(s, int(id)), more)
	case v.RecentDropped > 0:
		return use.Why + fmt.Sprintf("; what it drops for room is of %s that are over, which nobody asks for.",
			s.Run.Schema.Unit.Many)
	}
	return use.Why + "."
}

// onceReason continues the explanation of a cache of which nothing is asked twice in a pass.
func (p *caches) onceReason(s *profiles.Snapshot, id int) string {
	v := &s.Caches[id]
	switch {
	case s.Run.Passes > 1 && v.Hits == 0:
		return " in the first pass, so it cannot hit, and its lookups cost; further passes hit" + p.hint(s, id)
	case s.Run.Passes > 1:
		return " in one pass; further passes hit, once a " + s.Run.Schema.Unit.One + p.hint(s, id)
	case v.Hits > 0:
		return ", but for what was measured under other settings" + p.hint(s, id)
	}
	text := ", so it cannot hit, and its lookups cost" + p.hint(s, id)
	if keys := p.host.Keys().Changes(s.Run.Schema.Caches[id].Setting); keys != "" {
		text += p.advice(s, "; "+keys+" switches it off")
	}
	return text
}

// limit returns the bound of a cache in MiB, 0 for none.
func limit(s *profiles.Snapshot, id int) int {
	if key := s.Run.Schema.Caches[id].Limit; key != "" {
		return s.Settings.Int(key)
	}
	return 0
}

// The functions below format a cache's saving: as a time with its interval, or as negligible.

// nothingSaved reports whether a saving per iteration is negligible.
func nothingSaved(s *profiles.Snapshot, each profiles.Saving) bool {
	return each.Nothing(s.Total.Mean + each.Value)
}

// savingStyle is good where a cache certainly saves time, and warns where it costs time or the
// sign is uncertain.
func savingStyle(s *profiles.Snapshot, v profiles.CacheView) theme.Style {
	each, _, _ := savedEach(s, v)
	switch {
	case nothingSaved(s, each):
		return theme.Faint
	case each.Value < 0 || !each.Bounded:
		return theme.Warn
	}
	return theme.Good
}

// timeUnit is a unit for the ends of an interval.
type timeUnit struct {
	name     string
	ns       float64
	decimals int
}

var timeUnits = [...]timeUnit{{"ms", 1e6, 2}, {"µs", 1e3, 1}, {"ns", 1, 0}}

// unitOf returns the largest unit that is not longer than a time.
func unitOf(ns float64) timeUnit {
	for _, u := range timeUnits {
		if ns >= u.ns {
			return u
		}
	}
	return timeUnits[len(timeUnits)-1]
}

// perIterationUnit returns the unit that perIteration uses for a time.
func perIterationUnit(ns float64) timeUnit {
	if ns >= 10e3 {
		return timeUnits[0]
	}
	return unitOf(ns)
}

// bounds formats the interval of a saving.
func bounds(each profiles.Saving, unit timeUnit) string {
	text := func(v float64) string {
		digits := strconv.FormatFloat(math.Abs(v)/unit.ns, 'f', unit.decimals, 64)
		if v < 0 {
			return "−" + digits
		}
		return digits
	}
	return "[" + text(each.Low) + ", " + text(each.High) + "]"
}

// perIteration formats a time per iteration, 10 cells wide: "   0.48 ms". Below 10 µs, where two
// decimals of a millisecond are too coarse, it uses smaller units.
func perIteration(ns float64) string {
	text := unit.Seconds(ns)
	if a := max(ns, -ns); a >= 10e3 {
		text = strings.TrimSpace(unit.Fixed(a/1e6, 5)) + " ms"
		if ns < 0 {
			text = "−" + text
		}
	}
	return fmt.Sprintf("%10s", strings.TrimSpace(text))
}

// savedEach returns a cache's saving per iteration, in nanoseconds and as a share of the
// iteration without the cache.
func savedEach(s *profiles.Snapshot, v profiles.CacheView) (each profiles.Saving, share float64, ok bool) {
	each, ok = v.PerIteration()
	if !ok || s.Total.N == 0 || s.Total.Mean+each.Value <= 0 {
		return each, 0, ok && s.Total.N > 0
	}
	return each, each.Value / (s.Total.Mean + each.Value), true
}
