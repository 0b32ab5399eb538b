package bench

import (
	"fmt"
	"io"

	"prismtop/profiles/export"
	"prismtop/profiles/report"
	"prismtop/profiles/unit"
)

// WriteText writes a benchmark's summary as text.
func WriteText(w io.Writer, s *export.Summary) error {
	var d report.Document
	bm := s.Benchmark
	d.Paragraph("%s · %d/%d · %s · %s ×%d · amp %s", bm.Measured, *s.Model.InputSize, *s.Model.OutputSize,
		or(s.Machine.CPU, s.Machine.CPUReason), or(s.Machine.Kernels, ""), *s.Machine.Threads, s.Settings.Text("amp"))
	t := d.Table("ms", "median", "p10", "p90", "min", "share", "n")
	t.Align = "lr"
	row := func(name, share string, v export.Spread, least float64) {
		ms := func(v float64) string { return fmt.Sprintf("%.3f", v) }
		t.Add(name, ms(v.Median), ms(v.P10), ms(v.P90), ms(least), share, fmt.Sprint(v.N))
	}
	for _, p := range s.PhasesMS {
		if v := p.Phase; v != nil {
			row(p.Name, fmt.Sprintf("%.0f %%", 100*v.Share), v.Spread, bm.MinMS[p.Name])
		}
	}
	if v := s.IterationMS; v != nil {
		row("total", "", *v, bm.MinMS["iteration"])
	}
	others := "other programs' share of the processors is unknown: " + bm.ForeignCPUReason
	if bm.ForeignCPU != nil {
		others = fmt.Sprintf("other programs took %.1f %% of the processors", 100**bm.ForeignCPU)
	}
	d.Paragraph("%s; %d disturbed half seconds %s", others, bm.DroppedBatches, map[bool]string{
		true: "left out", false: "kept, because too little was undisturbed"}[bm.Clean || bm.DroppedBatches == 0])
	if peak, reason := s.Memory.Of("rss_peak"); reason == "" {
		d.Paragraph("peak of resident memory %.0f MB", float64(*peak.(*int64))/1e6)
	}
	layers(&d, bm)
	return d.WriteText(w, 0)
}

// layers adds the table of the steps, if requested.
func layers(d *report.Document, bm *export.Benchmark) {
	if bm.Roofs == nil {
		return
	}
	roofs := fmt.Sprintf("roofs: %.0f GFLOP/s", bm.Roofs.GFLOPS)
	for _, l := range bm.Roofs.Levels {
		roofs += fmt.Sprintf(" · %s: %.0f GB/s read, %.0f updated", unit.Limit(l.Bytes), l.Read, l.Update)
	}
	d.Heading(2, roofs)
	t := d.Table("ms", "p10", "p90", "MFLOP", "MB", "GFLOP/s", "GB/s", "compute", "memory", "nearer", "step", "kernel")
	t.Align = "rrrrrrrrrrll"
	for _, l := range bm.Layers {
		ms, one, share := "%.3f", "%.1f", "%.0f %%"
		t.Add(fmt.Sprintf(ms, l.MedianMS), fmt.Sprintf(ms, l.P10MS), fmt.Sprintf(ms, l.P90MS),
			fmt.Sprintf(one, float64(l.FLOPs)/1e6), fmt.Sprintf(one, float64(l.Bytes)/1e6),
			fmt.Sprintf(one, l.GFLOPS), fmt.Sprintf(one, l.GBs), fmt.Sprintf(share, 100*l.ComputeShare),
			fmt.Sprintf(share, 100*l.MemoryShare), l.Bound, l.Name, l.Kernel)
	}
}

func or(v *string, otherwise string) string {
	if v == nil {
		return otherwise
	}
	return *v
}
