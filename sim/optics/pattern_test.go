package optics

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"prismtop/sim/npy/npytest"
)

func mustPattern(t *testing.T, o PatternOptions) [][]Point {
	t.Helper()
	samples, err := Pattern(t.Context(), o)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	return samples
}

func radius(p Point) float64 { return math.Hypot(p.Y, p.X) }

func TestFermatMatchesReferenceNumbers(t *testing.T) {
	a := npytest.OpenGolden(t, "../../../shared/golden", "fermat.npz")
	for _, name := range a.Names() {
		if !strings.HasSuffix(name, "_64") {
			continue
		}
		name = strings.TrimSuffix(name, "_64")
		var n int
		var r float64
		if _, err := fmt.Sscanf(name, "n%d_r%g", &n, &r); err != nil {
			t.Fatal(err)
		}
		var got []float32
		torch := npytest.Read[float32](a, name+"_32")
		for i, c := range FermatSpiral(n, r) {
			got = append(got, float32(c.Y), float32(c.X))
			// Only the sine's last bit may differ from torch's, not the angle.
			near(t, name+" y", c.Y, float64(torch[2*i]), 2e-7*r)
			near(t, name+" x", c.X, float64(torch[2*i+1]), 2e-7*r)
		}
		a.Accept(name, got)
	}
}

// The points are those of spec/prism.md §4, to which float32 angles, off by up to
// 6e-7 rad at k = 3, may add 1e-4 pixels at these radii.
func TestFermatMatchesTheSpecification(t *testing.T) {
	samples := mustPattern(t, PatternOptions{Name: "Fermat", Samples: 100, Diameter: 512, Size: 512})
	want := []Point{{0, 0}, {17.29247, -18.87671}, {-36.06522, 3.16545}, {35.18899, 26.97805}, {-8.91895, -50.41718}, {-30.72311, 48.30000}}
	for i, w := range want {
		near(t, "y", samples[i][0].Y, w.Y, 1e-4)
		near(t, "x", samples[i][0].X, w.X, 1e-4)
	}
	near(t, "last radius", radius(samples[99][0]), 254.71678, 2e-5)
	samples = mustPattern(t, PatternOptions{Name: "fermat", Samples: 64, Diameter: 1024, Size: 1024})
	near(t, "n = 64", samples[3][0].X, 67.44512, 1e-4)
}

func TestEveryPatternKeepsItsPromises(t *testing.T) {
	for _, name := range PatternNames() {
		for _, length := range []float64{0, 12} {
			lines := name == "fermat" || name == "random" || name == "star"
			if (length > 0 && !lines) || (length == 0 && name == "star") {
				continue
			}
			o := PatternOptions{Name: name, Samples: 100, Diameter: 200, Size: 256, Length: length, Seed: 5}
			samples := mustPattern(t, o)
			if name != "star" && len(samples) != 100 {
				t.Errorf("%s: %d samples", name, len(samples))
			}
			count := 1
			if length > 0 {
				count = 13
			}
			for i, s := range samples {
				if len(s) != count {
					t.Fatalf("%s: sample %d has %d centres, want %d", name, i, len(s), count)
				}
				first, last := s[0], s[count-1]
				near(t, name+" length", math.Hypot(first.Y-last.Y, first.X-last.X), length, 1e-9)
				if r := radius(s[count/2]); !(r <= 100+1e-4) {
					t.Errorf("%s: sample %d at radius %g", name, i, r)
				}
			}
			if !reflect.DeepEqual(samples, mustPattern(t, o)) {
				t.Errorf("%s: another pattern from the same seed", name)
			}
			o.Seed++
			drawn := name == "random" || name == "grid" || (name == "fermat" && length > 0)
			if same := reflect.DeepEqual(samples, mustPattern(t, o)); same == drawn {
				t.Errorf("%s, length %g: same pattern from another seed is %v", name, length, same)
			}
		}
	}
}

