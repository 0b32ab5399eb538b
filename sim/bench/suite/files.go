package suite

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"prismtop/profiles/export"
	"prismtop/profiles/report"
)

// File is a file of a report, by its path in the folder of the output.
type File struct {
	Name  string
	write func(*Report, io.Writer) error // nothing is written of what was not measured
	has   func(*Report) bool
}

// The files, by the names of PRISM's phase5_implementation_summary.md where it names them.
var files = []File{
	{"performance_baseline.json", some(func(r, of *Report) { of.Model = r.Model }), hasModel},
	{"performance_baseline.txt", Text("Performance baseline", TheModel), hasModel},
	{"phase5_baseline_performance.json", some(func(r, of *Report) { of.Baseline = r.Baseline }), hasBaseline},
	{"phase5_baseline_performance.txt", Text("Baseline performance", Runs(baseline)), hasBaseline},
	{"phase5_optimized_performance.json", some(func(r, of *Report) { of.Optimized = r.Optimized }), hasOptimized},
	{"phase5_optimized_performance.txt", Text("Optimised performance", Runs(optimized)), hasOptimized},
	{"phase5_comparison.json", some(func(r, of *Report) {
		of.Comparisons, of.Measurement, of.Effects, of.Checklist = r.Comparisons, r.Measurement, r.Effects, r.Checklist
	}), hasComparison},
	{"phase5_comparison_report.txt", Text("Comparison report", TheComparisons, TheChecklist), hasComparison},
	{"measurement_cache_performance.json", some(func(r, of *Report) { of.Measurement = r.Measurement }), hasMeasurement},
	{"measurement_cache_performance.txt", Text("The measurement cache", OneMeasurement), hasMeasurement},
	{"amp_performance.json", some(func(r, of *Report) { of.AMP = r.AMP }), hasAMP},
	{"amp_performance.txt", Text("Mixed precision by image size", TheSizes), hasAMP},
	{"inference_performance.json", some(func(r, of *Report) { of.Inference = r.Inference }), hasInference},
	{"inference_performance.txt", Text("Inference: the trained decoder's output alone", TheForms), hasInference},
	{filepath.Join("profiling", "cpu_time_summary.txt"), Text("Processor time: phases, and the steps that take longest", TheProfile), hasProfile},
	{filepath.Join("profiling", "detailed_breakdown.txt"), Text("Processor time: every step", func(r *Report, d *report.Document) { r.profiled(d, len(r.Profile.Steps)) }), hasProfile},
	{filepath.Join("profiling", "cuda_memory_summary.txt"), Text("Memory of the GPU", theGPUMemory), hasGPUMemory},
	{filepath.Join("profiling", "profiling_summary.txt"), Text("Profiling summary", profilingFiles), hasProfile},
}

// wholeFiles are the files of the whole suite.
var wholeFiles = []File{
	{"phase5_master_summary.txt", (*Report).WriteMaster, always},
	{"claims.md", (*Report).WriteMarkdown, always},
	{"benchmark.json", func(r *Report, w io.Writer) error { return export.WriteObject(w, r) }, always},
	{"report.html", (*Report).writeHTML, always},
}

func baseline(r *Report) *Result    { return r.Baseline }
func optimized(r *Report) *Result   { return r.Optimized }
func hasModel(r *Report) bool       { return r.Model != nil }
func hasBaseline(r *Report) bool    { return r.Baseline != nil }
func hasOptimized(r *Report) bool   { return r.Optimized != nil }
func hasComparison(r *Report) bool  { return len(r.Comparisons) > 0 }
func hasMeasurement(r *Report) bool { return r.Measurement != nil }
func hasAMP(r *Report) bool         { return r.AMP != nil && len(r.AMP.Sizes) > 0 }
func hasInference(r *Report) bool   { return r.Inference != nil }
func hasProfile(r *Report) bool     { return r.Profile != nil }
func hasGPUMemory(r *Report) bool   { return r.Profile != nil && r.Profile.GPU != nil }
func always(*Report) bool           { return true }

// some returns a writer of a part of a report as JSON.
func some(take func(r, of *Report)) func(*Report, io.Writer) error {
	return func(r *Report, w io.Writer) error {
		of := &Report{Schema: r.Schema, Version: r.Version, Build: r.Build, Started: r.Started, Seconds: r.Seconds,
			Complete: r.Complete, Ended: r.Ended, Failures: r.Failures, Changed: r.Changed, Machine: r.Machine,
			Comparisons: []Comparison{}, Effects: []Effect{}, Checklist: []Criterion{}, Claims: []Claim{}}
		take(r, of)
		return export.WriteObject(w, of)
	}
}

