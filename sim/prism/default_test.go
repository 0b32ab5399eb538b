package prism_test

import (
	"testing"

	"prismtop/sim/optics"
)

// The default preset measures all of k-space, corners included: what no aperture covers is free, and the
// decoder fills it with a lattice of too dark and too bright pixels, which stays.
func TestTheDefaultMeasuresAllOfKSpace(t *testing.T) {
	s, _ := resolved(t, "")
	if s.Sampling != "fermat" || s.Aperture != "circular" || s.Object != "moon" {
		t.Fatalf("%s apertures on a %s pattern see %s", s.Aperture, s.Sampling, s.Object)
	}
	centres := optics.FermatSpiral(s.Samples, s.ROIDiameter/2)
	r, free := s.Radius*s.Radius, 0
	for y := -s.Size / 2; y < s.Size/2; y++ {
		for x := -s.Size / 2; x < s.Size/2; x++ {
			covered := false
			for _, c := range centres {
				if dy, dx := float64(y)-c.Y, float64(x)-c.X; dy*dy+dx*dx <= r {
					covered = true
					break
				}
			}
			if !covered {
				free++
			}
		}
	}
	if free > 0 {
		t.Errorf("%d of %d frequencies are not measured", free, s.Size*s.Size)
	}
}