func TestRandomIsSortedAndBeginsAtDC(t *testing.T) {
	samples := mustPattern(t, PatternOptions{Name: "random", Samples: 500, Diameter: 100, Size: 128, Seed: 1})
	if samples[0][0] != (Point{}) {
		t.Errorf("first at %v", samples[0][0])
	}
	inner := 0
	for i := 1; i < len(samples); i++ {
		if radius(samples[i][0]) < radius(samples[i-1][0]) {
			t.Fatalf("sample %d is nearer than the one before", i)
		}
		if radius(samples[i][0]) < 25 {
			inner++
		}
	}
	// A quarter of a uniform disc is within half its radius: 125 ± 4σ.
	if inner < 86 || inner > 164 {
		t.Errorf("%d of 500 within half the radius", inner)
	}
}

func TestCutoffDropsSamplesAndRenumbers(t *testing.T) {
	all := mustPattern(t, PatternOptions{Name: "fermat", Samples: 100, Diameter: 200, Size: 256})
	kept := mustPattern(t, PatternOptions{Name: "fermat", Samples: 100, Diameter: 200, Size: 256, Cutoff: 50})
	if len(kept) != 26 { // radii are 10·√k: k = 0 … 25, the last at 50 exactly
		t.Errorf("%d samples", len(kept))
	}
	if !reflect.DeepEqual(kept, all[:len(kept)]) {
		t.Error("other samples or another order")
	}
}

func TestStarHasLinesByRadiusThenAngle(t *testing.T) {
	samples := mustPattern(t, PatternOptions{Name: "star", Samples: 1, Diameter: 100, Size: 128, Length: 20, Angles: 3})
	// Radii 0 and 20 lie below 50 − 10: 3 lines through DC and 6 around.
	if len(samples) != 3+6 {
		t.Fatalf("%d samples", len(samples))
	}
	if c := samples[0]; c[0] != (Point{-10, 0}) || c[len(c)-1] != (Point{10, 0}) || len(c) != 21 {
		t.Errorf("first line from %v to %v in %d", c[0], c[len(c)-1], len(c))
	}
	middle := samples[4][10]
	near(t, "y of the second at radius 20", middle.Y, 20*math.Cos(math.Pi/3), 1e-9)
	near(t, "x of the second at radius 20", middle.X, 20*math.Sin(math.Pi/3), 1e-9)
	if n := len(mustPattern(t, PatternOptions{Name: "star", Samples: 60, Diameter: 100, Size: 128, Length: 20})); n != 60 {
		t.Errorf("%d samples for 60 wanted", n)
	}
}

func TestRingsHaveTheirShares(t *testing.T) {
	for _, n := range []int{5, 6, 7, 33, 100, 101} {
		samples := mustPattern(t, PatternOptions{Name: "rings", Samples: n, Diameter: 100, Size: 128})
		var ring [5]int
		for _, s := range samples {
			ring[int(math.Round(radius(s[0])/10))-1]++
		}
		if n == 100 && ring != [5]int{30, 25, 20, 15, 10} {
			t.Errorf("rings of 100: %v", ring)
		}
		if total := ring[0] + ring[1] + ring[2] + ring[3] + ring[4]; total != n || min(ring[0], ring[1], ring[2], ring[3], ring[4]) < 1 {
			t.Errorf("rings of %d: %v", n, ring)
		}
	}
}

func TestSpiralsStartAndEndWhereTheyShould(t *testing.T) {
	o := PatternOptions{Name: "archimedes", Samples: 18, Diameter: 100, Size: 128}
	s := mustPattern(t, o)
	near(t, "archimedes start", radius(s[0][0]), 0, 0)
	near(t, "archimedes end y", s[17][0].Y, -50, 1e-9) // 8.5 turns
	near(t, "archimedes step", radius(s[1][0]), 50.0/17, 1e-9)
	o.Name = "logarithmic"
	s = mustPattern(t, o)
	near(t, "logarithmic start", s[0][0].Y, 1, 1e-12)
	near(t, "logarithmic end", s[17][0].Y, 50, 1e-9)
	near(t, "logarithmic growth", radius(s[2][0])/radius(s[1][0]), math.Pow(50, 1.0/17), 1e-9)
}

