package outside

import (
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/sim/workload"
)

// Phases are the device's; a step in which it was not timed has none, but its length. The memory is that of the card by its UUID.
func TestADevicesStepsAndMemory(t *testing.T) {
	g := &loop.Greeting{Device: "cuda", Card: "NVIDIA H100", UUID: "GPU-26411b46", Clock: "device", Phases: []loop.Phase{{Name: "forward"}, {Name: "other"}},
		Memory: []loop.MemoryPart{{Name: "parameters"}}}
	outside := &task{schema: Schema(g)}
	outside.Loop = &Loop{Greeting: g}
	for _, tt := range []struct {
		flags  loop.Flags
		phases [2]int64
		is     profiles.Flags
	}{
		{0, [2]int64{70, 20}, 0},
		{loop.NoDevice, [2]int64{0, 100}, profiles.Unphased},
	} {
		s := loop.Record{Total: 100, Flags: tt.flags}
		s.Host[1], s.Device[0], s.Device[1] = 100, 70, 20
		var it profiles.Iteration
		outside.fill(&it, &s, &workload.Outcome{})
		if [2]int64(it.Phases[:2]) != tt.phases || it.Total != 100 || it.Flags&profiles.Unphased != tt.is {
			t.Errorf("%v: phases %v of %d, flags %v", tt.flags, it.Phases[:2], it.Total, it.Flags)
		}
	}
	r := &loop.Record{}
	r.Memory[0], r.DeviceMemory.Reserved = 5, 9
	outside.takeMemory(r)
	if d := outside.memory.Device; d.Device != g.UUID || d.Weights != 5 || d.Allocated != 9 {
		t.Errorf("memory of the device: %+v", d)
	}
}
