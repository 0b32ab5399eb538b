// Package monitor reads the sensors of the machine's GPUs through NVML, the driver's monitoring library, and the
// counters of the processors' energy. It knows no run: it works the same whether one computes on a GPU or not.
package monitor

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/profiles/machine"
)

// interval is the time between two readings.
const interval = time.Second

// source is the driver's monitoring library.
type source interface {
	// Energies reads the counters of energy, one for each GPU.
	Energies() []machine.Gauge
	// GPUs reads everything else. It may take some tens of milliseconds for each GPU.
	GPUs() ([]machine.GPUSensors, error)
}

// Monitor reads the sensors once a second, on a goroutine of its own that the first call of Newest starts.
type Monitor struct {
	open   func() (source, error)
	energy func() machine.Energy
	now    func() time.Time
	tick   func() (ticks <-chan time.Time, stop func())

	start, stop   sync.Once
	stopped, over chan struct{}
	newest        atomic.Pointer[reading]
}

type reading struct {
	machine.Sensors
	taken time.Time
}

// New returns a monitor of this machine, which has not started.
func New() *Monitor {
	return &Monitor{
		open: openNVML, energy: machine.ReadEnergy, now: time.Now, stopped: make(chan struct{}),
		over: make(chan struct{}),
		tick: func() (<-chan time.Time, func()) {
			t := time.NewTicker(interval)
			return t.C, t.Stop
		},
	}
}

// Newest returns the newest reading and when it was taken; nil before the first. It never waits, and the reading is not
// modified.
func (m *Monitor) Newest() (*machine.Sensors, time.Time) {
	m.start.Do(func() { go m.run() })
	if r := m.newest.Load(); r != nil {
		return &r.Sensors, r.taken
	}
	return nil, time.Time{}
}

// Close ends the readings. It does not wait for one that hangs in the driver.
func (m *Monitor) Close() {
	m.start.Do(func() { close(m.over) })
	m.stop.Do(func() { close(m.stopped) })
}

// Read takes one reading. It may take seconds while the driver starts.
func Read() machine.Sensors {
	s, err := openNVML()
	e := machine.ReadEnergy()
	return read(s, err, joules(e.Since(e)), time.Now).Sensors
}

// run reads until the monitor is closed, or once if there is nothing to read.
func (m *Monitor) run() {
	defer close(m.over)
	s, err := m.open()
	ticks, stop := m.tick()
	defer stop()
	before, sum := m.energy(), 0.0
	for {
		now := m.energy()
		since := now.Since(before)
		if since.Reason == "" {
			sum += since.Joules
			since.Joules = sum
		}
		before = now
		m.newest.Store(read(s, err, joules(since), m.now))
		if err != nil && now.Reason != "" {
			return
		}
		select {
		case <-m.stopped:
			return
		case <-ticks:
		}
	}
}

func joules(e machine.Energy) machine.Gauge {
	if e.Reason != "" {
		return machine.Missing(e.Reason)
	}
	return machine.Reading(e.Joules)
}

// read takes a reading, the counters of energy first: its time is theirs.
func read(s source, err error, processors machine.Gauge, now func() time.Time) *reading {
	r := &reading{Sensors: machine.Sensors{Processors: processors, Process: uint32(os.Getpid())}}
	if err != nil {
		r.Reason, r.taken = err.Error(), now()
		return r
	}
	energies := s.Energies()
	r.taken = now()
	if r.GPUs, err = s.GPUs(); err != nil {
		r.Reason = err.Error()
	} else if len(r.GPUs) == 0 {
		r.Reason = "NVML lists no GPU"
	}
	for i := range r.GPUs {
		if i < len(energies) {
			r.GPUs[i].Energy = energies[i]
		}
		slices.SortStableFunc(r.GPUs[i].Processes, func(a, b machine.GPUProcess) int {
			return int(max(-1, min(1, b.Bytes.Value-a.Bytes.Value)))
		})
	}
	return r
}
