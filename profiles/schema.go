package profiles

import "slices"

// The bounds of what a schema may declare. Records have room for as much, so that they
// are of one size and hold no pointers.
const (
	MaxPhases   = 8
	MaxSeries   = 10
	MaxCaches   = 4
	MaxMemory   = 8
	MaxPictures = 4
)

// Schema is what the numbers of a workload mean. The workload declares it; records,
// snapshots and files refer to its entries by their index. It does not change while a
// run lasts.
type Schema struct {
	Workload string // "prism"
	Unit     Unit

	Stages   []string // parts of the run, as the screen and JSON name them
	Kinds    []KindInfo
	Phases   []PhaseInfo // in the order in which the screen lists them
	Caches   []CacheInfo
	Series   []SeriesInfo
	Memory   []MemoryInfo // without the caches, which every workload has
	Pictures []PictureInfo

	// Quality names the series that says how good the result is: by it changes of settings
	// are judged beside their time. It is empty where there is none.
	Quality string
}

// Unit is what a run works off one after the other: the samples of a pattern, the
// batches of an epoch, the files of a list.
type Unit struct{ One, Many string }

// KindInfo is a kind of iteration. Iterations of one kind compute the same, so their
// times can be compared; those of two kinds cannot.
type KindInfo struct {
	Name  string // "first sample"
	Stage int    // index of Schema.Stages
	// Units is true where the iterations belong to the run's units, and false where they
	// belong to what comes before the first or after the last.
	Units bool
}

// PhaseInfo is a part of an iteration whose time is measured by itself.
type PhaseInfo struct {
	Name string
	// Looking is true of the phase that comparing and picturing the result count to, where
	// the run does that and not an iteration itself.
	Looking bool
}

// CacheInfo is a cache.
type CacheInfo struct {
	Name    string // key in JSON: "fft_plans"
	Title   string // on screen, in a column: "FFT plans"
	Long    string // in a sentence: "FFT plan cache"
	Setting string // key of the setting that switches it
}

// Direction says which of two values of a series is better.
type Direction uint8

// The directions.
const (
	NoBetter Direction = iota
	LessIsBetter
	MoreIsBetter
)

// Scale is how a chart's vertical axis is divided unless the user changes it.
type Scale uint8

// The scales.
const (
	Linear Scale = iota
	Logarithmic
)

// SeriesInfo is a number that is followed over the run.
type SeriesInfo struct {
	Name   string // key in JSON, with its unit: "psnr_db"
	Title  string // "PSNR"
	Unit   string // "dB"; empty for a bare number
	Better Direction
	Scale  Scale
	// Group names the series that share a chart: Losses, Metrics, or neither where the
	// series has none.
	Group string
	// Absent says why there is no value yet, and Infinite what it means that a value is
	// infinite; empty where it cannot be.
	Absent, Infinite string
	// Internal values are left out of summaries: they are no result.
	Internal bool
	// Each is true where every iteration has a value, false where a Measurement has one
	// now and then.
	Each bool
}

// GradientScale is the name of the series of the factor by which fp16 multiplies
// gradients, where a workload has one.
const GradientScale = "gradient_scale"

// The groups of series that the screen has charts for.
const (
	Losses  = "losses"  // curves over each other
	Metrics = "metrics" // a chart each
)

// MemoryInfo is a category of memory.
type MemoryInfo struct {
	Name string // on screen and in JSON: "activations"
	// Parameters is true of what the model is made of: weights, gradients, moments. The
	// others are buffers.
	Parameters bool
}

// PictureInfo is a picture that a run publishes.
type PictureInfo struct {
	Name string // "reconstruction"
	Live bool   // it changes while the run lasts
}

// SeriesNamed is the index of a series, −1 for none of that name.
func (s *Schema) SeriesNamed(name string) int {
	for i := range s.Series {
		if s.Series[i].Name == name {
			return i
		}
	}
	return -1
}

// Each says whether every iteration has a value of a series.
func (s *Schema) Each(series int) bool { return series < len(s.Series) && s.Series[series].Each }

// Looking is the index of the phase that comparing and picturing count to, −1 for none.
func (s *Schema) Looking() int {
	for i := range s.Phases {
		if s.Phases[i].Looking {
			return i
		}
	}
	return -1
}

// Controls are the phases, a bit each, that are not among those named, without the one that
// comparing and picturing count to.
func (s *Schema) Controls(touched []string) (mask uint16) {
	for i := range s.Phases {
		if !s.Phases[i].Looking && !slices.Contains(touched, s.Phases[i].Name) {
			mask |= 1 << i
		}
	}
	return mask
}

// Group lists the indices of the series that share a chart.
func (s *Schema) Group(name string) (all []int) {
	for i := range s.Series {
		if s.Series[i].Group == name {
			all = append(all, i)
		}
	}
	return all
}

// CacheOf is the index of the cache that a setting switches, −1 for none.
func (s *Schema) CacheOf(setting string) int {
	for i := range s.Caches {
		if s.Caches[i].Setting == setting {
			return i
		}
	}
	return -1
}

// PictureNamed is the index of a picture, −1 for none of that name.
func (s *Schema) PictureNamed(name string) int {
	for i := range s.Pictures {
		if s.Pictures[i].Name == name {
			return i
		}
	}
	return -1
}

// Stage is the name of the stage that iterations of a kind belong to.
func (s *Schema) Stage(k Kind) string {
	if int(k) >= len(s.Kinds) {
		return ""
	}
	return s.Stages[s.Kinds[k].Stage]
}

// SameStage says whether iterations of two kinds belong to one stage.
func (s *Schema) SameStage(a, b Kind) bool {
	return a == b || int(a) < len(s.Kinds) && int(b) < len(s.Kinds) && s.Kinds[a].Stage == s.Kinds[b].Stage
}

// InUnits says whether iterations of a kind belong to the run's units.
func (s *Schema) InUnits(k Kind) bool { return int(k) < len(s.Kinds) && s.Kinds[k].Units }
