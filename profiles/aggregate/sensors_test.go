package aggregate

import (
	"math"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// sensed is a rig whose GPU takes 300 W and whose processors cannot be read. Readings are a second apart, and 40 ms
// old.
func sensed(change func(*machine.Sensors)) *rig {
	r := newRig()
	r.a = New(r.a.source, Options{Load: r.readLoad, Sensors: everySecond(&r.now, change)})
	r.start()
	return r
}

// everySecond returns the sensors of such a machine by a clock.
func everySecond(now *time.Time, change func(*machine.Sensors)) func() (*machine.Sensors, time.Time) {
	began := *now
	var taken time.Time
	var s *machine.Sensors
	return func() (*machine.Sensors, time.Time) {
		if at := now.Add(-40 * time.Millisecond); s == nil || at.Sub(taken) >= time.Second {
			taken = at
			s = &machine.Sensors{Processors: machine.Missing("no RAPL on this machine"), GPUs: []machine.GPUSensors{{
				Name: "A", Energy: machine.Reading(5000 + 300*at.Sub(began).Seconds())}}}
			if change != nil {
				change(s)
			}
		}
		return s, taken
	}
}

// seconds lets iterations of 1 ms run, with a tick every 100 ms.
func (r *rig) seconds(n int) (s *profiles.Snapshot) {
	for range 10 * n {
		r.iterate(100)
		s = r.tick()
	}
	return s
}

func TestEnergyPerIterationIsThatOfTheWindow(t *testing.T) {
	r := sensed(nil)
	s := r.seconds(3)
	e := s.Sensors.EnergyOf(0)
	if e.PerIteration.Known || !strings.Contains(e.PerIteration.Reason, "needs 5 s") || s.Sensors.GPUs[0].Name != "A" {
		t.Errorf("after 3 s: %+v", e)
	}
	e = r.seconds(5).Sensors.EnergyOf(0)
	// 300 W at 1000 iterations a second. 1e-3: an iteration of 5000.
	if !e.PerIteration.Known || math.Abs(e.PerIteration.Value-0.3) > 1e-3 || math.Abs(e.Run.Value-300*7) > 301 {
		t.Errorf("after 8 s: %+v", e)
	}
	if e := s.Sensors.EnergyOf(-1); e.Run.Known || e.PerIteration.Reason != "no RAPL on this machine" {
		t.Errorf("processors: %+v", e)
	}
	if got := r.seconds(100).Sensors.EnergyOf(0); got.Span > energySpan+2*time.Second || len(r.a.energies.marks) > 64 {
		t.Errorf("after 108 s: %+v, %d marks", got, len(r.a.energies.marks))
	}
	// A change begins a new mean, and so does a pause, whose energy is not that of iterations.
	r.Change(profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: r.it.Index}, settings.Values{})
	r.it.Changes++
	if e := r.seconds(2).Sensors.EnergyOf(0); e.PerIteration.Known {
		t.Errorf("after a change: %+v", e)
	}
	r.seconds(6)
	r.State(profiles.Paused, "")
	r.tick()
	r.now = r.now.Add(20 * time.Second)
	r.it.Start += 20e9
	r.State(profiles.Running, "")
	if e := r.seconds(7).Sensors.EnergyOf(0); !e.PerIteration.Known || math.Abs(e.PerIteration.Value-0.3) > 1e-3 {
		t.Errorf("after a pause: %+v", e)
	}
}

// A counter that goes back, as that of a driver that was loaded anew, begins again.
func TestEnergySurvivesADriverThatIsLoadedAnew(t *testing.T) {
	reloaded := 0.0
	r := sensed(func(s *machine.Sensors) { s.GPUs[0].Energy.Value -= reloaded })
	r.seconds(6)
	reloaded = 5000
	if e := r.seconds(2).Sensors.EnergyOf(0); e.Run.Value < 0 || e.PerIteration.Known {
		t.Errorf("%+v", e)
	}
	if e := r.seconds(6).Sensors.EnergyOf(0); math.Abs(e.PerIteration.Value-0.3) > 1e-3 {
		t.Errorf("%+v", e)
	}
}

// Every observer gets the same readings, and a run that has ended gets one more.
func TestSensorsAreReadUntilTheEnd(t *testing.T) {
	r := sensed(nil)
	beside := New(r.Follow(), Options{Load: r.readLoad, Sensors: func() (*machine.Sensors, time.Time) {
		t.Error("a second observer reads the sensors")
		return nil, time.Time{}
	}})
	s := r.seconds(6)
	if b := beside.Tick(r.now); b.Sensors.GPUs[0].Energy != s.Sensors.GPUs[0].Energy {
		t.Errorf("%+v and %+v", b.Sensors.GPUs, s.Sensors.GPUs)
	}
	r.State(profiles.Finished, "")
	r.now = r.now.Add(time.Second)
	r.tick()
	ended := r.a.energies.before[1].Value
	r.now = r.now.Add(5 * time.Second)
	r.tick()
	if r.a.energies.before[1].Value != ended {
		t.Error("the sensors are read after the end")
	}
}

// The memory of the run's GPU is a curve; that of another GPU is none.
func TestTheMemoryOfTheRunsGPUIsFollowed(t *testing.T) {
	r := sensed(func(s *machine.Sensors) {
		s.GPUs[0].UUID, s.GPUs[0].MemoryUsed, s.GPUs[0].MemoryReserved = "GPU-1", machine.Reading(300), machine.Reading(20)
	})
	if s := r.seconds(3); len(s.Memory.History.GPU) > 0 {
		t.Errorf("on the processor: %v", s.Memory.History.GPU)
	}
	r.Memory(profiles.Memory{Device: profiles.DeviceMemory{Device: "GPU-1", Allocated: 200}})
	s := r.seconds(3)
	curve := s.Memory.History.GPU
	if n := len(curve); n == 0 || curve[n-1].Mean != 320 {
		t.Errorf("on the GPU: %v", curve)
	}
	if l, ok := s.Ledger(); !ok || l.Used.Value != 320 {
		t.Errorf("the ledger: %+v", l)
	}
}
