package suite

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// number formats a number with about three significant digits, and with an exponent only below 0.0001.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 100 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 0.01:
		return strconv.FormatFloat(v, 'f', min(6, max(0, 2-int(math.Floor(math.Log10(a))))), 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// in formats an interval in a unit: "1.56 [1.52, 1.60] x".
func (i Interval) in(unit string) string {
	text := number(i.Value)
	if i.Low != nil {
		text += fmt.Sprintf(" [%s, %s]", number(*i.Low), number(*i.High))
	}
	return strings.TrimSpace(text + " " + unit)
}

// table writes aligned columns: the cells of a line are separated by tabs.
func table(b *strings.Builder, lines ...string) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(t, line)
	}
	_ = t.Flush() // writes to memory do not fail
}

// heading writes a title with the machine.
func (r *Report) heading(b *strings.Builder, title string) {
	m := &r.Machine
	fmt.Fprintf(b, "%s\n%s\n", title, strings.Repeat("=", len(title)))
	fmt.Fprintf(b, "prismtop %s · %s · %s · %s%s\n", r.Build.String(), r.Started, visible.Text(m.CPU), m.System, m.computed(" · "))
	switch {
	case m.ForeignCPU != nil:
		fmt.Fprintf(b, "other programs took %.1f %% of the processors meanwhile", 100**m.ForeignCPU)
		if *m.ForeignCPU > busy {
			b.WriteString(": the machine was busy, and times and speed-ups are not this program's alone")
		}
		b.WriteByte('\n')
	case m.ForeignCPUReason == nothingMeasured:
		fmt.Fprintln(b, nothingMeasured)
	default:
		fmt.Fprintf(b, "other programs' share of the processors is unknown: %s\n", m.ForeignCPUReason)
	}
	if len(r.Changed) > 0 {
		fmt.Fprintf(b, "with %s: not the documents' workloads\n", visible.Text(strings.Join(r.Changed, ", ")))
	}
	if !r.Complete {
		fmt.Fprintf(b, "NOT COMPLETE: %s; what was measured is here\n", visible.Text(r.ended()))
	}
	b.WriteByte('\n')
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
	return fmt.Sprintf("%s%s%s%s ×%d", mark, m.Device, mark, m.Kernels, m.Threads)
}

