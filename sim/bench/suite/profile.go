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
	Seconds    float64       `json:"total_seconds"`
	Phases     []ProfilePart `json:"phases"` // longest first
	Steps      []ProfilePart `json:"steps"`  // of the plans, longest first
	Lost       int64         `json:"-"`      // events that the tape missed

	MemoryBytes map[string]int64 `json:"memory_bytes"` // at the end, by category
}

// ProfilePart is the time of a phase or a step over all iterations.
type ProfilePart struct {
	Name  string  `json:"name"`
	Phase string  `json:"phase"`
	Calls int64   `json:"calls"`
	MS    float64 `json:"total_ms"`
	Share float64 `json:"share"` // of the iterations' time, 0 to 1
	GFLOP float64 `json:"gflop"` // of all calls
	GB    float64 `json:"gb"`    // read and written at least once, of all calls
}

// changes reports whether the user's settings differ from the presets' in one.
func (s *Suite) changes(key string) bool {
	return slices.ContainsFunc(s.options.Changed, func(set string) bool { return strings.HasPrefix(set, key+"=") })
}

// Profile adds the profiling workload with all optimisations, except for those that the user's settings decide. tape takes every event of its run, and may be nil.
func (s *Suite) Profile(tape func(*profiles.Event), weight float64) {
	s.plan = append(s.plan, step{"profile", weight, func(ctx context.Context, progress func(float64)) error {
		return s.profile(ctx, tape, progress)
	}})
}

func (s *Suite) profile(ctx context.Context, tape func(*profiles.Event), progress func(float64)) error {
	sets := slices.DeleteFunc(Everything.assignments(Optimized), func(a settings.Assignment) bool { return s.changes(a.Key) })
	sets = append(sets, settings.Assignment{Key: "layer_profile", Value: "true"}, settings.Assignment{Key: "seed", Value: "1"})
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
	whole := 0.0
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
			steps, nanos := run.Steps()
			add(parts, &info.Schema, steps, nanos)
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
	p.MemoryBytes = memoryOf(&info.Schema, run.Memory())
	for _, part := range phases {
		if part.Calls > 0 {
			p.Phases = append(p.Phases, part)
		}
	}
	for _, part := range parts {
		p.Steps = append(p.Steps, *part)
	}
	for _, list := range [][]ProfilePart{p.Phases, p.Steps} {
		for i := range list {
			list[i].Share = list[i].MS / whole
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
