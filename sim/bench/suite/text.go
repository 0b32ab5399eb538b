package suite

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// What a report says of its parts, as parts of a document.

// Part adds what a report says of a part of the measurement to a document; nothing of what was not measured.
type Part func(*Report, *report.Document)

// Text returns a writer of parts of a report as text under a title.
func Text(title string, parts ...Part) func(*Report, io.Writer) error {
	return func(r *Report, w io.Writer) error {
		d := report.Document{}
		d.Heading(1, title)
		r.head(&d)
		for _, add := range parts {
			add(r, &d)
		}
		return d.WriteText(w, 0)
	}
}

// head adds what was measured, on what, and how quiet it was there.
func (r *Report) head(d *report.Document) {
	m := &r.Machine
	d.Paragraph("prismtop %s · %s · %s · %s%s", r.Build.String(), r.Started, m.CPU, m.System, m.computed(" · "))
	switch {
	case m.ForeignCPUReason == nothingMeasured:
		d.Paragraph("%s", nothingMeasured)
	case m.ForeignCPU == nil:
		d.Paragraph("measured in %.0f s; other programs' share of the processors is unknown: %s", r.Seconds,
			m.ForeignCPUReason)
	case *m.ForeignCPU > busy:
		d.Paragraph("measured in %.0f s; other programs took %.1f %% of the processors meanwhile: %s", r.Seconds,
			100**m.ForeignCPU,
			report.Strong("the machine was busy, and times and speed-ups are not this program's alone"))
	default:
		d.Paragraph("measured in %.0f s; other programs took %.1f %% of the processors meanwhile", r.Seconds,
			100**m.ForeignCPU)
	}
	if len(r.Changed) > 0 {
		d.Paragraph("with %s: %s", strings.Join(r.Changed, ", "), report.Strong("not the documents' workloads"))
	}
	if !r.Complete {
		d.Paragraph("%s: %s; what was measured is here", report.Strong("NOT COMPLETE"), r.ended())
	}
}

// busy is the share of the processors that other programs may take before a report warns.
const busy = 0.05

// ended says why the report is not complete, with what failed.
func (r *Report) ended() string {
	text := r.Ended
	for _, f := range r.Failures {
		text += "; " + f.Part + ": " + f.Error
	}
	return text
}

// computed lists the device, the kernels and the threads, each behind a mark; empty if nothing ran.
func (m *Machine) computed(mark string) string {
	if m.Kernels == "" {
		return ""
	}
	device := m.Device
	if device != "cpu" && m.GPU != nil {
		device += " (" + visible.Text(*m.GPU) + ")"
	}
	return fmt.Sprintf("%s%s%s%s ×%d", mark, device, mark, m.Kernels, m.Threads)
}

// megabytes formats bytes.
func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// peak formats a peak of resident memory that may not be known.
func peak(bytes *int64, reason string) string {
	if bytes == nil {
		return "– (" + reason + ")"
	}
	return megabytes(*bytes)
}

// Runs adds a run as PRISM's baseline and optimised reports list one.
func Runs(of func(*Report) *Result) Part {
	return func(r *Report, d *report.Document) {
		v := of(r)
		if v == nil {
			return
		}
		t := d.Table()
		t.Add("workload", fmt.Sprintf("preset %s, %s, %s", v.Preset, unit.Plural(v.Samples, "sample", "samples"),
			unit.Plural(int(v.Iterations), "iteration", "iterations")))
		t.Add("optimisations", v.Set.Name()+", "+string(v.Side))
		t.Add("total time", fmt.Sprintf("%.3f s", v.Seconds))
		t.Add("average time per sample", fmt.Sprintf("%.2f ms", v.SampleMS))
		t.Add("throughput", fmt.Sprintf("%.2f samples/s", v.SamplesPerS))
		t.Add("average time per iteration", fmt.Sprintf("%.2f ms", v.IterationMS))
		t.Add("memory of the run", megabytes(v.MemoryBytes))
		t.Add("peak of resident memory", peak(v.PeakRSS, v.RSSReason))
		for _, name := range sortedKeys(v.Caches) {
			t.Add(name+" cache", v.Caches[name].text())
		}
		t.Add("PSNR", report.Optional(v.PSNR, 2, " dB"))
		t.Add("SSIM", report.Optional(v.SSIM, 4, ""))
		t.Add("MSE", report.Optional(v.MSE, 5, ""))
		t.Add("correlation", report.Optional(v.Correlation, 4, ""))
	}
}

