package prism

import (
	"context"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/nn"
	"prismtop/sim/workload"
)

// Most returns the iterations of a reconstruction in which every sample ends at its limit, and whether samples
// may end sooner.
func (m Maker) Most(v settings.Values) (iterations int64, sooner bool) {
	s := From(v)
	samples := workload.UnitsWithin(v, int64(s.Samples)*int64(s.Passes), "samples")
	most := float64(s.InitIterations)*float64(s.InitCycles) + float64(samples)*float64(s.Iterations)*float64(s.Cycles)
	return workload.IterationsWithin(v, most), s.ThresholdInForce() > 0 || s.InitIterations > 0
}

// MayConverge reports whether the initialisation, if it has not ended, or a sample may end before its limit.
func (r *Reconstruction) MayConverge() bool {
	return r.stop > 0 || r.initial && r.initialisation.threshold > 0
}

// Needs returns the memory that a reconstruction comes to hold, by category, from the plans of its settings
// alone: nothing is allocated for it. The caches of measurements and of masks count with all that they come to
// hold. The FFT plans, and what kernels and the telescope work in, are left out.
func (m Maker) Needs(ctx context.Context, v settings.Values) (profiles.Memory, error) {
	s := From(v)
	decoder, err := NewDecoder(decoderConfig(&s))
	if err != nil {
		return profiles.Memory{}, err
	}
	apertures := int(s.apertures())
	o, err := planOptions(&s, apertures)
	if err != nil {
		return profiles.Memory{}, err
	}
	o.Factored = m.onProcessor(s.Device)
	var most profiles.Memory
	for _, compile := range []func(context.Context, PlanOptions) (*nn.Plan, error){decoder.InitialisationPlan,
		decoder.FirstSamplePlan, decoder.ProgressivePlan} {
		plan, err := compile(ctx, o)
		if err != nil {
			return profiles.Memory{}, err
		}
		if memory := memoryOf(plan, decoder.Model().Variables(), 0); memory.Total() > most.Total() {
			most = memory
		}
	}
	plane := 4 * int64(s.Size) * int64(s.Size)
	most.Parts[MemoryScratch] += planesBeside * plane
	if s.MeasurementCache {
		most.Caches += min(int64(s.MeasurementCacheMB)<<20, int64(s.Samples)*plane)
	}
	if s.MaskCache {
		most.Caches += min(maskLimit, int64(s.Samples)*int64(apertures)*plane)
	}
	return most, nil
}

// planesBeside is the number of planes that a reconstruction holds besides its plan: output, targets and the
// disc, and those of the measurements.
const planesBeside = 12

// memoryOf returns the memory of a plan and its variables.
func memoryOf(plan *nn.Plan, variables []nn.Variable, scratch int64) profiles.Memory {
	u, own := plan.VariableUsage(variables), plan.ArenaUsage()
	return profiles.Memory{Parts: [profiles.MaxMemory]int64{
		MemoryWeights: u[nn.Weights], MemoryGradients: u[nn.Gradients], MemoryMoments: u[nn.Moments],
		MemoryActivations: plan.ArenaBytes - own[nn.Inputs] - own[nn.Scratch],
		MemoryInputs:      own[nn.Inputs],
		MemoryScratch:     u[nn.Scratch] + own[nn.Scratch] + scratch,
	}}
}
