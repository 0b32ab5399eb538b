// Package export writes the results of a run in external formats. This file is
// the summary of a run as JSON, described field by field in docs/json.md.
package export

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// The summary: its fields, made from a snapshot and written.

// Schema is the version of the JSON object. It changes when a field changes its
// meaning or is removed.
const Schema = 1

// Source is the data of a summary that is not in the snapshot.
type Source struct {
	Version string      // of the program
	Preset  string      // from which the settings started; empty if unknown
	CPU     machine.CPU // Model, or Reason
	Threads int         // used by the kernels; 0 means the settings' number
	GPU     string      // model of the GPU in use; empty for none

	Cut string // "killed" or "cut short" for a recording that ends before its run; empty for one that has the end
	Why string // why it does

	Schema *profiles.Schema // that a recorded run ends with; nil if it is not known

	Processors int              // threads that a setting of 0 means; 0 if unknown
	Origins    settings.Origins // of the settings of the first start; nil if unknown

	Began  time.Time             // origin of a recording's times; zero for a run that goes on
	Facts  func() map[string]any // what a recording says of itself, or would at the end of a run; nil for what is above
	Starts []settings.Origins    // of the settings of each start of a recording; nil for a restart
}

// Summary is a run as one JSON object. A value that was not measured is null, and
// the field of the same name with "_reason" says why; that field is absent if
// there is a value. No field is ever NaN or infinite.
type Summary struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`

	Preset         *string          `json:"preset"`
	PresetReason   string           `json:"preset_reason,omitempty"`
	Seed           *uint64          `json:"seed"`
	SeedReason     string           `json:"seed_reason,omitempty"`
	Object         *string          `json:"object"`
	ObjectReason   string           `json:"object_reason,omitempty"`
	State          string           `json:"state"`
	Error          string           `json:"error,omitempty"`
	EndedBy        string           `json:"ended_by,omitempty"` // the limit that finished the run early, or profiles.Diverged
	Notes          []string         `json:"notes"`
	Settings       *settings.Values `json:"settings"`
	SettingsReason string           `json:"settings_reason,omitempty"`

	ThresholdSuspended       bool   `json:"threshold_suspended"` // it was given for another loss
	ThresholdSuspendedReason string `json:"threshold_suspended_reason,omitempty"`

	Machine     Machine `json:"machine"`
	Model       *Model  `json:"model"`
	ModelReason string  `json:"model_reason,omitempty"`
	Samples     Samples `json:"samples"`

	Iterations  int64   `json:"iterations"` // how many ran; the first is number 0
	WallSeconds float64 `json:"wall_seconds"`
	// WallSecondsInAll is with the parts before the checkpoint; 0 if the run was not resumed, or they are not known.
	WallSecondsInAll float64 `json:"wall_seconds_in_all,omitempty"`
	// ForeignCPU is the share of all processors, 0 to 1, used by other programs while the run ran.
	ForeignCPU       *float64 `json:"foreign_cpu"`
	ForeignCPUReason string   `json:"foreign_cpu_reason,omitempty"`
	// ResumedAfter is the number of iterations of earlier parts; 0 for a run that is no part of another.
	ResumedAfter int64 `json:"resumed_after,omitempty"`

	Stage             string  `json:"stage"`
	IterationMS       *Spread `json:"iteration_ms"`
	IterationMSReason string  `json:"iteration_ms_reason,omitempty"`
	PhasesMS          Phases  `json:"phases_ms"`

	Caches       Caches   `json:"caches"`
	CachesReason string   `json:"caches_reason,omitempty"`
	Memory       Values   `json:"memory_bytes"` // by category of the schema, and of the process
	Quality      Values   `json:"quality"`      // the newest values of the schema's series
	Changes      []Change `json:"changes"`
	// Ablation is the newest one of the run, as far as it came.
	Ablation *AblationTable `json:"ablation,omitempty"`

	Annotations []Annotation `json:"annotations"` // of all starts, the newest profiles.MostNotes

	Benchmark *Benchmark `json:"benchmark,omitempty"` // of prismtop bench model

	Recording       *string `json:"recording"` // path of the file
	RecordingReason string  `json:"recording_reason,omitempty"`
	// Deleted are the recordings that the end of the run deleted for the limit of their folder, the oldest first.
	Deleted []DeletedRecording `json:"deleted_recordings,omitempty"`

	Alerts []Alert `json:"alerts"` // that stood at the end, worst first

	SkippedSteps   int64 `json:"skipped_steps"`
	NonFinite      int64 `json:"non_finite"`
	DroppedRecords int64 `json:"dropped_records"`
}

// DeletedRecording is a recording that is there no more.
type DeletedRecording struct {
	Path      string `json:"path"`
	Bytes     int64  `json:"bytes"`
	Described bool   `json:"described"` // it had a name or a note
}

// Alert is a problem of the run.
type Alert struct {
	ID        string  `json:"id"`
	Severity  string  `json:"severity"`
	Iteration int64   `json:"iteration"` // the next one when it was raised, numbered from 0
	AtSeconds float64 `json:"at_seconds"`
	What      string  `json:"what"`
	Try       string  `json:"try"` // what may help; empty if nothing is known to
}

// Annotation is a note that somebody wrote during the run.
type Annotation struct {
	Start     int     `json:"start"`      // starts of the run before the one in which it was written
	Iteration int64   `json:"iteration"`  // the next one when it was written, numbered from 0
	AtSeconds float64 `json:"at_seconds"` // since that start
	Author    string  `json:"author"`     // empty if that is not known
	Text      string  `json:"text"`
}

// Machine describes the machine of the run.
type Machine struct {
	CPU           *string `json:"cpu"`
	CPUReason     string  `json:"cpu_reason,omitempty"`
	Device        *string `json:"device"`
	DeviceReason  string  `json:"device_reason,omitempty"`
	Kernels       *string `json:"kernels"`
	KernelsReason string  `json:"kernels_reason,omitempty"`
	Threads       *int    `json:"threads"`
	ThreadsReason string  `json:"threads_reason,omitempty"`
	GPU           *string `json:"gpu"`
	GPUReason     string  `json:"gpu_reason,omitempty"`
}

// Model describes the trained model.
type Model struct {
	Parameters int `json:"parameters"`
	// The sides of the field and of the object's window, in pixels.
	InputSize        *int   `json:"input_size"`
	InputSizeReason  string `json:"input_size_reason,omitempty"`
	OutputSize       *int   `json:"output_size"`
	OutputSizeReason string `json:"output_size_reason,omitempty"`
}

// Samples is the progress through the pattern.
type Samples struct {
	Done   int     `json:"done"`
	Total  int     `json:"total"`
	Failed []int32 `json:"failed"` // indices of those that ended above the threshold
}

// Spread is the distribution of a time over the stage, in milliseconds.
type Spread struct {
	Median float64 `json:"median"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
	N      int     `json:"n"` // iterations
}

