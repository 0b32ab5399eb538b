package inference

import (
	"context"
	"fmt"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho"
	"prismtop/sim/workload"
)

// program is a loaded plan.
type program struct {
	options ptycho.PlanOptions
	exe     *ptycho.Predictor
	layers  []profiles.Layer
}

// load compiles the plan of some settings, and loads it on a device.
func (t *Task) load(ctx context.Context, o ptycho.PlanOptions, device nn.Backend, state nn.State) (*program, error) {
	chosen := o
	chosen.Large = workload.OwnMemory(device)
	plan, err := t.network.BatchPlan(ctx, chosen)
	if err != nil {
		return nil, err
	}
	exe, err := plan.Load(ctx, device, state)
	if err != nil {
		return nil, fmt.Errorf("load plan: %w", err)
	}
	p := &program{options: o, exe: exe}
	for _, s := range plan.Steps() {
		p.layers = append(p.layers, profiles.Layer{Name: s.Name, Phase: phasePredict, FLOPs: s.FLOPs, Bytes: s.Bytes})
	}
	return p, nil
}

// bytes is the memory of a program.
func (p *program) bytes() int64 { return p.exe.Usage().Total() + p.exe.ScratchBytes() }

// Plans that are kept for when the settings change back: at most mostPlans, and if there is no
// limit, in at most a share of the machine's memory.
const (
	mostPlans  = 8
	plansShare = 8
)

// use makes the program of the settings the first, loading it unless it is kept. Programs that
// were not used for the longest make room for it.
func (t *Task) use(ctx context.Context, v settings.Values) error {
	o := planOptions(v)
	if i := slices.IndexFunc(t.programs, func(p *program) bool { return p.options == o }); i >= 0 {
		p := t.programs[i]
		t.programs = slices.Insert(slices.Delete(t.programs, i, i+1), 0, p)
	} else {
		p, err := t.load(ctx, o, t.device.Backend, t.state)
		if nn.Short(err) && len(t.programs) > 1 {
			for _, kept := range t.programs[1:] {
				kept.exe.Close()
			}
			t.programs = t.programs[:1]
			p, err = t.load(ctx, o, t.device.Backend, t.state)
		}
		if err != nil {
			return err
		}
		t.programs = slices.Insert(t.programs, 0, p)
	}
	t.drop(limit(v))
	m := t.Memory()
	t.needed = m.Total() - m.Parts[memoryPlans]
	return nil
}

// drop closes programs but the first until the rest fit into a limit, 0 for none.
func (t *Task) drop(limit int64) {
	for n := len(t.programs); n > 1 && !t.fits(limit); n-- {
		t.programs[n-1].exe.Close()
		t.programs = t.programs[:n-1]
	}
}

func (t *Task) fits(limit int64) bool {
	if t.v.On(settings.AdaptBatch) { // a smaller batch is to give memory back
		return len(t.programs) <= 1
	}
	m := t.Memory()
	if limit > 0 {
		return len(t.programs) <= mostPlans && m.Total() <= limit
	}
	all := machine.ReadMemory().Allowed()
	return len(t.programs) <= mostPlans && (all <= 0 || m.Parts[memoryPlans] <= all/plansShare)
}

// Memory returns the memory of the run.
func (t *Task) Memory() profiles.Memory {
	p := t.programs[0]
	u, own := p.exe.Variables(t.network), p.exe.Usage()
	m := profiles.Memory{Parts: [profiles.MaxMemory]int64{
		memoryWeights: u[nn.Weights], memoryActivations: own.Total() - own[nn.Inputs], memoryInputs: own[nn.Inputs],
		memoryScratch: u[nn.Scratch] + p.exe.ScratchBytes(), memoryScan: scanBytes(t.v), memoryResults: t.resultBytes(),
	}}
	for _, kept := range t.programs[1:] {
		m.Parts[memoryPlans] += kept.bytes()
	}
	arena := p.exe.Arena()
	m.Device = t.device.Memory(profiles.DeviceMemory{
		Weights: u[nn.Weights], Activations: arena.Total() - arena[nn.Inputs], Inputs: arena[nn.Inputs],
		Workspace: u[nn.Scratch] + p.exe.ScratchBytes(),
	})
	return m
}

// scanBytes is the memory of a scan: patterns, object, probe.
func scanBytes(v settings.Values) int64 {
	n, side := int64(v.Int("size")), int64(v.Int("object_size"))
	return 4*int64(v.Int("positions"))*n*n + 8*side*side + 8*n*n
}

// Bytes of a group's first result, and of a canvas with its sums and weights, the newest complete
// one and the truth, per pixel.
const (
	firstBytes  = 8*patchPixels + 1
	canvasBytes = 16 + 8 + 8 + 8
)

// spread is the largest distance of a position from the mean of all, as a share of the object.
const spread = 0.3

// resultBytes bounds the memory of the results before the scan is made.
func resultBytes(v settings.Values) int64 {
	side := int64(ptycho.PatchSide + 2*(int(spread*v.Number("object_size"))+2))
	return int64(groupCount(v))*firstBytes + side*side*canvasBytes
}

// resultBytes is the memory of the results.
func (t *Task) resultBytes() int64 {
	side := int64(t.side)
	return int64(len(t.first))*int64(len(t.groups))*firstBytes + side*side*canvasBytes
}
