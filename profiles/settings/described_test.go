package settings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"prismtop/profiles/settings"
	"prismtop/sim/curve"
	"prismtop/sim/prism"
)

// A table that is written and read back says the same of every setting.
func TestATableOfDataSaysWhatItWasWrittenFrom(t *testing.T) {
	presets, err := curve.Presets().Table.Described(settings.Values{})
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range presets.Keys() {
		if want := curve.Table.Keys()[i]; fmt.Sprintf("%+v", k) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s became\n%+v, want\n%+v", want.Name, k, want)
		}
	}
	again, err := json.Marshal(presets)
	if err != nil || !bytes.Equal(again, presets.Data()) {
		t.Errorf("written once more it is\n%s, want\n%s: %v", again, presets.Data(), err)
	}
	if read, err := settings.ReadTable(again); err != nil || !read.Same(presets) || read.Same(curve.Table) {
		t.Errorf("read once more it is another table: %v", err)
	}
	if curve.Table.Data() != nil {
		t.Error("a table that is declared in Go has data")
	}
}

// everything is a table with all that settings may say.
const everything = `{"workload": "loop", "settings": [
	{"group": "The loop", "name": "autocast", "type": "text", "value": "bf16", "allowed": ["off", "bf16", "fp16"], "only": "the device has no others",
	 "notes": {"bf16": "16 bits"}, "listed": 1, "live": true, "revertible": true, "short": "cast", "mark": "a", "key": "a", "touches": ["forward"],
	 "compared": {"pairs": [{"off": "off", "on": "bf16"}], "place": 1, "factor": "autocast", "factor_on": "bf16", "everything": true}},
	{"name": "fused", "type": "switch", "value": true, "live": true, "price": "dear", "touches": [], "idle": [{"setting": "autocast", "value": "fp16", "why": "fp16 checks the gradients first"}]},
	{"name": "accumulate", "type": "integer", "min": 1, "max": 64, "live": true, "presses": [{"key": "u", "does": "before"}, {"key": "U", "does": "next", "help": "twice"}]},
	{"name": "rate", "type": "number", "value": 0.5, "min": 0, "above": true, "unit": "1/step", "zero": "none", "fixed": "a scheduler writes it"},
	{"name": "sizes", "type": "list", "value": [1, 2], "max": 9, "empty": "all"},
	{"name": "note", "type": "text", "help": "anything"},
	{"name": "workers", "type": "integer", "value": 2, "min": 0, "max": 64, "live": true, "price": "epoch", "limit": true, "suspended": "none start"}]}`

