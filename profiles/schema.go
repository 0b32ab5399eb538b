package profiles

import (
	"slices"
	"strings"

	"prismtop/profiles/settings"
)

// A schema: what a workload's numbers mean, and how its entries are found.

// Limits of a schema. Records have room for this many entries, so that they have a
// fixed size and no pointers.
const (
	MaxPhases   = 16
	MaxSeries   = 24
	MaxCaches   = 8
	MaxMemory   = 8
	MaxPictures = 5
)

// What a slot has room for: queues of iterations keep a record in Schema.Slots of them, so that the
// records of most schemas take no more memory than they need.
const (
	SlotPhases = 8
	SlotSeries = 10
	SlotCaches = 4
)

// Slots returns the number of slots that a record takes in a queue.
func (s *Schema) Slots() int {
	slots := func(n, room int) int { return (n + room - 1) / room }
	return max(1, slots(len(s.Phases), SlotPhases), slots(len(s.Series), SlotSeries), slots(len(s.Caches), SlotCaches))
}

// Schema describes the numbers of a workload. The workload declares it; records,
// snapshots and files refer to its entries by index. It does not change during a run.
type Schema struct {
	Workload string `json:"workload"` // "prism"
	Unit     Unit   `json:"unit"`
	// Tasks is true if the units are rounds of the tasks of a list, whose state the run publishes.
	Tasks bool `json:"tasks,omitempty"`
	// Item names what an iteration processes in batches of the setting batch_size: images. It is
	// empty if iterations are not batches; effects are then of an iteration, else of an item.
	Item Unit `json:"item,omitzero"`

	Stages   []string      `json:"stages"` // parts of the run, as named on the screen and in JSON
	Kinds    []KindInfo    `json:"kinds"`
	Phases   []PhaseInfo   `json:"phases"` // in the order listed on the screen
	Caches   []CacheInfo   `json:"caches,omitempty"`
	Series   []SeriesInfo  `json:"series,omitempty"`
	Memory   []MemoryInfo  `json:"memory,omitempty"` // without the caches, common to all workloads
	Pictures []PictureInfo `json:"pictures,omitempty"`

	// Quality names the series that measures the quality of the result, by which changes
	// of settings are judged in addition to their time. It is empty if there is none.
	Quality string `json:"quality,omitempty"`

	// Threshold is the key of the setting below whose value the loss of a unit must fall;
	// empty if there is none.
	Threshold string `json:"threshold,omitempty"`
	// Tips are the workload's own advice for alerts, in terms of its settings.
	Tips []AlertAdvice `json:"tips,omitempty"`
	// Layout is the share by which a phase differs from one process of a program to the next, which no run shows by
	// itself; 0 for what compare allows prismtop's own engine.
	Layout float64 `json:"layout,omitempty"`
	// Acceptance is what its optimisations are to achieve together; empty for no such list.
	Acceptance Acceptance `json:"acceptance,omitzero"`
}

// Extends reports whether a schema has everything of another in the same places, and maybe more at the ends of its
// lists.
func (s *Schema) Extends(other *Schema) bool {
	return s.Workload == other.Workload && slices.Equal(s.Kinds, other.Kinds) && slices.Equal(s.Stages, other.Stages) &&
		begins(s.Phases, other.Phases) && begins(s.Series, other.Series) && begins(s.Pictures, other.Pictures)
}

func begins[T comparable](list, with []T) bool {
	return len(list) >= len(with) && slices.Equal(list[:len(with)], with)
}

// Beyond returns the names of the phases, series and pictures that a schema has beside those of another, which it
// extends.
func (s *Schema) Beyond(other *Schema) (names []string) {
	for _, p := range s.Phases[min(len(other.Phases), len(s.Phases)):] {
		names = append(names, p.Name)
	}
	for _, x := range s.Series[min(len(other.Series), len(s.Series)):] {
		names = append(names, x.Name)
	}
	for _, p := range s.Pictures[min(len(other.Pictures), len(s.Pictures)):] {
		names = append(names, p.Name)
	}
	return names
}

// When is a condition on settings: one of them has a value. The zero value always holds.
type When struct {
	Setting string `json:"setting,omitempty"`
	Value   string `json:"value,omitempty"`
}

// Holds reports whether the condition is met.
func (w When) Holds(v settings.Values) bool { return w.Setting == "" || v.Get(w.Setting) == w.Value }

// AlertAdvice is advice for an alert under some settings. The first that applies is given.
type AlertAdvice struct {
	Alert string `json:"alert"` // the rule: "sample-limit"
	When
	Try Advice `json:"try"`
}

