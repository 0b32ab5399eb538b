package sim

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"prismtop/profiles/preset"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/host"
	"prismtop/sim/optics"
	pictures "prismtop/sim/picture"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// reconstructed runs settings to their end and returns the reconstruction and the
// object, both on the object's window, and the run's description.
func reconstructed(t *testing.T, s settings.Values) (got, truth []float32, r *Run) {
	t.Helper()
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: s, Stream: stream.New(1 << 14)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	start := time.Now()
	r.Start(context.Background())
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d iterations in %v", r.loop.index, time.Since(start).Round(time.Second))
	return picture(r, prism.PictureReconstruction), picture(r, prism.PictureTruth), r
}

// picture are the pixels of a picture of a run that does not iterate.
func picture(r *Run, id int) []float32 { return r.loop.work.(workload.Imager).Picture(id).Pixels }

// object is the object that a run reconstructs.
func object(r *Run) *pictures.Object { return r.inputs.(prism.Inputs).Object }

// bandLimited is the object with the frequencies that the run's apertures pass and
// no others, on the object's window: all that can be required of a reconstruction.
// The object is real, so a measured frequency also determines its negative.
func bandLimited(t *testing.T, r *Run) []float32 {
	t.Helper()
	n, info := object(r).Size, r.Info()
	mask, grid := make([]float32, n*n), optics.Coordinates(n)
	aperture := optics.Aperture{Kind: optics.Circular, Radius: info.Sampling.Radius}
	for _, c := range info.Sampling.Centres {
		if err := aperture.Add(t.Context(), mask, grid, optics.Point{Y: c[0], X: c[1]}); err != nil {
			t.Fatal(err)
		}
		if err := aperture.Add(t.Context(), mask, grid, optics.Point{Y: -c[0], X: -c[1]}); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := fft.NewPlan(n, n)
	if err != nil {
		t.Fatal(err)
	}
	spectrum, plane := make([]complex64, n*n), make([]float32, n*n)
	plan.CentredForwardReal(spectrum, object(r).Amplitude, fft.Bounds{}, nil)
	for i, m := range mask {
		spectrum[i] *= complex(m, 0)
	}
	plan.CentredInverseReal(plane, spectrum, fft.Bounds{}, nil)
	w := optics.ObjectWindow(n, object(r).ObjectSize)
	out := make([]float32, w.Size*w.Size)
	w.Crop(out, plane, n)
	return out
}

// quarterMoon is the default preset at a quarter of its size, with as few samples and iterations as suffice: it reaches
// 0.99 of what the apertures allow.
var quarterMoon = []string{"size=128", "object_size=32", "radius=22", "roi_diameter=85", "samples=30",
	"channels=64,32,16,8,8,8,1", "iterations=100", "passes=1", "threads=1"}

// The moon's reconstruction is nearly as much like the object as the object is like
// itself through the union of all apertures.
func TestMoonReachesWhatItsAperturesAllow(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: 3,000 iterations take long")
	}
	var m host.Metrics
	got, truth, r := reconstructed(t, configured(t, quarterMoon...))
	limit, s := bandLimited(t, r), object(r).ObjectSize
	similarity := func(a, b []float32) float64 {
		v, err := m.SSIM(t.Context(), a, b, s, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	reached, allowed := similarity(got, truth), similarity(limit, truth)
	t.Logf("SSIM %.3f of %.3f; against the band-limited object %.3f; PSNR %.1f dB of %.1f",
		reached, allowed, similarity(got, limit), optics.PSNR(got, truth), optics.PSNR(limit, truth))
	if reached < 0.9*allowed {
		t.Errorf("SSIM %.3f is below 0.9 of the %.3f that the apertures allow", reached, allowed)
	}
}

// Mixed precision changes the quality of a reconstruction by less than 1 dB. The
// loop is chaotic: a rounding anywhere, a bit of one weight, moves the final PSNR of
// one run by two or three dB either way. So means over seeds are compared, and a
// difference counts as far as it is more than twice its standard error.
func TestMixedPrecisionKeepsTheQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped with -short: needs many whole runs")
	}
	seeds, least := 12, 0.0
	if !profilestest.Exhaustive() {
		seeds, least = 2, 2 // dB: that of two runs is hardly known from them
	}
	amps := []string{"off", "bf16", "bf16x3", "fp16"}
	var quality [4][]float64
	for i := range quality {
		quality[i] = make([]float64, seeds)
	}
	t.Run("runs", func(t *testing.T) { // returns when all of them have ended
		for i, amp := range amps {
			for seed := range seeds {
				t.Run(fmt.Sprintf("%s seed %d", amp, seed+1), func(t *testing.T) {
					t.Parallel()
					s, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "quick", Sets: []string{
						"threads=1", fmt.Sprintf("seed=%d", seed+1), "amp=" + amp}})
					if err != nil {
						t.Fatal(err)
					}
					got, truth, _ := reconstructed(t, s)
					quality[i][seed] = optics.PSNR(got, truth)
				})
			}
		}
	})
	off, offVariance := stat.MeanVariance(quality[0], nil)
	for i, amp := range amps {
		mean, variance := stat.MeanVariance(quality[i], nil)
		difference, deviation := mean-off, max(least, math.Sqrt((variance+offVariance)/float64(seeds)))
		t.Logf("amp = %-6s PSNR %.1f dB, mean %.2f, difference %+.2f ± %.2f dB", amp, quality[i], mean, difference, deviation)
		if math.Abs(difference) > 1+2*deviation {
			t.Errorf("amp = %s changes the PSNR by %+.2f ± %.2f dB", amp, difference, deviation)
		}
	}
}
