package machine

import (
	"strings"
	"testing"
)

func TestOtherProcessesAreNotToldByIDAlone(t *testing.T) {
	const mib = 1 << 20
	process := func(id uint32, mibs float64) GPUProcess { return GPUProcess{id, Reading(mibs * mib)} }
	for _, c := range []struct {
		name      string
		processes []GPUProcess
		reason    string
		own       int64
		want      float64 // MiB; −1 for unknown
		why       string
	}{
		{"nothing held, an id that happens to be equal", []GPUProcess{process(42, 300)}, "", 0, 300, ""},
		{"nothing held, nobody there", nil, "", 0, 0, ""},
		{"the same id and enough memory", []GPUProcess{process(42, 1100), process(7, 50)}, "", 1000 * mib, 50, ""},
		{"the same id with less than the run holds", []GPUProcess{process(42, 300)}, "", 1000 * mib, -1, "container"},
		{"another id with what the run holds", []GPUProcess{process(4200, 1030), process(7, 500)}, "", 1000 * mib, 500, ""},
		{"two that hold it", []GPUProcess{process(4200, 1030), process(4300, 1000)}, "", 1000 * mib, -1, "ids are not the host's"},
		{"an empty list", nil, "", 1000 * mib, -1, "lists no process here"},
		{"not listed", nil, "not supported on this device", 0, -1, "not supported"},
		{"without memory", []GPUProcess{{ID: 42, Bytes: Missing("MIG")}}, "", 0, -1, "memory of each process"},
	} {
		g := GPUSensors{Processes: c.processes, ProcessesReason: c.reason}
		got := g.Others(42, c.own)
		if got.Known != (c.want >= 0) || got.Known && got.Value != c.want*mib || !strings.Contains(got.Reason, c.why) {
			t.Errorf("%s: %+v, want %g MiB %q", c.name, got, c.want, c.why)
		}
	}
}
