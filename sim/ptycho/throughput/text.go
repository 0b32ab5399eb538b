package throughput

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"prismtop/profiles/report"
	"prismtop/profiles/unit"
)

// hardware names what it was measured on.
func hardware(r *Report) string {
	m := &r.Machine
	text := fmt.Sprintf("%s, %s", m.CPU, unit.Plural(m.Processors, "processor", "processors"))
	if m.Kernels != "" {
		text += fmt.Sprintf("; %s %s on %s", m.Device, m.Kernels, unit.Plural(m.Threads, "thread", "threads"))
	}
	if m.GPU != nil {
		text += "; "
		if m.GPUs > 1 {
			text += fmt.Sprintf("%d × ", m.GPUs)
		}
		text += *m.GPU
		if m.GPUAbout != "" {
			text += ", " + m.GPUAbout
		}
	} else if m.GPUReason != "" {
		text += "; no GPU: " + m.GPUReason
	}
	return text
}

// dataset names the patterns.
func dataset(r *Report) string {
	return fmt.Sprintf("%s, %s in %s", r.Data.Source, unit.Plural(r.Data.Images, "image", "images"),
		unit.Plural(r.Data.Groups, "group", "groups"))
}

// disturbed says how quiet the machine was.
func disturbed(r *Report) string {
	if f := r.Machine.ForeignCPU; f != nil {
		return fmt.Sprintf("other programs took %.1f %% of the processors meanwhile", 100**f)
	}
	return "the load of other programs is unknown: " + r.Machine.ForeignCPUReason
}

// outputs says whether results were the same.
func outputs(r *Report) string {
	switch o := &r.Outputs; {
	case o.Runs == 0:
		return "no outputs to compare"
	case o.Identical:
		return fmt.Sprintf("the outputs of all %s are identical, bit for bit", unit.Plural(o.Runs, "run", "runs"))
	case o.Largest <= o.Allowed:
		return fmt.Sprintf("the outputs of all %s agree within %.1g of the largest",
			unit.Plural(o.Runs, "run", "runs"), o.Largest)
	default:
		return fmt.Sprintf("THE OUTPUTS DIFFER by %.2g of the largest, allowed is %.0e", o.Largest, o.Allowed)
	}
}

// batches adds the table of batch sizes.
func batches(d *report.Document, r *Report) {
	columns := []string{"Batch Size", "Throughput (img/s)", "p10 to p90", "Memory (MB)", "Latency (ms)", "Efficiency",
		"Scaling", "Status"}
	const beside = 4 // the memory of the process
	if r.Machine.GPU != nil {
		columns = slices.Insert(columns, beside, "GPU (MB)", "GPU peak (MB)")
	}
	t := d.Table(columns...)
	for _, size := range r.Sizes() {
		b := r.Of(size)
		row := []string{fmt.Sprint(size), "–", "–", "–", "–", report.Optional(b.Efficiency, 3, ""),
			report.Optional(b.Scaling, 2, "x"), string(b.Status)}
		if v := b.ImagesPerS; v != nil {
			row[1], row[2] = fmt.Sprintf("%.2f", v.Median), fmt.Sprintf("%.2f to %.2f", v.P10, v.P90)
			row[4] = fmt.Sprintf("%.3f", b.LatencyMS.Median)
		}
		if b.PeakBytes != nil {
			row[3] = fmt.Sprintf("%.1f", float64(*b.PeakBytes)/1e6)
		}
		if b.Reason != "" {
			row[7] += ": " + b.Reason
		}
		if r.Machine.GPU != nil {
			cells := []string{"–", "–"}
			if b.GPUBytes != nil {
				cells = []string{fmt.Sprintf("%.1f", float64(*b.GPUBytes)/1e6),
					fmt.Sprintf("%.1f", float64(*b.GPUPeakBytes)/1e6)}
			}
			row = slices.Insert(row, beside, cells...)
		}
		t.Add(row...)
	}
}

// stages adds the table of the stages at the optimum, and of each by itself.
func stages(d *report.Document, r *Report) {
	if r.Optimum == nil {
		return
	}
	t := d.Table("Stage", "ms a run", "Best batch size", "Document", "")
	at := r.Of(r.Optimum.BatchSize)
	for _, stage := range allStages {
		name := stage.name
		row := []string{name, fmt.Sprintf("%.2f", at.StagesMS[name].Median), "–", "–", ""}
		for _, s := range r.Stages {
			if s.Stage == name && s.Optimum != nil {
				row[2], row[3], row[4] = fmt.Sprint(s.Optimum.BatchSize), fmt.Sprint(s.Document), s.Optimum.Sentence
			} else if s.Stage == name {
				row[3], row[4] = fmt.Sprint(s.Document), s.Reason
			}
		}
		t.Add(row...)
	}
}

