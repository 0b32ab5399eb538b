package aggregate

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// The readings of the machine: when each is due, and that of the process's memory.

// residentEvery is the interval between readings of the process's memory.
const residentEvery = time.Second

// readings are the functions that read the machine, for a source that reports them, and
// when memory was read last.
type readings struct {
	load        func() machine.Load
	resident    func() (rss, peak int64, reason string)
	collectable func() int64 // unused part of RSS

	peak     int64     // largest resident memory so far
	memoryAt time.Time // of the newest reading, in that state
	memoryIn profiles.State

	sensors   func() (*machine.Sensors, time.Time) // nil for none
	sensorsAt time.Time                            // when the newest reading that was sent was taken
	sensorsIn profiles.State
}

// readMachine takes the readings that are due and reports whether there were any; moved
// is true if the source had anything new.
func (a *Aggregator) readMachine(now time.Time, moved bool) (any bool) {
	r := &a.readings
	if last := a.standing(); (a.pace.state <= profiles.Paused || last) && a.loads.due(now, last) {
		a.report.Report(now, &profiles.Load{Load: r.load()})
		any = true
	}
	// Memory of a finished run grew until its end, however soon that came; what grows later is the screen's, and not
	// recorded.
	over := a.pace.state > profiles.Paused
	still := a.Last() != nil && r.memoryIn == a.pace.state && (over || !moved && a.pace.state != profiles.Running)
	if !still && (r.memoryAt.IsZero() || now.Sub(r.memoryAt) >= residentEvery || r.memoryIn != a.pace.state) {
		b := &profiles.Resident{Collectable: r.collectable()}
		if k, ok := a.options.Tape.(Keeper); ok {
			b.Collectable += k.Kept()
		}
		if b.RSS, b.Peak, b.Reason = r.resident(); b.Peak > 0 {
			// Linux' own falls by some KB at times: each thread counts for itself first
			r.peak = max(r.peak, b.RSS, b.Peak)
			b.Peak = r.peak
		}
		r.memoryAt, r.memoryIn = now, a.pace.state
		a.report.Report(now, b)
		any = true
	}
	return a.readSensors(now) || any
}

// takeResident handles a reading of the process's memory.
func (a *Aggregator) takeResident(b *profiles.Resident, at time.Time) {
	a.memory.RSS, a.memory.PeakRSS, a.memory.Reason = b.RSS, b.Peak, b.Reason
	if a.has && a.pace.state == profiles.Running {
		a.watch.read(&a.run.Schema, &a.memory, cacheBytes(&a.last), b.Collectable, a.last.Index, a.pace.elapsed(at))
	}
}
