// Package checkpoint reads and writes checkpoints: everything that a run needs to go on, in
// another process, to the same bits as if it had never stopped. A checkpoint is an NPZ archive
// (docs/checkpoints.md) of the workload's arrays and of one JSON document with everything else.
// The package knows no workload.
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Format is the version of the format that this program writes, and the newest that it reads. Those
// of format 1 name no recording, those of 2 no other checkpoints.
const Format = 3

// Array is an array of a task: one of Float32 and Float64 has its numbers, row by row.
type Array struct {
	Name    string
	Shape   []int
	Float32 []float32
	Float64 []float64
}

// State is the state of a task between two iterations. A task makes it from copies, so that it
// can be written while the task goes on.
type State struct {
	Scalars any // encoded as JSON; see Checkpoint.Scalars for reading
	Arrays  []Array
}

// Run is the part of a checkpoint that is the run's own, in JSON.
type Run struct {
	Program   string      `json:"program"`   // version that wrote it
	Workload  string      `json:"workload"`  // "prism"
	Object    string      `json:"object"`    // the run's input: "moon", or a file's name
	Kernels   string      `json:"kernels"`   // that computed it
	Iteration int64       `json:"iteration"` // iterations so far
	Finished  bool        `json:"finished"`  // nothing is left to do
	Settings  [][2]string `json:"settings"`  // in force: keys and values as settings.Values.Get writes them
	Results   []Result    `json:"results"`   // of the newest units of work that ended
	Recording *Recording  `json:"recording"` // of the run; nil for none
	Kept      []string    `json:"kept"`      // older checkpoints of the run beside this one, base names, oldest first
	Best      *Best       `json:"best"`      // checkpoint of the best quality so far; nil if that is not kept

	Preset  string           `json:"preset,omitempty"`  // that the settings started from; empty if unknown
	Origins settings.Origins `json:"origins,omitempty"` // of settings with the values that they started with
	Earlier *profiles.Ended  `json:"earlier,omitempty"` // the units of work before those of the results; nil for none
	Ran     float64          `json:"ran,omitempty"`     // running time of all parts, in seconds; 0 if unknown
}

// Ended returns the number of units of work that ended.
func (r *Run) Ended() int {
	if r.Earlier == nil {
		return len(r.Results)
	}
	return r.Earlier.Units + len(r.Results)
}

// Best is the checkpoint of a run with the best quality.
type Best struct {
	Quality   Number `json:"quality"` // by the schema
	Iteration int64  `json:"iteration"`
}

// Recording names the recording of a run.
type Recording struct {
	Path  string    `json:"path"`
	Began time.Time `json:"began"` // tells it from another at the path
	// Starts is the number of starts in it by then; 0 in files that do not say. Of more, the later ones
	// went on from this checkpoint or another already.
	Starts int `json:"starts"`
}

// Result is a profiles.UnitResult in JSON.
type Result struct {
	Unit       int32         `json:"unit"`
	Iterations int32         `json:"iterations"`
	Converged  bool          `json:"converged"`
	Values     []Number      `json:"values"` // by the schema's series
	Reached    Number        `json:"reached"`
	Loss       string        `json:"loss"`
	Threshold  Number        `json:"threshold"`
	Elapsed    time.Duration `json:"elapsed_ns"`
}

// Checkpoint is the content of a file.
type Checkpoint struct {
	Run
	Task   json.RawMessage // the task's scalars
	Arrays []Array
}

// Number is a float64 in JSON, which has neither NaN nor infinities: these are written as text.
type Number float64

// MarshalJSON writes the shortest number that reads as the same bits.
func (n Number) MarshalJSON() ([]byte, error) {
	text := strconv.FormatFloat(float64(n), 'g', -1, 64)
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		text = strconv.Quote(text)
	}
	return []byte(text), nil
}

// UnmarshalJSON reads the output of MarshalJSON.
func (n *Number) UnmarshalJSON(data []byte) error {
	text := string(data)
	if unquoted, err := strconv.Unquote(text); err == nil {
		text = unquoted
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("%s: must be a number", data)
	}
	*n = Number(v)
	return nil
}

// Numbers converts values to Numbers.
func Numbers(values []float64) []Number {
	all := make([]Number, len(values))
	for i, v := range values {
		all[i] = Number(v)
	}
	return all
}

// ResultOf converts the result of a unit; series is the number of the schema's series.
func ResultOf(r *profiles.UnitResult, series int) Result {
	return Result{
		Unit: r.Unit, Iterations: r.Iterations, Converged: r.Converged, Values: Numbers(r.Values[:series]),
		Reached: Number(r.Reached), Loss: r.Loss, Threshold: Number(r.Threshold), Elapsed: r.Elapsed,
	}
}

// UnitResult is the inverse of ResultOf.
func (r *Result) UnitResult() profiles.UnitResult {
	u := profiles.UnitResult{
		Unit: r.Unit, Iterations: r.Iterations, Converged: r.Converged,
		Reached: float64(r.Reached), Loss: r.Loss, Threshold: float64(r.Threshold), Elapsed: r.Elapsed,
	}
	for i, v := range r.Values[:min(len(r.Values), len(u.Values))] {
		u.Values[i] = float64(v)
	}
	return u
}

// SettingsOf lists the values of settings.
func SettingsOf(v settings.Values) [][2]string {
	all := make([][2]string, len(v.Keys()))
	for i, k := range v.Keys() {
		all[i] = [2]string{k.Name, v.Get(k.Name)}
	}
	return all
}

// Values returns the settings as values of the workload's table. Every key that is not optional must be there.
func (r *Run) Values(table *settings.Table) (settings.Values, error) {
	v, missing := table.Zero(), map[string]bool{}
	for _, k := range table.Keys() {
		missing[k.Name] = !k.Optional
	}
	for _, s := range r.Settings {
		var err error
		if v, err = v.Set(s[0], s[1]); err != nil {
			return v, err
		}
		delete(missing, s[0])
	}
	for _, name := range table.Names() {
		if missing[name] {
			return v, fmt.Errorf("the setting %s is missing", name)
		}
	}
	v = v.Settled()
	return v, v.Validate()
}

// Scalars decodes the task's scalars into a value.
func (c *Checkpoint) Scalars(into any) error {
	if err := decodeStrictly(c.Task, into); err != nil {
		return fmt.Errorf("the task's state: %w", err)
	}
	return nil
}

// Take returns the named arrays in a map, each of a required shape: names must be exactly the
// checkpoint's. The error names the first that differs.
func (c *Checkpoint) Take(required []Array) (map[string]Array, error) {
	have := make(map[string]Array, len(c.Arrays))
	for _, a := range c.Arrays {
		have[a.Name] = a
	}
	all := make(map[string]Array, len(required))
	for _, want := range required {
		a, ok := have[want.Name]
		switch {
		case !ok:
			return nil, fmt.Errorf("the array %s is missing", want.Name)
		case fmt.Sprint(a.Shape) != fmt.Sprint(want.Shape):
			return nil, fmt.Errorf("the array %s has the shape %v, must have %v", a.Name, a.Shape, want.Shape)
		case (a.Float64 == nil) != (want.Float64 == nil):
			return nil, fmt.Errorf("the array %s has numbers of another size", a.Name)
		}
		all[a.Name] = a
	}
	for _, a := range c.Arrays {
		if _, ok := all[a.Name]; !ok {
			return nil, fmt.Errorf("the array %s is not part of this run", a.Name)
		}
	}
	return all, nil
}

// errNotCheckpoint reports a file of another kind.
var errNotCheckpoint = errors.New("is not a checkpoint: must be a file written by --checkpoint or on request " +
	"during a run")