// FileNames lists the files of the parts, and with whole those of the whole suite.
func FileNames(whole bool) (names []string) {
	for _, f := range files {
		names = append(names, f.Name)
	}
	if whole {
		for _, f := range wholeFiles {
			names = append(names, f.Name)
		}
	}
	return names
}

// Files returns the files of what was measured, and with whole those of the whole suite.
func (r *Report) Files(whole bool) (names []string, data [][]byte, err error) {
	all := files
	if whole {
		all = append(append([]File{}, files...), wholeFiles...)
	}
	for _, f := range all {
		if !f.has(r) {
			continue
		}
		var b bytes.Buffer
		if err := f.write(r, &b); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		names, data = append(names, f.Name), append(data, b.Bytes())
	}
	return names, data, nil
}

// profilingFiles adds what is in the folder of the profile, and the run's memory.
func profilingFiles(r *Report, d *report.Document) {
	d.Facts(report.Fact{Name: "trace.json", Text: "a timeline of every iteration and phase, for chrome://tracing, Perfetto and speedscope"},
		report.Fact{Name: "tensorboard/", Text: "scalars; tensorboard --logdir tensorboard, then http://localhost:6006"},
		report.Fact{Name: "cpu_time_summary.txt", Text: fmt.Sprintf("phases, and the %d steps that take longest", topSteps)},
		report.Fact{Name: "detailed_breakdown.txt", Text: "every step"},
		report.Fact{Name: "cuda_memory_summary.txt", Text: gpuMemoryText(r)})
	t := d.Table("memory of the run at the end", "")
	for _, name := range sortedKeys(r.Profile.MemoryBytes) {
		t.Add(name, fmt.Sprintf("%.2f MB", float64(r.Profile.MemoryBytes[name])/1e6))
	}
}

// wholeParts are the parts of the whole suite's summary, those of which no heading of their own says what they are
// below one.
func wholeParts() []Part {
	under := func(title string, has func(*Report) bool, add Part) Part {
		return func(r *Report, d *report.Document) {
			if has(r) {
				d.Heading(2, title)
				add(r, d)
			}
		}
	}
	return []Part{TheComparisons, TheChecklist, under("The model", always, TheModel),
		under("Inference", hasInference, TheForms),
		under("Mixed precision by image size", hasAMP, TheSizes)}
}

// gpuMemoryText says what is in the summary of a GPU's memory, or why there is none.
func gpuMemoryText(r *Report) string {
	if hasGPUMemory(r) {
		return "memory of the GPU by category, and its peak"
	}
	return "not written: " + cmp.Or(r.Machine.GPUReason, "the run was on the processor")
}

// theGPUMemory adds what the profiled run held on the GPU.
func theGPUMemory(r *Report, d *report.Document) {
	m := r.Profile.GPU
	d.Paragraph("preset %s at its end, as the backend counts what it allocates; its steps allocate nothing",
		r.Profile.Preset)
	t := d.Table("what", "MB")
	for _, part := range []struct {
		name  string
		bytes int64
	}{
		{"peak", m.Peak}, {"at the end", m.Total}, {"of the driver: context and kernels", m.Context},
		{"allocated", m.Allocated}, {"of that weights", m.Weights}, {"gradients", m.Gradients}, {"moments", m.Moments},
		{"activations", m.Activations}, {"inputs", m.Inputs}, {"workspace", m.Workspace}, {"caches", m.Caches},
		{"kept for other settings", m.Kept}, {"page-locked memory of the host", m.Pinned},
	} {
		t.Add(part.name, fmt.Sprintf("%.2f", float64(part.bytes)/1e6))
	}
	if m.Context == 0 {
		d.Paragraph("What the driver took was not measured: that takes NVML.")
	}
}

// WriteMaster writes the summary of the whole suite.
func (r *Report) WriteMaster(w io.Writer) error {
	return Text("Master summary", append(wholeParts(), func(_ *Report, d *report.Document) {
		d.Heading(2, "Claims")
		d.Paragraph("claims.md and report.html have each claim of the documents beside what was measured.")
	})...)(r, w)
}

// WriteMarkdown writes the claims and the acceptance list as Markdown.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var d report.Document
	r.head(&d)
	TheClaims(r, &d)
	TheChecklist(r, &d)
	return d.WriteMarkdown(w)
}

// writeHTML writes the report as one page, which requests nothing.
func (r *Report) writeHTML(w io.Writer) error {
	d := report.Document{Title: "PRISM's benchmark, measured"}
	r.head(&d)
	d.Heading(2, "Claims and measurements")
	for _, add := range append([]Part{TheClaims}, wholeParts()...) {
		add(r, &d)
	}
	return d.WriteHTML(w)
}
