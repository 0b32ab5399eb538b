package telescope

import (
	"slices"
	"testing"

	"prismtop/sim/cpu/fft"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/dft"
)

func TestRanges(t *testing.T) {
	if got := Union([2]int{16, 32}, [2]int{64, 80}); got != [2]int{16, 80} {
		t.Errorf("the union is %v", got)
	}
	for _, empty := range [][2]int{{}, {5, 5}, {64, 0}} {
		if a, b := Union(empty, [2]int{16, 32}), Union([2]int{16, 32}, empty); a != b || a != [2]int{16, 32} {
			t.Errorf("the union with %v is %v and %v", empty, a, b)
		}
	}
	for r, want := range map[[2]int][2]int{{}: {}, {0, 64}: {0, 64}, {15, 17}: {0, 32}, {16, 32}: {16, 32}, {31, 33}: {16, 48}} {
		if got := WholeStrips(r); got != want || Strips(got) != (want[1]-want[0])/dft.StripLanes {
			t.Errorf("%v in whole strips is %v, want %v", r, got, want)
		}
	}
}

func TestWiden(t *testing.T) {
	for _, set := range vec.Available() {
		columns := [2]int{64, 0}
		for _, step := range []struct {
			at   int // of the row's element that is not zero; negative for none
			want [2]int
		}{{-1, [2]int{64, 0}}, {20, [2]int{16, 32}}, {31, [2]int{16, 32}}, {32, [2]int{16, 48}}, {0, [2]int{0, 48}}, {63, [2]int{0, 64}}} {
			row := make([]float32, 64)
			if step.at >= 0 {
				row[step.at] = -1
			}
			if columns = Widen(set, columns, row); columns != step.want {
				t.Errorf("%v: with element %d: %v, want %v", set, step.at, columns, step.want)
			}
		}
	}
}

// A plane split into strips and reassembled is the flipped plane.
func TestUnflippedStripsFlipBack(t *testing.T) {
	const n = 64
	lines, err := fft.NewLines(n)
	if err != nil {
		t.Fatal(err)
	}
	plane, got := make([]float32, n*n), make([]float32, n*n)
	for i := range plane {
		plane[i] = float32(i)
	}
	for _, set := range vec.Available() {
		f := Frame{Set: set, Lines: lines, N: n}
		w := NewSpace(nil, nil, nil, nil, nil, nil, lines.NewStrips(1)[:n*dft.StripLanes])
		for row := 0; row < n; row += dft.StripLanes {
			f.Unflip(w, plane, row)
			for j := range n {
				for i := range dft.StripLanes {
					if v := w.Amplitudes[j*dft.StripLanes+i]; v != plane[(n-1-row-i)*n+n-1-j] {
						t.Fatalf("%v: row %d, column %d is %g", set, row+i, j, v)
					}
				}
			}
			f.Flip(got, w, row)
		}
		if !slices.Equal(got, plane) {
			t.Errorf("%v: another plane comes back", set)
		}
	}
}