// summary adds the facts of the whole sweep.
func summary(d *report.Document, r *Report) {
	var facts []report.Fact
	add := func(name, format string, values ...any) {
		facts = append(facts, report.Fact{Name: name, Text: fmt.Sprintf(format, values...)})
	}
	if o := r.Optimum; o != nil {
		add("Optimum", "%s", o.Sentence)
	}
	if f := r.Memory; f != nil {
		add("Memory", "%.1f MB and %.3f MB a group over batch sizes %d to %d (R² %.4f)", f.FixedBytes/1e6,
			f.BytesEach/1e6, f.Smallest, f.Largest, f.R2)
	} else {
		add("Memory", "%s", r.MemoryReason)
	}
	if e := r.Edge; e != nil {
		add("Edge", "%s", e.Sentence)
	}
	if c := r.Curve; c != nil && c.OverheadMS <= 0 {
		add("Time of a batch", "%.3f ms a group, off by %.0f %% at most; no overhead of a batch is seen: larger "+
			"batches are not faster", c.GroupMS, 100*c.Deviation)
	} else if c != nil {
		add("Time of a batch", "%.2f ms and %.3f ms a group, off by %.0f %% at most; larger batches approach "+
			"%.1f images/s", c.OverheadMS, c.GroupMS, 100*c.Deviation, c.Ceiling)
	}
	energy := cmp.Or(r.Machine.EnergyReason, "counted, see images_per_joule")
	if r.Outputs.Runs == 0 {
		energy = "nothing was measured"
	}
	add("Energy", "%s", energy)
	add("Outputs", "%s", outputs(r))
	add("Disturbance", "%s", disturbed(r))
	for _, a := range r.Alerts {
		add("", "%s", a.Text)
	}
	d.Facts(facts...)
}

// head says first that a sweep was not completed.
func head(d *report.Document, r *Report) {
	if !r.Complete {
		d.Paragraph("%s", report.Strong("Not complete: "+r.Ended))
	}
}

// recommendations adds what is recommended.
func recommendations(d *report.Document, r *Report) {
	var facts []report.Fact
	for _, v := range r.Recommendations {
		facts = append(facts, report.Fact{Name: v.Preset, Text: v.Text + " Evidence: " + v.Evidence + "."})
	}
	d.Facts(facts...)
}

// WriteText writes the report as text.
func WriteText(w io.Writer, r *Report) error {
	var d report.Document
	head(&d, r)
	d.Paragraph("PtychoPINN inference · %s · %d parameters · weights %s", model(r), r.Parameters, r.Model.Weights)
	d.Paragraph("%s", dataset(r))
	d.Paragraph("%s", hardware(r))
	batches(&d, r)
	stages(&d, r)
	summary(&d, r)
	recommendations(&d, r)
	figures(&d, r)
	return d.WriteText(w, 0)
}

// WriteMarkdown writes the report by the document's template.
func WriteMarkdown(w io.Writer, r *Report) error { return document(r, "").WriteMarkdown(w) }

// WriteHTML writes the report as one page, which requests nothing.
func WriteHTML(w io.Writer, r *Report) error {
	var svg strings.Builder
	if err := Analysis(r).WriteSVG(&svg); err != nil {
		return err
	}
	return document(r, svg.String()).WriteHTML(w)
}

// document returns the report by the document's template.
func document(r *Report, graphs string) *report.Document {
	d := &report.Document{Title: "PtychoPINN Inference Throughput Benchmark Report"}
	head(d, r)
	d.Heading(2, "Executive Summary")
	var facts []report.Fact
	add := func(name, format string, values ...any) {
		facts = append(facts, report.Fact{Name: name, Text: fmt.Sprintf(format, values...)})
	}
	if o := r.Optimum; o != nil {
		at := r.Of(o.BatchSize)
		add("Optimal Batch Size", "%d (%s)", o.BatchSize, o.Sentence)
		add("Maximum Throughput", "%.2f images/second, at %d", r.Of(o.Fastest).ImagesPerS.Median, o.Fastest)
		if o.Fastest != o.BatchSize {
			add("Throughput at Optimal", "%.2f images/second", at.ImagesPerS.Median)
		}
		if at.PeakBytes != nil {
			add("Memory at Optimal", "%.1f MB", float64(*at.PeakBytes)/1e6)
		}
		if at.GPUPeakBytes != nil {
			add("GPU Memory at Optimal", "%.1f MB", float64(*at.GPUPeakBytes)/1e6)
		}
		add(fmt.Sprintf("Speedup vs Batch=%d", r.Measured()[0]), "%.2fx", *at.Scaling)
	} else {
		add("", "%s", r.OptimumReason)
	}
	d.Facts(facts...)
	d.Heading(2, "Configuration")
	facts = nil
	add("Model", "%s, %d parameters, weights %s", model(r), r.Parameters, r.Model.Weights)
	add("Dataset", "%s", dataset(r))
	add("Hardware", "%s", hardware(r))
	add("Measured", "%s by prismtop %s in %.0f s, %s of each size, %s", r.Started, r.Version, r.Seconds,
		unit.Plural(r.Configuration.Runs, "run", "runs"), disturbed(r))
	d.Facts(facts...)
	d.Heading(2, "Performance Metrics")
	batches(d, r)
	stages(d, r)
	d.Figure("Throughput, memory, latency, efficiency and scaling over batch sizes", graphs)
	summary(d, r)
	d.Heading(2, "Recommendations")
	recommendations(d, r)
	d.Heading(2, "Bottleneck Analysis")
	facts = nil
	for _, v := range r.Bottlenecks {
		add(v.Name, "%s.", v.Evidence)
	}
	d.Facts(facts...)
	if facts == nil {
		d.Paragraph("None of the document's rules is met.")
	}
	d.Heading(2, "The document's figures")
	figures(d, r)
	return d
}

// figures adds the document's figures beside what was measured.
func figures(d *report.Document, r *Report) {
	t := d.Table("ID", "What", "Claimed", "Measured here", "Verdict")
	for i := range r.Claims {
		c := &r.Claims[i]
		measured := "–"
		if c.Measured != nil {
			measured = c.Measured.In(c.Unit)
		}
		t.Add(c.ID, c.Of, c.Claimed, measured, c.Verdict)
	}
}
