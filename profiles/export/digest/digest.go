// Package digest sums up a run in bounded memory as its events come, for the formats that show all of
// it: however long a run is, its curves have at most Most bins.
package digest

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// The digest: its starts, its alerts, and what it takes of events and snapshots.

const (
	mostAlerts = 256
	mostStarts = 64
	mostWhole  = 8 // of them with all that is known but their curves
)

// Digest is what is known of a run. The zero Digest is one that has not begun. It is not safe for
// concurrent use.
type Digest struct {
	Info     profiles.RunInfo
	Began    time.Time       // the newest start
	Settings settings.Values // at that start
	First    settings.Values // at the first start
	State    profiles.State
	Why      string   // the reason of the state, if it has one
	Bins     []Bin    // of the newest start, oldest first
	Alerts   []Alert  // raised since the newest start, oldest first
	Starts   []Start  // before the newest, oldest first
	Lost     int64    // events that did not arrive
	begun    bool     // there was a Begin
	width    int64    // iterations per bin
	before   counters // of the iteration before
	memory   memory   // newest readings
	newest   *profiles.Snapshot
	standing map[string]int // index in Alerts by their IDs
}

// Start is an earlier start of the run.
type Start struct {
	Began      time.Time
	State      profiles.State
	Iterations int64
	MedianNS   float64 // of an iteration; NaN if none was timed
	Quality    float64 // NaN if it was not measured
	Whole      *Digest // without its bins and the starts before it; nil for all but the newest few
}

// Alert is an alert that was raised.
type Alert struct {
	profiles.Alert
	Standing bool // it was not cleared
}

// Begun reports whether the run began.
func (d *Digest) Begun() bool { return d.begun }

// Take adds an event.
func (d *Digest) Take(e *profiles.Event) {
	switch b := e.Body.(type) {
	case *profiles.Begin:
		d.begin(b, e.At)
	case *profiles.Grown:
		d.Info.Schema = b.Schema
	case *profiles.Iteration:
		d.iteration(b)
	case *profiles.Measurement:
		d.measure(b)
	case *profiles.StateChange:
		d.State, d.Why = b.State, b.Why
	case *profiles.Memory:
		d.memory.parameters, d.memory.buffers = b.Sums(&d.Info.Schema)
		d.memory.device = b.Device.Device
		d.remember()
	case *profiles.Resident:
		d.memory.resident = b.RSS
		d.remember()
	case *profiles.Sensors:
		view := profiles.SensorsView{Sensors: b.Sensors}
		if at := view.GPUOf(d.memory.device); at >= 0 {
			d.memory.gpu = int64(b.GPUs[at].InUse().Value)
			d.remember()
		}
	}
}

// begin handles a start or restart.
func (d *Digest) begin(b *profiles.Begin, at time.Time) {
	if d.begun {
		d.Starts = append(d.Starts, d.start())
		if len(d.Starts) > mostStarts {
			d.Starts = d.Starts[1:]
		}
		if n := len(d.Starts); n > mostWhole {
			d.Starts[n-mostWhole-1].Whole = nil
		}
	}
	first := d.First
	if !d.begun {
		first = b.Settings
	}
	*d = Digest{Info: b.Info, Began: at, Settings: b.Settings, First: first, Starts: d.Starts, begun: true, width: 1}
}

// start sums up the newest start.
func (d *Digest) start() Start {
	s := Start{Began: d.Began, State: d.State, MedianNS: d.Median(), Quality: d.Latest(d.Info.Schema.Quality)}
	if n := len(d.Bins); n > 0 {
		s.Iterations = d.Bins[n-1].Last + 1
	}
	whole := *d
	whole.newest = d.Snapshot()
	whole.Bins, whole.Starts = nil, nil
	s.Whole = &whole
	return s
}

// See takes a snapshot of the run, whose alerts and judgements become those of the digest, and of the start before
// those of the last snapshot of that start. It must not be modified later.
func (d *Digest) See(s *profiles.Snapshot) {
	if !d.begun || s.Run.PriorStarts != d.Info.PriorStarts || s.Run.Schema.Workload != d.Info.Schema.Workload {
		return // of another start: the events of this one are still to come, or the other way round
	}
	if n := len(d.Starts); n > 0 && s.Prior != nil {
		if whole := d.Starts[n-1].Whole; whole != nil && whole.Info.PriorStarts == s.Prior.Run.PriorStarts {
			whole.see(s.Prior)
		}
	}
	d.see(s)
}

// see is See of a snapshot of this start.
func (d *Digest) see(s *profiles.Snapshot) {
	if d.newest == s {
		return
	}
	d.newest = s
	now := map[string]int{}
	for _, a := range s.Alerts {
		i, known := d.standing[a.ID]
		if !known || d.Alerts[i].Since != a.Since {
			if len(d.Alerts) == mostAlerts {
				continue
			}
			i = len(d.Alerts)
			d.Alerts = append(d.Alerts, Alert{})
		}
		d.Alerts[i] = Alert{a, true}
		now[a.ID] = i
	}
	for id, i := range d.standing {
		if at, stands := now[id]; !stands || at != i {
			d.Alerts[i].Standing = false
		}
	}
	d.standing = now
}

// Snapshot returns the newest snapshot that was seen; one with what the events say if none was.
func (d *Digest) Snapshot() *profiles.Snapshot {
	if d.newest != nil {
		return d.newest
	}
	s := &profiles.Snapshot{Run: d.Info, Settings: d.Settings, State: d.State, Unit: -1,
		Start: d.Info.PriorStarts}
	if n := len(d.Bins); n > 0 {
		s.Index = d.Bins[n-1].Last + 1
	}
	for i := range s.Series {
		s.Series[i].Latest = d.latest(i)
		s.Series[i].Has = s.Series[i].Latest == s.Series[i].Latest
	}
	return s
}