// Phase is a phase's time and its share, 0 to 1, of the whole iterations' time.
type Phase struct {
	Spread
	Share float64 `json:"share"`
}

// Phases are all phases of the schema, as an object with their names as keys.
type Phases []NamedPhase

// NamedPhase is a phase; nil with a reason if no iteration ran it.
type NamedPhase struct {
	Name   string
	Phase  *Phase
	Reason string
}

// Of returns the phase of a name; nil if no iteration ran it.
func (p Phases) Of(name string) *Phase {
	for _, v := range p {
		if v.Name == name {
			return v.Phase
		}
	}
	return nil
}

// Caches are all caches of the schema, as an object with their names as keys.
type Caches []NamedCache

// NamedCache is a cache.
type NamedCache struct {
	Name string
	Cache
}

// Of returns the cache of a name; nil for none.
func (c Caches) Of(name string) *Cache {
	for i := range c {
		if c[i].Name == name {
			return &c[i].Cache
		}
	}
	return nil
}

// Cache is a cache's counters since the run began.
type Cache struct {
	Enabled bool  `json:"enabled"` // at the end
	Hits    int64 `json:"hits"`
	Misses  int64 `json:"misses"`
	// HitRate has a reason also if it is 0 for a known reason.
	HitRate         *float64 `json:"hit_rate"`
	HitRateReason   string   `json:"hit_rate_reason,omitempty"`
	Entries         int64    `json:"entries"`
	Bytes           int64    `json:"bytes"`
	SavedMS         *float64 `json:"saved_ms"`
	SavedMSReason   string   `json:"saved_ms_reason,omitempty"`
	SavedLow        *float64 `json:"saved_ms_low"` // 95 % interval of SavedMS
	SavedLowReason  string   `json:"saved_ms_low_reason,omitempty"`
	SavedHigh       *float64 `json:"saved_ms_high"`
	SavedHighReason string   `json:"saved_ms_high_reason,omitempty"`
}

