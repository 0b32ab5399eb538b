package suite

import (
	"maps"

	"prismtop/profiles/history"
	"prismtop/profiles/report"
)

// Entries returns what was measured whole as entries of the history.
func (r *Report) Entries() (entries []history.Entry) {
	add := func(work, preset string, settings map[string]string, figures ...history.Figure) {
		settings = maps.Clone(settings)
		delete(settings, "seed") // of one round among several
		of := history.MachineOf(r.Machine.CPU)
		if r.Machine.GPU != nil {
			of.GPU = *r.Machine.GPU
		}
		entries = append(entries, history.Entry{
			Schema: history.Schema, Time: r.Started, Work: work, Preset: preset, Settings: settings, Build: r.Build,
			Machine: of, Kernels: r.Machine.Kernels, Threads: r.Machine.Threads, Foreign: r.Machine.ForeignCPU,
			Figures: figures,
		})
	}
	if m := r.Model; m != nil {
		add("performance", "standard", m.Settings, spread(history.Forward, m.ForwardMS),
			spread(history.Iteration, m.IterationMS),
			single(history.Memory, "bytes", float64(total(m.IterationMemory))),
			single(history.Experiment, "s", m.Experiment.Seconds))
	}
	for _, v := range []*Result{r.Baseline, r.Optimized} {
		if v != nil && !v.partial {
			add(string(v.Side), v.Preset, v.Settings, v.figures()...)
		}
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if c.partial {
			continue
		}
		v := typical(c.Results[1])
		speedup := history.Figure{Name: history.Speedup, Unit: "x", Value: c.Speedup.Value, Low: c.Speedup.Low,
			High: c.Speedup.High, N: c.Rounds}
		add("compare "+string(c.Set), c.Preset, v.Settings, append(v.figures(), speedup)...)
	}
	return entries
}

// figures returns the numbers of a run.
func (v *Result) figures() []history.Figure {
	all := []history.Figure{single(history.Iteration, "ms", v.IterationMS), single(history.Total, "s", v.Seconds),
		single(history.Memory, "bytes", float64(v.MemoryBytes))}
	if v.PSNR != nil {
		all = append(all, single(history.PSNR, "dB", *v.PSNR))
	}
	return all
}

// single returns a number without a range.
func single(name, unit string, v float64) history.Figure {
	return history.Figure{Name: name, Unit: unit, Value: v, N: 1}
}

// spread returns a distribution of milliseconds.
func spread(name string, s report.Spread) history.Figure {
	return history.Figure{Name: name, Unit: "ms", Value: s.Median, Low: report.Finite(s.P10),
		High: report.Finite(s.P90), N: s.N}
}

// total is the sum of the categories of memory.
func total(parts map[string]int64) (sum int64) {
	for _, bytes := range parts {
		sum += bytes
	}
	return sum
}
