package words

import (
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

// This file is how caches and what they save are told.

// CachesOf are the caches that the schema declares.
func CachesOf(s *profiles.Snapshot) []profiles.CacheView { return s.Caches[:len(s.Run.Schema.Caches)] }

// CacheTitle is what a cache is called in a column.
func CacheTitle(s *profiles.Snapshot, id int) string { return s.Run.Schema.Caches[id].Title }

// Lookups is how often a cache had what it was asked for, and how often not.
func Lookups(v profiles.CacheView) string {
	if v.Hits+v.Misses == 0 {
		return NotAsked
	}
	return unit.About(v.Hits, "hit", "hits") + " " + unit.About(v.Misses, "miss", "misses")
}

// AboutNothing stands for what is within noise, or too little to matter.
const AboutNothing = "≈ 0"

// SavedInAll is what a cache saved since the run began, as "saved 1.94 s" where the verb
// comes first, else as "1.94 s saved".
func SavedInAll(v profiles.CacheView, verbFirst bool) string {
	total := v.Total()
	verb, amount := "saved", strings.TrimSpace(unit.Seconds(math.Abs(total.Value)))
	switch {
	case total.Nothing(0):
		amount = AboutNothing
	case total.Value < 0:
		verb = "lost"
	}
	if verbFirst {
		return verb + " " + amount
	}
	return amount + " " + verb
}

// MeasurementCache is the setting of the cache of measurements.
const MeasurementCache = "measurement_cache"

// NotAsked says that nothing was looked up in a cache.
const NotAsked = "not asked"

// CannotHit says whether the measurement cache cannot hit under the present settings: the
// trainer measures each sample of the object once a pass (spec/prism.md §9.1).
func CannotHit(s *profiles.Snapshot) bool {
	v := s.Cache(MeasurementCache)
	if s.Settings.Text("pattern") != "trainer" || !v.Enabled || v.RecentN > 0 && v.RecentRate > 0 || v.RecentIterations == 0 && v.Hits > 0 || v.Misses == 0 {
		return false
	}
	_, pass := s.Run.Place(s.Unit)
	return pass <= 0
}