// Values are numbers as an object with their names as keys. A nil value has a reason
// in a separate field: name_reason.
type Values []Value

// Value is a number, or the reason why there is none.
type Value struct {
	Name   string
	Number any // *int64 or *float64, which may be nil
	Reason string
}

// Of returns the value of a name, or nil and why there is none.
func (v Values) Of(name string) (number any, reason string) {
	for _, x := range v {
		if x.Name == name {
			return x.Number, x.Reason
		}
	}
	return nil, "unknown"
}

// Change is the set of changes between two iterations of a run, and their effect.
type Change struct {
	// Key, Before and After describe the setting; for several settings each is a
	// comma-separated list.
	Key       string    `json:"key"`
	Before    string    `json:"before"`
	After     string    `json:"after"`
	Settings  []Setting `json:"settings"`  // at least one
	Iteration int64     `json:"iteration"` // the first under the new settings, numbered from 0
	AtSeconds float64   `json:"at_seconds"`

	Effect       *Effect  `json:"effect"`
	EffectReason string   `json:"effect_reason,omitempty"`
	Drift        *float64 `json:"psnr_drift_db"`
	DriftReason  string   `json:"psnr_drift_db_reason,omitempty"`
	Confounded   string   `json:"confounded,omitempty"` // other differences between the windows
	Replicated   *Replica `json:"replicated,omitempty"`
	Fork         *Fork    `json:"fork,omitempty"`
	// Without is why there is no result, as the screen has it; empty if there is one, or may still be.
	Without string `json:"without_result,omitempty"`
}

// Fork is what a change did to the result on equal terms.
type Fork struct {
	Arm    int                  `json:"iterations"` // of each arm
	Pairs  int                  `json:"pairs"`
	Ended  string               `json:"ended"` // empty while it runs
	Series map[string]*ForkLine `json:"series"`
}

// ForkLine is the difference in one series at the end of the arms.
type ForkLine struct {
	Before     *float64    `json:"before"`
	After      *float64    `json:"after"`
	Difference *float64    `json:"difference"` // after less before
	Interval   *[2]float64 `json:"interval"`   // 95 %; null below 6 pairs
	Equal      bool        `json:"equal"`      // the same bits in every pair
}

