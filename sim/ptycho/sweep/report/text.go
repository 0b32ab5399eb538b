package report

import (
	"fmt"
	"html"
	"io"
	"strings"
	"text/tabwriter"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/ptycho/sweep"
)

// hardware names what it was measured on.
func hardware(r *sweep.Report) string {
	m := &r.Machine
	text := fmt.Sprintf("%s, %s", m.CPU, unit.Plural(m.Processors, "processor", "processors"))
	if m.Kernels != "" {
		text += fmt.Sprintf("; %s %s on %s", m.Device, m.Kernels, unit.Plural(m.Threads, "thread", "threads"))
	}
	if m.GPU == nil && m.GPUReason != "" {
		text += "; no GPU: " + m.GPUReason
	}
	return text
}

// dataset names the patterns.
func dataset(r *sweep.Report) string {
	return fmt.Sprintf("%s, %s in %s", r.Data.Source, unit.Plural(r.Data.Images, "image", "images"), unit.Plural(r.Data.Groups, "group", "groups"))
}

// disturbed says how quiet the machine was.
func disturbed(r *sweep.Report) string {
	if f := r.Machine.ForeignCPU; f != nil {
		return fmt.Sprintf("other programs took %.1f %% of the processors meanwhile", 100**f)
	}
	return "the load of other programs is unknown: " + r.Machine.ForeignCPUReason
}

// outputs says whether results were the same.
func outputs(r *sweep.Report) string {
	switch o := &r.Outputs; {
	case o.Runs == 0:
		return "no outputs to compare"
	case o.Identical:
		return fmt.Sprintf("the outputs of all %s are identical, bit for bit", unit.Plural(o.Runs, "run", "runs"))
	case o.Largest <= o.Allowed:
		return fmt.Sprintf("the outputs of all %s agree within %.1g of the largest", unit.Plural(o.Runs, "run", "runs"), o.Largest)
	default:
		return fmt.Sprintf("THE OUTPUTS DIFFER by %.2g of the largest, allowed is %.0e", o.Largest, o.Allowed)
	}
}

// rows returns the table of batch sizes.
func rows(r *sweep.Report) (head []string, all [][]string) {
	head = []string{"Batch Size", "Throughput (img/s)", "p10 to p90", "Memory (MB)", "Latency (ms)", "Efficiency", "Scaling", "Status"}
	for _, size := range r.Sizes() {
		b := r.Of(size)
		row := []string{fmt.Sprint(size), "–", "–", "–", "–", "–", "–", string(b.Status)}
		if v := b.ImagesPerS; v != nil {
			row[1], row[2] = fmt.Sprintf("%.2f", v.Median), fmt.Sprintf("%.2f to %.2f", v.P10, v.P90)
			row[4] = fmt.Sprintf("%.3f", b.LatencyMS.Median)
		}
		if b.Scaling != nil {
			row[6] = fmt.Sprintf("%.2fx", *b.Scaling)
		}
		if b.PeakBytes != nil {
			row[3] = fmt.Sprintf("%.1f", float64(*b.PeakBytes)/1e6)
		}
		if b.Efficiency != nil {
			row[5] = fmt.Sprintf("%.3f", *b.Efficiency)
		}
		if b.Reason != "" {
			row[7] += ": " + b.Reason
		}
		all = append(all, row)
	}
	return head, all
}

// stageRows returns the table of the stages at the optimum, and of each by itself.
func stageRows(r *sweep.Report) (head []string, all [][]string) {
	head = []string{"Stage", "ms a run", "Best batch size", "Document", ""}
	if r.Optimum == nil {
		return head, nil
	}
	at := r.Of(r.Optimum.BatchSize)
	for _, name := range sweep.StageNames() {
		row := []string{name, fmt.Sprintf("%.2f", at.StagesMS[name].Median), "–", "–", ""}
		for _, s := range r.Stages {
			if s.Stage == name && s.Optimum != nil {
				row[2], row[3], row[4] = fmt.Sprint(s.Optimum.BatchSize), fmt.Sprint(s.Document), s.Optimum.Sentence
			} else if s.Stage == name {
				row[3], row[4] = fmt.Sprint(s.Document), s.Reason
			}
		}
		all = append(all, row)
	}
	return head, all
}

