package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// Point is what an iteration takes at one size and number of threads, or a whole run of some samples.
type Point struct {
	Size, Object, Threads int
	Samples               int // of a whole run, an iteration each; 0 for the time of one iteration

	Side
	Clean bool
	Nanos []int64 // of each iteration
	FLOPs int64   // additions and multiplications of an iteration; 0 if unknown

	Peer   *Side  // PyTorch; nil if it was not measured
	Absent string // the reason, where others have one
}

// Side is what one program takes for a point.
type Side struct {
	Median, P10, P90 float64 // ms
	Memory           float64 // MB: the peak of the process; 0 if unknown
	Foreign          float64 // share of the processors used by other programs; −1 if unknown
}

// ObjectOf returns the side of the object's window in a field of a size: a quarter.
func ObjectOf(size int) int { return max(size/4, 8) }

// at returns the options for a field of a size, with an object of a quarter of it, and a number of threads.
func (o Options) at(size, threads int) Options {
	s := &o.Settings
	s.Size, s.ObjectSize, s.Threads = size, ObjectOf(size), threads
	if s.ROIDiameter > float64(size) {
		s.ROIDiameter = 0
	}
	return o
}

// CheckScaling returns an error if Scaling cannot measure one of the sizes or numbers of threads.
func CheckScaling(o Options, sizes, threads []int) error {
	for _, size := range sizes {
		for _, n := range threads {
			at := o.at(size, n)
			if err := at.Settings.Validate(); err != nil {
				return fmt.Errorf("size %d on %s: %w", size, unit.Plural(n, "thread", "threads"), err)
			}
		}
	}
	return nil
}

// Scaling measures iterations over sizes and numbers of threads: fields of size N
// with an object of N/4. o.Settings has everything else; progress is called
// before every point. An error comes with the points measured before it.
func Scaling(ctx context.Context, o Options, sizes, threads []int, progress func(size, threads int)) ([]Point, error) {
	if err := CheckScaling(o, sizes, threads); err != nil {
		return nil, err
	}
	var points []Point
	for _, size := range sizes {
		for _, n := range threads {
			progress(size, n)
			at := o.at(size, n)
			r, err := Run(ctx, at)
			if err != nil {
				return points, fmt.Errorf("size %d on %s: %w", size, unit.Plural(n, "thread", "threads"), err)
			}
			t, flops := spread(r.Total), int64(0)
			for i := range r.Steps {
				flops += r.Steps[i].FLOPs
			}
			points = append(points, Point{
				Size: size, Object: at.Settings.ObjectSize, Threads: r.Threads, Clean: r.Clean, Nanos: r.Total,
				FLOPs: flops, Side: Side{Median: t.Median / 1e6, P10: t.P10 / 1e6, P90: t.P90 / 1e6,
					Foreign: r.Foreign},
			})
		}
	}
	return points, nil
}

// Growth is how a quantity of some points grows over their sizes, or over their samples: as
// a power with an exponent in a 95 % interval.
type Growth struct {
	Exponent, Low, High float64
}