func TestFixedAngleTurnsEveryFermatLine(t *testing.T) {
	s := mustPattern(t, PatternOptions{
		Name: "fermat", Samples: 10, Diameter: 100, Size: 128, Length: 10,
		Angle: math.Pi / 2, FixedAngle: true, LineCentres: 4,
	})
	for _, line := range s {
		if len(line) != 5 { // 4 made odd
			t.Fatalf("%d centres", len(line))
		}
		near(t, "y extent", line[4].Y-line[0].Y, 10, 1e-9)
		near(t, "x extent", line[4].X-line[0].X, 0, 1e-9)
	}
}

func TestImpossiblePatternsAreNamed(t *testing.T) {
	good := PatternOptions{Name: "fermat", Samples: 10, Diameter: 100, Size: 128}
	for culprit, change := range map[string]func(*PatternOptions){
		"sampling":             func(o *PatternOptions) { o.Name = "hex" },
		"samples = 0":          func(o *PatternOptions) { o.Samples = 0 },
		"samples = 9000":       func(o *PatternOptions) { o.Samples = 9000 },
		"size":                 func(o *PatternOptions) { o.Size = 0 },
		"roi_diameter = 0":     func(o *PatternOptions) { o.Diameter = 0 },
		"roi_diameter = NaN":   func(o *PatternOptions) { o.Diameter = math.NaN() },
		"roi_diameter = 129":   func(o *PatternOptions) { o.Diameter = 129 },
		"sample_length = 0":    func(o *PatternOptions) { o.Name = "star" },
		"sample_length = 0.5":  func(o *PatternOptions) { o.Name, o.Length = "star", 0.5 },
		"sample_length = 100":  func(o *PatternOptions) { o.Length = 100 },
		"sample_length = 5":    func(o *PatternOptions) { o.Name, o.Length = "grid", 5 },
		"cutoff":               func(o *PatternOptions) { o.Cutoff = -1 },
		"rings need 5 or more": func(o *PatternOptions) { o.Name, o.Samples = "rings", 4 },
		"grid needs 2":         func(o *PatternOptions) { o.Name, o.Samples = "grid", 1 },
		"no sample within":     func(o *PatternOptions) { o.Name, o.Cutoff = "rings", 1 },
		"angles":               func(o *PatternOptions) { o.Angles = -1 },
		"line centres":         func(o *PatternOptions) { o.LineCentres = -1 },
		"line angle":           func(o *PatternOptions) { o.Angle = math.NaN() },
	} {
		o := good
		change(&o)
		if _, err := Pattern(t.Context(), o); err == nil || !strings.Contains(err.Error(), culprit) {
			t.Errorf("error %v does not name %q", err, culprit)
		}
	}
}

// FuzzPattern checks that any options give either an error or samples of one
// length with finite centres.
func FuzzPattern(f *testing.F) {
	f.Add("fermat", 100, 200.0, 256, 0.0, 0.0, 0, uint64(1))
	f.Add("star", 10, 100.0, 128, 20.0, 0.0, 0, uint64(1))
	f.Add("grid", 7, 64.0, 64, 0.0, 10.0, 3, uint64(2))
	f.Fuzz(func(t *testing.T, name string, samples int, diameter float64, size int, length, cutoff float64, centres int, seed uint64) {
		if samples > 10000 || centres > 100 || length > 1000 || size > 1000 {
			t.Skip("large")
		}
		got, err := Pattern(t.Context(), PatternOptions{
			Name: name, Samples: samples, Diameter: diameter, Size: size,
			Length: length, Cutoff: cutoff, LineCentres: centres, Seed: seed,
		})
		if err != nil {
			return
		}
		for _, s := range got {
			if len(s) != len(got[0]) || len(s)%2 == 0 {
				t.Fatalf("%d centres beside %d", len(s), len(got[0]))
			}
			for _, c := range s {
				if math.IsNaN(c.Y+c.X) || math.IsInf(c.Y+c.X, 0) {
					t.Fatalf("centre %v", c)
				}
			}
		}
	})
}

func BenchmarkPattern(b *testing.B) {
	for b.Loop() {
		if _, err := Pattern(b.Context(), PatternOptions{Name: "fermat", Samples: 100, Diameter: 512, Size: 512}); err != nil {
			b.Fatal(err)
		}
	}
}
