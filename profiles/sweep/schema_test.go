package sweep

import (
	"encoding/json"
	"testing"

	"prismtop/profiles/export/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Check(t, schematest.Document{
		Name: "sweep", Title: "prismtop sweep --json", Value: Document{},
		Adds: map[string]schematest.Schema{
			"metricJSON.better":      {"enum": []string{"more", "less"}},
			"differenceJSON.verdict": {"enum": []string{"below", "above", "equal", "undecided"}},
		},
	})
}

// Sweeps of which nothing and of which everything is known are documents of the schema.
func TestTablesAreOfTheirSchema(t *testing.T) {
	f := frozen(t, square)
	waiting := make([]Status, len(f.Cells()))
	for i := range waiting {
		waiting[i].State = Waiting
	}
	for name, all := range map[string][]Status{"waiting": waiting, "done": states(f, func(c Cell) (float64, float64) { return float64(1 + c.Arm), float64(c.Replicate) })} {
		document, err := json.Marshal(Make(f, all, nil).JSON("1.0"))
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("sweep", document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
