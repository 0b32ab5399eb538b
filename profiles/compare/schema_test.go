package compare

import (
	"encoding/json"
	"testing"

	"prismtop/profiles/export/schematest"
)

func TestSchema(t *testing.T) {
	share := schematest.Schema{"minimum": 0, "maximum": 1}
	schematest.Check(t, schematest.Document{
		Name: "compare", Title: "prismtop compare --json and prismtop bench compare-builds --json", Value: comparisonJSON{},
		Adds: map[string]schematest.Schema{
			"comparisonJSON.design":  {"enum": designs},
			"comparisonJSON.miss":    share,
			"runJSON.foreign_cpu":    share,
			"rowJSON.group":          {"enum": []string{"speed", "phases", "layers", "caches", "memory", "quality"}},
			"differenceJSON.verdict": {"enum": verdictNames},
			"differenceJSON.sense":   {"enum": []string{"better", "neither", "worse"}},
		},
	})
}

// Comparisons with verdicts of every kind are documents of the schema.
func TestComparisonsAreOfTheirSchema(t *testing.T) {
	base := simulation{seed: 1, iterations: 4000, layers: true}
	for name, c := range map[string]*Comparison{
		"equal":   compared(t, base, simulation{seed: 2, iterations: 5000}),
		"slower":  compared(t, base, simulation{seed: 2, iterations: 4000, all: 4, seedOf: 3}),
		"short":   compared(t, base, simulation{seed: 2, iterations: 60}),
		"several": compared(t, base, base, simulation{seed: 2, iterations: 4000, change: 2500}),
	} {
		document, err := json.Marshal(c.JSON("1.0", c.Over(0.1), c.Undecided(0.1)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("compare", document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
