package suite

import (
	"bytes"
	"cmp"
	"fmt"
	"html"
	"io"
	"path/filepath"
	"strings"

	"prismtop/profiles/criteria"
	"prismtop/profiles/export"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// File is a file of a report, by its path in the folder of the output.
type File struct {
	Name  string
	write func(*Report, io.Writer) error // nothing is written of what was not measured
	has   func(*Report) bool
}

// The files, by the names of PRISM's phase5_implementation_summary.md where it names them.
var files = []File{
	{"performance_baseline.json", part(func(r, of *Report) { of.Model = r.Model }), hasModel},
	{"performance_baseline.txt", func(r *Report, w io.Writer) error { return r.WriteModel(w) }, hasModel},
	{"phase5_baseline_performance.json", part(func(r, of *Report) { of.Baseline = r.Baseline }), hasBaseline},
	{"phase5_baseline_performance.txt", func(r *Report, w io.Writer) error {
		return r.WriteResult(w, "Baseline performance", r.Baseline)
	}, hasBaseline},
	{"phase5_optimized_performance.json", part(func(r, of *Report) { of.Optimized = r.Optimized }), hasOptimized},
	{"phase5_optimized_performance.txt", func(r *Report, w io.Writer) error {
		return r.WriteResult(w, "Optimised performance", r.Optimized)
	}, hasOptimized},
	{"phase5_comparison.json", part(func(r, of *Report) {
		of.Comparisons, of.Measurement, of.Effects, of.Checklist = r.Comparisons, r.Measurement, r.Effects, r.Checklist
	}), hasComparison},
	{"phase5_comparison_report.txt", func(r *Report, w io.Writer) error { return r.WriteComparison(w) }, hasComparison},
	{"measurement_cache_performance.json", part(func(r, of *Report) { of.Measurement = r.Measurement }), hasMeasurement},
	{"measurement_cache_performance.txt", func(r *Report, w io.Writer) error { return r.WriteMeasurement(w) }, hasMeasurement},
	{"amp_performance.json", part(func(r, of *Report) { of.AMP = r.AMP }), hasAMP},
	{"amp_performance.txt", func(r *Report, w io.Writer) error { return r.WriteAMP(w) }, hasAMP},
	{"inference_performance.json", part(func(r, of *Report) { of.Inference = r.Inference }), hasInference},
	{"inference_performance.txt", func(r *Report, w io.Writer) error { return r.WriteInference(w) }, hasInference},
	{filepath.Join("profiling", "cpu_time_summary.txt"), (*Report).writeTop, hasProfile},
	{filepath.Join("profiling", "detailed_breakdown.txt"), (*Report).writeSteps, hasProfile},
	{filepath.Join("profiling", "profiling_summary.txt"), (*Report).writeProfile, hasProfile},
}

// wholeFiles are the files of the whole suite.
var wholeFiles = []File{
	{"phase5_master_summary.txt", (*Report).WriteMaster, always},
	{"claims.md", func(r *Report, w io.Writer) error { return r.WriteMarkdown(w) }, always},
	{"benchmark.json", func(r *Report, w io.Writer) error { return export.WriteObject(w, r) }, always},
	{"report.html", (*Report).writeHTML, always},
}

func hasModel(r *Report) bool       { return r.Model != nil }
func hasBaseline(r *Report) bool    { return r.Baseline != nil }
func hasOptimized(r *Report) bool   { return r.Optimized != nil }
func hasComparison(r *Report) bool  { return len(r.Comparisons) > 0 }
func hasMeasurement(r *Report) bool { return r.Measurement != nil }
func hasAMP(r *Report) bool         { return r.AMP != nil && len(r.AMP.Sizes) > 0 }
func hasInference(r *Report) bool   { return r.Inference != nil }
func hasProfile(r *Report) bool     { return r.Profile != nil }
func always(*Report) bool           { return true }

// part returns a writer of a part of a report as JSON.
func part(take func(r, of *Report)) func(*Report, io.Writer) error {
	return func(r *Report, w io.Writer) error {
		of := &Report{Schema: r.Schema, Version: r.Version, Build: r.Build, Started: r.Started, Seconds: r.Seconds, Complete: r.Complete, Ended: r.Ended, Failures: r.Failures, Changed: r.Changed, Machine: r.Machine,
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

// topSteps is the number of steps in the summary of the processor's time.
const topSteps = 15

// WriteProfile writes the phases of the profile and the steps that take longest.
func (r *Report) WriteProfile(w io.Writer) error {
	if r.Profile == nil {
		return nil
	}
	return r.writeTop(w)
}

func (r *Report) writeTop(w io.Writer) error {
	return r.writeParts(w, "Processor time: phases, and the steps that take longest", topSteps)
}

func (r *Report) writeSteps(w io.Writer) error {
	return r.writeParts(w, "Processor time: every step", len(r.Profile.Steps))
}

func (r *Report) writeParts(w io.Writer, title string, most int) error {
	var b strings.Builder
	r.heading(&b, title)
	p := r.Profile
	fmt.Fprintf(&b, "preset %s, all optimisations%s: %s in %.3f s\n\n", p.Preset, exceptFor(r.Changed), unit.Plural(int(p.Iterations), "iteration", "iterations"), p.Seconds)
	lines := []string{"phase\tcalls\ttotal ms\tshare"}
	for _, v := range p.Phases {
		lines = append(lines, fmt.Sprintf("%s\t%d\t%.2f\t%.1f %%", v.Name, v.Calls, v.MS, 100*v.Share))
	}
	rest := 1.0
	for _, v := range p.Phases {
		rest -= v.Share
	}
	lines = append(lines, fmt.Sprintf("between phases\t\t%.2f\t%.1f %%", 1e3*rest*p.Seconds, 100*rest))
	table(&b, lines...)
	fmt.Fprintln(&b)
	lines = []string{"step\tphase\tcalls\ttotal ms\tms a call\tshare\tGFLOP/s\tGB/s"}
	for _, v := range p.Steps[:min(most, len(p.Steps))] {
		lines = append(lines, fmt.Sprintf("%s\t%s\t%d\t%.2f\t%.4f\t%.1f %%\t%.1f\t%.1f", v.Name, v.Phase, v.Calls, v.MS, v.MS/float64(v.Calls), 100*v.Share, 1e3*v.GFLOP/v.MS, 1e3*v.GB/v.MS))
	}
	table(&b, lines...)
	_, err := io.WriteString(w, b.String())
	return err
}

// exceptFor names settings of the user.
func exceptFor(changed []string) string {
	if len(changed) == 0 {
		return ""
	}
	return " but for " + visible.Text(strings.Join(changed, ", "))
}

func (r *Report) writeProfile(w io.Writer) error {
	var b strings.Builder
	r.heading(&b, "Profiling summary")
	fmt.Fprintf(&b, "trace.json: a timeline of every iteration and phase, for chrome://tracing, Perfetto and speedscope\n"+
		"tensorboard/: scalars; tensorboard --logdir tensorboard, then http://localhost:6006\n"+
		"cpu_time_summary.txt: phases, and the %d steps that take longest\n"+
		"detailed_breakdown.txt: every step\n"+
		"cuda_memory_summary.txt: not written: %s\n\nmemory of the run at the end:\n", topSteps, cmp.Or(r.Machine.GPUReason, "the steps on a GPU allocate nothing, and a plan's memory is below"))
	var lines []string
	for _, name := range sortedKeys(r.Profile.MemoryBytes) {
		lines = append(lines, fmt.Sprintf("  %s\t%.2f MB", name, float64(r.Profile.MemoryBytes[name])/1e6))
	}
	table(&b, lines...)
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMaster writes the summary of the whole suite.
func (r *Report) WriteMaster(w io.Writer) error {
	var b strings.Builder
	r.heading(&b, "Master summary")
	fmt.Fprintf(&b, "measured in %.0f s\n\n", r.Seconds)
	r.comparison(&b)
	fmt.Fprintln(&b)
	r.model(&b)
	if hasInference(r) {
		b.WriteString("\nInference\n")
		r.forms(&b)
	}
	if hasAMP(r) {
		b.WriteString("\nMixed precision by image size\n")
		r.precision(&b)
	}
	fmt.Fprintln(&b, "\nclaims.md and report.html have each claim of the documents beside what was measured.")
	_, err := io.WriteString(w, b.String())
	return err
}

// style is that of the HTML report.
const style = `body{font:15px/1.45 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1em 0;width:100%}th,td{text-align:left;vertical-align:top;padding:.3em .6em;border-bottom:1px solid #d0d7de}
th{background:#f6f8fa}td.n{white-space:nowrap}.PASS{color:#1a7f37;font-weight:600}.FAIL{color:#b3261e;font-weight:600}.other{color:#8a5a00;font-weight:600}
.note{color:#57606a}pre{overflow:auto;background:#f6f8fa;padding:1em}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th,pre{background:#161b22}th,td{border-color:#30363d}.note{color:#8b949e}.PASS{color:#3fb950}.FAIL{color:#ff7b72}.other{color:#d29922}}`

// writeHTML writes the report as one page, which requests nothing.
func (r *Report) writeHTML(w io.Writer) error {
	var b strings.Builder
	text := func(s string) string { return html.EscapeString(visible.Text(s)) }
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>prismtop: PRISM's benchmark</title><style>%s</style></head><body>\n", style)
	m := &r.Machine
	fmt.Fprintf(&b, "<h1>PRISM's benchmark, measured</h1>\n<p>prismtop %s on %s, %s%s. %s, %.0f s.", text(r.Build.String()), text(m.CPU), text(m.System), text(m.computed(", ")), text(r.Started), r.Seconds)
	if m.ForeignCPU != nil {
		fmt.Fprintf(&b, " Other programs took %.1f %% of the processors meanwhile.", 100**m.ForeignCPU)
	}
	b.WriteString("</p>\n")
	if !r.Complete {
		fmt.Fprintf(&b, "<p class=\"FAIL\">Not complete: %s.</p>\n", text(r.ended()))
	}
	if len(r.Checklist) > 0 {
		b.WriteString("<h2>The acceptance list</h2>\n<table><tr><th>Workload</th><th>Criterion</th><th>Wanted</th><th>Measured</th><th>Verdict</th></tr>\n")
		for _, k := range r.Checklist {
			class := string(k.Verdict)
			if k.Verdict == criteria.Impossible || k.Verdict == criteria.Undecided {
				class = "other"
			}
			fmt.Fprintf(&b, "<tr><td>%s, %s</td><td>%s</td><td>%s</td><td>%s</td><td><span class=\"%s\">%s</span>: %s</td></tr>\n",
				text(k.Preset), text(k.Set.Name()), text(k.Name), text(k.Wanted), text(k.Measured), class, text(string(k.Verdict)), text(k.Reason))
		}
		b.WriteString("</table>\n")
	}
	b.WriteString("<h2>Claims and measurements</h2>\n")
	document := ""
	for _, c := range r.Claims {
		if c.Document != document {
			if document != "" {
				b.WriteString("</table>\n")
			}
			document = c.Document
			fmt.Fprintf(&b, "<h3>%s</h3>\n<table><tr><th>Line</th><th>What</th><th>Claimed</th><th>Measured</th><th></th></tr>\n", text(document))
		}
		measured := "–"
		if c.Measured != nil {
			measured = c.Measured.in(c.Unit)
		}
		fmt.Fprintf(&b, "<tr><td>%s</td><td>%s</td><td>%s</td><td class=\"n\">%s</td><td class=\"note\">%s</td></tr>\n", c.lines(), text(c.Of), text(c.Text), text(measured), text(c.sentence()))
	}
	b.WriteString("</table>\n<h2>Comparisons</h2>\n")
	var plain strings.Builder
	r.comparisons(&plain)
	fmt.Fprintf(&b, "<pre>%s</pre>\n", html.EscapeString(plain.String()))
	plain.Reset()
	r.model(&plain)
	fmt.Fprintf(&b, "<h2>The model</h2>\n<pre>%s</pre>\n", html.EscapeString(plain.String()))
	if hasInference(r) {
		plain.Reset()
		r.forms(&plain)
		fmt.Fprintf(&b, "<h2>Inference</h2>\n<pre>%s</pre>\n", html.EscapeString(plain.String()))
	}
	if hasAMP(r) {
		plain.Reset()
		r.precision(&plain)
		fmt.Fprintf(&b, "<h2>Mixed precision by image size</h2>\n<pre>%s</pre>\n", html.EscapeString(plain.String()))
	}
	b.WriteString("</body></html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
