package monitor

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"prismtop/profiles/machine"
)

// fake is a library of one GPU that counts its calls.
type fake struct{ joules float64 }

func (f *fake) Energies() []machine.Gauge {
	f.joules += 70
	return []machine.Gauge{machine.Reading(f.joules)}
}
func (f *fake) GPUs() ([]machine.GPUSensors, error) {
	return []machine.GPUSensors{{Name: "fake"}}, nil
}

// driven returns a monitor whose clock is a channel.
func driven(open func() (source, error), energy func() machine.Energy) (*Monitor, chan time.Time) {
	m, ticks := New(), make(chan time.Time)
	m.open, m.energy = open, energy
	m.tick = func() (<-chan time.Time, func()) { return ticks, func() {} }
	return m, ticks
}

// after waits until there is a reading that was not there before.
func after(m *Monitor, before *machine.Sensors) *machine.Sensors {
	for {
		if s, _ := m.Newest(); s != nil && s != before {
			return s
		}
		time.Sleep(time.Millisecond)
	}
}

func TestTheMonitorReadsAtEveryTick(t *testing.T) {
	f := &fake{}
	m, ticks := driven(func() (source, error) { return f, nil }, func() machine.Energy { return machine.Energy{Reason: "no RAPL"} })
	if s, at := m.Newest(); s != nil && at.IsZero() {
		t.Errorf("%+v without a time", s)
	}
	first := after(m, nil)
	if first.GPUs[0].Energy.Value != 70 || first.Processors.Reason != "no RAPL" || first.Process == 0 {
		t.Errorf("%+v", first)
	}
	ticks <- time.Time{}
	second := after(m, first)
	if second.GPUs[0].Energy.Value != 140 || first.GPUs[0].Energy.Value != 70 {
		t.Errorf("%+v after %+v", second, first)
	}
	m.Close()
	m.Close()
	<-m.over
}

// The processors' energy is counted from the first reading, beyond the end of their counters.
func TestTheMonitorCountsTheProcessorsEnergy(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the counters are Linux's")
	}
	folder := t.TempDir()
	write := func(name, value string) {
		t.Helper()
		path := filepath.Join(folder, "intel-rapl:0", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(value+"\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("energy_uj", "9000000")
	write("max_energy_range_uj", "10000000")
	m, ticks := driven(func() (source, error) { return nil, errors.New("libnvidia-ml.so.1 not found") },
		func() machine.Energy { return machine.ReadEnergyIn(folder) })
	defer m.Close()
	s := after(m, nil)
	if s.Processors != machine.Reading(0) {
		t.Errorf("%+v", s.Processors)
	}
	write("energy_uj", "9500000")
	ticks <- time.Time{}
	if s = after(m, s); s.Processors != machine.Reading(0.5) {
		t.Errorf("%+v, want 0.5 J", s.Processors)
	}
	write("energy_uj", "500000") // began again
	ticks <- time.Time{}
	if s = after(m, s); s.Processors != machine.Reading(1.5) {
		t.Errorf("after the counter began again: %+v, want 1.5 J", s.Processors)
	}
}

// With neither a GPU nor counters there is one reading, of the reasons.
func TestTheMonitorEndsWhereThereIsNothing(t *testing.T) {
	m, _ := driven(func() (source, error) { return nil, errors.New("libnvidia-ml.so.1 not found") },
		func() machine.Energy { return machine.Energy{Reason: "no RAPL"} })
	s := after(m, nil)
	if s.Reason != "libnvidia-ml.so.1 not found" || s.Processors.Reason != "no RAPL" {
		t.Errorf("%+v", s)
	}
	<-m.over
	m.Close()
}

// A monitor that was never asked has nothing to end.
func TestAMonitorThatWasNotAskedReadsNothing(t *testing.T) {
	m, _ := driven(func() (source, error) { t.Error("opened"); return nil, errors.New("") }, machine.ReadEnergy)
	m.Close()
	<-m.over
	if s, _ := m.Newest(); s != nil {
		t.Errorf("%+v", s)
	}
}