func (c Cache) text() string {
	switch {
	case !c.Enabled:
		return "off"
	case c.HitRate == nil:
		return "on, not asked"
	}
	text := fmt.Sprintf("%.1f %% hits, %d of %d, %s", 100**c.HitRate, c.Hits, c.Hits+c.Misses,
		unit.Plural(int(c.Entries), "entry", "entries"))
	if c.Cleared {
		text += "; cleared after every measurement"
	}
	return text
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// TheModel adds the table of PRISM's baseline-v0.2.0.md.
func TheModel(r *Report, d *report.Document) {
	m := r.Model
	if m == nil {
		d.Paragraph("The model was not measured.")
		return
	}
	t := d.Table("", "median", "p10", "p90", "n")
	row := func(name string, s report.Spread, unit string) {
		t.Add(name, report.Number(s.Median)+" "+unit, report.Number(s.P10), report.Number(s.P90), fmt.Sprint(s.N))
	}
	row("model creation", m.CreateSeconds, "s")
	row("forward pass", m.ForwardMS, "ms")
	row("training iteration", m.IterationMS, "ms")
	created := peak(m.CreatePeak, m.NoPeak)
	if m.CreatePeak != nil {
		created += " of resident memory more, with the optimizer's moments"
	}
	e := m.Experiment
	t = d.Table()
	t.Add("parameters", fmt.Sprint(m.Parameters))
	t.Add("memory after creation", megabytes(m.CreateMemory)+": weights, activations, work space")
	t.Add("peak while it is made", created)
	t.Add("forward passes a second", fmt.Sprintf("%.1f", m.ForwardFPS))
	t.Add("iterations a second", fmt.Sprintf("%.1f", m.IterationsPerS))
	t.Add("experiment of "+unit.Plural(int(e.Samples), "sample", "samples"),
		fmt.Sprintf("%.3f s, %.2f ms a sample", e.Seconds, e.SampleMS))
	t.Add("its result", fmt.Sprintf("PSNR %s, SSIM %s, MSE %s, correlation %s",
		report.Optional(e.PSNR, 2, " dB"), report.Optional(e.SSIM, 4, ""), report.Optional(e.MSE, 5, ""),
		report.Optional(e.Correlation, 4, "")))
	t.Add("memory of the experiment", megabytes(e.MemoryBytes))
	names := sortedKeys(m.PhasesMS)
	slices.SortStableFunc(names, func(x, y string) int { return int(math.Copysign(1, m.PhasesMS[y]-m.PhasesMS[x])) })
	t = d.Table("phase of an iteration", "median", "share")
	for _, name := range names {
		t.Add(name, fmt.Sprintf("%.3f ms", m.PhasesMS[name]), fmt.Sprintf("%.0f %%", 100*m.PhaseShares[name]))
	}
	if insight := m.insight(names); insight != "" {
		d.Paragraph("%s", insight)
	}
}

// insight says where most of the time goes, and whether that stands out: phases, longest first.
func (m *Model) insight(phases []string) string {
	if len(phases) < 2 || m.PhasesMS[phases[1]] <= 0 {
		return ""
	}
	first, times := phases[0], m.PhasesMS[phases[0]]/m.PhasesMS[phases[1]]
	if times < stands {
		return fmt.Sprintf("no phase stands out: %s takes %.0f %%, %s %.0f %%", first, 100*m.PhaseShares[first],
			phases[1], 100*m.PhaseShares[phases[1]])
	}
	return fmt.Sprintf("the bottleneck is %s: %.0f %% of an iteration, %.1fx %s", first, 100*m.PhaseShares[first],
		times, phases[1])
}

// stands is how many times the next phase's time a phase takes that stands out.
const stands = 1.25

// OneMeasurement adds a measurement, computed and from the cache.
func OneMeasurement(r *Report, d *report.Document) {
	m := r.Measurement
	if m == nil {
		return
	}
	d.Paragraph("%s ms computed, %s ms from the cache, %s", report.Number(m.ComputedMS.Median),
		report.Number(m.CachedMS.Median), m.Speedup.Text("x", 2))
	d.Paragraph("computed with this program's own savings: %s ms, %s", report.Number(m.PrunedMS.Median),
		m.PrunedRatio.Text("x", 2))
}

// TheComparisons adds the comparisons of whole runs, one measurement, and what single optimisations do.
func TheComparisons(r *Report, d *report.Document) {
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		d.Heading(2, fmt.Sprintf("%s, %s: %s by turns", c.Preset, c.Set.Name(),
			unit.Plural(c.Rounds, "round", "rounds")))
		base, optimized := typical(c.Results[0]), typical(c.Results[1])
		t := d.Table("", "baseline", "optimised")
		row := func(name string, of func(v *Result, s Seconds) string) {
			t.Add(name, of(base, c.Baseline), of(optimized, c.Optimized))
		}
		row("total time, median", func(_ *Result, s Seconds) string { return fmt.Sprintf("%.3f s", s.Median) })
		row("least and most", func(_ *Result, s Seconds) string { return fmt.Sprintf("%.3f to %.3f s", s.Min, s.Max) })
		row("time per sample", func(v *Result, _ Seconds) string { return fmt.Sprintf("%.2f ms", v.SampleMS) })
		row("throughput", func(v *Result, _ Seconds) string { return fmt.Sprintf("%.1f samples/s", v.SamplesPerS) })
		row("memory of the run", func(v *Result, _ Seconds) string { return megabytes(v.MemoryBytes) })
		for _, cache := range [][2]string{{"measurement cache", "measurement"}, {"FFT plans", "fft_plans"},
			{"masks", "masks"}} {
			row(cache[0], func(v *Result, _ Seconds) string { return v.Caches[cache[1]].text() })
		}
		median := func(name string, of func(*Result) *float64, decimals int, unit string) {
			t.Add(name+", median", report.Optional(medianOf(c.Results[0], of), decimals, unit),
				report.Optional(medianOf(c.Results[1], of), decimals, unit))
		}
		median("PSNR", func(r *Result) *float64 { return r.PSNR }, 2, " dB")
		median("MSE", func(r *Result) *float64 { return r.MSE }, 5, "")
		median("correlation", func(r *Result) *float64 { return r.Correlation }, 4, "")
		if c.PSNR != nil {
			d.Paragraph("PSNR, optimised less baseline from the same seed: %s", c.PSNR.Text(" dB", 2))
		}
		d.Paragraph("speed-up %s; %s", c.Speedup.Text("x", 2), c.gain())
	}
	if r.Measurement != nil {
		d.Heading(2, "One measurement")
		OneMeasurement(r, d)
	}
	if len(r.Effects) == 0 {
		return
	}
	d.Heading(2, "Single optimisations")
	t := d.Table("", "off ms", "on ms", "speed-up", "memory", "")
	for _, e := range r.Effects {
		t.Add(e.Setting+" "+e.On, fmt.Sprintf("%.3f", e.OffMS), fmt.Sprintf("%.3f", e.OnMS), e.Speedup.Text("x", 3),
			fmt.Sprintf("%+.2f MB", float64(e.MemoryBytes)/1e6), e.Note)
	}
	d.Paragraph("off against on within an iteration of %s, in balanced blocks", r.Effects[0].Preset)
}

