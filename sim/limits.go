package sim

import (
	"fmt"
	"slices"
	"time"

	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/workload"
)

// The settings that the loop itself reads, the limits among them that end a run, and its running time.

// readSettings are the settings that the loop itself reads in every iteration.
type readSettings struct {
	maxUnitsKey   string
	maxIterations int64
	maxUnits      int
	maxSeconds    float64
	layers        bool // to be profiled
}

// read updates readSettings from the settings in force.
func (l *loop) read() { l.reads = l.readOf(l.settings) }

// readOf returns what the loop reads of settings.
func (l *loop) readOf(v settings.Values) readSettings {
	key := settings.MaxUnits(l.info.Schema.Unit.Many)
	return readSettings{
		maxUnitsKey: key, maxIterations: int64(v.Int(settings.MaxIterations)), maxUnits: v.Int(key),
		maxSeconds: v.Number(settings.MaxSeconds), layers: v.On(settings.LayerProfile),
	}
}

// limit returns the setting that ends a run with an iteration after a running time; empty for none.
func (s *readSettings) limit(index int64, elapsed time.Duration, outcome *workload.Outcome) string {
	switch {
	case s.maxIterations > 0 && index+1 >= s.maxIterations:
		return fmt.Sprintf("%s = %d", settings.MaxIterations, s.maxIterations)
	case s.maxUnits > 0 && outcome.UnitEnded && int(outcome.Result.Unit)+1 >= s.maxUnits:
		return fmt.Sprintf("%s = %d", s.maxUnitsKey, s.maxUnits)
	case s.maxSeconds > 0 && elapsed.Seconds() >= s.maxSeconds:
		return fmt.Sprintf("%s = %g", settings.MaxSeconds, s.maxSeconds)
	}
	return ""
}

// reached returns the limits that a run has reached after iterations and units.
func (s *readSettings) reached(iterations int64, units int) (keys []string) {
	if s.maxIterations > 0 && iterations >= s.maxIterations {
		keys = append(keys, settings.MaxIterations)
	}
	if s.maxUnits > 0 && units >= s.maxUnits {
		keys = append(keys, s.maxUnitsKey)
	}
	return keys
}

// passed returns the limits among changed settings that a run is already beyond, which would end it at once, and what
// each must be instead. One of units ends it with the present unit.
func (s *readSettings) passed(changed []string, iterations int64, elapsed time.Duration) (keys, wants []string) {
	add := func(key string, beyond bool, reached string) {
		if beyond && slices.Contains(changed, key) {
			keys = append(keys, key)
			wants = append(wants, "must be above the "+reached+" so far, or 0 for no limit")
		}
	}
	add(settings.MaxIterations, s.maxIterations > 0 && iterations >= s.maxIterations,
		unit.Plural(int(iterations), "iteration", "iterations"))
	add(settings.MaxSeconds, s.maxSeconds > 0 && elapsed.Seconds() >= s.maxSeconds,
		fmt.Sprintf("%.1f s", elapsed.Seconds()))
	return keys, wants
}

// stopwatch is the running time of a start, pauses aside.
type stopwatch struct {
	before  time.Duration // since
	since   time.Time
	stopped time.Time     // the newest pause; zero before the first
	idle    time.Duration // of the pauses that idled has not returned
}

// start goes on, and stop pauses; elapsed is the running time of one that goes on.
func (s *stopwatch) start(now time.Time) {
	if !s.stopped.IsZero() {
		s.idle += now.Sub(s.stopped)
	}
	s.since = now
}

func (s *stopwatch) stop(now time.Time) {
	s.before += now.Sub(s.since)
	s.stopped = now
}

func (s *stopwatch) elapsed(now time.Time) time.Duration { return s.before + now.Sub(s.since) }

// idled returns how long the pauses took since it was asked last.
func (s *stopwatch) idled() time.Duration {
	idle := s.idle
	s.idle = 0
	return idle
}
