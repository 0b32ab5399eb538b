package throughput

import (
	"fmt"
	"io"

	"prismtop/profiles/export"
)

// WriteGo writes the runs in the format of Go's benchmarks: a benchmark for each batch size, a measurement for each
// run, whose operation is an image.
func WriteGo(w io.Writer, r *Report) error {
	g := export.NewGoBenchmarks(r.Machine.CPU,
		"prismtop "+r.Version+", "+hardware(r), "weights: "+r.Model.Weights, "data: "+dataset(r),
		fmt.Sprintf("amp = %s, winograd = %t, microbatch = %d", r.Configuration.AMP, r.Configuration.Winograd,
			r.Configuration.Microbatch))
	for _, t := range r.Trials {
		if t.Purpose != "sweep" || t.Status != Success || t.Images == 0 {
			continue
		}
		more := []string{fmt.Sprintf("%.4g images/s", *t.ImagesPerS)}
		if t.PeakBytes > 0 {
			more = append(more, fmt.Sprintf("%d peak-B", t.PeakBytes))
		}
		g.Add(fmt.Sprintf("Predict/N=%d/gridsize=%d/filters_scale=%d/batch=%d", r.Model.Size, r.Model.GridSize,
			r.Model.FiltersScale, t.BatchSize),
			r.Machine.Threads, t.Images, 1e9*t.ElapsedS/float64(t.Images), more...)
	}
	return g.Write(w)
}
