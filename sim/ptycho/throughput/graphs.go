package throughput

import (
	"fmt"
	"math"

	"prismtop/profiles/export/figure"
	"prismtop/profiles/unit"
	"prismtop/sim/ptycho"
)

// graphNames are the names of the six graphs, in the document's order.
var graphNames = []string{"throughput", "memory", "latency", "efficiency", "scaling", "optimal_region"}

// Analysis draws the six graphs of the document on a sheet of 15 by 10 inches at 150 dpi.
func Analysis(r *Report) *figure.Drawing {
	return figure.Sheet("PtychoPINN inference over batch sizes: "+model(r), about(r), 1125, 750, 3, graphs(r))
}

// graphs returns the six graphs.
func graphs(r *Report) []figure.Graph {
	const axis = "Batch size"
	all := []figure.Graph{
		{ID: "throughput", Title: "Throughput", X: axis, Y: "images/s", Note: "median of runs, p10 to p90; dashed: fitted"},
		{ID: "memory", Title: "Memory", X: axis, Y: "MB of the process", Note: "peak, median of trials; dashed: fitted line"},
		{ID: "latency", Title: "Latency distribution", X: axis, Y: "ms an image", Note: "quartiles over batches, whiskers p10 to p90"},
		{ID: "efficiency", Title: "Efficiency", X: axis, Y: "images/s and MB", Note: "over peak memory; 1 MB is 10⁶ bytes"},
		{ID: "scaling", Title: "Scaling", X: axis, Y: "throughput over that of the smallest size", Note: "1 is the smallest batch size"},
		{ID: "optimal_region", Title: "Optimal Operating Region", X: axis, Y: "images/s", Note: "nothing was measured"},
	}
	rate, memory, latency, efficiency, scaling, region := &all[0], &all[1], &all[2], &all[3], &all[4], &all[5]
	for _, size := range r.Sizes() {
		b, x := r.Of(size), float64(size)
		if b.Status != Success {
			mark := figure.GraphMark{At: x, Name: string(b.Status)}
			rate.Marks, memory.Marks, region.Marks = append(rate.Marks, mark), append(memory.Marks, mark),
				append(region.Marks, mark)
		}
		if v := b.ImagesPerS; v != nil && b.Scaling != nil {
			rate.Points = append(rate.Points, figure.GraphPoint{X: x, Y: v.Median, Low: v.P10, High: v.P90})
			region.Points = append(region.Points, figure.GraphPoint{X: x, Y: v.Median})
			scaling.Points = append(scaling.Points, figure.GraphPoint{X: x, Y: *b.Scaling})
			l := b.LatencyMS
			latency.Boxes = append(latency.Boxes, figure.GraphBox{X: x, Low: l.P10, Q1: l.Q1, Median: l.Median,
				Q3: l.Q3, High: l.P90})
		}
		if b.Held() != nil {
			memory.Points = append(memory.Points, figure.GraphPoint{X: x, Y: float64(*b.Held()) / 1e6})
		}
		if b.Efficiency != nil {
			efficiency.Points = append(efficiency.Points, figure.GraphPoint{X: x, Y: *b.Efficiency})
		}
	}
	for i := range all {
		all[i].Reason = "nothing was measured"
	}
	if n := len(rate.Points); n > 1 {
		low, high := rate.Points[0].X, rate.Points[n-1].X
		if c := r.Curve; c != nil && c.Deviation <= farthest {
			rate.Fit = sampled(low, high, func(x float64) float64 {
				return 1e3 * float64(r.Model.Channels) * x / (c.OverheadMS + c.GroupMS*x)
			})
		}
		if f := r.Memory; f != nil {
			memory.Fit = sampled(low, high, func(x float64) float64 { return (f.FixedBytes + f.BytesEach*x) / 1e6 })
		}
	}
	if limit := r.Configuration.MemoryLimit; limit != nil && r.Configuration.LimitSource == "flag" {
		memory.Level = &figure.GraphMark{At: float64(*limit) / 1e6,
			Name: fmt.Sprintf("limit %.0f MB", float64(*limit)/1e6)}
	}
	if len(memory.Points) == 0 {
		memory.Reason, efficiency.Reason = r.MemoryReason, r.MemoryReason
	}
	if o := r.Optimum; o != nil {
		region.Region = &[2]float64{float64(o.Flat[0]), float64(o.Flat[1])}
		region.Note = fmt.Sprintf("shaded: within %.0f %% of the fastest, batch size %d", 100*o.Tolerance, o.Fastest)
	}
	return all
}

// sampled returns a curve.
func sampled(low, high float64, f func(float64) float64) (all []figure.GraphPoint) {
	const points = 60
	for i := range points + 1 {
		x := low * math.Pow(high/low, float64(i)/points)
		if y := f(x); y >= 0 && !math.IsInf(y, 0) {
			all = append(all, figure.GraphPoint{X: x, Y: y})
		}
	}
	return all
}

// about describes the graphs to those who do not see them.
func about(r *Report) string {
	text := "Throughput, memory, latency, efficiency and scaling over batch sizes."
	if r.Optimum != nil {
		text += " Optimum: " + r.Optimum.Sentence + "."
	}
	return text
}

// farthest is the deviation from a curve, relative, beyond which it is not drawn.
const farthest = 0.3

// model names the network.
func model(r *Report) string {
	m := &r.Model
	text := fmt.Sprintf("N=%d, gridsize %d (%s), s=%d", m.Size, m.GridSize,
		unit.Plural(m.Channels, "channel", "channels"), m.FiltersScale)
	if m.Activation != ptycho.AmpActivations()[0] {
		text += ", " + m.Activation
	}
	if m.Heads != ptycho.HeadKinds()[0] {
		text += ", heads of " + m.Heads
	}
	switch p := ptycho.PrecisionOf(r.Configuration.AMP, r.Configuration.Winograd); p {
	case ptycho.Winograd:
		text += ", Winograd's convolutions"
	case ptycho.BF16, ptycho.BF16x3:
		text += ", " + string(p)
	}
	return text
}
