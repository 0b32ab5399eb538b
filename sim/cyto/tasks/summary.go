package tasks

import (
	"fmt"
	"io"
	"strings"

	"prismtop/profiles/visible"
)

// Summary writes the lines of all tasks: one for each, and below a failed one what went wrong.
func Summary(w io.Writer, results []Result) error {
	for i := range results {
		r := &results[i]
		mark := "✓"
		if !r.Success {
			mark = "✗"
		}
		line := fmt.Sprintf("%s %-30s %-30s", mark, visible.Text(r.Branch), visible.Text(r.Experiment))
		if parts := r.parts(); len(parts) > 0 {
			line += " " + strings.Join(parts, "  ")
		}
		lines := []string{strings.TrimRight(line, " ")}
		if r.Error != nil {
			lines = append(lines, "  error: "+visible.Text(*r.Error))
		}
		if r.Warning != "" {
			lines = append(lines, "  warning: "+visible.Text(r.Warning))
		}
		if _, err := fmt.Fprintln(w, strings.Join(lines, "\n")); err != nil {
			return err
		}
	}
	return nil
}

// parts are the numbers of a line, those that were measured.
func (r *Result) parts() (parts []string) {
	add := func(name, format string, t *Timer) {
		if t != nil {
			parts = append(parts, name+" "+fmt.Sprintf(format, t.ElapsedSeconds)+" s")
		}
	}
	switch m := r.Metrics; {
	case m.Training != nil:
		add("total", "%.2f", m.Training.TotalTraining)
		if b := m.Training.EpochBreakdown; b != nil {
			add("first epoch", "%.2f", b.FirstEpoch)
		}
		parts = append(parts, peak(m.Training.TotalTraining)...)
	case m.Inference != nil:
		add("total", "%.2f", m.Inference.TotalInference)
		if b := m.Inference.BatchBreakdown; b != nil {
			add("first forward", "%.4f", b.FirstBatchForward)
		}
		if i := m.Inference.InferenceInfo; i != nil && i.Throughput != nil {
			parts = append(parts, fmt.Sprintf("%.2f samples/s", *i.Throughput))
		}
		parts = append(parts, peak(m.Inference.TotalInference)...)
	}
	return parts
}

// peak is the largest use of memory, of the device if it is known, otherwise of the process.
func peak(t *Timer) []string {
	switch {
	case t == nil:
		return nil
	case t.PeakMemoryMB != nil:
		return []string{fmt.Sprintf("peak %.1f MB", *t.PeakMemoryMB)}
	case t.HostPeakMB != nil:
		return []string{fmt.Sprintf("host peak %.1f MB", *t.HostPeakMB)}
	}
	return []string{"peak unknown"}
}
