package tui

import (
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

// This file is how caches and what they save are told.

// cachesOf are the caches that the schema declares.
func cachesOf(s *profiles.Snapshot) []profiles.CacheView { return s.Caches[:len(s.Run.Schema.Caches)] }

// cacheTitle is what a cache is called in a column.
func cacheTitle(s *profiles.Snapshot, id int) string { return s.Run.Schema.Caches[id].Title }

func lookups(v profiles.CacheView) string {
	if v.Hits+v.Misses == 0 {
		return notAsked
	}
	return unit.About(v.Hits, "hit", "hits") + " " + unit.About(v.Misses, "miss", "misses")
}

// aboutNothing stands for what is within noise, or too little to matter.
const aboutNothing = "≈ 0"

// savedInAll is what a cache saved since the run began, as "saved 1.94 s" where the verb
// comes first, else as "1.94 s saved".
func savedInAll(v profiles.CacheView, verbFirst bool) string {
	total := v.Total()
	verb, amount := "saved", strings.TrimSpace(unit.Seconds(math.Abs(total.Value)))
	switch {
	case total.Nothing(0):
		amount = aboutNothing
	case total.Value < 0:
		verb = "lost"
	}
	if verbFirst {
		return verb + " " + amount
	}
	return amount + " " + verb
}

// measurementCache is the setting of the cache of measurements.
const measurementCache = "measurement_cache"

// notAsked says that nothing was looked up in a cache.
const notAsked = "not asked"

// cannotHit says whether the measurement cache cannot hit under the present settings: the
// trainer measures each sample of the object once a pass (spec/prism.md §9.1).
func cannotHit(s *profiles.Snapshot) bool {
	v := s.Cache(measurementCache)
	if s.Settings.Text("pattern") != "trainer" || !v.Enabled || v.RecentN > 0 && v.RecentRate > 0 || v.RecentIterations == 0 && v.Hits > 0 || v.Misses == 0 {
		return false
	}
	_, pass := s.Run.Place(s.Unit)
	return pass <= 0
}
