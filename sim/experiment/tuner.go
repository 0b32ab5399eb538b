package experiment

import (
	"fmt"
	"strconv"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
)

// The auto-tuner of the batch size: a search by comparisons between iterations that the setting
// auto_tune starts, and that ends by itself with the best size in force, or with the first size if
// the user changes anything.

// Tunes reports whether the settings ask for the auto-tuner, and the workload has batches.
func Tunes(v settings.Values, schema *profiles.Schema) bool {
	return itemsOf(schema) != nil && v.On(settings.AutoTune)
}

// NewTuner searches the batch size of the most items a second. check returns an error for settings that this machine
// does not support.
func NewTuner(base settings.Values, schema *profiles.Schema,
	check func(v settings.Values, key string) error) *Comparison {
	c := Compare(base, "auto-tuner began at "+settings.BatchSize+" = "+base.Get(settings.BatchSize), func() Schedule {
		return ablation.NewTuner(base, ablation.TunerOptions{
			Options: optionsFor(schema, ablation.Options{}),
			Needed:  func(m profiles.Memory) int64 { return m.Needed(schema) },
			Values: func(size int) (settings.Values, error) {
				v, err := base.Set(settings.BatchSize, strconv.Itoa(size))
				if err == nil {
					err = v.Validate()
				}
				if err == nil {
					err = check(v, settings.BatchSize)
				}
				return v, err
			},
		})
	})
	c.adopts = func(chosen settings.Values) Choice {
		size := chosen.Get(settings.BatchSize)
		return Choice{
			Settings: chosen, Sets: []settings.Assignment{tunerOff, {Key: settings.BatchSize, Value: size}},
			Name: fmt.Sprintf("the auto-tuner: %s = %s", settings.BatchSize, size),
		}
	}
	return c
}

var tunerOff = settings.Assignment{Key: settings.AutoTune, Value: "false"}

// TunerOff returns the change that switches the auto-tuner off when a user stops a comparison; none if it is off.
func TunerOff(v settings.Values) []settings.Assignment {
	if !v.On(settings.AutoTune) {
		return nil
	}
	return []settings.Assignment{tunerOff}
}

// Overruled switches the auto-tuner off in settings that were just changed if another batch size was asked for.
func Overruled(next settings.Values, sets []settings.Assignment) settings.Values {
	for _, a := range sets {
		if a.Key == settings.AutoTune {
			return next
		}
	}
	for _, a := range sets {
		if a.Key == settings.BatchSize && next.On(settings.AutoTune) {
			if off, err := next.With(tunerOff); err == nil {
				return off
			}
		}
	}
	return next
}