// WriteResult writes a run as PRISM's baseline and optimised reports list one.
func (r *Report) WriteResult(w io.Writer, title string, v *Result) error {
	var b strings.Builder
	r.heading(&b, title)
	v.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (v *Result) write(b *strings.Builder) {
	lines := []string{
		fmt.Sprintf("workload\tpreset %s, %s, %s", v.Preset, unit.Plural(v.Samples, "sample", "samples"), unit.Plural(int(v.Iterations), "iteration", "iterations")),
		fmt.Sprintf("optimisations\t%s, %s", v.Set.Name(), v.Side),
		fmt.Sprintf("total time\t%.3f s", v.Seconds),
		fmt.Sprintf("average time per sample\t%.2f ms", v.SampleMS),
		fmt.Sprintf("throughput\t%.2f samples/s", v.SamplesPerS),
		fmt.Sprintf("average time per iteration\t%.2f ms", v.IterationMS),
		fmt.Sprintf("memory of the run\t%.1f MB", float64(v.MemoryBytes)/1e6),
	}
	if v.PeakRSS != nil {
		lines = append(lines, fmt.Sprintf("peak of resident memory\t%.1f MB", float64(*v.PeakRSS)/1e6))
	} else {
		lines = append(lines, "peak of resident memory\t– ("+v.RSSReason+")")
	}
	for _, name := range sortedKeys(v.Caches) {
		lines = append(lines, name+" cache\t"+v.Caches[name].text())
	}
	lines = append(lines, "PSNR\t"+optional(v.PSNR, 2, " dB"), "SSIM\t"+optional(v.SSIM, 4, ""), "MSE\t"+optional(v.MSE, 5, ""), "correlation\t"+optional(v.Correlation, 4, ""))
	table(b, lines...)
}

func (c Cache) text() string {
	switch {
	case !c.Enabled:
		return "off"
	case c.HitRate == nil:
		return "on, not asked"
	}
	text := fmt.Sprintf("%.1f %% hits, %d of %d, %s", 100**c.HitRate, c.Hits, c.Hits+c.Misses, unit.Plural(int(c.Entries), "entry", "entries"))
	if c.Cleared {
		text += "; cleared after every measurement"
	}
	return text
}

func optional(v *float64, decimals int, unit string) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.*f%s", decimals, *v, unit)
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// WriteModel writes the table of PRISM's baseline-v0.2.0.md.
func (r *Report) WriteModel(w io.Writer) error {
	var b strings.Builder
	r.heading(&b, "Performance baseline")
	r.model(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) model(b *strings.Builder) {
	m := r.Model
	if m == nil {
		b.WriteString("The model was not measured.\n")
		return
	}
	lines := []string{"\tmedian\tp10\tp90\tn"}
	row := func(name string, s Spread, factor float64, unit string) {
		lines = append(lines, fmt.Sprintf("%s\t%s %s\t%s\t%s\t%d", name, number(s.Median*factor), unit, number(s.P10*factor), number(s.P90*factor), s.N))
	}
	row("model creation", m.CreateSeconds, 1, "s")
	row("forward pass", m.ForwardMS, 1, "ms")
	row("training iteration", m.IterationMS, 1, "ms")
	table(b, lines...)
	fmt.Fprintln(b)
	e := m.Experiment
	table(b,
		fmt.Sprintf("parameters\t%d", m.Parameters),
		fmt.Sprintf("memory after creation\t%.2f MB: weights, activations, work space", float64(m.CreateMemory)/1e6),
		"peak while it is made\t"+m.peakText(),
		fmt.Sprintf("forward passes a second\t%.1f", m.ForwardFPS),
		fmt.Sprintf("iterations a second\t%.1f", m.IterationsPerS),
		fmt.Sprintf("experiment of 10 samples\t%.3f s, %.2f ms a sample", e.Seconds, e.SampleMS),
		fmt.Sprintf("its result\tPSNR %s, SSIM %s, MSE %s, correlation %s", optional(e.PSNR, 2, " dB"), optional(e.SSIM, 4, ""), optional(e.MSE, 5, ""), optional(e.Correlation, 4, "")),
		fmt.Sprintf("memory of the experiment\t%.1f MB", float64(e.MemoryBytes)/1e6))
	fmt.Fprintln(b, "\nphases of an iteration, medians:")
	names := sortedKeys(m.PhasesMS)
	slices.SortStableFunc(names, func(x, y string) int { return int(math.Copysign(1, m.PhasesMS[y]-m.PhasesMS[x])) })
	lines = nil
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("  %s\t%.3f ms\t%.0f %%", name, m.PhasesMS[name], 100*m.PhaseShares[name]))
	}
	table(b, lines...)
	fmt.Fprintln(b, m.insight(names))
}

// peakText is by how much resident memory grew at its peak.
func (m *Model) peakText() string {
	if m.CreatePeak == nil {
		return "– (" + m.NoPeak + ")"
	}
	return fmt.Sprintf("%.2f MB of resident memory more, with the optimizer's moments", float64(*m.CreatePeak)/1e6)
}

// insight says where most of the time goes, and whether that stands out: phases, longest first.
func (m *Model) insight(phases []string) string {
	if len(phases) < 2 || m.PhasesMS[phases[1]] <= 0 {
		return ""
	}
	first, times := phases[0], m.PhasesMS[phases[0]]/m.PhasesMS[phases[1]]
	if times < stands {
		return fmt.Sprintf("no phase stands out: %s takes %.0f %%, %s %.0f %%", first, 100*m.PhaseShares[first], phases[1], 100*m.PhaseShares[phases[1]])
	}
	return fmt.Sprintf("the bottleneck is %s: %.0f %% of an iteration, %.1fx %s", first, 100*m.PhaseShares[first], times, phases[1])
}

// stands is how many times the next phase's time a phase takes that stands out.
const stands = 1.25

