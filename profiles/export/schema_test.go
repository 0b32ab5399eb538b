package export

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/settings"
)

// special are the schemas of types that write themselves.
var special = map[reflect.Type]func(func(reflect.Type) schematest.Schema) schematest.Schema{
	reflect.TypeFor[settings.Values](): schematest.Settings,
	reflect.TypeFor[Values]():          schematest.Named[*float64],
	reflect.TypeFor[Phases]():          schematest.Named[*Phase],
	reflect.TypeFor[Caches](): func(of func(reflect.Type) schematest.Schema) schematest.Schema {
		return schematest.OrNull(schematest.Named[Cache](of))
	},
}

func TestSchemas(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "ablation", Title: "prismtop bench ablation --json", Value: Ablation{}, Special: special})
	share := schematest.Schema{"minimum": 0, "maximum": 1}
	schematest.Check(t, schematest.Document{
		Name: "run", Title: "The summary of a run: prismtop run --json, replay --json and bench model --json", Value: Summary{}, Special: special,
		Adds: map[string]schematest.Schema{
			"Summary.state":  {"enum": []string{"preparing", "running", "paused", "finished", "stopped", "failed", "killed", "cut short"}},
			"Alert.severity": {"enum": []string{"notice", "warning", "critical"}},
			"Effect.verdict": {"enum": []string{"faster", "slower", "equal", "undecided", "not comparable"}},
			"Cache.hit_rate": share, "Benchmark.foreign_cpu": share, "Summary.foreign_cpu": share,
			"Layer.bound": {"enum": []string{"compute", "memory"}},
		},
	})
}

// docs/json.md leads to every schema.
func TestSchemasAreLinked(t *testing.T) {
	doc, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../docs/schema/*.json")
	if err != nil || len(files) < 7 {
		t.Fatalf("%d schemas (%v)", len(files), err)
	}
	for _, path := range files {
		if link := "](schema/" + filepath.Base(path) + ")"; !strings.Contains(string(doc), link) {
			t.Errorf("docs/json.md lacks %s", link)
		}
	}
}

// Summaries with everything, with nothing and with a fork and a replication, and tables of ablations, are
// documents of their schemas.
func TestDocumentsAreOfTheirSchemas(t *testing.T) {
	judged := whole(t)
	judged.Effects[1].Replica = &profiles.AblationRow{OffNS: 4e6, OnNS: 5e6, Effect: 0.25, Low: 0.2, High: 0.3, Groups: 8}
	judged.Effects[1].Fork = &profiles.Fork{Arm: 50, Done: 8, Ended: "complete", Rows: []profiles.ForkRow{{Series: 2, Before: 20, After: 21, Difference: 1, Low: 0.5, High: 1.5}}}
	for name, s := range map[string]*profiles.Snapshot{"whole": whole(t), "not begun": notBegunRun(), "empty": {}, "judged": judged} {
		sum := Summarize(s, source())
		if name == "whole" {
			sum.Benchmark = &Benchmark{Measured: "iterations", MinMS: map[string]float64{"iteration": 1}, ForeignCPUReason: "unknown",
				Roofs: &Roofs{Levels: []Bandwidth{{Bytes: 1}}}, Layers: []Layer{{Name: "layer 1", Bound: "memory"}}}
		}
		document, err := json.Marshal(sum)
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("run", document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, known := range []bool{false, true} {
		document, err := AblationJSON(twoFactors(known), presetSettings(t, "baseline"), "v", "baseline")
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("ablation", document); err != nil {
			t.Errorf("factorial: %v", err)
		}
	}
}
