package settings_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

// shelves hold the presets of the prism workload.
var shelves = preset.Shelves{prism.Presets()}

// of returns a preset's settings.
func of(t testing.TB, name string) settings.Values {
	t.Helper()
	p, err := shelves.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p.Settings
}

// moon returns the default preset's settings.
func moon(t testing.TB) settings.Values {
	t.Helper()
	return of(t, "moon")
}

// values returns the settings' values as text, in the order of their table.
func values(v settings.Values) (list []string) {
	for _, k := range v.Keys() {
		list = append(list, v.Get(k.Name))
	}
	return list
}

// same reports whether two settings have the same table and values.
func same(v, w settings.Values) bool {
	return v.Table() == w.Table() && len(v.Differing(w)) == 0 && slices.Equal(values(v), values(w))
}

func TestTableNamesEveryFieldOfSettingsInOrder(t *testing.T) {
	typ := reflect.TypeFor[prism.Settings]()
	var tags []string
	for i := range typ.NumField() {
		if f := typ.Field(i); f.IsExported() {
			tags = append(tags, f.Tag.Get("setting"))
		}
	}
	if names := prism.Table.Names(); !slices.Equal(names, tags) {
		t.Fatalf("keys %q\nfor fields of %q", names, tags)
	}
	for _, k := range prism.Table.Keys() {
		if k.Help == "" || k.Group == "" || strings.Contains(k.Help, "\n") {
			t.Errorf("%s: help %q, group %q", k.Name, k.Help, k.Group)
		}
	}
}

// Every field has its own key.
func TestEveryFieldHasAKeyOfItsOwn(t *testing.T) {
	nothing := prism.Table.Zero()
	for i, k := range prism.Table.Keys() {
		var s prism.Settings
		switch field := reflect.ValueOf(&s).Elem().Field(i); field.Kind() {
		case reflect.String:
			field.SetString("x")
		case reflect.Bool:
			field.SetBool(true)
		case reflect.Slice:
			field.Set(reflect.ValueOf([]int{7}))
		case reflect.Float64:
			field.SetFloat(7)
		case reflect.Uint64:
			field.SetUint(7)
		default:
			field.SetInt(7)
		}
		v := prism.Table.Encode(s)
		if got := v.Differing(nothing); !slices.Equal(got, []string{k.Name}) {
			t.Errorf("the field of %s gives a value to %q", k.Name, got)
		}
		var back prism.Settings
		if v.Decode(&back); !reflect.DeepEqual(noEmptyList(back), s) {
			t.Errorf("%s: %+v was read back as %+v", k.Name, s, back)
		}
	}
}

// noEmptyList replaces an empty list with nil.
func noEmptyList(s prism.Settings) prism.Settings {
	if len(s.Channels) == 0 {
		s.Channels = nil
	}
	return s
}

func TestPresetsAreTheSameAsStructAndAsValues(t *testing.T) {
	for _, name := range shelves.Names() {
		v := of(t, name)
		var s, again prism.Settings
		v.Decode(&s)
		back := prism.Table.Encode(&s)
		if !same(v, back) {
			t.Errorf("%s: %q was read back as %q", name, values(v), values(back))
		}
		if back.Decode(&again); !reflect.DeepEqual(s, again) {
			t.Errorf("%s: %+v was read back as %+v", name, s, again)
		}
	}
}

func TestDecodingCopiesLists(t *testing.T) {
	s := prism.Settings{Channels: []int{8, 4, 1}}
	v := prism.Table.Encode(&s)
	s.Channels[0] = 9
	var back prism.Settings
	v.Decode(&back)
	back.Channels[1] = 9
	if got := v.Get("channels"); got != "8,4,1" {
		t.Errorf("channels became %s", got)
	}
}

// A struct with keys that the table does not have is a programming error.
func TestAFieldWithoutAKeyPanics(t *testing.T) {
	type other struct {
		Colour string `setting:"colour"`
	}
	for what, f := range map[string]func(){
		"decoding": func() { moon(t).Decode(&other{}) },
		"encoding": func() { prism.Table.Encode(other{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s said nothing", what)
				}
			}()
			f()
		}()
	}
}

