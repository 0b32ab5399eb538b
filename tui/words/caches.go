package words

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

// This file describes caches and their savings.

// CachesOf returns the caches that the schema declares.
func CachesOf(s *profiles.Snapshot) []profiles.CacheView { return s.Caches[:len(s.Run.Schema.Caches)] }

// CacheTitle returns the title of a cache in a column.
func CacheTitle(s *profiles.Snapshot, id int) string { return s.Run.Schema.Caches[id].Title }

// Lookups formats the hits and misses of a cache.
func Lookups(v profiles.CacheView) string {
	if v.Hits+v.Misses == 0 {
		return NotAsked
	}
	return unit.About(v.Hits, "hit", "hits") + " " + unit.About(v.Misses, "miss", "misses")
}

// AboutNothing is shown for amounts within noise or too small to matter.
const AboutNothing = "≈ 0"

// SavedInAll formats a cache's total savings since the run began: "saved 1.94 s" if verbFirst,
// else "1.94 s saved"; "saving undecided" with the interval if that holds 0, or with the reason if
// there is none; and the interval alone if it is wider than the saving.
func SavedInAll(v profiles.CacheView, verbFirst bool) string {
	total := v.Total()
	verb, amount := "saved", strings.TrimSpace(unit.Seconds(math.Abs(total.Value)))
	switch {
	case !total.Bounded:
		return "saving undecided: " + v.Timed()
	case total.HoldsZero() && total.Low == 0 && total.High == 0:
		amount = AboutNothing
	case total.HoldsZero():
		low, high, of := unit.SecondsWithin(total.Low, total.High)
		return fmt.Sprintf("saving undecided [%s, %s] %s", low, high, of)
	case total.Value < 0:
		verb = "lost"
	}
	if total.High-total.Low > math.Abs(total.Value) {
		low, high, of := unit.SecondsWithin(math.Abs(total.Low), math.Abs(total.High))
		if total.Value < 0 {
			low, high = high, low
		}
		amount = fmt.Sprintf("%s to %s %s", low, high, of)
	}
	if verbFirst {
		return verb + " " + amount
	}
	return amount + " " + verb
}

// NotAsked is shown for a cache without lookups.
const NotAsked = "not asked"

// CannotHit reports whether a cache cannot hit under the present settings: nothing is asked of it
// twice in a pass, and this is the first one.
func CannotHit(s *profiles.Snapshot, id int) bool {
	v, use := &s.Caches[id], s.Run.Schema.Caches[id].Use(s.Settings)
	if use == nil || !use.Once || !v.Enabled || v.RecentN > 0 && v.RecentRate > 0 || v.RecentIterations == 0 &&
		v.Hits > 0 || v.Misses == 0 {
		return false
	}
	_, pass := s.Run.Place(s.Unit)
	return pass <= 0
}

// OncePerPass explains in a few words why a cache cannot hit; see CannotHit.
func OncePerPass(s *profiles.Snapshot, id int) string {
	why := s.Run.Schema.Caches[id].Use(s.Settings).Brief
	if s.Run.Passes > 1 {
		why += " a pass"
	}
	return why
}
