package workloads

import (
	"time"

	"prismtop/profiles"
	"prismtop/sim/cpu/roof"
	"prismtop/sim/workload"
)

// Judge compares steps with measured roofs; nil for none.
func Judge(r *roof.Roofs) workload.Judge {
	if r == nil {
		return nil
	}
	return judge{r}
}

type judge struct{ measured *roof.Roofs }

// Shares returns a step's shares of the arithmetic rate and of the bandwidth.
func (j judge) Shares(flops, bytes int64, d time.Duration) (compute, memory float64) {
	v := j.measured.Judge(flops, bytes, d)
	return v.Compute, v.Memory
}

// Roofs returns the roofs in the form used by a snapshot: of reading and updating, the
// higher bandwidth, as in judging steps.
func (j judge) Roofs() *profiles.Roofs {
	shown := &profiles.Roofs{GFLOPS: j.measured.GFLOPS}
	for _, l := range j.measured.Levels {
		shown.Levels = append(shown.Levels, profiles.RoofLevel{Bytes: l.Bytes, GBs: max(l.Read, l.Update)})
	}
	return shown
}
