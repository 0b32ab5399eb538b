package suite

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
)

// Profile is the profiling workload, step by step.
type Profile struct {
	Preset     string        `json:"preset"`
	Iterations int64         `json:"iterations"`
	Timed      int64         `json:"timed_iterations"` // of them, whose steps were timed one by one: on a GPU not all
	Seconds    float64       `json:"total_seconds"`
	Phases     []ProfilePart `json:"phases"` // longest first
	Steps      []ProfilePart `json:"steps"`  // of the plans, longest first
	Lost       int64         `json:"-"`      // events that the tape missed

	MemoryBytes map[string]int64 `json:"memory_bytes"` // at the end, by category
	GPU         *GPUMemory       `json:"gpu_memory"`   // null without a GPU
}

// GPUMemory is what a run held on a GPU at its end, in bytes, as its backend counts it, and the most that it held.
type GPUMemory struct {
	Total       int64 `json:"total_bytes"`
	Peak        int64 `json:"peak_bytes"`
	Allocated   int64 `json:"allocated_bytes"`
	Context     int64 `json:"context_bytes"` // what the driver took for its context and the kernels; 0 if that was not measured
	Weights     int64 `json:"weights_bytes"`
	Gradients   int64 `json:"gradients_bytes"`
	Moments     int64 `json:"moments_bytes"`
	Activations int64 `json:"activations_bytes"`
	Inputs      int64 `json:"inputs_bytes"`
	Workspace   int64 `json:"workspace_bytes"`
	Caches      int64 `json:"caches_bytes"`
	Kept        int64 `json:"kept_bytes"`   // for other settings
	Pinned      int64 `json:"pinned_bytes"` // page-locked memory of the host, in no total
}

// gpuMemory returns what is held on a GPU; nil without one.
func gpuMemory(d *profiles.DeviceMemory, peak int64) *GPUMemory {
	if !d.Used() {
		return nil
	}
	m := &GPUMemory{Total: d.Total(), Peak: max(peak, d.Total()), Allocated: d.Allocated, Context: d.Context,
		Weights: d.Weights, Gradients: d.Gradients,
		Moments: d.Moments, Activations: d.Activations, Inputs: d.Inputs, Workspace: d.Workspace, Kept: d.Kept,
		Pinned: d.Pinned}
	for _, bytes := range d.Caches {
		m.Caches += bytes
	}
	return m
}

// ProfilePart is the time of a phase or a step over all iterations.
type ProfilePart struct {
	Name  string  `json:"name"`
	Phase string  `json:"phase"`
	Calls int64   `json:"calls"`
	MS    float64 `json:"total_ms"`
	Share float64 `json:"share"` // of the time of the iterations that were timed, 0 to 1
	GFLOP float64 `json:"gflop"` // of all calls
	GB    float64 `json:"gb"`    // read and written at least once, of all calls
}

// changes reports whether the user's settings differ from the presets' in one.
func (s *Suite) changes(key string) bool {
	return slices.ContainsFunc(s.options.Changed, func(set string) bool { return strings.HasPrefix(set, key+"=") })
}

// Profile adds the profiling workload with all optimisations, except for those that the user's settings decide. tape
// takes every event of its run, and may be nil.
func (s *Suite) Profile(tape func(*profiles.Event), weight float64) {
	s.plan = append(s.plan, step{"profile", weight, func(ctx context.Context, progress func(float64)) error {
		return s.profile(ctx, tape, progress)
	}})
}

func (s *Suite) profile(ctx context.Context, tape func(*profiles.Event), progress func(float64)) error {
	sets := slices.DeleteFunc(s.assignments(Everything, Optimized), func(a settings.Assignment) bool {
		return s.changes(a.Key)
	})
	sets = append(sets, settings.Assignment{Key: "layer_profile", Value: "true"},
		settings.Assignment{Key: "seed", Value: "1"})
	v, err := s.options.Settings("profiling", sets)
	if err != nil {
		return err
	}
	events := stream.New(1 << 12)
	reader := events.Follow()
	run, err := sim.New(ctx, sim.Options{Maker: s.options.Maker, Settings: v, Stream: events})
	if err != nil {
		return err
	}
	defer run.Close()
	info := run.Info()
	s.report.Machine.on(&info, run.Threads())
	p := &Profile{Preset: "profiling"}
	phases, parts := make([]ProfilePart, len(info.Schema.Phases)), map[string]*ProfilePart{}
	for i, info := range info.Schema.Phases {
		phases[i] = ProfilePart{Name: info.Name, Phase: info.Name}
	}
	whole, timed, peak := 0.0, 0.0, int64(0)
	for all := float64(expected(v)); ; {
		rec, over, err := run.Next(ctx)
		if err != nil {
			return err
		}
		if rec != nil {
			p.Iterations++
			whole += float64(rec.Total) / 1e6
			for i := range phases {
				if ns := rec.Phases[i]; ns > 0 {
					phases[i].Calls++
					phases[i].MS += float64(ns) / 1e6
				}
			}
			memory := run.Memory()
			peak = max(peak, memory.Device.Total())
			if steps, nanos := run.Steps(); len(nanos) > 0 {
				p.Timed++
				timed += float64(rec.Total) / 1e6
				add(parts, &info.Schema, steps, nanos)
			}
			progress(min(1, float64(p.Iterations)/all))
		}
		if tape != nil {
			reader.Drain(tape)
		}
		if over {
			break
		}
	}
	p.Seconds = whole / 1e3
	p.Lost = reader.Dropped()
	memory := run.Memory()
	p.MemoryBytes, p.GPU = memoryOf(&info.Schema, memory), gpuMemory(&memory.Device, peak)
	for _, part := range phases {
		if part.Calls > 0 {
			p.Phases = append(p.Phases, part)
		}
	}
	for _, part := range parts {
		p.Steps = append(p.Steps, *part)
	}
	for _, l := range []struct {
		list []ProfilePart
		of   float64
	}{{p.Phases, whole}, {p.Steps, timed}} {
		list := l.list
		for i := range list {
			list[i].Share = list[i].MS / l.of
		}
		slices.SortFunc(list, func(a, b ProfilePart) int {
			return cmp.Or(cmp.Compare(b.MS, a.MS), cmp.Compare(a.Name, b.Name))
		})
	}
	s.report.Profile = p
	return nil
}

// add adds the steps of an iteration to those of their names.
func add(parts map[string]*ProfilePart, schema *profiles.Schema, steps []profiles.Layer, nanos []int64) {
	for i := range steps {
		if i >= len(nanos) {
			return
		}
		step := &steps[i]
		key := schema.Phases[step.Phase].Name + " " + step.Name
		part := parts[key]
		if part == nil {
			part = &ProfilePart{Name: step.Name, Phase: schema.Phases[step.Phase].Name}
			parts[key] = part
		}
		part.Calls++
		part.MS += float64(nanos[i]) / 1e6
		part.GFLOP += float64(step.FLOPs) / 1e9
		part.GB += float64(step.Bytes) / 1e9
	}
}