// gain says what the speed-up saves of the baseline's time, or adds to it, and whether its interval decides that: "time
// saved 37.5 % [33.1, 41.0], 60 % faster".
func (c *Comparison) gain() string {
	time, word, more, change := c.Percent, "saved", "faster", c.Speedup.Value-1
	if time.Value < 0 {
		time, word, more, change = time.Through(func(v float64) float64 { return -v }), "added", "slower", -change
	}
	text := fmt.Sprintf("time %s %s, %.0f %% %s", word, time.Text(" %", 1), 100*change, more)
	if !time.Judge(stats.Zero(0)).Excluded() {
		text += "; undecided"
	}
	return text
}

// medianOf returns the median of a number over the rounds, which differ by their seeds; nil if it was measured in none.
func medianOf(results []Result, of func(*Result) *float64) *float64 {
	var all []float64
	for i := range results {
		if v := of(&results[i]); v != nil {
			all = append(all, *v)
		}
	}
	if len(all) == 0 {
		return nil
	}
	median := report.SpreadOf(all).Median
	return &median
}

// TheChecklist adds the acceptance list, judged.
func TheChecklist(r *Report, d *report.Document) {
	if len(r.Checklist) == 0 {
		return
	}
	d.Heading(2, "The acceptance list of PRISM's phase5_implementation_summary.md")
	t := d.Table("Workload", "Criterion", "Wanted", "Measured", "Verdict")
	t.Notes = 4
	for _, k := range r.Checklist {
		t.Add(k.Preset+", "+k.Set.Name(), k.Name, k.Wanted, k.Measured, report.Strong(string(k.Verdict))+": "+k.Reason)
	}
}

