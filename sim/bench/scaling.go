package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"prismtop/profiles/report"
	"prismtop/profiles/unit"
)

// Point is an iteration's time at one size and number of threads.
type Point struct {
	Size, Object, Threads int
	Median, P10, P90      float64 // ms
	Foreign               float64 // share of the processors used by other programs
	Clean                 bool
	Nanos                 []int64 // of each iteration
}

// at returns the options for a field of a size, with an object of a quarter of it, and a number of threads.
func (o Options) at(size, threads int) Options {
	s := &o.Settings
	s.Size, s.ObjectSize, s.Threads = size, max(size/4, 8), threads
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
			t := spread(r.Total)
			points = append(points, Point{
				Size: size, Object: at.Settings.ObjectSize, Threads: r.Threads,
				Median: t.Median / 1e6, P10: t.P10 / 1e6, P90: t.P90 / 1e6, Foreign: r.Foreign, Clean: r.Clean, Nanos: r.Total,
			})
		}
	}
	return points, nil
}

// Growth returns the exponent e of the time's growth with the size of the field on a number of threads: the slope of the
// straight line closest to the points' log(median) over log(size), in least squares. It is false for fewer than two sizes.
func Growth(points []Point, threads int) (e float64, ok bool) {
	var n, sx, sy, sxx, sxy float64
	for _, p := range points {
		if p.Threads != threads || !(p.Median > 0) {
			continue
		}
		x, y := math.Log(float64(p.Size)), math.Log(p.Median)
		n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	spread := n*sxx - sx*sx
	if !(spread > 1e-9) {
		return 0, false
	}
	return (n*sxy - sx*sy) / spread, true
}

// WriteScaling writes the points as a Markdown table with the speed-up over the
// first number of threads at the same size, and the growth on each number of threads.
func WriteScaling(w io.Writer, points []Point) error {
	var d report.Document
	t := d.Table("field/object", "threads", "ms, median [10th, 90th percentile]", "speed-up", "others' share")
	first := map[int]float64{}
	for _, p := range points {
		if first[p.Size] == 0 {
			first[p.Size] = p.Median
		}
		disturbed := ""
		if !p.Clean {
			disturbed = ", disturbed"
		}
		t.Add(fmt.Sprintf("%d/%d", p.Size, p.Object), fmt.Sprint(p.Threads), fmt.Sprintf("%.3g [%.3g, %.3g]", p.Median, p.P10, p.P90),
			fmt.Sprintf("%.2f", first[p.Size]/p.Median), fmt.Sprintf("%.1f %%%s", 100*p.Foreign, disturbed))
	}
	var told []int
	for _, p := range points {
		e, ok := Growth(points, p.Threads)
		if !ok || slices.Contains(told, p.Threads) {
			continue
		}
		told = append(told, p.Threads)
		d.Paragraph("On %s, time grows as size^%.2f.", unit.Plural(p.Threads, "thread", "threads"), e)
	}
	return d.WriteMarkdown(w)
}