// Setting is a setting that changed.
type Setting struct {
	Key    string `json:"key"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// Effect compares the whole iteration's median time before and after a change. The shift
// is nil if something else differs between the two.
type Effect struct {
	BeforeMS    float64  `json:"before_ms"`
	AfterMS     float64  `json:"after_ms"`
	Shift       *float64 `json:"shift"` // after/before − 1
	ShiftReason string   `json:"shift_reason,omitempty"`
	Low         *float64 `json:"low"` // 95 % interval of shift, as wide as the run's own drift
	LowReason   string   `json:"low_reason,omitempty"`
	High        *float64 `json:"high"`
	HighReason  string   `json:"high_reason,omitempty"`
	NBefore     int      `json:"n_before"` // iterations in each window
	NAfter      int      `json:"n_after"`

	Verdict      string   `json:"verdict"` // faster, slower, equal, undecided or not comparable
	Drift        *float64 `json:"drift"`   // how far neighbouring medians moved before, with nothing changed
	DriftReason  string   `json:"drift_reason,omitempty"`
	DriftWindows int      `json:"drift_windows"` // that it rests on
}

// Replica is what switching a change back and forth has shown.
type Replica struct {
	OffMS    *float64    `json:"before_ms"`
	OnMS     *float64    `json:"after_ms"`
	Effect   *float64    `json:"shift"`
	Interval *[2]float64 `json:"interval"` // 95 % for all its looks together; null before the first
	Groups   int         `json:"groups"`   // of four blocks
	Verdict  string      `json:"verdict"`
}

// InAll is the running time of all parts of a resumed run, as it is put behind that of the newest: ", 00:01:05 in all";
// empty if it is not known.
func (s *Summary) InAll() string {
	if s.WallSecondsInAll == 0 {
		return ""
	}
	return ", " + unit.Clock(time.Duration(s.WallSecondsInAll*float64(time.Second))) + " in all"
}

// WriteJSON writes the summary as one indented object and a line feed.
func WriteJSON(w io.Writer, s *Summary) error { return WriteObject(w, s) }

// WriteObject writes a value as one indented object and a line feed, with what could steer a
// terminal written out.
func WriteObject(w io.Writer, s any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err := w.Write(visible.JSON(b.Bytes()))
	return err
}

// Summarize builds the summary of a run from its last snapshot.
func Summarize(s *profiles.Snapshot, from Source) *Summary {
	sum := &Summary{
		Schema: Schema, Version: from.Version,
		State: s.State.String(), Error: s.Err, EndedBy: endedBy(s), Notes: append([]string{}, s.Run.Notes...),
		Machine:    describeMachine(s, from),
		Samples:    countSamples(s),
		Iterations: s.Index, WallSeconds: s.Elapsed.Seconds(), WallSecondsInAll: s.InAll().Seconds(),
		ResumedAfter: s.Run.Resumed,
		Stage:        s.Stage(),
		PhasesMS:     describePhases(s),
		Memory:       describeMemory(s),
		Quality:      describeQuality(s),
		Changes:      describeChanges(s),
		Ablation:     ablationIn(s),

		Annotations: describeNotes(s), Alerts: describeAlerts(s.Alerts),

		SkippedSteps: s.SkippedSteps, NonFinite: s.NonFinite, DroppedRecords: s.Own.Dropped,
	}
	sum.Preset, sum.PresetReason = text(from.Preset, "the run started from no preset")
	sum.Object, sum.ObjectReason = text(s.Run.Object, notBegun)
	sum.Recording, sum.RecordingReason = text(s.Recording.Path, orElse(s.Recording.Err, "the run was not recorded"))
	if s.Recording.Path != "" {
		sum.RecordingReason = s.Recording.Err // the file lacks the rest
	}
	if from.Cut != "" {
		sum.State, sum.RecordingReason = from.Cut, from.Why
	}
	if s.Load.WholeKnown {
		sum.ForeignCPU = &s.Load.Whole
	} else {
		sum.ForeignCPUReason = cmp.Or(s.Load.Reason, "it was read over less than half a second of the run")
	}
	sum.IterationMS, sum.IterationMSReason = spread(s.Whole.Total)
	if s.Run.Parameters > 0 || s.Index > 0 { // it began
		sum.Settings = &s.Settings
		if sum.SeedReason = "the workload has no seed"; s.Settings.Has(settings.Seed) {
			sum.Seed, sum.SeedReason = &s.Run.Seed, ""
		}
	} else {
		sum.SettingsReason, sum.SeedReason = notBegun, notBegun
	}
	switch {
	case s.Run.Parameters > 0:
		sum.Model = describeModel(&s.Run)
	case s.Index > 0:
		sum.ModelReason = "the workload has no parameters that it counts"
	default:
		sum.ModelReason = notBegun
	}
	if loss, now, suspended := s.Settings.Suspended(s.Run.Schema.Threshold); suspended {
		sum.ThresholdSuspended = true
		sum.ThresholdSuspendedReason = "given for " + loss + ", and the loss is " + now
	}
	if s.Index > 0 {
		sum.Caches = describeCaches(s)
	} else {
		sum.CachesReason = noneRan
	}
	return sum
}
