package bench

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"testing"

	"prismtop/profiles/export"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/settings"
	"prismtop/sim/bench"
)

// What bench model measures is a document of the schema of runs, with and without layers.
func TestTheModelsSummaryIsOfItsSchema(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // for the history
	for _, more := range [][]string{{}, {"--forward"}, {"--layers"}} {
		cmd := benchModelCommand()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		cmd.SetArgs(append([]string{"--json", "--size", "64", "--object", "32", "--threads", "1", "--max-iterations", "5", "--warmup", "1", "--max-foreign", "0"}, more...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatalf("%v: %v", more, err)
		}
		if err := schematest.Validate("run", out.Bytes()); err != nil {
			t.Errorf("%v: %v\n%s", more, err, out.String())
		}
		var measured struct{ Benchmark *export.Benchmark }
		if err := json.Unmarshal(out.Bytes(), &measured); err != nil || measured.Benchmark == nil || (len(measured.Benchmark.Layers) > 0) != slices.Contains(more, "--layers") {
			t.Errorf("%v: %v in %s", more, err, out.String())
		}
	}
}

func TestSchemas(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "calibrate", Title: "prismtop bench calibrate --json", Value: calibrationSummary{}})
	schematest.Check(t, schematest.Document{Name: "watching", Title: "prismtop bench watching --json", Value: watchingSummary{},
		Special: map[reflect.Type]func(func(reflect.Type) schematest.Schema) schematest.Schema{reflect.TypeFor[settings.Values](): schematest.Settings}})

	schematest.Check(t, schematest.Document{Name: "recommend", Title: "prismtop bench recommend --json", Value: recommendJSON{},
		Special: map[reflect.Type]func(func(reflect.Type) schematest.Schema) schematest.Schema{reflect.TypeFor[settings.Values](): schematest.Settings}})
	schematest.Check(t, schematest.Document{Name: "check-old", Title: "prismtop bench check --old --json", Value: turnsJSON{},
		Special: map[reflect.Type]func(func(reflect.Type) schematest.Schema) schematest.Schema{
			reflect.TypeFor[any](): func(func(reflect.Type) schematest.Schema) schematest.Schema {
				return schematest.Schema{"$ref": "compare.json"}
			}}})
	schematest.Check(t, schematest.Document{Name: "history", Title: "prismtop bench history --json", Value: pastJSON{}})

	tally := bench.Tally{N: 20, Found: 0.05, Equal: 0.9, Covered: 0.95}
	calibration := &bench.Calibration{Sizes: []bench.SizeCalibration{{ByKey: tally, Replicated: tally, Ablation: tally}, {Size: 0.02, ByKey: tally}}}
	judged, short := &watchingResult{Rounds: 8}, &watchingResult{Rounds: 2, ForeignReason: "unknown"}
	judged.Footer.Known = true
	for _, r := range []*watchingResult{judged, short} {
		r.Alone, r.Watched = []float64{1e6}, []float64{1.1e6}
	}
	for _, c := range []struct {
		name string
		v    any
	}{{"calibrate", summarizeCalibration(calibration, "baseline", 0)}, {"calibrate", summarizeCalibration(&bench.Calibration{Sizes: []bench.SizeCalibration{}}, "", 0)},
		{"watching", judged.summary("baseline")}, {"watching", short.summary("baseline")}} {
		var b bytes.Buffer
		if err := export.WriteObject(&b, c.v); err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate(c.name, b.Bytes()); err != nil {
			t.Error(err)
		}
	}
}
