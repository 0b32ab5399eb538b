package banded

import (
	"fmt"
	"slices"
	"testing"
)

// However tasks are divided, every group of every band is computed once, from that band's copy.
func TestEveryGroupIsComputedOnce(t *testing.T) {
	for _, c := range [][3]int{{1, 1, 1}, {1, 8, 3}, {5, 7, 2}, {3, 2, 16}, {4, 3, 4}} {
		bands, groups, threads := c[0], c[1], c[2]
		for step := 1; step <= 3; step++ {
			t.Run(fmt.Sprintf("%d bands, %d groups, %d threads, %d tasks at once", bands, groups, threads, step), func(t *testing.T) {
				division := Divide(bands, groups, threads)
				if division.Tasks() < min(threads, bands*groups) {
					t.Errorf("%d tasks", division.Tasks())
				}
				done := make([]int, bands*groups)
				for lo := 0; lo < division.Tasks(); lo += step {
					copied := -1
					division.Each(lo, min(lo+step, division.Tasks()), func(band int) {
						if band == copied {
							t.Errorf("band %d is copied twice in a row", band)
						}
						copied = band
					}, func(band, first, end int) {
						if band != copied {
							t.Errorf("band %d from the copy of %d", band, copied)
						}
						for g := first; g < end; g++ {
							done[band*groups+g]++
						}
					})
				}
				if slices.Max(done) != 1 || slices.Min(done) != 1 {
					t.Errorf("computed %v times", done)
				}
			})
		}
	}
}
