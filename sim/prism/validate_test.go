package prism

import (
	"math"
	"strings"
	"testing"
)

const gib = 1 << 30

// fixed is the default preset with numbers that its tuning does not change.
func fixed(t *testing.T) Settings {
	t.Helper()
	s := From(moonWith(t))
	s.Size, s.ObjectSize, s.Radius, s.ROIDiameter, s.Samples, s.Channels = 256, 64, 14, 112, 25, nil
	return s
}

// validateWith checks the settings for a machine with the given bytes of memory.
func validateWith(s *Settings, memory int64) error {
	v := s.Values()
	if err := v.ValidateKeys(); err != nil {
		return err
	}
	return joinedWith(v, memory)
}

func TestValidateNamesTheKeyThatIsWrong(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Settings)
		want   string // the error's beginning; empty when the settings are good
	}{
		{"as shipped", func(s *Settings) {}, ""},
		{"size", func(s *Settings) { s.Size = 500 }, "size = 500: must be a power of two"},
		{"zero settings", func(s *Settings) { *s = Settings{} }, `object = "": must be one of moon, usaf`},
		{"radius NaN", func(s *Settings) { s.Radius = math.NaN() }, "radius = nan: must be a number above 0"},
		{"radius zero", func(s *Settings) { s.Radius = 0 }, "radius = 0: must be a number above 0"},
		{"radius large", func(s *Settings) { s.Radius = 129 }, "radius = 129: must be at most half of size, 128"},
		{"radius half", func(s *Settings) { s.Radius = 128 }, ""},
		{"object", func(s *Settings) { s.ObjectSize = 257 }, "object_size = 257: must be at most size, 256"},
		{"obscured", func(s *Settings) { s.Aperture = "obscured" }, "inner_radius = 0: must be above 0"},
		{"obscured filled", func(s *Settings) { s.Aperture, s.InnerRadius = "obscured", 14 }, "inner_radius = 14: must be below radius, 14"},
		{"obscured vanes", func(s *Settings) { s.Aperture, s.InnerRadius, s.SpiderWidth = "obscured", 4, 20 }, "spider_width = 20: must be below radius"},
		{"shot", func(s *Settings) { s.Noise = "shot" }, `snr = 0: noise "shot" needs`},
		{"shot with snr", func(s *Settings) { s.Noise, s.SNR = "shot", 40 }, ""},
		{"readout", func(s *Settings) { s.Noise, s.ReadoutSigma = "readout", 0 }, `readout_sigma = 0: noise "readout" needs`},
		{"roi", func(s *Settings) { s.ROIDiameter = 300 }, "roi_diameter = 300: must be at most size, 256"},
		{"line", func(s *Settings) { s.SampleLength = 200 }, "sample_length = 200: must be below the diameter of the sampled disc, 112"},
		{"line in a grid", func(s *Settings) { s.Sampling, s.SampleLength = "grid", 20 }, `sample_length = 20: must be 0 for sampling "grid", which has points only`},
		{"rings", func(s *Settings) { s.Sampling, s.Samples = "rings", 4 }, `samples = 4: must be at least 5 for sampling "rings"`},
		{"grid", func(s *Settings) { s.Sampling, s.Samples = "grid", 1 }, `samples = 1: must be at least 2 for sampling "grid"`},
		{"crowd", func(s *Settings) { s.Samples = 9853 }, "samples = 9853: must be at most 9852 in a disc of 112 pixels"},
		{"star", func(s *Settings) { s.Sampling = "star" }, `sample_length = 0: must be at least 1 for sampling "star"`},
		{"star with length", func(s *Settings) { s.Sampling, s.SampleLength = "star", 20 }, ""},
		{"radius of nothing", func(s *Settings) { s.SampleLength, s.Radius = 10, 1e-320 },
			"radius = 1e-320: too small for lines of 10 pixels, which have an aperture for each radius: must be at least 1e-05"},
		{"star too long", func(s *Settings) { s.Sampling, s.SampleLength = "star", 112 }, "sample_length = 112: must be below the diameter"},
		{"channels short", func(s *Settings) { s.Channels = []int{1} }, "channels = [1]: must have two entries or more"},
		{"channels open", func(s *Settings) { s.Channels = []int{8, 4} }, "channels = [8, 4]: must end in 1"},
		{"channels few", func(s *Settings) { s.Channels = []int{8, 4, 1} }, "channels = [8, 4, 1]: must have 5 entries or more for object_size 64"},
		{"channels", func(s *Settings) { s.Channels = []int{64, 32, 16, 8, 1} }, ""},
		{"latent", func(s *Settings) { s.Latent = 31 }, "latent = 31: must be at least 32 for object_size 64"},
		{"latent least", func(s *Settings) { s.Latent = 32 }, ""},
		{"ms-ssim", func(s *Settings) { s.Loss, s.Size, s.ROIDiameter = "ms-ssim", 128, 0 }, `loss = "ms-ssim": must be l1, l2, ssim or composite when size is below 176`},
		{"composite", func(s *Settings) { s.Loss, s.CompositeL1 = "composite", 0.8 }, "composite_l1 = 0.8: composite_l1, composite_l2 and composite_ssim must sum to 1, not 1.1"},
		{"composite near 1", func(s *Settings) { s.Loss, s.CompositeL1 = "composite", 0.71 }, ""},
		{"loss", func(s *Settings) { s.Loss = "l3" }, `loss = "l3": must be one of l1, l2`},
		{"learning rate", func(s *Settings) { s.LearningRate = 0 }, "learning_rate = 0: must be a number above 0"},
		{"samples", func(s *Settings) { s.Samples = 0 }, "samples = 0: must be a whole number from 1"},
	}
	for _, c := range cases {
		s := fixed(t)
		c.change(&s)
		err := validateWith(&s, 16*gib)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		case err != nil && strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: more than a line: %v", c.name, err)
		}
	}
}