// summary returns the facts of the whole sweep, one a line.
func summary(r *sweep.Report) (lines []string) {
	if !r.Complete {
		lines = append(lines, "Not complete: "+r.Ended)
	}
	if o := r.Optimum; o != nil {
		lines = append(lines, "Optimum: "+o.Sentence)
	}
	if f := r.Memory; f != nil {
		lines = append(lines, fmt.Sprintf("Memory: %.1f MB and %.3f MB a group over batch sizes %d to %d (R² %.4f)", f.FixedBytes/1e6, f.BytesPerGroup/1e6, f.Smallest, f.Largest, f.R2))
	} else {
		lines = append(lines, "Memory: "+r.MemoryReason)
	}
	if e := r.Edge; e != nil {
		lines = append(lines, "Edge: "+e.Sentence)
	}
	if c := r.Curve; c != nil && c.OverheadMS <= 0 {
		lines = append(lines, fmt.Sprintf("Time of a batch: %.3f ms a group, off by %.0f %% at most; no overhead of a batch is seen: larger batches are not faster", c.GroupMS, 100*c.Deviation))
	} else if c != nil {
		lines = append(lines, fmt.Sprintf("Time of a batch: %.2f ms and %.3f ms a group, off by %.0f %% at most; larger batches approach %.1f images/s", c.OverheadMS, c.GroupMS, 100*c.Deviation, c.Ceiling))
	}
	energy := r.Machine.EnergyReason
	if r.Outputs.Runs == 0 {
		energy = "nothing was measured"
	} else if energy == "" {
		energy = "counted, see images_per_joule"
	}
	lines = append(lines, "Energy: "+energy, "Outputs: "+outputs(r), "Disturbance: "+disturbed(r))
	for _, a := range r.Alerts {
		lines = append(lines, a.Text)
	}
	return lines
}

// measured formats what was measured of a claim.
func measured(c *sweep.Claim) string {
	if c.Measured == nil {
		return "–"
	}
	text := fmt.Sprintf("%.3g", c.Measured.Value)
	if c.Measured.Low != nil {
		text += fmt.Sprintf(" [%.3g, %.3g]", *c.Measured.Low, *c.Measured.High)
	}
	return strings.TrimSpace(text + " " + c.Unit)
}

// WriteText writes the report as text.
func WriteText(w io.Writer, r *sweep.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "PtychoPINN inference · %s · %d parameters · weights %s\n%s\n%s\n\n", model(r), r.Parameters, r.Model.Weights, dataset(r), hardware(r))
	table := func(head []string, rows [][]string) {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{head}, rows...) {
			fmt.Fprintln(t, strings.Join(row, "\t"))
		}
		_ = t.Flush() // writes to memory do not fail
		fmt.Fprintln(&b)
	}
	table(rows(r))
	if head, all := stageRows(r); all != nil {
		table(head, all)
	}
	for _, line := range summary(r) {
		fmt.Fprintln(&b, line)
	}
	if len(r.Recommendations) > 0 {
		fmt.Fprintln(&b)
	}
	for _, v := range r.Recommendations {
		fmt.Fprintf(&b, "%s: %s\n    %s\n", v.Preset, v.Text, v.Evidence)
	}
	_, err := io.WriteString(w, visibleLines(b.String()))
	return err
}

// visibleLines writes out what of each line could not be seen.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = visible.Text(l)
	}
	return strings.Join(lines, "\n")
}

