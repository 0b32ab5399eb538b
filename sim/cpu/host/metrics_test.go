package host

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"prismtop/sim/npy/npytest"
	"prismtop/sim/optics"
)

func TestSSIMMatchesReferenceNumbers(t *testing.T) {
	g := npytest.OpenGolden(t, goldenFolder, "loss.npz")
	compared := 0
	for _, name := range g.Names() {
		base, ok := strings.CutSuffix(name, ".ssim_64")
		if !ok {
			continue
		}
		shape := g.Shape(base + ".a")
		a, b := npytest.Read[float32](g, base+".a"), npytest.Read[float32](g, base+".b")
		for _, kernels := range []string{"go", "auto"} {
			var m Metrics
			if err := m.SetKernels(kernels); err != nil {
				t.Fatal(err)
			}
			got := must[float64](t)(m.SSIM(t.Context(), a, b, shape[0], shape[1]))
			// Variances are differences of squares that were blurred in float32.
			near(t, name, got, npytest.Read[float64](g, name)[0], 1e-6)
		}
		compared++
	}
	var window []float32
	for _, row := range SSIMWindow() {
		window = append(window, row[:]...)
	}
	g.Accept("window", window)
	if compared == 0 {
		t.Error("no SSIM among the reference numbers")
	}
}

// The table's second object is 0.8·o + 0.05 on the support; both are compared on
// PRISM's window of 20, which starts at 23 (spec/prism.md §6).
func TestMetricsMatchTheSpecification(t *testing.T) {
	w := optics.PRISMWindow(64, 20)
	if w != (optics.Window{Top: 23, Left: 23, Size: 20}) {
		t.Fatalf("window %+v", w)
	}
	var m Metrics
	got := must[optics.Quality](t)(m.Compare(t.Context(), referenceObject(0.8, 0.05), referenceObject(1, 0), 64, w))
	near(t, "SSIM", got.SSIM, 0.97409304, 1e-6)
	near(t, "PSNR", got.PSNR, 23.28036110, 1e-5)
	near(t, "RMSE", got.RMSE, 12.70414679, 1e-5)
}

func TestEqualPicturesArePerfect(t *testing.T) {
	var m Metrics
	x := referenceObject(1, 0)
	q := must[optics.Quality](t)(m.Compare(t.Context(), x, x, 64, optics.ObjectWindow(64, 20)))
	if q.RMSE != 0 || !math.IsInf(q.PSNR, 1) || math.Abs(q.SSIM-1) > 1e-12 {
		t.Errorf("%+v", q)
	}
	if zero := optics.RMSE(make([]float32, 4), make([]float32, 4)); zero != 0 {
		t.Errorf("RMSE of nothing against nothing is %g", zero)
	}
}

// directSSIM is the definition, window by window.
func directSSIM(a, b []float64, h, w int) (ssim, contrast float64) {
	var g [11]float64
	var sum float64
	for k := range g {
		g[k] = math.Exp(-float64((k-5)*(k-5)) / 4.5)
		sum += g[k]
	}
	mirror := func(i, n int) int {
		for i < 0 || i >= n {
			if i < 0 {
				i = -i
			}
			if i >= n {
				i = 2*(n-1) - i
			}
		}
		return i
	}
	for i := range h {
		for j := range w {
			var ma, mb, aa, bb, ab float64
			for y := range g {
				for x := range g {
					at := mirror(i+y-5, h)*w + mirror(j+x-5, w)
					p := g[y] * g[x] / (sum * sum)
					ma += p * a[at]
					mb += p * b[at]
					aa += p * a[at] * a[at]
					bb += p * b[at] * b[at]
					ab += p * a[at] * b[at]
				}
			}
			c := (2*(ab-ma*mb) + 0.0009) / (aa - ma*ma + bb - mb*mb + 0.0009)
			contrast += c
			ssim += c * (2*ma*mb + 0.0001) / (ma*ma + mb*mb + 0.0001)
		}
	}
	return ssim / float64(h*w), contrast / float64(h*w)
}