func TestATableOfDataIsATable(t *testing.T) {
	table, err := settings.ReadTable([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	v := table.Initial()
	if err := v.Validate(); err != nil {
		t.Error(err)
	}
	var values []string
	for _, name := range table.Names() {
		values = append(values, v.Get(name))
	}
	if got, want := strings.Join(values, " "), "bf16 true 1 0.5 1,2  2"; got != want {
		t.Errorf("it begins with %q, want %q", got, want)
	}
	if _, err := v.Set("accumulate", "65"); err == nil || !strings.Contains(err.Error(), "a whole number from 1 to 64") {
		t.Error(err)
	}
	cast, _ := table.Lookup("autocast")
	if len(cast.Presses) != 1 || cast.Presses[0].Key != "a" || cast.Presses[0].Does != settings.MoveNext || cast.Wants() != "one of off, bf16, fp16: the device has no others" {
		t.Errorf("%+v wants %s", cast.Presses, cast.Wants())
	}
	fp16, err := v.Set("autocast", "fp16")
	if err != nil {
		t.Fatal(err)
	}
	if fused, _ := table.Lookup("fused"); fused.Idle(v) != "" || fused.Idle(fp16) != "fp16 checks the gradients first" || fused.Price != settings.Dear || !fused.TouchesKnown {
		t.Errorf("%+v", fused)
	}
	if rate, _ := table.Lookup("rate"); rate.Fixed != "a scheduler writes it" || rate.Live {
		t.Errorf("%+v", rate)
	}
	if factors := table.Factors(); len(factors) != 1 || factors[0].Name != "autocast=bf16" || !factors[0].Default {
		t.Errorf("factors %+v", factors)
	}
	if f := reflect.TypeFor[settings.Key]().NumField(); f != 35 {
		t.Errorf("a key has %d fields: what is new belongs into writtenKey as well", f)
	}
}

// A table that makes no sense is refused with what would be right.
func TestATableOfDataIsChecked(t *testing.T) {
	one := func(fields string) string {
		return `{"workload": "loop", "settings": [{"name": "x", ` + fields + `}]}`
	}
	for data, want := range map[string]string{
		`{}`:                                                                               "the workload of a table of settings: has no name",
		`{"workload": "loop"} {}`:                                                          "something follows its JSON",
		`{"workload": "loop", "keys": []}`:                                                 `unknown field "keys"`,
		`{"workload": "a loop"}`:                                                           "must be letters, digits, _ and -",
		one(`"type": "colour"`):                                                            `"colour": must be one of text, switch, integer, number, list`,
		one(`"type": "text", "help": "a\u001bb"`):                                          `its help has characters that do not print: "a\x1bb"`,
		one(`"type": "switch", "min": 1`):                                                  "a switch has no range",
		one(`"type": "number", "min": 2, "max": 1`):                                        "a range from 2 to 1: is empty",
		one(`"type": "number", "min": 2, "value": 1`):                                      "x = 1: must be a number, at least 2",
		one(`"type": "switch", "value": "yes"`):                                            `x = "yes": must be true or false`,
		one(`"type": "text", "allowed": ["a", "a"]`):                                       `the allowed value "a" is there twice`,
		one(`"type": "text", "allowed": ["a"], "notes": {"b": ""}`):                        `a note on "b", which is no allowed value`,
		one(`"type": "switch", "revertible": true`):                                        "is revertible: must be live, and cheap to change",
		one(`"type": "switch", "live": true, "fixed": "no"`):                               "is live, and says why it is fixed",
		one(`"type": "switch", "key": "a"`):                                                "wishes a key: must be live",
		one(`"type": "switch", "live": true, "key": "ab"`):                                 `the key "ab": must be one character`,
		one(`"type": "switch", "mark": "ab"`):                                              "must be one narrow character",
		one(`"type": "switch", "live": true, "price": "epoch", "compared": {"pairs": []}`): "is compared: must be live, and cheap to change",
		one(`"type": "switch", "live": true, "compared": {"pairs": [{"off": "false", "on": "perhaps"}]}`):                                     "a compared value",
		one(`"type": "switch", "live": true, "compared": {"pairs": [{"off": "false", "on": "false"}]}`):                                       `both values are "false"`,
		one(`"type": "switch", "live": true, "compared": {"pairs": [{"off": "false", "on": "true"}], "factor": "f", "factor_on": "perhaps"}`): "which is not compared",
		one(`"type": "switch", "idle": [{"setting": "y", "value": "1", "why": "z"}]`):                                                         `unknown setting "y"`,
		`{"workload": "loop", "settings": [{"name": "x", "type": "switch"}, {"name": "x", "type": "switch"}]}`:                                `setting 2 of loop, "x": is there twice`,
		`{"workload": "loop", "settings": [{"name": "1x", "type": "switch"}]}`:                                                                "after a letter",
		`{"workload": "loop", "settings": [{"name": "` + strings.Repeat("x", 33) + `", "type": "switch"}]}`:                                   "a name of 33 bytes: must be at most 32",
		`{"workload": "loop", "settings": [` + strings.Repeat(`{"name": "x", "type": "switch"},`, 96) + `{"name": "x", "type": "switch"}]}`:   "97 settings: must be at most 96",
		strings.Repeat(" ", 1<<18+1): "bytes: must be at most",
	} {
		if _, err := settings.ReadTable([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.90s: %v, want %q", data, err, want)
		}
	}
}

// A table with rules in Go cannot be written: it says which setting has one.
func TestATableWithRulesInGoIsNotWritten(t *testing.T) {
	if _, err := json.Marshal(prism.Table); err == nil || !strings.Contains(err.Error(), "rules that involve several") {
		t.Error(err)
	}
	odd := settings.NewTable("odd", nil, settings.Integer("", "n", "", "", 0, 9).Rule("odd", func(any) bool { return true }))
	if _, err := odd.Described(settings.Values{}); err == nil || !strings.Contains(err.Error(), "the setting n of odd has a rule that is written in Go") {
		t.Error(err)
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add([]byte(everything))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := settings.ReadTable(data)
		if err != nil {
			return
		}
		if err := table.Initial().ValidateKeys(); err != nil {
			t.Errorf("%s begins with values that it refuses: %v", data, err)
		}
		if again, err := settings.ReadTable(table.Data()); err != nil || !again.Same(table) {
			t.Errorf("%s became %s: %v", data, table.Data(), err)
		}
	})
}
