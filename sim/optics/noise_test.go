package optics

import (
	"math"
	"slices"
	"testing"
)

func mustNoise(t testing.TB, o NoiseOptions) *Noise {
	t.Helper()
	n, err := NewNoise(o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s: got %.10g, want %.10g within %g", what, got, want, tolerance)
	}
}

func moments(x []float32) (mean, deviation float64) {
	for _, v := range x {
		mean += float64(v)
	}
	mean /= float64(len(x))
	for _, v := range x {
		deviation += (float64(v) - mean) * (float64(v) - mean)
	}
	return mean, math.Sqrt(deviation / float64(len(x)-1))
}

// Shot noise at 40 dB of an amplitude of 0.3: the intensity has mean 0.0900 and
// deviation 0.0030 (spec/prism.md §2.5).
func TestShotNoiseHasTheSpecifiedMoments(t *testing.T) {
	x, y := slices.Repeat([]float32{0.3}, 256*256), make([]float32, 256*256)
	for _, kind := range []string{"shot", "poisson"} {
		mustNoise(t, NoiseOptions{Kind: kind, SNR: 40, Faithful: true}).Apply(t.Context(), y, x)
		mean, deviation := moments(y)
		near(t, kind+" faithful mean", mean, 0.09, 5e-5) // 4σ of the mean
		near(t, kind+" faithful deviation", deviation, 0.003, 1e-7)

		mustNoise(t, NoiseOptions{Kind: kind, SNR: 40}).Apply(t.Context(), y, x)
		mean, deviation = moments(y)
		near(t, kind+" mean", mean, 0.3, 1e-4)
		near(t, kind+" deviation", deviation, 0.005, 1e-5) // half of σ/√intensity: 0.003/0.6
	}
}

func TestReadoutNoiseIsAdditive(t *testing.T) {
	x, y := slices.Repeat([]float32{0.5}, 256*256), make([]float32, 256*256)
	mustNoise(t, NoiseOptions{Kind: "readout", ReadoutSigma: 0.01}).Apply(t.Context(), y, x)
	mean, deviation := moments(y)
	near(t, "mean", mean, 0.5, 2e-4)
	near(t, "deviation", deviation, 0.01, 2e-4)
	clear(x)
	mustNoise(t, NoiseOptions{Kind: "readout", ReadoutSigma: 0.01}).Apply(t.Context(), y, x)
	if slices.Min(y) < 0 {
		t.Error("an amplitude below 0")
	}
	mustNoise(t, NoiseOptions{Kind: "readout", ReadoutSigma: 0.01, Faithful: true}).Apply(t.Context(), y, x)
	if slices.Min(y) >= 0 {
		t.Error("faithful readout noise is clamped")
	}
}

func TestCompositeNoiseIsShotThenReadout(t *testing.T) {
	x := slices.Repeat([]float32{0.3}, 64*64)
	shot, composite := make([]float32, len(x)), make([]float32, len(x))
	mustNoise(t, NoiseOptions{Kind: "shot", SNR: 30, Seed: 3}).Apply(t.Context(), shot, x)
	mustNoise(t, NoiseOptions{Kind: "composite", SNR: 30, ReadoutSigma: 1e-9, Seed: 3}).Apply(t.Context(), composite, x)
	for i := range x {
		near(t, "composite", float64(composite[i]), float64(shot[i]), 1e-7)
	}
}

func TestNoiseIsFreshAndRepeatsFromItsSeed(t *testing.T) {
	x := slices.Repeat([]float32{0.3}, 100)
	o := NoiseOptions{Kind: "composite", SNR: 30, ReadoutSigma: 0.01, Seed: 4}
	n := mustNoise(t, o)
	first, second, again := make([]float32, 100), make([]float32, 100), make([]float32, 100)
	n.Apply(t.Context(), first, x)
	n.Apply(t.Context(), second, x)
	mustNoise(t, o).Apply(t.Context(), again, x)
	if slices.Equal(first, second) {
		t.Error("the same noise twice")
	}
	if !slices.Equal(first, again) {
		t.Error("other noise from the same seed")
	}
	if a := testing.AllocsPerRun(20, func() { n.Apply(t.Context(), x, x) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

func TestNoNoiseIsNilAndCopies(t *testing.T) {
	n := mustNoise(t, NoiseOptions{Kind: "none"})
	got := make([]float32, 3)
	n.Apply(t.Context(), got, []float32{1, 2, 3})
	if n != nil || !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("%v, %v", n, got)
	}
}

func TestImpossibleNoiseIsNamed(t *testing.T) {
	for _, o := range []NoiseOptions{
		{Kind: "pink"}, {Kind: "shot", SNR: math.NaN()}, {Kind: "readout", ReadoutSigma: -1},
	} {
		if _, err := NewNoise(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func BenchmarkShotNoise512(b *testing.B) {
	x := make([]float32, 512*512)
	n := mustNoise(b, NoiseOptions{Kind: "shot", SNR: 40})
	for b.Loop() {
		n.Apply(b.Context(), x, x)
	}
}