func randomPictures(h, w int) (a, b []float32) {
	r := rand.New(rand.NewPCG(uint64(h), uint64(w)))
	a, b = make([]float32, h*w), make([]float32, h*w)
	for i := range a {
		a[i] = r.Float32()
		b[i] = 0.7*a[i] + 0.3*r.Float32()
	}
	return a, b
}

func TestMSSSIMMatchesTheDefinition(t *testing.T) {
	for _, s := range [][2]int{{176, 180}, {64, 51}, {23, 23}, {12, 11}} {
		h, w := s[0], s[1]
		a, b := randomPictures(h, w)
		x, y := make([]float64, h*w), make([]float64, h*w)
		for i := range a {
			x[i], y[i] = float64(a[i]), float64(b[i])
		}
		pool := func(v []float64) []float64 {
			out := make([]float64, 0, len(v)/4)
			for i := 0; i+1 < h; i += 2 {
				for j := 0; j+1 < w; j += 2 {
					out = append(out, (v[i*w+j]+v[i*w+j+1]+v[(i+1)*w+j]+v[(i+1)*w+j+1])/4)
				}
			}
			return out
		}
		want, used := 1.0, 0.0
		var terms, weights []float64
		for scale, weight := range []float64{0.0448, 0.2856, 0.3001, 0.2363, 0.1333} {
			ssim, contrast := directSSIM(x, y, h, w)
			if scale == 4 {
				contrast = ssim
			}
			terms, weights, used = append(terms, contrast), append(weights, weight), used+weight
			x, y = pool(x), pool(y)
			if h, w = h/2, w/2; h < 11 || w < 11 {
				break
			}
		}
		for i, v := range terms {
			want *= math.Pow(min(max(v, 1e-10), 1), weights[i]/used)
		}
		var m Metrics
		got := must[float64](t)(m.MSSSIM(t.Context(), a, b, s[0], s[1]))
		near(t, "MS-SSIM", got, want, 1e-6) // pooled pictures are float32
	}
}

func TestSmallPicturesHaveAnSSIM(t *testing.T) {
	var m Metrics
	for _, s := range [][2]int{{1, 1}, {1, 7}, {2, 3}, {5, 5}, {6, 6}} {
		a, b := randomPictures(s[0], s[1])
		x, y := make([]float64, len(a)), make([]float64, len(a))
		for i := range a {
			x[i], y[i] = float64(a[i]), float64(b[i])
		}
		if s[0] == 1 {
			continue // the definition above has no mirror of one row
		}
		want, _ := directSSIM(x, y, s[0], s[1])
		near(t, "SSIM", must[float64](t)(m.SSIM(t.Context(), a, b, s[0], s[1])), want, 1e-6)
	}
	if got := must[float64](t)(m.SSIM(t.Context(), []float32{0.5}, []float32{0.5}, 1, 1)); got != 1 {
		t.Errorf("one equal pixel: %g", got)
	}
}

func TestMetricsAllocateNothing(t *testing.T) {
	var m Metrics
	a, b := randomPictures(64, 64)
	ctx := t.Context()
	run := func() {
		_, _ = m.Compare(ctx, a, b, 64, optics.ObjectWindow(64, 32))
		_, _ = m.MSSSIM(ctx, a, b, 64, 64)
	}
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCompare128(b *testing.B) {
	m := fastest(b)
	x, y := randomPictures(512, 512)
	for b.Loop() {
		_, _ = m.Compare(b.Context(), x, y, 512, optics.ObjectWindow(512, 128))
	}
}

func BenchmarkMSSSIM512(b *testing.B) {
	m := fastest(b)
	x, y := randomPictures(512, 512)
	for b.Loop() {
		_, _ = m.MSSSIM(b.Context(), x, y, 512, 512)
	}
}

func fastest(b *testing.B) *Metrics {
	m := new(Metrics)
	if err := m.SetKernels("auto"); err != nil {
		b.Fatal(err)
	}
	return m
}