func TestValidateRefusesWhatMemoryCannotHold(t *testing.T) {
	cases := []struct {
		name   string
		change func(*Settings)
		memory int64
		want   string
	}{
		{"samples", func(s *Settings) { s.Samples = 1_000_000_000 }, 16 * gib, "samples = 1000000000: must be at most 9852 in a disc of 112 pixels"},
		{"lines", func(s *Settings) { s.Size, s.Radius, s.SampleLength = 4096, 1, 100 }, 16 * gib, "sample_length = 100: needs at least"},
		{"lines of tiny apertures", func(s *Settings) { s.Samples, s.Radius, s.SampleLength = 9000, 1e-4, 100 }, 16 * gib,
			"radius = 0.0001: needs at least 1074.4 GB of memory, this machine has 17.2 GB: must be larger, with 1000001 apertures in each of 9000 samples now"},
		{"decoder", func(s *Settings) { s.Size = 8192 }, 8 * gib, "size = 8192: needs at least"},
		{"latent", func(s *Settings) { s.Latent = 32768 }, 64 * gib, "latent = 32768: needs at least"},
		{"channels", func(s *Settings) { s.Channels = []int{32768, 32768, 8, 4, 1} }, 64 * gib, "channels = [32768, 32768, 8, 4, 1]: needs at least"},
		{"a small machine", func(s *Settings) {}, gib / 128, "size = 256: needs at least"},
		{"the same, enough", func(s *Settings) {}, gib / 32, ""},
	}
	for _, c := range cases {
		s := fixed(t)
		c.change(&s)
		err := validateWith(&s, c.memory)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
}

// Parameter counts of spec/prism.md §1.5, which include 2 values per channel of
// batch normalisation and the last bias that the estimate leaves out.
func TestWeightsFollowThePublishedCounts(t *testing.T) {
	for _, c := range []struct{ size, object, parameters int }{
		{64, 32, 43_799}, {256, 64, 699_511}, {512, 128, 2_797_431}, {1024, 73, 11_186_679}, {2048, 2048, 44_745_359},
	} {
		s := Settings{Size: c.size, ObjectSize: c.object}
		want := float64(c.parameters - 2*(c.size-2) - 1)
		if got := s.weights(); got != want {
			t.Errorf("%d/%d: %.0f weights, want %.0f", c.size, c.object, got, want)
		}
	}
}

func TestPhysicalMemoryIsPlausible(t *testing.T) {
	if m := physicalMemory(); m != 0 && (m < gib/16 || m > 1<<50) {
		t.Errorf("physical memory of %d bytes", m)
	}
}

// Every preset runs on a machine with 4 GiB.
func TestEveryPresetFitsASmallMachine(t *testing.T) {
	for _, name := range shelves.Names() {
		p, err := shelves.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		s := From(p.Settings)
		if err := validateWith(&s, 4*gib); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