// WriteMarkdown writes the report by the document's template.
func WriteMarkdown(w io.Writer, r *sweep.Report) error {
	var b strings.Builder
	put := func(format string, values ...any) { fmt.Fprintf(&b, format, values...) }
	put("# PtychoPINN Inference Throughput Benchmark Report\n\n")
	if !r.Complete {
		put("**Not complete: %s.**\n\n", cell(r.Ended))
	}
	put("## Executive Summary\n")
	if o := r.Optimum; o != nil {
		at := r.Of(o.BatchSize)
		put("- **Optimal Batch Size**: %d (%s)\n- **Maximum Throughput**: %.2f images/second, at %d\n", o.BatchSize, o.Sentence, r.Of(o.Fastest).ImagesPerS.Median, o.Fastest)
		if o.Fastest != o.BatchSize {
			put("- **Throughput at Optimal**: %.2f images/second\n", at.ImagesPerS.Median)
		}
		if at.PeakBytes != nil {
			put("- **Memory at Optimal**: %.1f MB\n", float64(*at.PeakBytes)/1e6)
		}
		smallest := r.Measured()[0]
		put("- **Speedup vs Batch=%d**: %.2fx\n", smallest, *at.Scaling)
	} else {
		put("- %s\n", r.OptimumReason)
	}
	put("\n## Configuration\n- Model: %s, %d parameters, weights %s\n- Dataset: %s\n- Hardware: %s\n", model(r), r.Parameters, cell(r.Model.Weights), cell(dataset(r)), cell(hardware(r)))
	put("- Measured: %s by prismtop %s, %s of each size, %s\n", r.Started, r.Version, unit.Plural(r.Configuration.Runs, "run", "runs"), cell(disturbed(r)))
	put("\n## Performance Metrics\n")
	table := func(head []string, rows [][]string) {
		put("\n| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
		for _, row := range rows {
			for i := range row {
				row[i] = cell(row[i])
			}
			put("| %s |\n", strings.Join(row, " | "))
		}
	}
	table(rows(r))
	if head, all := stageRows(r); all != nil {
		table(head, all)
	}
	put("\n")
	for _, line := range summary(r) {
		put("- %s\n", cell(line))
	}
	put("\n## Recommendations\n\n")
	for _, v := range r.Recommendations {
		put("- **%s**: %s Evidence: %s.\n", v.Preset, v.Text, cell(v.Evidence))
	}
	put("\n## Bottleneck Analysis\n\n")
	for _, v := range r.Bottlenecks {
		put("- `%s`: %s.\n", v.Name, cell(v.Evidence))
	}
	if len(r.Bottlenecks) == 0 {
		put("None of the document's rules is met.\n")
	}
	put("\n## The document's figures\n")
	head, all := claimRows(r)
	table(head, all)
	_, err := io.WriteString(w, b.String())
	return err
}

func claimRows(r *sweep.Report) (head []string, all [][]string) {
	for i := range r.Claims {
		c := &r.Claims[i]
		all = append(all, []string{c.ID, c.Of, c.Claimed, measured(c), c.Verdict})
	}
	return []string{"ID", "What", "Claimed", "Measured here", "Verdict"}, all
}

// cell returns a text on one line that does not end a cell of Markdown's tables.
func cell(s string) string { return strings.ReplaceAll(visible.Text(s), "|", "\\|") }

// style is that of the HTML page, in light and dark.
const style = `body{font:15px/1.45 system-ui,sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#1b1f24;background:#fff}
table{border-collapse:collapse;margin:1em 0;width:100%}th,td{text-align:left;vertical-align:top;padding:.3em .6em;border-bottom:1px solid #d0d7de}
th{background:#f6f8fa}.note{color:#57606a}.bad{color:#b3261e;font-weight:600}figure{margin:1em 0;background:#fff;overflow:auto}svg{max-width:100%;height:auto}
@media (prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}th{background:#161b22}th,td{border-color:#30363d}.note{color:#8b949e}.bad{color:#ff7b72}}`

// WriteHTML writes the report as one page, which requests nothing.
func WriteHTML(w io.Writer, r *sweep.Report) error {
	var b strings.Builder
	text := func(s string) string { return html.EscapeString(visible.Text(s)) }
	const title = "PtychoPINN Inference Throughput Benchmark Report"
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"+
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>%s</title><style>%s</style></head><body>\n<h1>%[1]s</h1>\n", title, style)
	fmt.Fprintf(&b, "<p>%s, %d parameters, weights %s.<br>%s.<br>%s.<br><span class=\"note\">%s by prismtop %s, %.0f s.</span></p>\n", text(model(r)), r.Parameters, text(r.Model.Weights), text(dataset(r)), text(hardware(r)), text(r.Started), text(r.Version), r.Seconds)
	if !r.Complete {
		fmt.Fprintf(&b, "<p class=\"bad\">Not complete: %s.</p>\n", text(r.Ended))
	}
	b.WriteString("<ul>\n")
	for _, line := range summary(r) {
		fmt.Fprintf(&b, "<li>%s</li>\n", text(line))
	}
	b.WriteString("</ul>\n<figure>\n")
	if err := Analysis(r).WriteSVG(&b); err != nil {
		return err
	}
	b.WriteString("</figure>\n")
	table := func(title string, head []string, rows [][]string) {
		fmt.Fprintf(&b, "<h2>%s</h2>\n<table><tr>", text(title))
		for _, h := range head {
			fmt.Fprintf(&b, "<th>%s</th>", text(h))
		}
		b.WriteString("</tr>\n")
		for _, row := range rows {
			b.WriteString("<tr>")
			for _, c := range row {
				fmt.Fprintf(&b, "<td>%s</td>", text(c))
			}
			b.WriteString("</tr>\n")
		}
		b.WriteString("</table>\n")
	}
	head, all := rows(r)
	table("Batch sizes", head, all)
	if head, all := stageRows(r); all != nil {
		table("Stages", head, all)
	}
	all = nil
	for _, v := range r.Recommendations {
		all = append(all, []string{v.Preset, v.Text, v.Evidence})
	}
	table("Recommendations", []string{"Preset", "", "Evidence"}, all)
	all = nil
	for _, v := range r.Bottlenecks {
		all = append(all, []string{v.Name, v.Evidence})
	}
	table("Bottleneck analysis", []string{"Rule", "Evidence"}, all)
	head, all = claimRows(r)
	table("The document's figures", head, all)
	b.WriteString("</body></html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
