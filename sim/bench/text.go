package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"prismtop/profiles/export"
	"prismtop/profiles/unit"
)

// WriteText writes a benchmark's summary as text.
func WriteText(w io.Writer, s *export.Summary) error {
	var b strings.Builder
	bm := s.Benchmark
	fmt.Fprintf(&b, "%s · %d/%d · %s · %s ×%d · amp %s\n", bm.Measured, s.Model.InputSize, s.Model.OutputSize,
		or(s.Machine.CPU, s.Machine.CPUReason), or(s.Machine.Kernels, ""), *s.Machine.Threads, s.Settings.Text("amp"))
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "ms\tmedian\tp10\tp90\tmin\tshare\tn\t")
	for _, p := range s.PhasesMS {
		if v := p.Phase; v != nil {
			fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.0f %%\t%d\t\n",
				p.Name, v.Median, v.P10, v.P90, bm.MinMS[p.Name], 100*v.Share, v.N)
		}
	}
	if v := s.IterationMS; v != nil {
		fmt.Fprintf(t, "total\t%.3f\t%.3f\t%.3f\t%.3f\t\t%d\t\n", v.Median, v.P10, v.P90, bm.MinMS["iteration"], v.N)
	}
	_ = t.Flush() // writes to memory do not fail
	if bm.ForeignCPU != nil {
		fmt.Fprintf(&b, "other programs took %.1f %% of the processors", 100**bm.ForeignCPU)
	} else {
		fmt.Fprintf(&b, "other programs' share of the processors is unknown: %s", bm.ForeignCPUReason)
	}
	fmt.Fprintf(&b, "; %d disturbed half seconds %s\n", bm.DroppedBatches, map[bool]string{
		true: "left out", false: "kept, because too little was undisturbed"}[bm.Clean || bm.DroppedBatches == 0])
	if peak, reason := s.Memory.Of("rss_peak"); reason == "" {
		fmt.Fprintf(&b, "peak of resident memory %.0f MB\n", float64(*peak.(*int64))/1e6)
	}
	writeLayers(&b, bm)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeLayers writes the table of the steps, if requested.
func writeLayers(b *strings.Builder, bm *export.Benchmark) {
	if bm.Roofs == nil {
		return
	}
	fmt.Fprintf(b, "\nroofs: %.0f GFLOP/s", bm.Roofs.GFLOPS)
	for _, l := range bm.Roofs.Levels {
		fmt.Fprintf(b, " · %s: %.0f GB/s read, %.0f updated", unit.Limit(l.Bytes), l.Read, l.Update)
	}
	fmt.Fprintln(b)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "ms\tp10\tp90\tMFLOP\tMB\tGFLOP/s\tGB/s\tcompute\tmemory\tnearer\t step")
	for _, l := range bm.Layers {
		fmt.Fprintf(t, "%.3f\t%.3f\t%.3f\t%.1f\t%.1f\t%.1f\t%.1f\t%.0f %%\t%.0f %%\t%s\t %s\n",
			l.MedianMS, l.P10MS, l.P90MS, float64(l.FLOPs)/1e6, float64(l.Bytes)/1e6,
			l.GFLOPS, l.GBs, 100*l.ComputeShare, 100*l.MemoryShare, l.Bound, l.Name)
	}
	_ = t.Flush() // writes to memory do not fail
}

func or(v *string, otherwise string) string {
	if v == nil {
		return otherwise
	}
	return *v
}
