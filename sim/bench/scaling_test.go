package bench

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"prismtop/sim/workloads"
)

func TestScalingMeasuresEverySizeAndThreadCount(t *testing.T) {
	var told int
	points, err := Scaling(context.Background(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t), Iterations: 10},
		[]int{32, 64}, []int{1, 2}, func(int, int) { told++ })
	if err != nil || len(points) != 4 || told != 4 {
		t.Fatalf("%+v, told %d, %v", points, told, err)
	}
	if p := points[3]; p.Size != 64 || p.Object != 16 || p.Threads != 2 || !(p.P10 <= p.Median && p.Median <= p.P90 && p.P10 > 0) {
		t.Errorf("%+v", p)
	}
}

// Nothing is measured if one of the sizes or numbers of threads cannot be.
func TestScalingChecksEverythingFirst(t *testing.T) {
	for _, bad := range []struct {
		sizes, threads []int
		want           string
	}{
		{[]int{64, 100}, []int{1}, "size 100 on 1 thread: size = 100: must be a power of two"},
		{[]int{64}, []int{1, 2000}, "size 64 on 2000 threads: threads = 2000"},
	} {
		points, err := Scaling(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: small(t), Iterations: 10}, bad.sizes, bad.threads,
			func(size, threads int) { t.Errorf("measures size %d on %d threads", size, threads) })
		if len(points) > 0 || err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v, %v: %v", bad.sizes, bad.threads, err)
		}
	}
}

var someScaling = []Point{
	{Size: 256, Object: 64, Threads: 1, Median: 2, P10: 1.9, P90: 2.5, Clean: true},
	{Size: 256, Object: 64, Threads: 2, Median: 1.25, P10: 1.2, P90: 1.5, Clean: true},
	{Size: 512, Object: 128, Threads: 1, Median: 8, P10: 7, P90: 9},
}

func TestScalingTable(t *testing.T) {
	var b strings.Builder
	if err := WriteScaling(&b, someScaling); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| 256/64 | 2 | 1.25 [1.2, 1.5] | 1.60 |", "| 512/128 | 1 | 8 [7, 9] | 1.00 | 0.0 %, disturbed |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// The exponent of a power is found, and none of a single size.
func TestScalingFindsTheGrowth(t *testing.T) {
	var points []Point
	for _, size := range []int{256, 512, 2048} {
		points = append(points, Point{Size: size, Threads: 2, Median: 3 * math.Pow(float64(size), 2.25)}, Point{Size: 256, Threads: 1, Median: float64(size)})
	}
	if e, ok := Growth(points, 2); !ok || math.Abs(e-2.25) > 1e-9 {
		t.Errorf("grows with exponent %g, %v", e, ok)
	}
	if e, ok := Growth(points, 1); ok {
		t.Errorf("one size grows with exponent %g", e)
	}
	var b strings.Builder
	if err := WriteScaling(&b, points); err != nil || !strings.Contains(b.String(), "\nOn 2 threads, time grows as size^2.25.\n") ||
		strings.Contains(b.String(), "On 1 thread") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// The plot is well-formed for any points, and contains every mark.
func TestScalingPlotIsXML(t *testing.T) {
	for _, points := range [][]Point{someScaling, someScaling[:1], nil} {
		var b strings.Builder
		if err := WriteScalingSVG(&b, points); err != nil {
			t.Fatal(err)
		}
		circles := 0
		for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%v:\n%s", err, b.String())
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
				circles++
			}
		}
		if circles != len(points) || strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%d points, %d circles:\n%s", len(points), circles, b.String())
		}
	}
}
