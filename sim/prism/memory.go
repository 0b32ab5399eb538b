package prism

import (
	"fmt"

	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
)

// Minimum memory of a run, per unit.
const (
	// bytesPerWeight: weight, gradient and Adam's two moments, float32 each.
	bytesPerWeight = 16
	// bytesPerPixel: the object, the prediction, two targets and two
	// measurements in float32, and three complex64 fields.
	bytesPerPixel = 6*4 + 3*8
	// bytesPerAperturePixel: the mask and the spectrum of each further aperture
	// of a line sample.
	bytesPerAperturePixel = 4 + 8
	// bytesPerCentre: an aperture's position as two float64, for the run and for
	// its observers.
	bytesPerCentre = 2 * 16
	// bytesPerSample: the result record and the entries in the run's lists.
	bytesPerSample = 224
)

// fits returns an error if the settings need at least more memory than the
// machine has, naming the key that needs the most. It checks a lower bound:
// activations depend on the backend, and caches are bounded or shrink.
func (s *joinedRules) fits(memory int64) error {
	if memory <= 0 {
		return nil
	}
	var culprit need
	total := 0.0
	for _, part := range s.leastMemory() {
		total += part.bytes
		if part.bytes > culprit.bytes {
			culprit = part
		}
	}
	if total <= float64(memory) {
		return nil
	}
	should := "smaller"
	if culprit.key == "radius" {
		should = fmt.Sprintf("larger, with %.0f apertures in each of %d samples now", s.apertures(), s.Samples)
	}
	return s.wrong(culprit.key, "needs at least %s of memory, this machine has %s: must be %s",
		unit.Memory(total), unit.Memory(float64(memory)), should)
}

// physicalMemory returns the memory this process may use, in bytes: the
// machine's, or its control group's if that is less; 0 if unknown.
func physicalMemory() int64 {
	return machine.ReadMemory().Allowed()
}

type need struct {
	key   string
	bytes float64
}

// leastMemory lists the minimum memory of the settings, by the key that
// determines it.
func (s *Settings) leastMemory() []need {
	width := "size"
	switch {
	case len(s.Channels) > 0:
		width = "channels"
	case s.Latent > 0:
		width = "latent"
	}
	line := "sample_length"
	if s.Radius < 1 {
		line = "radius" // more apertures than pixels along a line
	}
	side, further := float64(s.Size), s.apertures()-1
	return []need{
		{"samples", float64(s.Samples) * (bytesPerSample + bytesPerCentre)},
		{"size", side * side * bytesPerPixel},
		{line, further * (side*side*bytesPerAperturePixel + float64(s.Samples)*bytesPerCentre)},
		{width, s.weights() * bytesPerWeight},
	}
}

// weights returns the number of convolution weights and latent values of the
// decoder (spec/prism.md §1.5, without the biases and normalisation).
func (s *Settings) weights() float64 {
	channels := s.progression()
	in := float64(s.latent())
	sum, u := in, s.upsamplings()
	for i, out := range channels {
		kernel := 9.0
		if i <= u {
			kernel = 16
		}
		sum += in * float64(out) * kernel
		in = float64(out)
	}
	return sum
}

// progression returns the channel progression: the given one, or latent/2 halved
// down to 1 (spec/prism.md §1.1).
func (s *Settings) progression() []int {
	if len(s.Channels) > 0 {
		return s.Channels
	}
	var p []int
	for c := s.latent() / 2; c >= 1; c /= 2 {
		p = append(p, c)
	}
	return p
}

// FitsBeside reports whether the minimum memory of the settings fits into this machine's
// memory in addition to the given number of bytes held now. If the machine's memory is
// unknown it reports true.
func (s *Settings) FitsBeside(held int64) bool {
	left, known := machine.ReadMemory().Beside(held)
	rules := joinedRules{s, s.Values()}
	return !known || left > 0 && rules.fits(left) == nil
}