func TestSetThenGetGivesTheValueBack(t *testing.T) {
	cases := []struct{ key, value, want string }{
		{"object", "usaf", "usaf"},
		{"image", " a b.jpg", " a b.jpg"},
		{"invert", "on", "true"},
		{"size", "1024", "1024"},
		{"radius", "8.5", "8.5"},
		{"learning_rate", "1e-4", "0.0001"},
		{"threshold", "0", "0"},
		{"channels", "64, 32,1", "64,32,1"},
		{"channels", "[8, 1]", "8,1"},
		{"channels", "", ""},
		{"max_iterations", "1e6", "1000000"},
		{"samples", "8.0", "8"},
		{"max_iterations", "9007199254740992", "9007199254740992"},
		{"seed", "9223372036854775807", "9223372036854775807"},
		{"amp", "bf16", "bf16"},
		{"measurement_cache", "off", "false"},
	}
	for _, c := range cases {
		v, err := moon(t).Set(c.key, c.value)
		if err != nil {
			t.Errorf("%s = %q: %v", c.key, c.value, err)
		}
		if got := v.Get(c.key); got != c.want {
			t.Errorf("%s = %q reads back as %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

func TestEveryKeyAcceptsWhatGetSays(t *testing.T) {
	for _, name := range shelves.Names() {
		v, again := of(t, name), prism.Table.Zero()
		for _, k := range v.Keys() {
			var err error
			if again, err = again.Set(k.Name, v.Get(k.Name)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !same(again, v) {
			t.Errorf("%s: set key by key gives %q, want %q", name, values(again), values(v))
		}
	}
}

func TestSetRefusesBadValuesAndChangesNothing(t *testing.T) {
	cases := []struct{ key, value, want string }{
		{"size", "500", "size = 500: must be a power of two from 16 to 8192"},
		{"size", "8", "size = 8: must be a power of two from 16 to 8192"},
		{"size", "many", `size = "many": must be a power of two from 16 to 8192`},
		{"size", "99999999999999999999", `size = "99999999999999999999": must be a power of two from 16 to 8192`},
		{"radius", "0", "radius = 0: must be a number above 0, at most 4096"},
		{"radius", "nan", "radius = nan: must be a number above 0, at most 4096"},
		{"threshold", "-1", "threshold = -1: must be a number, at least 0"},
		{"threshold", "inf", "threshold = +inf: must be a number, at least 0"},
		{"samples", "0", "samples = 0: must be a whole number from 1 to 2147483647"},
		{"samples", "2.5", `samples = "2.5": must be a whole number from 1 to 2147483647`},
		{"seed", "-1", "seed = -1: must be a whole number from 0 to 9223372036854775807"},
		{"amp", "fp8", `amp = "fp8": must be one of off, bf16, bf16x3, fp16, tf32`},
		{"fft_cache", "yes please", `fft_cache = "yes please": must be true or false`},
		{"channels", "8;1", `channels = "8;1": must be a list of whole numbers from 1 to 32768`},
		{"channels", "8,0,1", "channels = [8, 0, 1]: must be a list of whole numbers from 1 to 32768"},
		{"channels", "-8,1", "channels = [-8, 1]: must be a list of whole numbers from 1 to 32768"},
		{"image", "a\x00b", `image = "a\u0000b": must be UTF-8 text`},
	}
	for _, c := range cases {
		v := moon(t)
		after, err := v.Set(c.key, c.value)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s = %q: error %v, want %s", c.key, c.value, err, c.want)
		}
		if !same(v, moon(t)) || !same(after, v) {
			t.Errorf("%s = %q changed settings", c.key, c.value)
		}
	}
}

func TestUnknownKeysNameTheNearest(t *testing.T) {
	for name, want := range map[string]string{
		"raduis":       `unknown setting "raduis": did you mean radius? prismtop settings lists them`,
		"learningrate": `unknown setting "learningrate": did you mean learning_rate? prismtop settings lists them`,
		"lr":           `unknown setting "lr": prismtop settings lists them`,
		"iteration":    `unknown setting "iteration": did you mean iterations or init_iterations or max_iterations? prismtop settings lists them`,
		"xyzzyx":       `unknown setting "xyzzyx": prismtop settings lists them`,
		"":             `unknown setting "": prismtop settings lists them`,
	} {
		v := prism.Table.Zero()
		if _, err := v.Set(name, "1"); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", name, err, want)
		}
		if v.Get(name) != "" || v.Value(name) != nil || v.Has(name) {
			t.Errorf("%q has a value", name)
		}
	}
}

func TestPresetsAreTheSameInJSON(t *testing.T) {
	for _, name := range shelves.Names() {
		v, err := of(t, name).Set("channels", "64,32,1")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back settings.Values
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back.Table().Names(), prism.Table.Names()) || !slices.Equal(values(back), values(v)) {
			t.Errorf("%s: %q was read back as %q", name, values(v), values(back))
		}
		again, err := json.Marshal(back)
		if err != nil || string(again) != string(text) {
			t.Errorf("%s: %v: written again it is\n%s, not\n%s", name, err, again, text)
		}
		if back.Text("object") != v.Text("object") || back.On("fft_cache") != v.On("fft_cache") || back.Int("size") != v.Int("size") ||
			back.Number("learning_rate") != v.Number("learning_rate") || back.Number("radius") != v.Number("radius") {
			t.Errorf("%s: read back with other types: %s", name, text)
		}
	}
}

// The settings declare what an ablation compares.
func TestComparesTheOptimisations(t *testing.T) {
	var compared []string
	for _, k := range prism.Table.Compares() {
		compared = append(compared, k.Name)
	}
	if len(compared) != 9 || compared[0] != "measurement_cache" || compared[8] != "amp" {
		t.Errorf("compares %q", compared)
	}
	for key, want := range map[string]bool{"amp": true, "mask_cache": true, "threads": false, "pattern": false, "learning_rate": false, "": false} {
		if got := slices.Contains(compared, key); got != want {
			t.Errorf("%q: %v", key, got)
		}
	}
}

func FuzzSet(f *testing.F) {
	start := moon(f)
	f.Add("size", "512")
	f.Add("channels", "[8,4,1]")
	f.Add("image", "a\nb")
	f.Add("threshold", "0.1 for l2")
	before := values(start)
	f.Fuzz(func(t *testing.T, key, value string) {
		v, err := start.Set(key, value)
		if !slices.Equal(values(start), before) {
			t.Fatalf("%s = %q changed the settings in place", key, value)
		}
		if err != nil {
			if !same(v, start) {
				t.Fatalf("%v, and the settings changed", err)
			}
			return
		}
		again, err := start.Set(key, v.Get(key))
		if err != nil || !same(again, v) {
			t.Fatalf("%s = %q reads back as %q: %v", key, value, v.Get(key), err)
		}
		_ = v.Validate()
	})
}