// TipFor returns the workload's advice for an alert; empty if it has none.
func (s *Schema) TipFor(alert string, v settings.Values) Advice {
	for _, t := range s.Tips {
		if t.Alert == alert && t.Holds(v) {
			return t.Try
		}
	}
	return ""
}

// Unit names the units of work that a run processes one after the other: the
// samples of a pattern, the batches of an epoch, the files of a list.
type Unit struct {
	One  string `json:"one"`
	Many string `json:"many"`
}

// KindInfo is a kind of iteration. Iterations of one kind compute the same, so their
// times can be compared; those of different kinds cannot.
type KindInfo struct {
	Name  string `json:"name"`            // "first sample"
	Stage int    `json:"stage,omitempty"` // index of Schema.Stages
	// Units is true if the iterations belong to the run's units, and false if they come
	// before the first unit or after the last.
	Units bool `json:"units,omitempty"`
	// Aside is true of iterations that come in between and are no sample of the others, such as those with an
	// evaluation: comparisons leave them out, and go on after them.
	Aside bool `json:"aside,omitempty"`
}

// PhaseInfo is a part of an iteration that is timed separately.
type PhaseInfo struct {
	Name string `json:"name"`
	What string `json:"what,omitempty"` // the work that counts to it: "both losses and the stop rule"
	// Looking is true for the phase to which comparing and picturing the result count, if
	// the run does that and not the iteration itself.
	Looking bool `json:"looking,omitempty"`
	// Colour is the place of its colour among those of phases, from 1, so that a phase has the same one in
	// every workload; 0 is the place of the phase.
	Colour int `json:"colour,omitempty"`
}

// PhaseColour returns the place of a phase's colour among those of phases, from 0.
func (s *Schema) PhaseColour(p Phase) int {
	if int(p) < len(s.Phases) && s.Phases[p].Colour > 0 {
		return s.Phases[p].Colour - 1
	}
	return int(p)
}

// CacheInfo is a cache.
type CacheInfo struct {
	Name    string `json:"name"`              // key in JSON: "fft_plans"
	Title   string `json:"title,omitempty"`   // on screen, under the heading Caches: "FFT"
	Long    string `json:"long,omitempty"`    // anywhere else: "FFT cache"
	Setting string `json:"setting,omitempty"` // key of the setting that switches it
	What    string `json:"what,omitempty"`    // its contents: "keeps what one aperture sees of the object"
	Note    string `json:"note,omitempty"`    // what its saving leaves out, a sentence; empty for nothing
	Limit   string `json:"limit,omitempty"`   // key of the setting that bounds it, in MiB; empty if nothing does
	// Uses explain how often it hits; the first that applies to the settings counts.
	Uses []CacheUse `json:"uses,omitempty"`
}

