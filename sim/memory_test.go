package sim

import (
	"testing"

	"prismtop/profiles"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/workloads"
)

// holder is a GPU of the tests that holds memory.
type holder struct{ *beside.Backend }

func (holder) DeviceMemory() profiles.DeviceMemory {
	return profiles.DeviceMemory{Device: "GPU-1", Allocated: 1000, Weights: 1000, Context: 300 << 20}
}

// A run passes on what its device holds, and the context is part of what a change of the device costs.
func TestARunReportsWhatItsDeviceHolds(t *testing.T) {
	d, _ := gpus(nil)
	open := d.GPU
	d.GPU = func(name string) (nn.Backend, error) {
		b, err := open(name)
		if err != nil {
			return nil, err
		}
		return holder{b.(*beside.Backend)}, nil
	}
	w, err := stepping(t, d, "device=cpu")
	if err != nil {
		t.Fatal(err)
	}
	w.next(30)
	if s := w.snapshot(); s.Memory.Device.Used() {
		t.Errorf("on the processor: %+v", s.Memory.Device)
	}
	w.set("device", "cuda")
	w.next(10)
	s := w.snapshot()
	if got := s.Memory.Device; got != (holder{}).DeviceMemory() {
		t.Errorf("on the GPU: %+v", got)
	}
	l, ok := s.Ledger()
	if !ok || l.Entries[0].Bytes.Value != 1000 {
		t.Errorf("the ledger: %+v", l)
	}
	e := s.Effects[len(s.Effects)-1]
	if !e.HasMemory || e.MemoryChange < 300<<20 || e.MemoryChange > 400<<20 {
		t.Errorf("the change of the device took %d bytes (known: %v), want the context's 300 MiB and some", e.MemoryChange, e.HasMemory)
	}
	w.set("device", "cpu")
	w.next(10)
	s = w.snapshot()
	if e := s.Effects[len(s.Effects)-1]; s.Memory.Device.Used() || !e.HasMemory || e.MemoryChange > -250<<20 {
		t.Errorf("back on the processor: %+v, %d bytes", s.Memory.Device, e.MemoryChange)
	}
}

// What a change does to memory is the difference of what the run reports before and after it.
func TestAnEffectHasTheMemoryOfItsPlans(t *testing.T) {
	w, err := stepping(t, workloads.Devices{}, "device=cpu", "amp=off")
	if err != nil {
		t.Fatal(err)
	}
	w.next(30)
	schema := &w.snapshot().Run.Schema
	before := w.Memory()
	w.set("amp", "bf16")
	w.next(1)
	s := w.snapshot()
	after := w.Memory()
	e := s.Effects[len(s.Effects)-1]
	if want := after.Held(schema) - before.Held(schema); !e.HasMemory || want == 0 || e.MemoryChange != want {
		t.Errorf("%d bytes (known: %v), want %d", e.MemoryChange, e.HasMemory, want)
	}
}
