package bench

import (
	"fmt"
	"io"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

// Measurements in the format of Go's benchmarks: an iteration and its phases, sizes and
// threads, the settings of an ablation.

// WriteGo writes a benchmark for the iteration and each phase.
func WriteGo(w io.Writer, r *Report, s *export.Summary) error {
	comments := goComments(s.Version, *s.Settings)
	comments[0] += ", kernels " + or(s.Machine.Kernels, "unknown")
	g := export.NewGoBenchmarks(or(s.Machine.CPU, ""), comments...)
	name := "Iteration"
	if r.Options.Forward {
		name = "Forward"
	}
	g.AddTimes(name, r.Threads, r.Total)
	for i, p := range r.Run.Schema.Phases {
		g.AddTimes(name+"/phase="+p.Name, r.Threads, r.Phases[i])
	}
	return g.Write(w)
}

// goComments are what was measured: the program and its settings.
func goComments(version string, v settings.Values) []string {
	lines := []string{"prismtop " + version}
	for _, name := range v.Table().Names() {
		lines = append(lines, name+" = "+v.Quoted(name))
	}
	return lines
}

// WriteScalingGo writes a benchmark for each point: of a version of the program with settings, on a processor.
func WriteScalingGo(w io.Writer, points []Point, version, cpu string, v settings.Values) error {
	g := export.NewGoBenchmarks(cpu, goComments(version, v)...)
	for _, p := range points {
		g.AddTimes(fmt.Sprintf("Iteration/size=%d/object=%d", p.Size, p.Object), p.Threads, p.Nanos)
	}
	return g.Write(w)
}

// WriteAblationGo writes two benchmarks for each setting, off and on, with the median of each block as a measurement.
// version, cpu and v are as for WriteScalingGo. A factorial ablation has no such blocks.
func WriteAblationGo(w io.Writer, a *profiles.Ablation, version, cpu string, v settings.Values) error {
	g := export.NewGoBenchmarks(cpu, goComments(version, v)...)
	threads := v.Int(settings.Threads)
	if threads == 0 {
		threads = machine.Processors()
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		for side, blocks := range [][]float64{r.OffBlocks, r.OnBlocks} {
			name := fmt.Sprintf("Ablation/setting=%s/side=%s", r.Key, []string{"off", "on"}[side])
			for _, nanos := range blocks {
				g.Add(name, threads, max(r.Iterations/(len(r.OffBlocks)+len(r.OnBlocks)), 1), nanos)
			}
		}
	}
	return g.Write(w)
}