// CacheUse explains how often a cache hits under some settings.
type CacheUse struct {
	When
	// Once is true if each unit looks up entries of its own, once a pass, so that nothing
	// can hit in the first pass.
	Once bool `json:"once,omitempty"`
	// Why explains the hits and misses, as a clause that follows the cache's name.
	Why string `json:"why,omitempty"`
	// Seldom replaces Why if fewer than half of the lookups hit; empty if Why covers that.
	Seldom string `json:"seldom,omitempty"`
	// Brief is Why in a few words, and Reason in summaries.
	Brief  string `json:"brief,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Instead names what else to set for more hits, as the end of "switch it off, or …", and
	// Hint says what that does, beginning with its key. Both are empty if nothing does.
	Instead Advice `json:"instead,omitempty"`
	Hint    Advice `json:"hint,omitempty"`
}

// Use returns the explanation of a cache's hits under the present settings, nil for none.
func (c *CacheInfo) Use(v settings.Values) *CacheUse {
	for i := range c.Uses {
		if c.Uses[i].Holds(v) {
			return &c.Uses[i]
		}
	}
	return nil
}

// Direction is the direction in which values of a series become better.
type Direction uint8

// The directions.
const (
	NoBetter Direction = iota
	LessIsBetter
	MoreIsBetter
)

// Scale is the default scale of a chart's vertical axis.
type Scale uint8

// The scales.
const (
	Linear Scale = iota
	Logarithmic
)

// SeriesInfo is a number tracked over the run.
type SeriesInfo struct {
	Name   string    `json:"name"`            // key in JSON, with its unit: "psnr_db"
	Title  string    `json:"title,omitempty"` // "PSNR"
	What   string    `json:"what,omitempty"`  // what a loss measures: "the loss on everything measured before"
	Unit   string    `json:"unit,omitempty"`  // "dB"; empty for a bare number
	Better Direction `json:"better,omitempty"`
	Scale  Scale     `json:"scale,omitempty"`
	// Group names the series that share a chart: Losses, Metrics, or neither if the
	// series has no chart.
	Group string `json:"group,omitempty"`
	// Absent tells why there is no value yet, and Infinite the meaning of an infinite
	// value; empty if that cannot occur.
	Absent   string `json:"absent,omitempty"`
	Infinite string `json:"infinite,omitempty"`
	// Internal values are omitted from summaries: they are not results.
	Internal bool `json:"internal,omitempty"`
	// Fixed values follow from the settings alone, and vary with nothing else.
	Fixed bool `json:"fixed,omitempty"`
	// Each is true if every iteration has a value, false if only occasional
	// Measurements have one.
	Each bool `json:"each,omitempty"`
}

// Alone returns the series' title where it stands apart from others of its group: a loss is called one, once.
func (s *SeriesInfo) Alone() string {
	if s.Group != Losses || slices.Contains(strings.Fields(strings.ToLower(s.Title)), "loss") {
		return s.Title
	}
	return "loss " + s.Title
}

// GradientScale is the name of the series of the factor by which fp16 multiplies
// gradients, if a workload has one.
const GradientScale = "gradient_scale"

// The groups of series with charts on the screen.
const (
	Losses  = "losses"  // curves in one chart
	Metrics = "metrics" // one chart each
)

// MemoryInfo is a category of memory.
type MemoryInfo struct {
	Name string `json:"name"` // on screen and in JSON: "activations"
	// Parameters is true for the memory of the model's parameters: weights, gradients,
	// moments. The others are buffers.
	Parameters bool `json:"parameters,omitempty"`
	// Kept is true for memory that the settings in force do not need, such as plans kept for when
	// they change back.
	Kept bool `json:"kept,omitempty"`
}

// PictureInfo is a picture that a run publishes.
type PictureInfo struct {
	Name string `json:"name"`           // "reconstruction"
	Live bool   `json:"live,omitempty"` // it changes during the run
}

// SeriesNamed returns the index of a series, −1 if there is none of that name.
func (s *Schema) SeriesNamed(name string) int {
	for i := range s.Series {
		if s.Series[i].Name == name {
			return i
		}
	}
	return -1
}

// Items returns how many items an iteration processes under the settings, 1 if iterations are not
// batches.
func (s *Schema) Items(v settings.Values) int {
	if s.Item.One == "" {
		return 1
	}
	return max(v.Int(settings.BatchSize), 1)
}

// QualityInfo returns the series that measures the quality, without a name if there is none.
func (s *Schema) QualityInfo() SeriesInfo {
	if i := s.SeriesNamed(s.Quality); s.Quality != "" && i >= 0 {
		return s.Series[i]
	}
	return SeriesInfo{}
}

// Neutral reports whether a series is no quality, as a learning rate: it gets better in neither direction.
func (s *SeriesInfo) Neutral() bool { return s.Better == NoBetter && s.Group != Losses }

// Each reports whether every iteration has a value of a series.
func (s *Schema) Each(series int) bool { return series < len(s.Series) && s.Series[series].Each }

// Looking returns the index of the phase to which comparing and picturing count, −1 for
// none.
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

// CacheOf returns the index of the cache that a setting switches, −1 for none.
func (s *Schema) CacheOf(setting string) int {
	for i := range s.Caches {
		if s.Caches[i].Setting == setting {
			return i
		}
	}
	return -1
}

// CacheNamed returns the index of a cache, −1 if there is none of that name.
func (s *Schema) CacheNamed(name string) int {
	return slices.IndexFunc(s.Caches, func(c CacheInfo) bool { return c.Name == name })
}

// PictureNamed returns the index of a picture, −1 if there is none of that name.
func (s *Schema) PictureNamed(name string) int {
	for i := range s.Pictures {
		if s.Pictures[i].Name == name {
			return i
		}
	}
	return -1
}

// Stage returns the name of the stage to which iterations of a kind belong.
func (s *Schema) Stage(k Kind) string {
	if int(k) >= len(s.Kinds) {
		return ""
	}
	return s.Stages[s.Kinds[k].Stage]
}

// SameStage reports whether iterations of two kinds belong to one stage.
func (s *Schema) SameStage(a, b Kind) bool {
	return a == b || int(a) < len(s.Kinds) && int(b) < len(s.Kinds) && s.Kinds[a].Stage == s.Kinds[b].Stage
}

// InUnits reports whether iterations of a kind belong to the run's units.
func (s *Schema) InUnits(k Kind) bool { return int(k) < len(s.Kinds) && s.Kinds[k].Units }
