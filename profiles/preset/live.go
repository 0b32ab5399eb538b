package preset

import "prismtop/profiles/machine"

// This file parts settings into those that change while a run goes on and those that
// the next start reads.

// WithLive is the settings with the live ones of other.
func (s Settings) WithLive(other *Settings) Settings {
	for i := range table {
		e := &table[i]
		if e.Live {
			e.copy(&s, other)
		}
	}
	s.thresholdLoss = other.thresholdOwner()
	return s
}

// copy gives the key the value that it has in other settings.
func (e *entry) copy(s, other *Settings) {
	switch field := e.field(s).(type) {
	case *string:
		*field = *e.field(other).(*string)
	case *bool:
		*field = *e.field(other).(*bool)
	case *int:
		*field = *e.field(other).(*int)
	case *int64:
		*field = *e.field(other).(*int64)
	case *uint64:
		*field = *e.field(other).(*uint64)
	case *float64:
		*field = *e.field(other).(*float64)
	case *[]int:
		*field = *e.field(other).(*[]int)
	}
}

// Differing lists the keys whose values differ between two settings, in the order of
// Keys. A threshold that one of them suspends is the same threshold.
func (s *Settings) Differing(other *Settings) []string {
	var keys []string
	for i := range table {
		e := &table[i]
		if e.Name == thresholdKey && !s.SameThreshold(other) || e.Name != thresholdKey && e.format(s) != e.format(other) {
			keys = append(keys, e.Name)
		}
	}
	return keys
}

// SamePicture says whether both settings load the same picture at the same sizes.
func (s *Settings) SamePicture(other *Settings) bool {
	return s.Object == other.Object && s.Image == other.Image && s.Invert == other.Invert &&
		s.Size == other.Size && s.ObjectSize == other.ObjectSize
}

// FitsBeside says whether what the settings cannot do without fits into this machine's
// memory beside so many bytes that are held now. Where that cannot be told it does.
func (s *Settings) FitsBeside(held int64) bool {
	left := physicalMemory() - held
	if available := machine.ReadMemory().Available; available > 0 {
		left = min(left, available)
	}
	return left <= 0 && physicalMemory() <= 0 || left > 0 && s.fits(left) == nil
}
