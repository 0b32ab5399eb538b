// Package scan is a ptychographic scan: the diffraction amplitudes seen at positions of a
// probe on an object. Simulate makes one of an object drawn from a seed; Groups and
// Normalise prepare one for a network (spec/ptycho-cyto.md §A2, §A3.2).
package scan

import (
	"errors"
	"math"
)

// Scan is a scan of len(X) positions.
type Scan struct {
	Size        int         // N, the side of a pattern
	Diffraction []float32   // amplitudes, pattern by pattern, each N×N
	X, Y        []float64   // of the probe's centre in pixels of the object, X along columns
	Probe       []complex64 // N×N
	Object      *Object     // the truth, or nil
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

// Normalisation returns the factor by which networks multiply amplitudes: with it a
// pattern's mean sum of squares is (N/2)².
func (s *Scan) Normalisation() (float64, error) {
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
