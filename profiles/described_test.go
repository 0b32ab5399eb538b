package profiles_test

import (
	"encoding/json"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/workloads"
)

// The schemas of all workloads can be written to JSON and read back.
func TestEverySchemaCanBeData(t *testing.T) {
	for _, w := range workloads.All {
		s := w.Schema()
		data, err := json.Marshal(&s)
		if err != nil {
			t.Fatal(err)
		}
		read, err := readSchema(data)
		if err != nil {
			t.Fatalf("%s: %v", s.Workload, err)
		}
		again, err := json.Marshal(&read)
		if err != nil || string(again) != string(data) {
			t.Errorf("%s became\n%s, want\n%s: %v", s.Workload, again, data, err)
		}
	}
}

// readSchema reads a schema from JSON and checks it, as a recording's.
func readSchema(data []byte) (s profiles.Schema, err error) {
	if err := json.Unmarshal(data, &s); err != nil {
		return s, err
	}
	return s, s.Check()
}

const least = `{"workload": "loop", "unit": {"one": "epoch", "many": "epochs"}, "stages": ["training"], "kinds": [{"name": "step", "units": true}],
	"phases": [{"name": "forward"}], "caches": [{"name": "tokens", "setting": "tokens"}], "series": [{"name": "loss", "better": "less", "scale": "logarithmic", "each": true}]}`

// A schema that makes no sense is refused with what would be right.
func TestASchemaOfDataIsChecked(t *testing.T) {
	for what, want := range map[[2]string]string{
		{`"less"`, `"down"`}:                     `better "down": must be less, more or nothing`,
		{`"logarithmic"`, `"log"`}:               "must be linear or logarithmic",
		{`"stages"`, `"layout": -0.1, "stages"`}: "layout is -0.1: must be a share",
		{`"stages"`, `"acceptance": {"criteria": [{"of": "luck", "limit": 1}]}, "stages"`}:                     `criterion 1 is of "luck": must be speedup, hits, quality, peak or spread`,
		{`"stages"`, `"acceptance": {"criteria": [{"of": "speedup"}]}, "stages"`}:                              "criterion 1 has the limit 0: must be above 0",
		{`"stages"`, `"acceptance": {"criteria": [{"of": "hits", "cache": "masks", "limit": 0.8}]}, "stages"`}: `criterion 1 is of the cache "masks", which the schema lacks`,
		{`"stages"`, `"acceptance": {"criteria": [{"of": "hits", "cache": "tokens", "limit": 1}]}, "stages"`}:  "criterion 1 has the limit 1: must be below 1",
		{`"stages"`, `"acceptance": {"criteria": [{"of": "quality", "limit": 1}]}, "stages"`}:                  "criterion 1 is of the quality, which the schema does not name",
		{`"units": true`, `"stage": 1`}: `kind "step" belongs to stage 1 of 1`,
		{`{"name": "forward"}`, strings.Repeat(`{"name": "f"},`, 16) + `{"name": "f"}`}: "17 phases: must be at most 16",
	} {
		data := strings.Replace(least, what[0], what[1], 1)
		if _, err := readSchema([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s for %s: %v, want %q", what[1], what[0], err, want)
		}
	}
}
