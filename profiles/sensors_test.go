package profiles

import (
	"testing"

	"prismtop/profiles/machine"
)

const gib = 1 << 30

// onGPU is a run with 3 GiB on a GPU of which 4.6 GiB are in use.
func onGPU() *Snapshot {
	s := &Snapshot{}
	s.Run.Schema.Caches = []CacheInfo{{Title: "masks"}, {Title: "spectra"}}
	s.Memory.Device = DeviceMemory{Device: "GPU-a", Allocated: 5 * gib / 2, Weights: gib / 4, Gradients: gib / 4, Moments: gib / 2, Activations: gib,
		Workspace: gib / 8, Caches: [MaxCaches]int64{1: gib / 8}, Context: gib / 2, Pinned: gib}
	s.Sensors = SensorsView{Sensors: machine.Sensors{Process: 42, GPUs: []machine.GPUSensors{{UUID: "GPU-b"}, {
		UUID: "GPU-a", MemoryUsed: machine.Reading(4 * gib), MemoryReserved: machine.Reading(gib * 6 / 10), MemoryTotal: machine.Reading(80 * gib),
		Processes: []machine.GPUProcess{{ID: 42, Bytes: machine.Reading(3 * gib)}, {ID: 7, Bytes: machine.Reading(gib / 2)}},
	}}}}
	return s
}

func TestTheLedgerAddsUpToWhatTheDriverReports(t *testing.T) {
	for name, change := range map[string]func(*Snapshot){
		"all known":          func(*Snapshot) {},
		"no reserved memory": func(s *Snapshot) { s.Sensors.GPUs[1].MemoryReserved = machine.Missing("no symbol") },
		"no processes":       func(s *Snapshot) { s.Sensors.GPUs[1].ProcessesReason = "not supported" },
		"host ids":           func(s *Snapshot) { s.Sensors.Process = 3 },
		"no context":         func(s *Snapshot) { s.Memory.Device.Context = 0 },
		"counted too much":   func(s *Snapshot) { s.Memory.Device.Context = 8 * gib },
	} {
		s := onGPU()
		change(s)
		l, ok := s.Ledger()
		if !ok || l.GPU != 1 {
			t.Fatalf("%s: %+v", name, l)
		}
		sum := 0.0
		for _, e := range l.Entries {
			sum += e.Bytes.Value
		}
		if sum != l.Used.Value {
			t.Errorf("%s: entries add up to %g, used are %g", name, sum, l.Used.Value)
		}
		if last := l.Entries[len(l.Entries)-1]; last.Name != Unexplained || !last.Bytes.Known {
			t.Errorf("%s: %+v", name, last)
		}
	}
	l, _ := onGPU().Ledger()
	found := map[string]float64{}
	for _, e := range l.Entries {
		found[e.Name] = e.Bytes.Value / gib
	}
	for name, want := range map[string]float64{"weights": 0.25, "spectra cache": 0.125, "other plans": 0.25, "CUDA context": 0.5, "other processes": 0.5, Unexplained: 0.5} {
		if found[name] != want {
			t.Errorf("%s: %g GiB, want %g", name, found[name], want)
		}
	}
	s := onGPU()
	s.Memory.Device.Context = 0
	if e := entry(s, "CUDA context"); e.Bytes.Value != gib/2 { // 3 GiB listed, 2.5 allocated
		t.Errorf("a context that was not measured: %+v", e)
	}
	s.Sensors.Process = 3
	if e := entry(s, "CUDA context"); e.Bytes.Known || e.Bytes.Reason == "" {
		t.Errorf("a context that was not measured, of a process that is not listed: %+v", e)
	}
	if _, shown := found["masks cache"]; shown {
		t.Error("a cache with nothing on the device has an entry")
	}
}

func entry(s *Snapshot, name string) LedgerEntry {
	l, _ := s.Ledger()
	for _, e := range l.Entries {
		if e.Name == name {
			return e
		}
	}
	return LedgerEntry{}
}

// Without a monitor the run's own entries are there, and the reason stands at the others.
func TestTheLedgerOfAnUnknownGPUSaysWhy(t *testing.T) {
	s := onGPU()
	s.Sensors = SensorsView{Sensors: machine.Sensors{Reason: "libnvidia-ml.so.1 not found"}}
	l, ok := s.Ledger()
	if !ok || l.GPU != -1 || l.Used.Reason != "libnvidia-ml.so.1 not found" || l.Entries[0].Bytes.Value != gib/4 {
		t.Fatalf("%+v", l)
	}
	for _, e := range l.Entries[len(l.Entries)-3:] {
		if e.Bytes.Known || e.Bytes.Reason != "libnvidia-ml.so.1 not found" {
			t.Errorf("%+v", e)
		}
	}
	if _, ok := (&Snapshot{}).Ledger(); ok {
		t.Error("a run on the processor has a ledger")
	}
}

func TestAPartitionIsFoundByItsUUID(t *testing.T) {
	v := SensorsView{Sensors: machine.Sensors{GPUs: []machine.GPUSensors{{}, {UUID: "MIG-1-2"}, {UUID: "GPU-3"}}}}
	for uuid, want := range map[string]int{"GPU-1-2": 1, "MIG-1-2": 1, "GPU-3": 2, "": -1, "GPU-": -1, "GPU-4": -1} {
		if got := v.GPUOf(uuid); got != want {
			t.Errorf("%q is %d, want %d", uuid, got, want)
		}
	}
}
