package sim

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"strconv"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/workload"
)

// The batch size by memory pressure, while the run goes on: the rule of the AutoTuner in PtychoPINN's plan of a
// benchmark, 6.3.
const (
	pressureHigh = 0.9 // the share of memory in use above which the size is halved, to 1 at least
	pressureLow  = 0.5 // below which it is doubled
	pressureCap  = 256 // up to this size

	pressureEvery = 2 * time.Second // between two readings at least
)

// pressure is what the loop remembers between two readings of the memory in use.
type pressure struct {
	read   func(*loop) float64 // the share in use, NaN if unknown; nil for memoryPressure
	last   time.Time
	size   int // that was set here
	barred int // the least size that was left because of pressure, until a user sets another size; 0 for none
}

// due reports whether the memory in use is to be read.
func (p *pressure) due(now time.Time) bool { return p.read != nil || now.Sub(p.last) >= pressureEvery }

// relieve halves or doubles the batch size by memory pressure if the settings ask for it, unless settings are compared.
// A size that was left because of pressure is not taken again.
func (l *loop) relieve(cut context.Context) error {
	p, now := &l.pressure, time.Now()
	if !l.settings.On(settings.AdaptBatch) || l.comparing.now != nil || l.fork != nil || !p.due(now) {
		return nil
	}
	p.last = now
	size := l.settings.Int(settings.BatchSize)
	if size != p.size {
		p.barred = 0
	}
	share := l.memoryPressure()
	next := adapted(size, share)
	if next == size || next > size && p.barred > 0 && next >= p.barred {
		return nil
	}
	set := settings.Assignment{Key: settings.BatchSize, Value: strconv.Itoa(next)}
	v, err := l.settings.With(set)
	if err == nil {
		err = v.Validate()
	}
	if err == nil {
		err = l.run.options.Maker.Check(v, settings.BatchSize)
	}
	if err != nil {
		return nil // no larger size is allowed
	}
	if next < size {
		p.barred = size
	}
	l.run.insist([]settings.Assignment{set})
	l.run.stream.Log(fmt.Sprintf("%s = %d → %d: %.0f %% of the memory in use", settings.BatchSize, size, next,
		100*share))
	if err := l.change(cut, v, false); err != nil {
		return err
	}
	p.size = l.settings.Int(settings.BatchSize)
	if p.size < size {
		debug.FreeOSMemory() // else what the larger size held stays in use
	}
	return nil
}

// adapted returns the batch size after one under memory pressure.
func adapted(size int, share float64) int {
	switch {
	case share > pressureHigh:
		return max(1, size/2)
	case share < pressureLow:
		return max(size, min(pressureCap, 2*size))
	}
	return size
}

// memoryPressure returns the share of memory in use: of the device's where that has its own, else of the machine's
// within the limits of its control group, or of the run's own limit if that is more. NaN if none is known.
func (l *loop) memoryPressure() float64 {
	if l.pressure.read != nil {
		return l.pressure.read(l)
	}
	share := math.NaN()
	if d, ok := l.work.Device().(workload.DeviceMeter); ok {
		if used, all, known := d.MemoryInUse(); known && all > 0 {
			share = float64(used) / float64(all)
		}
	} else if m := machine.ReadMemory(); m.Available > 0 && m.Allowed() > 0 {
		share = 1 - float64(m.Available)/float64(m.Allowed())
	}
	if limit := int64(l.settings.Int(settings.MemoryLimit)) << 20; limit > 0 {
		m := l.memory()
		if own := float64(m.Total()) / float64(limit); !(own <= share) {
			share = own
		}
	}
	return share
}
