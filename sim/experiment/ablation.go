package experiment

import (
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
)

// NewAblation compares every switchable optimisation on and off or, if the options have factors, every combination
// of those.
func NewAblation(base settings.Values, schema *profiles.Schema, o ablation.Options) *Comparison {
	began := "ablation began"
	if len(o.Factors) > 0 {
		names := make([]string, len(o.Factors))
		for i, f := range o.Factors {
			names[i] = f.Name
		}
		began = "factorial ablation of " + strings.Join(names, ", ") + " began"
	}
	return Compare(base, began, func() Schedule {
		o := optionsFor(schema, o)
		if len(o.Factors) > 0 {
			return ablation.NewFactorial(base, o)
		}
		return ablation.New(base, o)
	})
}