// TheClaims adds every claim beside what was measured, by document.
func TheClaims(r *Report, d *report.Document) {
	var t *report.Table
	document := ""
	for _, c := range r.Claims {
		if c.Document != document {
			document = c.Document
			d.Heading(3, document)
			t = d.Table("Line", "What", "Claimed", "Measured here", "")
			t.Notes = 4
		}
		measured := "–"
		if c.Measured != nil {
			measured = c.Measured.In(c.Unit)
		}
		t.Add(c.lines(), c.Of, c.Text, measured, c.sentence())
	}
}

// sentence says how claim and measurement differ, what was measured, and what else to know.
func (c *Claim) sentence() string {
	text := ""
	if c.Verdict != "" {
		text = c.Verdict + "; "
	}
	text += c.Where + "."
	if c.Note != "" {
		text += " " + c.Note
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// topSteps is the number of steps in the summary of the processor's time.
const topSteps = 15

// TheProfile adds the phases of the profile and the steps that take longest.
func TheProfile(r *Report, d *report.Document) { r.profiled(d, topSteps) }

func (r *Report) profiled(d *report.Document, most int) {
	p := r.Profile
	if p == nil {
		return
	}
	except := "" // settings of the user
	if len(r.Changed) > 0 {
		except = " but for " + visible.Text(strings.Join(r.Changed, ", "))
	}
	d.Paragraph("preset %s, all optimisations%s: %s in %.3f s", p.Preset, except,
		unit.Plural(int(p.Iterations), "iteration", "iterations"), p.Seconds)
	if p.Timed != p.Iterations {
		d.Paragraph("Steps were timed one by one in %s; their shares are of that time.",
			unit.Plural(int(p.Timed), "iteration", "iterations"))
	}
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	t := d.Table("phase", "calls", "total ms", "share")
	rest := 1.0
	for _, v := range p.Phases {
		t.Add(v.Name, fmt.Sprint(v.Calls), fmt.Sprintf("%.2f", v.MS), share(v.Share))
		rest -= v.Share
	}
	t.Add("between phases", "", fmt.Sprintf("%.2f", 1e3*rest*p.Seconds), share(rest))
	t = d.Table("step", "phase", "calls", "total ms", "ms a call", "share", "GFLOP/s", "GB/s")
	for _, v := range p.Steps[:min(most, len(p.Steps))] {
		t.Add(v.Name, v.Phase, fmt.Sprint(v.Calls), fmt.Sprintf("%.2f", v.MS),
			fmt.Sprintf("%.4f", v.MS/float64(v.Calls)), share(v.Share),
			fmt.Sprintf("%.1f", 1e3*v.GFLOP/v.MS), fmt.Sprintf("%.1f", 1e3*v.GB/v.MS))
	}
}

// TheForms adds the forms of the trained decoder.
func TheForms(r *Report, d *report.Document) {
	n := r.Inference
	if n == nil {
		return
	}
	d.Paragraph("preset %s, %d/%d, trained for %s with amp = %s, which took %s; then in float32 without gradients "+
		"and moments:", n.Preset, n.Size, n.ObjectSize,
		unit.Plural(int(n.Iterations), "iteration", "iterations"), n.AMP, megabytes(n.TrainingMemory))
	t := d.Table("form", "statistics", "median ms", "p10", "p90", "memory", "PSNR", "SSIM")
	for _, f := range n.Forms {
		t.Add(f.Name, f.Statistics, report.Number(f.MS.Median), report.Number(f.MS.P10), report.Number(f.MS.P90),
			fmt.Sprintf("%.2f MB", float64(f.MemoryBytes)/1e6),
			report.Optional(f.PSNR, 2, " dB"), report.Optional(f.SSIM, 4, ""))
	}
	for _, f := range n.Folds {
		d.Paragraph("%s statistics, folded, by turns in %s: %s; memory %+.2f MB; outputs %.1g apart, %g allowed",
			f.Statistics, unit.Plural(n.Rounds, "round", "rounds"),
			f.Speedup.Text("x", 3), float64(f.Memory)/1e6, f.Apart, f.Tolerance)
	}
	if m := n.Metrics; m != nil {
		d.Paragraph("PSNR, SSIM and RMSE on the GPU %s ms, on the processor %s ms (medians, by turns); an iteration "+
			"of %s ms with them: %s", report.Number(m.GPUMS.Median), report.Number(m.HostMS.Median),
			report.Number(m.IterationMS.Median), m.Speedup.Text("x", 3))
	}
	d.Paragraph("The run's picture is training mode's, with the statistics of the batch, one picture; " +
		"evaluation mode has the averages of training and is PyTorch's eval(). --save writes training mode, folded; " +
		"weights export --fold writes either.")
}
