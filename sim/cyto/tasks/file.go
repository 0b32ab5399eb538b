package tasks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/visible"
)

// WriteResults writes a file of results: a list with an entry for each task, in JSON. The
// folder of the file is created if it does not exist. An error leaves an existing file as it is.
func WriteResults(path string, results []Result) error {
	data, err := Encode(results)
	if err != nil {
		return fmt.Errorf("results %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("results %s: %w", path, err)
	}
	return atomicfile.Write(path, data, 0o666)
}

// Encode returns the bytes of a file of results.
func Encode(results []Result) ([]byte, error) {
	results = append([]Result{}, results...)
	for i := range results {
		if results[i].Rounds == nil { // of a file of CytoDL's
			results[i].Rounds = []Round{}
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(results); err != nil {
		return nil, err
	}
	return visible.JSON(b.Bytes()), nil
}

// Decode reads a file of results, or a single entry as a program on a git branch leaves it.
func Decode(data []byte) ([]Result, error) {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '{' {
		data = slices.Concat([]byte{'['}, data, []byte{']'})
	}
	var all []Result
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("must be a list of results as JSON: %w", err)
	}
	for i := range all {
		if all[i].TaskConfig == nil {
			all[i].TaskConfig = Row{}
		}
	}
	return all, nil
}

// largestResults bounds a file that IsResults reads, in bytes.
const largestResults = 64 << 20

// IsResults reports whether WriteResults wrote a file: it is a list of which every entry has its rounds, which a list
// of CytoDL's lacks.
func IsResults(path string) bool {
	data, err := inputfile.Read(context.Background(), path, largestResults)
	if err != nil {
		return false
	}
	all, err := Decode(data)
	return err == nil && !slices.ContainsFunc(all, func(r Result) bool { return r.Rounds == nil })
}

// FinalMetrics are a training's last values, such as "train/loss". What is not finite is null
// in JSON.
type FinalMetrics map[string]float64

// MarshalJSON writes null for what JSON has no number for.
func (m FinalMetrics) MarshalJSON() ([]byte, error) {
	all := map[string]*float64{}
	for name, v := range m {
		all[name] = nil
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[name] = &v
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads null as NaN.
func (m *FinalMetrics) UnmarshalJSON(data []byte) error {
	var all map[string]*float64
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*m = FinalMetrics{}
	for name, v := range all {
		(*m)[name] = math.NaN()
		if v != nil {
			(*m)[name] = *v
		}
	}
	return nil
}

// Check checks metrics that another program wrote: those of a task that succeeded are of its
// kind and have its total time, and no time or memory is negative.
func (m *Metrics) Check(kind Kind, success bool) error {
	if m.Training != nil && kind == Inference || m.Inference != nil && kind == Training {
		return fmt.Errorf("metrics: must be those of %s", kind)
	}
	name := "total_training"
	if kind == Inference {
		name = "total_inference"
	}
	if _, has := m.total(); success && !has {
		return fmt.Errorf("metrics: %s is missing: must have elapsed_seconds", name)
	}
	var err error
	m.each(func(_ string, t *Timer, _ *float64) {
		if t != nil && (t.ElapsedSeconds < 0 || t.PeakMemoryMB != nil && *t.PeakMemoryMB < 0) {
			err = errors.New("metrics: a time or memory below 0")
		}
	})
	return err
}

// each calls do with every timer and rate that was recorded, by its key in JSON.
func (m *Metrics) each(do func(key string, timer *Timer, rate *float64)) {
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			if f.Kind() != reflect.Pointer || f.IsNil() {
				continue
			}
			key, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			switch x := f.Interface().(type) {
			case *Timer:
				do(key, x, nil)
			case *float64:
				do(key, nil, x)
			default:
				walk(f.Elem())
			}
		}
	}
	walk(reflect.ValueOf(m).Elem())
}

// total returns the time of a whole task in seconds, of a part of it if it failed; false if it was not measured.
func (m *Metrics) total() (seconds float64, ok bool) {
	m.each(func(key string, t *Timer, _ *float64) {
		if key == "total_training" || key == "total_inference" {
			seconds, ok = t.ElapsedSeconds, true
		}
	})
	return seconds, ok
}

// Result joins the rounds of a task, in any order. It succeeded if all did. Its metrics are
// those of the successful round with the median total time, the lower of two; if none
// succeeded, what the last one left.
func (t *Task) Result(rounds []Round) Result {
	r := Result{
		Branch: t.Branch, Experiment: t.Experiment, TaskConfig: t.Row, Kind: t.Kind.String(), Variant: t.Variant,
		Success: len(rounds) > 0, Rounds: append([]Round{}, rounds...),
	}
	slices.SortStableFunc(r.Rounds, func(a, b Round) int { return a.Round - b.Round })
	var good []Round
	for _, round := range r.Rounds {
		if r.Timestamp == "" {
			r.Timestamp = round.Timestamp
		}
		if round.Success {
			good = append(good, round)
			continue
		}
		r.Success = false
		if r.Error == nil && round.Error != nil {
			text := *round.Error
			if len(rounds) > 1 {
				text = fmt.Sprintf("round %d: %s", round.Round, text)
			}
			r.Error = &text
		}
	}
	switch {
	case len(good) > 0:
		slices.SortStableFunc(good, func(a, b Round) int {
			x, _ := a.Metrics.total()
			y, _ := b.Metrics.total()
			return cmp.Compare(x, y)
		})
		r.Metrics = good[(len(good)-1)/2].Metrics
	case len(rounds) > 0:
		r.Metrics = r.Rounds[len(rounds)-1].Metrics
	default:
		text := "the task was not run"
		r.Error = &text
	}
	return r
}

// Failed returns the round of a task that failed, with what it measured so far.
func Failed(round Round, err error) Round {
	text := visible.Text(err.Error())
	round.Success, round.Error = false, &text
	return round
}
