package prism

import (
	"fmt"
	"math"
	"math/bits"

	"prismtop/profiles/settings"
)

// joinedRules are the rules that involve several settings.
type joinedRules struct {
	*Settings
	values settings.Values // the same
}

// joined checks the rules that involve several settings, including memory: a run whose
// minimum arrays exceed this machine's memory is rejected before it starts.
func joined(v settings.Values) error { return joinedWith(v, physicalMemory()) }

// joinedWith is joined for a machine with the given bytes of memory; 0 means
// unknown.
func joinedWith(v settings.Values, memory int64) error {
	s := From(v)
	rules := joinedRules{&s, v}
	for _, rule := range []func() error{
		rules.validInstrument, rules.validDecoder, rules.validSampling, func() error { return rules.fits(memory) },
		rules.validLoss,
	} {
		if err := rule(); err != nil {
			return err
		}
	}
	return nil
}

// wrong returns a *ValueError about the key's current value; want follows "must
// be" or stands alone.
func (s *joinedRules) wrong(key, want string, args ...any) error {
	return s.values.Wrong(key, fmt.Sprintf(want, args...))
}

func (s *joinedRules) validInstrument() error {
	half := float64(s.Size) / 2
	switch {
	case s.ObjectSize > s.Size:
		return s.wrong("object_size", "must be at most size, %d", s.Size)
	case s.Radius > half:
		return s.wrong("radius", "must be at most half of size, %g", half)
	case s.Aperture == "obscured" && s.InnerRadius == 0:
		return s.wrong("inner_radius", "must be above 0 for an obscured aperture")
	case s.Aperture == "obscured" && s.InnerRadius >= s.Radius:
		return s.wrong("inner_radius", "must be below radius, %g", s.Radius)
	case s.Aperture == "obscured" && s.SpiderWidth >= s.Radius:
		return s.wrong("spider_width", "must be below radius, %g", s.Radius)
	}
	if s.Measured != "" {
		switch {
		case s.Image != "":
			return s.wrong("image", "must be none with %s, which has the object's measurements", measuredKey)
		case s.Noise != "none":
			return s.wrong("noise", "must be none with %s: the measurements have their own", measuredKey)
		case s.SampleLength != 0:
			return s.wrong("sample_length", "must be 0 with %s, which has one aperture each", measuredKey)
		}
	}
	switch s.Noise {
	case "shot", "poisson", "composite":
		if s.SNR == 0 {
			return s.wrong("snr", "noise %q needs a ratio above 0 dB, for example 40", s.Noise)
		}
	}
	if (s.Noise == "readout" || s.Noise == "composite") && s.ReadoutSigma == 0 {
		return s.wrong("readout_sigma", "noise %q needs a deviation above 0, for example 0.01", s.Noise)
	}
	return nil
}

// maxSamples bounds the samples and the apertures per sample of a pattern, and the
// results kept by a run.
const maxSamples = 1 << 20

func (s *joinedRules) validSampling() error {
	if s.Measured != "" { // which says where the apertures are
		if float64(s.Samples)*float64(s.Passes) > maxSamples {
			return s.wrong("samples", "must be at most %d in %d passes", maxSamples/s.Passes, s.Passes)
		}
		return nil
	}
	roi := s.ROIDiameter
	if roi == 0 {
		roi = float64(s.Size)
	}
	disc := max(1, math.Floor(math.Pi/4*roi*roi))
	switch {
	case roi > float64(s.Size):
		return s.wrong("roi_diameter", "must be at most size, %d", s.Size)
	case float64(s.Samples) > min(disc, maxSamples):
		return s.wrong("samples", "must be at most %.0f in a disc of %g pixels", min(disc, maxSamples), roi)
	case s.Samples*s.Passes > maxSamples:
		return s.wrong("passes", "must be at most %d with samples = %d", maxSamples/s.Samples, s.Samples)
	case s.Sampling == "rings" && s.Samples < 5:
		return s.wrong("samples", "must be at least 5 for sampling \"rings\"")
	case s.Sampling == "grid" && s.Samples < 2:
		return s.wrong("samples", "must be at least 2 for sampling \"grid\"")
	}
	return s.validLines(roi)
}

// validLines checks the rules of line samples in a disc of diameter roi: only
// three patterns support them, and a star consists of them (spec/prism.md §4).
func (s *joinedRules) validLines(roi float64) error {
	length := s.SampleLength
	switch {
	case s.Sampling == "star" && length < 1:
		return s.wrong("sample_length", "must be at least 1 for sampling \"star\", which is made of lines")
	case length == 0:
		return nil
	case s.Sampling != "fermat" && s.Sampling != "random" && s.Sampling != "star":
		return s.wrong("sample_length", "must be 0 for sampling %q, which has points only", s.Sampling)
	case length >= roi:
		return s.wrong("sample_length", "must be below the diameter of the sampled disc, %g", roi)
	case s.apertures() > maxSamples:
		return s.wrong("radius",
			"too small for lines of %g pixels, which have an aperture for each radius: must be at least %g",
			length, length/1e6)
	}
	return nil
}

// apertures returns the number of apertures in a sample: one per radius along a
// line, rounded to an odd number (spec/prism.md §4).
func (s *Settings) apertures() float64 {
	if s.SampleLength == 0 {
		return 1
	}
	n := math.Floor(s.SampleLength/s.Radius) + 1
	if math.Mod(n, 2) == 0 {
		n++
	}
	return n
}

// upsamplings returns U, the number of doublings from 4 to at least the object's
// window (spec/prism.md §1.1).
func (s *Settings) upsamplings() int {
	u := 0
	for side := 4; side < s.ObjectSize; side *= 2 {
		u++
	}
	return u
}

// latent returns the number of channels of the latent vector: by default size,
// which is a power of two.
func (s *Settings) latent() int {
	if s.Latent > 0 {
		return s.Latent
	}
	return 1 << (bits.Len(uint(s.Size)) - 1)
}

// validDecoder checks the rules of spec/prism.md §1.1: a progression ends in 1,
// has at least two entries and at least one per upsampling plus one for the first
// layer, and the automatic one must not run out of channels.
func (s *joinedRules) validDecoder() error {
	u := s.upsamplings()
	if n := len(s.Channels); n > 0 {
		switch {
		case n < 2:
			return s.wrong("channels", "must have two entries or more, the last 1")
		case s.Channels[n-1] != 1:
			return s.wrong("channels", "must end in 1")
		case n < u+1:
			return s.wrong("channels", "must have %d entries or more for object_size %d", u+1, s.ObjectSize)
		}
		return nil
	}
	if least := 1 << (u + 1); s.latent() < least {
		return s.wrong("latent", "must be at least %d for object_size %d, or give channels", least, s.ObjectSize)
	}
	return nil
}

// smallestMSSSIM is the side below which halving leaves less than the 11-pixel
// window at the fifth scale (spec/prism.md §5.5).
const smallestMSSSIM = 176

func (s *joinedRules) validLoss() error {
	if s.Loss == "ms-ssim" && s.Size < smallestMSSSIM {
		return s.wrong("loss", "must be l1, l2, ssim or composite when size is below %d", smallestMSSSIM)
	}
	if s.Loss == "composite" {
		sum := s.CompositeL1 + s.CompositeL2 + s.CompositeSSIM
		if math.Abs(sum-1) > 0.01+1e-12 {
			return s.wrong("composite_l1", "composite_l1, composite_l2 and composite_ssim must sum to 1, not %.4g", sum)
		}
	}
	return nil
}
