package profiles

import (
	"fmt"
	"math"
	"slices"
)

// A described schema is read from JSON instead of being declared in Go: see docs/data-model.md. This file has the words
// of its JSON, and checks it.

// The words of directions and scales in JSON.
var (
	directionWords = []string{NoBetter: "", LessIsBetter: "less", MoreIsBetter: "more"}
	scaleWords     = []string{Linear: "linear", Logarithmic: "logarithmic"}
)

// MarshalText returns the direction's word.
func (d Direction) MarshalText() ([]byte, error) { return []byte(directionWords[d]), nil }

// UnmarshalText reads the direction's word.
func (d *Direction) UnmarshalText(text []byte) error {
	i := slices.Index(directionWords, string(text))
	if i < 0 {
		return fmt.Errorf("better %q: must be less, more or nothing", text)
	}
	*d = Direction(i)
	return nil
}

// MarshalText returns the scale's word.
func (s Scale) MarshalText() ([]byte, error) { return []byte(scaleWords[s]), nil }

// UnmarshalText reads the scale's word.
func (s *Scale) UnmarshalText(text []byte) error {
	i := slices.Index(scaleWords, string(text))
	if i < 0 {
		return fmt.Errorf("scale %q: must be linear or logarithmic", text)
	}
	*s = Scale(i)
	return nil
}

// Check returns why a schema, as a file has it, cannot be used: it has more entries than records have
// room for, or entries that refer to others that it lacks.
func (s *Schema) Check() error {
	for _, part := range []struct {
		name    string
		n, most int
	}{
		{"phases", len(s.Phases), MaxPhases}, {"series", len(s.Series), MaxSeries},
		{"caches", len(s.Caches), MaxCaches}, {"categories of memory", len(s.Memory), MaxMemory},
		{"pictures", len(s.Pictures), MaxPictures}, {"kinds of iterations", len(s.Kinds), math.MaxUint8 + 1},
		{"stages", len(s.Stages), math.MaxUint8 + 1}, {"tips", len(s.Tips), math.MaxUint8 + 1},
	} {
		if part.n > part.most {
			return fmt.Errorf("the schema has %d %s: must be at most %d", part.n, part.name, part.most)
		}
	}
	for _, p := range s.Phases {
		if p.Colour < 0 || p.Colour > MaxPhases {
			return fmt.Errorf("the schema's phase %q has the colour %d: must be from 1 to %d, or 0", p.Name, p.Colour,
				MaxPhases)
		}
	}
	for _, k := range s.Kinds {
		if k.Stage < 0 || k.Stage >= len(s.Stages) {
			return fmt.Errorf("the schema's kind %q belongs to stage %d of %d", k.Name, k.Stage, len(s.Stages))
		}
	}
	if !(s.Layout >= 0 && s.Layout <= 1) {
		return fmt.Errorf("the schema's layout is %g: must be a share, from 0 to 1", s.Layout)
	}
	return s.checkAcceptance()
}
