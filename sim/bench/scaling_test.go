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
	{Size: 256, Object: 64, Threads: 1, Side: Side{Median: 2, P10: 1.9, P90: 2.5}, Clean: true},
	{Size: 256, Object: 64, Threads: 2, Side: Side{Median: 1.25, P10: 1.2, P90: 1.5}, Clean: true},
	{Size: 512, Object: 128, Threads: 1, Side: Side{Median: 8, P10: 7, P90: 9}},
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

// besidePyTorch are whole runs beside PyTorch, which is not run with the most samples.
var besidePyTorch = []Point{
	{Size: 256, Object: 64, Threads: 2, Samples: 10, Side: Side{Median: 20, P10: 20, P90: 20, Memory: 50}, Peer: &Side{Median: 100, P10: 100, P90: 100, Memory: 400}, Clean: true},
	{Size: 256, Object: 64, Threads: 2, Samples: 100, Side: Side{Median: 200, P10: 200, P90: 200, Memory: 50}, Peer: &Side{Median: 1000, P10: 1000, P90: 1000, Memory: 800}, Clean: true},
	{Size: 256, Object: 64, Threads: 2, Samples: 1000, Side: Side{Median: 2000, P10: 2000, P90: 2000, Memory: 50, Foreign: -1}, Absent: "not run", Clean: true},
}

func TestScalingBesidePyTorch(t *testing.T) {
	var b strings.Builder
	if err := WriteScaling(&b, besidePyTorch); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 10 | 2 | 0.02 | 1.00 | 50 | 0.1 | 400 | 5.00 | 0.12 | 0.0 % |", "| 1000 | 2 | 2 | 1.00 | 50 | not run | – | – | – | unknown |",
		"On 2 threads, time grows as samples^1.00 [1.00, 1.00], memory as samples^0.00 [0.00, 0.00], PyTorch's time as samples^1.00, its memory as samples^0.30.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b.String())
		}
	}
}

// The exponent of a power is found, with the interval of what scatters, and none of a single size.
func TestScalingFindsTheGrowth(t *testing.T) {
	var points []Point
	for i, size := range []int{256, 512, 2048} {
		scatter := 1 + 0.01*float64(i%2)
		points = append(points, Point{Size: size, Threads: 2, Side: Side{Median: 3 * scatter * math.Pow(float64(size), 2.25)}, FLOPs: int64(size) * int64(size)}, Point{Size: 256, Threads: 1, Side: Side{Median: float64(size)}})
	}
	if g, ok := GrowthOf(points, 2, ours); !ok || math.Abs(g.Exponent-2.25) > 1e-2 || !(g.Low < 2.25 && 2.25 < g.High && g.High-g.Low < 0.3) {
		t.Errorf("grows with exponent %v, %v", g, ok)
	}
	if g, ok := GrowthOf(points, 1, ours); ok {
		t.Errorf("one size grows with exponent %v", g)
	}
	var b strings.Builder
	if err := WriteScaling(&b, points); err != nil || !strings.Contains(b.String(), "\nOn 2 threads, time grows as size^2.25 [") ||
		!strings.Contains(b.String(), ", the iteration's operations as size^2.00 [2.00, 2.00].") || strings.Contains(b.String(), "On 1 thread") {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// The plot is well-formed for any points, and contains every mark.
func TestScalingPlotIsXML(t *testing.T) {
	for _, points := range [][]Point{someScaling, someScaling[:1], besidePyTorch, nil} {
		var b strings.Builder
		if err := WriteScalingSVG(&b, points); err != nil {
			t.Fatal(err)
		}
		circles, want := 0, 0
		for _, p := range points {
			want++
			if p.Memory > 0 {
				want++
			}
			if p.Peer != nil {
				want += 2
			}
		}
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
		if circles != want || strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
			t.Errorf("%d points, %d circles:\n%s", len(points), circles, b.String())
		}
	}
}
