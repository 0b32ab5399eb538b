package profiles_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
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
		read, err := profiles.ReadSchema(data)
		if err != nil {
			t.Fatalf("%s: %v", s.Workload, err)
		}
		again, err := json.Marshal(&read)
		if err != nil || string(again) != string(data) {
			t.Errorf("%s became\n%s, want\n%s: %v", s.Workload, again, data, err)
		}
		if err := s.CheckSettings(w.Presets.Table); err != nil && s.Workload != "cyto" { // whose phases depend on its settings
			t.Errorf("%s: %v", s.Workload, err)
		}
	}
}

const least = `{"workload": "loop", "unit": {"one": "epoch", "many": "epochs"}, "stages": ["training"], "kinds": [{"name": "step", "units": true}],
	"phases": [{"name": "forward"}], "caches": [{"name": "tokens", "setting": "tokens"}], "series": [{"name": "loss", "better": "less", "scale": "logarithmic", "each": true}]}`

func TestASchemaOfDataGetsTitles(t *testing.T) {
	s, err := profiles.ReadSchema([]byte(least))
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Caches[0]; c.Title != "tokens" || c.Long != "tokens cache" {
		t.Errorf("%+v", c)
	}
	if x := s.Series[0]; !reflect.DeepEqual(x, profiles.SeriesInfo{Name: "loss", Title: "loss", Better: profiles.LessIsBetter, Scale: profiles.Logarithmic, Each: true}) {
		t.Errorf("%+v", x)
	}
}

// A schema that makes no sense is refused with what would be right.
func TestASchemaOfDataIsChecked(t *testing.T) {
	for what, want := range map[[2]string]string{
		{`"loop"`, `"a loop"`}:               "the schema's workload: a name must be letters",
		{`"forward"`, `""`}:                  `the schema's phase 1, "": must be text`,
		{`"forward"`, `" forward"`}:          "without blanks at its ends",
		{`"forward"`, `"forward\u001b[31m"`}: "has characters that do not print",
		{`{"name": "forward"}`, `{"name": "forward"}, {"name": "forward"}`}: `the schema's phase 2, "forward": is there twice`,
		{`"forward"`, `"` + strings.Repeat("f", 33) + `"`}:                  "33 bytes: must be at most 32",
		{`"less"`, `"down"`}:                        `better "down": must be less, more or nothing`,
		{`"logarithmic"`, `"log"`}:                  "must be linear or logarithmic",
		{`"stages"`, `"layout": -0.1, "stages"`}:    "layout is -0.1: must be a share",
		{`"stages"`, `"quality": "psnr", "stages"`}: `the schema's quality is the series "psnr", which it lacks`,
		{`"stages"`, `"acceptance": {"criteria": [{"of": "luck", "limit": 1}]}, "stages"`}:                     `criterion 1 is of "luck": must be speedup, hits, quality, peak or spread`,
		{`"stages"`, `"acceptance": {"criteria": [{"of": "speedup"}]}, "stages"`}:                              "criterion 1 has the limit 0: must be above 0",
		{`"stages"`, `"acceptance": {"criteria": [{"of": "hits", "cache": "masks", "limit": 0.8}]}, "stages"`}: `criterion 1 is of the cache "masks", which the schema lacks`,
		{`"stages"`, `"acceptance": {"criteria": [{"of": "hits", "cache": "tokens", "limit": 1}]}, "stages"`}:  "criterion 1 has the limit 1: must be below 1",
		{`"stages"`, `"acceptance": {"criteria": [{"of": "quality", "limit": 1}]}, "stages"`}:                  "criterion 1 is of the quality, which the schema does not name",
		{`"stages"`, `"acceptance": {"name": "a\u001b[31m", "criteria": []}, "stages"`}:                        "has characters that do not print",
		{`["training"]`, `[]`}:                   "no stages: must have one of each or more",
		{`"units": true`, `"stage": 1`}:          `kind "step" belongs to stage 1 of 1`,
		{`"one": "epoch"`, `"one": ""`}:          "does not name its unit of work",
		{`"stages"`, `"colour": 1, "stages"`}:    `unknown field "colour"`,
		{`"each": true}]}`, `"each": true}]} x`}: "something follows its JSON",
		{`{"name": "forward"}`, strings.Repeat(`{"name": "f"},`, 16) + `{"name": "f"}`}: "17 phases: must be at most 16",
	} {
		data := strings.Replace(least, what[0], what[1], 1)
		if _, err := profiles.ReadSchema([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s for %s: %v, want %q", what[1], what[0], err, want)
		}
	}
	s, err := profiles.ReadSchema([]byte(least))
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string]string{
		`{"workload": "other"}`: "the schema is of the workload loop, and the settings of other",
		`{"workload": "loop"}`:  `the cache tokens refers to the setting "tokens", which is not there`,
		`{"workload": "loop", "settings": [{"name": "tokens", "type": "switch", "touches": ["backward"]}]}`: `the setting tokens touches the phase "backward", which the schema lacks`,
		`{"workload": "loop", "settings": [{"name": "tokens", "type": "switch", "touches": ["forward"]}]}`:  "",
	} {
		read, err := settings.ReadTable([]byte(table))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.CheckSettings(read); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", table, err, want)
		}
	}
}
