// Package scan is a ptychographic scan: the diffraction amplitudes seen at positions of a
// probe on an object. Simulate makes one of an object drawn from a seed; Groups and
// Normalisation prepare one for a network (spec/ptycho-cyto.md §A2, §A3.2).
package scan

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Scan is a scan of len(X) positions.
type Scan struct {
	Size        int         // N, the side of a pattern
	Diffraction []float32   // amplitudes, pattern by pattern, each N×N
	X, Y        []float64   // of the probe's centre in pixels of the object, X along columns
	Probe       []complex64 // N×N
	Object      *Object     // the truth, or nil
	Factor      float64     // of the amplitudes, instead of that of Normalisation; 0 for none
	Notes       []string    // choices made in reading a file
}

// Object is a complex object, row by row.
type Object struct {
	Height, Width int
	Values        []complex64
}

// Pattern returns the amplitudes at position i.
func (s *Scan) Pattern(i int) []float32 {
	n := s.Size * s.Size
	return s.Diffraction[i*n:][:n]
}

// Normalisation returns the factor by which networks multiply amplitudes: Factor, or else the one with which a
// pattern's mean sum of squares is (N/2)².
func (s *Scan) Normalisation() (float64, error) {
	if s.Factor > 0 {
		return s.Factor, nil
	}
	total := 0.0
	for _, v := range s.Diffraction {
		total += float64(v) * float64(v)
	}
	if !(total > 0) || math.IsInf(total, 0) {
		return 0, errors.New("normalise a scan: the diffraction is 0 or not finite everywhere")
	}
	half := float64(s.Size) / 2
	return math.Sqrt(half * half * float64(len(s.X)) / total), nil
}

// Sample returns count of the scan's positions, drawn without replacement, in their order.
// It shares the probe, the object, and all patterns if these are all positions.
func (s *Scan) Sample(count int, seed uint64) (*Scan, error) {
	n := len(s.X)
	switch {
	case count < 1 || count > n:
		return nil, fmt.Errorf("%d images of %d positions: must be from 1 to %[2]d", count, n)
	case count == n:
		return s, nil
	}
	drawn := rand.New(rand.NewPCG(seed, 0x73616d706c65)).Perm(n)[:count]
	slices.Sort(drawn)
	part := &Scan{Size: s.Size, Probe: s.Probe, Object: s.Object, Factor: s.Factor, Notes: s.Notes,
		Diffraction: make([]float32, 0, count*s.Size*s.Size)}
	for _, i := range drawn {
		part.Diffraction = append(part.Diffraction, s.Pattern(i)...)
		part.X, part.Y = append(part.X, s.X[i]), append(part.Y, s.Y[i])
	}
	return part, nil
}