// String formats a growth: "1.98 [1.91, 2.05]"; two points have no interval.
func (g Growth) String() string {
	if math.IsInf(g.High, 0) {
		return fmt.Sprintf("%.2f", g.Exponent)
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", g.Exponent, g.Low, g.High)
}

// GrowthOf returns the growth of a quantity of the points on a number of threads; false for fewer than two sizes.
// Points where the quantity is unknown, 0, are left out.
func GrowthOf(points []Point, threads int, of func(*Point) float64) (g Growth, ok bool) {
	var x, y []float64
	for i := range points {
		if p := &points[i]; p.Threads == threads && of(p) > 0 {
			x, y = append(x, p.over()), append(y, of(p))
		}
	}
	g.Exponent, g.Low, g.High = stats.Power(x, y)
	return g, !math.IsNaN(g.Exponent)
}

// over is what a point is over: samples, or the size.
func (p *Point) over() float64 {
	if p.Samples > 0 {
		return float64(p.Samples)
	}
	return float64(p.Size)
}

// The quantities whose growth is known.
func ours(p *Point) float64   { return p.Median }
func memory(p *Point) float64 { return p.Memory }
func work(p *Point) float64   { return float64(p.FLOPs) }
func theirs(p *Point) float64 {
	if p.Peer == nil {
		return 0
	}
	return p.Peer.Median
}
func theirMemory(p *Point) float64 {
	if p.Peer == nil {
		return 0
	}
	return p.Peer.Memory
}

// WriteScaling writes the points as a Markdown table with the speed-up over the first number of threads at the same
// size, or beside PyTorch with the ratio to it, and the growth on each number of threads.
func WriteScaling(w io.Writer, points []Point) error {
	var d report.Document
	beside := slices.ContainsFunc(points, func(p Point) bool { return p.Peer != nil })
	whole := slices.ContainsFunc(points, func(p Point) bool { return p.Samples > 0 })
	head := []string{"field/object", "threads", "ms, median [10th, 90th percentile]", "speed-up"}
	if whole {
		head = []string{"samples", "threads", "s", "speed-up"}
	}
	if slices.ContainsFunc(points, func(p Point) bool { return p.Memory > 0 }) {
		head = append(head, "peak MB")
	}
	if beside {
		head = append(head, "PyTorch", "peak MB", "ratio, time", "ratio, memory")
	}
	t := d.Table(append(head, "others' share")...)
	first := map[float64]float64{}
	for i := range points {
		p := &points[i]
		if first[p.over()] == 0 {
			first[p.over()] = p.Median
		}
		name := fmt.Sprintf("%d/%d", p.Size, p.Object)
		if whole {
			name = fmt.Sprint(p.Samples)
		}
		cells := []string{name, fmt.Sprint(p.Threads), p.time(p.Side), fmt.Sprintf("%.2f", first[p.over()]/p.Median)}
		if slices.Contains(head, "peak MB") {
			cells = append(cells, fmt.Sprintf("%.0f", p.Memory))
		}
		switch {
		case p.Peer != nil:
			cells = append(cells, p.time(*p.Peer), fmt.Sprintf("%.0f", p.Peer.Memory),
				fmt.Sprintf("%.2f", p.Peer.Median/p.Median), fmt.Sprintf("%.2f", p.Memory/p.Peer.Memory))
		case beside:
			cells = append(cells, p.Absent, "–", "–", "–")
		}
		others := "unknown"
		if p.Foreign >= 0 {
			others = fmt.Sprintf("%.1f %%", 100*p.Foreign)
		}
		if !p.Clean {
			others += ", disturbed"
		}
		t.Add(append(cells, others)...)
	}
	over := "size"
	if whole {
		over = "samples"
	}
	for _, threads := range threadsOf(points) {
		if text := grows(points, threads, over); text != "" {
			d.Paragraph("%s", text)
		}
	}
	return d.WriteMarkdown(w)
}

// time formats the time of a side: the range in ms of an iteration, or the seconds of a run.
func (p *Point) time(s Side) string {
	if p.Samples > 0 {
		return fmt.Sprintf("%.3g", s.Median/1e3)
	}
	return fmt.Sprintf("%.3g [%.3g, %.3g]", s.Median, s.P10, s.P90)
}

// grows says how time and memory grow on a number of threads; empty where that is unknown.
func grows(points []Point, threads int, over string) string {
	time, ok := GrowthOf(points, threads, ours)
	if !ok {
		return ""
	}
	text := fmt.Sprintf("On %s, time grows as %s^%s", unit.Plural(threads, "thread", "threads"), over, time)
	for _, q := range []struct {
		name string
		of   func(*Point) float64
	}{{"the iteration's operations", work}, {"memory", memory}, {"PyTorch's time", theirs},
		{"its memory", theirMemory}} {
		if g, ok := GrowthOf(points, threads, q.of); ok {
			text += fmt.Sprintf(", %s as %s^%s", q.name, over, g)
		}
	}
	return text + "."
}