// WriteMeasurement writes one measurement, computed and from the cache.
func (r *Report) WriteMeasurement(w io.Writer) error {
	var b strings.Builder
	r.heading(&b, "One measurement")
	r.measurement(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) measurement(b *strings.Builder) {
	m := r.Measurement
	if m == nil {
		return
	}
	fmt.Fprintf(b, "one measurement: %s ms computed, %s ms from the cache, %s\n", number(m.ComputedMS.Median), number(m.CachedMS.Median), m.Speedup.text("x", 2))
	fmt.Fprintf(b, "  computed with this program's own savings: %s ms, %s\n\n", number(m.PrunedMS.Median), m.PrunedRatio.text("x", 2))
}

// WriteComparison writes the comparisons, what single optimisations do, and the acceptance list.
func (r *Report) WriteComparison(w io.Writer) error {
	var b strings.Builder
	r.heading(&b, "Comparison report")
	r.comparison(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// comparison writes the comparisons and the acceptance list.
func (r *Report) comparison(b *strings.Builder) {
	r.comparisons(b)
	r.checklist(b)
}

func (r *Report) comparisons(b *strings.Builder) {
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		fmt.Fprintf(b, "%s, %s: %s by turns\n", c.Preset, c.Set.Name(), unit.Plural(c.Rounds, "round", "rounds"))
		base, optimized := typical(c.Results[0]), typical(c.Results[1])
		table(b, "\tbaseline\toptimised",
			fmt.Sprintf("  total time, median\t%.3f s\t%.3f s", c.Baseline.Median, c.Optimized.Median),
			fmt.Sprintf("  least and most\t%.3f to %.3f s\t%.3f to %.3f s", c.Baseline.Min, c.Baseline.Max, c.Optimized.Min, c.Optimized.Max),
			fmt.Sprintf("  time per sample\t%.2f ms\t%.2f ms", base.SampleMS, optimized.SampleMS),
			fmt.Sprintf("  throughput\t%.1f samples/s\t%.1f samples/s", base.SamplesPerS, optimized.SamplesPerS),
			fmt.Sprintf("  memory of the run\t%.1f MB\t%.1f MB", float64(base.MemoryBytes)/1e6, float64(optimized.MemoryBytes)/1e6),
			fmt.Sprintf("  measurement cache\t%s\t%s", base.Caches["measurement"].text(), optimized.Caches["measurement"].text()),
			fmt.Sprintf("  FFT plans\t%s\t%s", base.Caches["fft_plans"].text(), optimized.Caches["fft_plans"].text()),
			fmt.Sprintf("  masks\t%s\t%s", base.Caches["masks"].text(), optimized.Caches["masks"].text()),
			fmt.Sprintf("  PSNR, median\t%s\t%s", optional(medianOf(c.Results[0], psnrOf), 2, " dB"), optional(medianOf(c.Results[1], psnrOf), 2, " dB")),
			fmt.Sprintf("  MSE, median\t%s\t%s", optional(medianOf(c.Results[0], mseOf), 5, ""), optional(medianOf(c.Results[1], mseOf), 5, "")),
			fmt.Sprintf("  correlation, median\t%s\t%s", optional(medianOf(c.Results[0], correlationOf), 4, ""), optional(medianOf(c.Results[1], correlationOf), 4, "")))
		if c.PSNR != nil {
			fmt.Fprintf(b, "  PSNR, optimised less baseline from the same seed: %s\n", c.PSNR.text(" dB", 2))
		}
		fmt.Fprintf(b, "  speed-up %s; %s\n\n", c.Speedup.text("x", 2), c.gain())
	}
	r.measurement(b)
	if len(r.Effects) > 0 {
		lines := []string{"one optimisation\toff ms\ton ms\tspeed-up\tmemory\t"}
		for _, e := range r.Effects {
			lines = append(lines, fmt.Sprintf("%s %s\t%.3f\t%.3f\t%s\t%+.2f MB\t%s", e.Setting, e.On, e.OffMS, e.OnMS, e.Speedup.text("x", 3), float64(e.MemoryBytes)/1e6, e.Note))
		}
		table(b, lines...)
		fmt.Fprintf(b, "  off against on within an iteration of %s, in balanced blocks\n\n", r.Effects[0].Preset)
	}
}

// gain says what the speed-up saves of the baseline's time, or adds to it, and whether its interval decides that: "time saved
// 37.5 % [33.1, 41.0], 60 % faster".
func (c *Comparison) gain() string {
	time, word, more, change := c.Percent, "saved", "faster", c.Speedup.Value-1
	decided := stats.Zero(0).Judge(time.centre().Low, time.centre().High).Excluded()
	if time.Value < 0 {
		time, word, more, change = time.negated(), "added", "slower", -change
	}
	text := fmt.Sprintf("time %s %s, %.0f %% %s", word, time.text(" %", 1), 100*change, more)
	if !decided {
		text += "; undecided"
	}
	return text
}

func psnrOf(r *Result) *float64        { return r.PSNR }
func mseOf(r *Result) *float64         { return r.MSE }
func correlationOf(r *Result) *float64 { return r.Correlation }

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
	slices.Sort(all)
	median := stats.Quantile(all, 0.5)
	return &median
}

// checklist writes the acceptance list.
func (r *Report) checklist(b *strings.Builder) {
	if len(r.Checklist) == 0 {
		return
	}
	fmt.Fprintln(b, "The acceptance list of PRISM's "+docSummary)
	heading := ""
	for _, k := range r.Checklist {
		if h := k.Preset + ", " + k.Set.Name(); h != heading {
			heading = h
			fmt.Fprintf(b, "  %s\n", h)
		}
		fmt.Fprintf(b, "    %-22s %-24s %s\n      %s: %s\n", k.Name, k.Wanted, k.Measured, k.Verdict, k.Reason)
	}
}

// WriteClaims writes every claim beside what was measured, as text.
func (r *Report) WriteClaims(w io.Writer) error {
	var b strings.Builder
	r.heading(&b, "Claims of PRISM's documents and measurements")
	document := ""
	for _, c := range r.Claims {
		if c.Document != document {
			document = c.Document
			fmt.Fprintf(&b, "%s\n", document)
		}
		measured := "–"
		if c.Measured != nil {
			measured = c.Measured.in(c.Unit)
		}
		fmt.Fprintf(&b, "  %4s  %s: claimed %s; measured %s\n", c.lines(), c.Of, c.Text, measured)
		fmt.Fprintf(&b, "        %s\n", c.sentence())
	}
	_, err := io.WriteString(w, b.String())
	return err
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

// WriteMarkdown writes the claims and the acceptance list as Markdown.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	m := &r.Machine
	fmt.Fprintf(&b, "prismtop %s on %s (%s%s), %s, in %.0f s.", r.Build.String(), visible.Text(m.CPU), m.System, m.computed(", "), r.Started[:10], r.Seconds)
	if m.ForeignCPU != nil {
		fmt.Fprintf(&b, " Other programs took %.1f %% of the processors meanwhile.", 100**m.ForeignCPU)
		if *m.ForeignCPU > busy {
			b.WriteString(" **The machine was busy: times and speed-ups are not this program's alone.**")
		}
	}
	if len(r.Changed) > 0 {
		fmt.Fprintf(&b, " **With %s: not the documents' workloads.**", visible.Text(strings.Join(r.Changed, ", ")))
	}
	if !r.Complete {
		fmt.Fprintf(&b, " **Not complete: %s.**", visible.Text(r.ended()))
	}
	document := ""
	for _, c := range r.Claims {
		if c.Document != document {
			document = c.Document
			fmt.Fprintf(&b, "\n\n### %s\n\n| Line | What | Claimed | Measured here | |\n|---|---|---|---|---|", document)
		}
		measured := "–"
		if c.Measured != nil {
			measured = c.Measured.in(c.Unit)
		}
		fmt.Fprintf(&b, "\n| %s | %s | %s | %s | %s |", c.lines(), c.Of, c.Text, measured, c.sentence())
	}
	b.WriteString("\n")
	if len(r.Checklist) > 0 {
		b.WriteString("\n### The acceptance list\n\n| Workload | Criterion | Wanted | Measured | Verdict |\n|---|---|---|---|---|\n")
		for _, k := range r.Checklist {
			fmt.Fprintf(&b, "| %s, %s | %s | %s | %s | **%s**: %s |\n", k.Preset, k.Set.Name(), k.Name, k.Wanted, k.Measured, k.Verdict, k.Reason)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
