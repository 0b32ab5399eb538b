package aggregate

import (
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// The sensors of GPUs, and the energy of a run and of an iteration.

const (
	// energySpan is the longest period over which energy per iteration is a mean.
	energySpan = time.Minute
	// energyLeast is the shortest: a GPU updates its counter about ten times a second.
	energyLeast = 5 * time.Second
)

// energies follows the counters of energy: of the processors, then of each GPU.
type energies struct {
	counters []machine.Gauge // joules since the run began
	before   []machine.Gauge // the counters themselves, at the newest reading
	marks    []energyMark    // under the settings in force, oldest first
	views    []profiles.EnergyView
}

// energyMark is a reading at a time, between two iterations.
type energyMark struct {
	at         time.Time
	iterations float64
	counters   []machine.Gauge // joules since the run began
}

// cut begins new means: iterations are from here on under other settings, or not at all.
func (e *energies) cut() { e.marks = e.marks[:0] }

func (e *energies) clone() energies {
	c := *e
	c.counters, c.before, c.marks = slices.Clone(e.counters), slices.Clone(e.before), slices.Clone(e.marks)
	return c
}

// take adds a reading at a time, when the run had done a number of iterations. running is false if it did none
// meanwhile.
func (e *energies) take(s *machine.Sensors, at time.Time, iterations float64, running bool) {
	now := []machine.Gauge{s.Processors}
	for i := range s.GPUs {
		now = append(now, s.GPUs[i].Energy)
	}
	if len(now) != len(e.before) {
		*e = energies{counters: make([]machine.Gauge, len(now)), before: slices.Clone(now)}
	}
	counters := make([]machine.Gauge, len(now))
	for i := range now {
		switch d := now[i].Value - e.before[i].Value; {
		case !now[i].Known:
			counters[i] = machine.Missing(now[i].Reason)
		case !e.before[i].Known || d < 0: // the driver was loaded anew
			counters[i] = machine.Reading(0)
			e.cut()
		default:
			counters[i] = machine.Reading(e.counters[i].Value + d)
		}
	}
	e.counters, e.before = counters, now
	if running {
		e.marks = append(e.marks, energyMark{at, iterations, counters})
		old := 0
		for old < len(e.marks)-1 && at.Sub(e.marks[old].at) > energySpan {
			old++
		}
		e.marks = slices.Delete(e.marks, 0, old)
	}
	e.judge()
}

// judge makes new views, as published ones are not modified.
func (e *energies) judge() {
	e.views = make([]profiles.EnergyView, len(e.counters))
	for i := range e.views {
		v := &e.views[i]
		v.Run = e.counters[i]
		v.PerIteration = machine.Missing("needs 5 s under the same settings")
		if !v.Run.Known {
			v.PerIteration = v.Run
			continue
		}
		if len(e.marks) < 2 {
			continue
		}
		first, last := &e.marks[0], &e.marks[len(e.marks)-1]
		v.Span, v.Iterations = last.at.Sub(first.at), last.iterations-first.iterations
		switch {
		case v.Span < energyLeast:
		case v.Iterations < 1:
			v.PerIteration = machine.Missing("no iteration ended within " + v.Span.Round(time.Second).String())
		default:
			v.PerIteration = machine.Reading((last.counters[i].Value - first.counters[i].Value) / v.Iterations)
		}
	}
}

// readSensors sends the newest reading of the sensors, if it was not sent yet.
func (a *Aggregator) readSensors(now time.Time) (any bool) {
	r := &a.readings
	if r.sensors == nil || a.pace.state > profiles.Paused && !r.sensorsAt.IsZero() && r.sensorsIn == a.pace.state {
		return false
	}
	s, taken := r.sensors()
	if s == nil || taken.Equal(r.sensorsAt) {
		return false
	}
	r.sensorsAt, r.sensorsIn = taken, a.pace.state
	a.report.Report(now, &profiles.Sensors{Sensors: *s, Age: max(0, now.Sub(taken))})
	return true
}

// takeSensors handles a reading of the sensors.
func (a *Aggregator) takeSensors(b *profiles.Sensors, at time.Time) {
	at = at.Add(-b.Age)
	a.sensors = b.Sensors
	view := profiles.SensorsView{Sensors: b.Sensors}
	if gpu := view.GPUOf(a.memory.Device.Device); gpu >= 0 && a.has && a.pace.state == profiles.Running {
		if used := b.GPUs[gpu].InUse(); used.Known {
			a.watch.gpu.add(a.last.Index, used.Value)
		}
	}
	a.energies.take(&b.Sensors, at, a.iterationsAt(at), a.has && a.pace.state == profiles.Running)
}

// iterationsAt returns the number of iterations until a time in the recent past, with the part of the one that it
// falls into.
func (a *Aggregator) iterationsAt(at time.Time) float64 {
	recent, since := a.single.newest(), int64(at.Sub(a.began))
	for i := len(recent) - 1; i >= 0; i-- {
		t := &recent[i]
		switch {
		case since >= t.Start+t.Total:
			return float64(t.Index + 1)
		case since > t.Start:
			return float64(t.Index) + float64(since-t.Start)/float64(t.Total)
		}
	}
	return float64(a.last.Index + 1)
}
