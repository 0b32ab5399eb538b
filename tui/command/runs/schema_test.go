package runs

import (
	"bytes"
	"errors"
	"math"
	"testing"
	"time"

	"prismtop/profiles/export"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/recording"
)

func TestSchema(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "runs", Title: "prismtop runs --json", Value: list{},
		Adds: map[string]schematest.Schema{"listedRun.state": {"enum": []any{"running", "ended", "killed", nil}}, "listedRun.began": {"format": "date-time"}}})
	whole := recording.Listed{Path: "a", Bytes: 1, Status: recording.Status{State: recording.Ended, Preset: "baseline", MedianMS: 4, Quality: math.NaN(), Name: "n"}}
	for name, all := range map[string][]recording.Listed{"none": nil, "two": {whole, {Path: "b", Status: recording.Status{Began: time.Now()}, Err: errors.New("it is damaged")}}} {
		var b bytes.Buffer
		if err := export.WriteObject(&b, listAsJSON("folder", all)); err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("runs", b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
