package host

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/optics"
)

// inGoroutines is a Parallel that runs every element on its own goroutine.
func inGoroutines(n int, body func(lo, hi int)) {
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { body(i, i+1) })
	}
	wait.Wait()
}

// scene is an object in a window and masks of all kinds.
func scene(n int) (object []float32, masks map[string][]float32) {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	object = make([]float32, n*n)
	for i := n/3 + 1; i < n/2+2; i++ {
		for j := n / 4; j < n/2; j++ {
			object[i*n+j] = r.Float32()
		}
	}
	reach := float64(n) / 8
	return object, map[string][]float32{
		"centre":      drawn(n, optics.Aperture{Radius: reach}, optics.Point{}),
		"off centre":  drawn(n, optics.Aperture{Radius: reach}, optics.Point{Y: -2 * reach, X: 2.5 * reach}),
		"over border": drawn(n, optics.Aperture{Radius: reach}, optics.Point{Y: 4 * reach, X: -3.7 * reach}),
		"one pixel":   drawn(n, optics.Aperture{Radius: 0.5}, optics.Point{Y: 1, X: -float64(n) / 2}),
		"everything":  ones(n * n),
		"nothing":     make([]float32, n*n),
	}
}

// Amplitudes here are of the order of 1; two float32 transforms of up to 512² differ
// from two others by less than 2e-6 of that.
func TestFusedAndPrunedMeasurementsAgreeWithPlainOnes(t *testing.T) {
	for _, n := range []int{16, 32, 64, 128, 512, 48, 15} {
		object, masks := scene(n)
		want, got := make([]float32, n*n), make([]float32, n*n)
		for _, set := range vec.Available() {
			plain, fused := newTestTelescope(t, n), newTestTelescope(t, n)
			fused.plans.SetKernels(set)
			for name, mask := range masks {
				plain.Measure(t.Context(), want, object, mask, optics.Support{})
				for _, pruned := range []bool{false, true} {
					fused.SetTransforms(optics.Transforms{Fused: true, Pruned: pruned})
					fused.Measure(t.Context(), got, object, mask, optics.Support{})
					for i := range want {
						if d := want[i] - got[i]; d > 2e-6 || d < -2e-6 || got[i] != got[i] {
							t.Fatalf("%d, %v, %s, pruned %v: [%d] = %g, want %g", n, set, name, pruned, i, got[i], want[i])
						}
					}
				}
			}
		}
	}
}

func TestFusedMeasurementsHaveTheSameBitsOnAnyThreads(t *testing.T) {
	const n = 128
	object, masks := scene(n)
	for _, how := range []optics.Transforms{{Fused: true}, {Fused: true, Pruned: true}} {
		serial := newTestTelescope(t, n)
		parallel, err := NewTelescope(n, NewPlanCache(true, nil), fft.Parallel(inGoroutines))
		if err != nil {
			t.Fatal(err)
		}
		serial.SetTransforms(how)
		parallel.SetTransforms(how)
		want, got := make([]float32, n*n), make([]float32, n*n)
		for name, mask := range masks {
			serial.Measure(t.Context(), want, object, mask, optics.Support{})
			parallel.Measure(t.Context(), got, object, mask, optics.Support{})
			if !slices.Equal(got, want) {
				t.Errorf("%+v, %s: the bits differ", how, name)
			}
			copy(got, object)
			serial.Measure(t.Context(), got, got, mask, optics.Support{})
			if !slices.Equal(got, want) {
				t.Errorf("%+v, %s: measuring in place differs", how, name)
			}
		}
	}
}

// What is known beforehand saves looking for it and changes nothing.
func TestKnownSupportGivesTheSameBits(t *testing.T) {
	const n = 64
	object, _ := scene(n)
	s := newTestTelescope(t, n)
	want, got := make([]float32, n*n), make([]float32, n*n)
	for _, a := range []optics.Aperture{{Radius: 6}, {Kind: optics.Hexagonal, Radius: 9}, {Kind: optics.Obscured, Radius: 9, InnerRadius: 2}} {
		for _, c := range []optics.Point{{}, {Y: -9.5, X: 14.2}, {Y: 30, X: -31}, {Y: 3, X: 200}} {
			mask := drawn(n, a, c)
			rows, columns := a.Bounds(c, n)
			for i, v := range mask {
				if v != 0 && (i/n < rows[0] || i/n >= rows[1] || i%n < columns[0] || i%n >= columns[1]) {
					t.Fatalf("%+v at %+v: pixel %d, %d is outside %v, %v", a, c, i/n, i%n, rows, columns)
				}
			}
			for _, pruned := range []bool{true, false} {
				s.SetTransforms(optics.Transforms{Fused: true, Pruned: pruned})
				s.Measure(t.Context(), want, object, mask, optics.Support{})
				s.Measure(t.Context(), got, object, mask, optics.Support{Rows: optics.FilledRows(object, n), Columns: columns})
				if !slices.Equal(got, want) {
					t.Errorf("%+v at %+v, pruned %v: the bits differ", a, c, pruned)
				}
			}
		}
	}
	if rows := optics.FilledRows(object, n); rows != [2]int{n/3 + 1, n/2 + 2} {
		t.Errorf("rows %v", rows)
	}
	if rows := optics.FilledRows(make([]float32, n*n), n); rows != [2]int{} {
		t.Errorf("rows %v of nothing", rows)
	}
}

func TestFusedMeasurementsAllocateNothingAndTellTheirMemory(t *testing.T) {
	const n = 64
	object, masks := scene(n)
	s, dst := newTestTelescope(t, n), make([]float32, n*n)
	s.SetTransforms(optics.Transforms{Fused: true, Pruned: true})
	if allocs := testing.AllocsPerRun(20, func() { s.Measure(t.Context(), dst, object, masks["off centre"], optics.Support{}) }); allocs != 0 {
		t.Errorf("%g allocations", allocs)
	}
	if s.Bytes() < 8*n*n || s.spectrum != nil {
		t.Errorf("%d bytes", s.Bytes())
	}
}

func BenchmarkMeasure512(b *testing.B) {
	const n = 512
	object, masks := scene(n)
	dst := make([]float32, n*n)
	for _, how := range []optics.Transforms{{}, {Fused: true}, {Fused: true, Pruned: true}} {
		for _, mask := range []string{"centre", "everything"} {
			b.Run(fmt.Sprintf("fused %v, pruned %v, %s", how.Fused, how.Pruned, mask), func(b *testing.B) {
				s := newTestTelescope(b, n)
				s.SetTransforms(how)
				for b.Loop() {
					s.Measure(b.Context(), dst, object, masks[mask], optics.Support{})
				}
			})
		}
	}
}
