package preset

import (
	"reflect"
	"strings"
	"testing"
)

// moon returns the default preset's settings.
func moon(t testing.TB) Settings {
	t.Helper()
	p, err := Lookup(Default)
	if err != nil {
		t.Fatal(err)
	}
	return p.Settings
}

func TestTableNamesEveryFieldOfSettingsInOrder(t *testing.T) {
	typ := reflect.TypeOf(Settings{})
	keys := Keys()
	exported := 0
	for i := range typ.NumField() {
		if typ.Field(i).IsExported() {
			exported++
		}
	}
	if len(keys) != exported {
		t.Fatalf("%d keys for %d fields", len(keys), exported)
	}
	var s Settings
	for i, k := range keys {
		field := typ.Field(i)
		if tag := field.Tag.Get("toml"); tag != k.Name {
			t.Errorf("key %d is %q, the field %s says %q", i, k.Name, field.Name, tag)
		}
		if got, want := table[i].field(&s), reflect.ValueOf(&s).Elem().Field(i).Addr().Interface(); got != want {
			t.Errorf("%s points to another field than %s", k.Name, field.Name)
		}
		if k.Help == "" || k.Group == "" || strings.Contains(k.Help, "\n") {
			t.Errorf("%s: help %q, group %q", k.Name, k.Help, k.Group)
		}
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
		s := moon(t)
		if err := s.Set(c.key, c.value); err != nil {
			t.Errorf("%s = %q: %v", c.key, c.value, err)
		}
		if got := s.Get(c.key); got != c.want {
			t.Errorf("%s = %q reads back as %q, want %q", c.key, c.value, got, c.want)
		}
	}
}

func TestEveryKeyAcceptsWhatGetSays(t *testing.T) {
	for _, name := range Names() {
		p, err := Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		var s Settings
		for _, k := range Keys() {
			if err := s.Set(k.Name, p.Settings.Get(k.Name)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if !sameSettings(s, p.Settings) {
			t.Errorf("%s: set key by key gives %+v, want %+v", name, s, p.Settings)
		}
	}
}

// sameSettings compares by value; an empty list equals none.
func sameSettings(a, b Settings) bool {
	if len(a.Channels) == 0 && len(b.Channels) == 0 {
		a.Channels, b.Channels = nil, nil
	}
	return reflect.DeepEqual(a, b)
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
		{"amp", "fp8", `amp = "fp8": must be one of off, bf16, bf16x3, fp16`},
		{"fft_cache", "yes please", `fft_cache = "yes please": must be true or false`},
		{"channels", "8;1", `channels = "8;1": must be a list of whole numbers from 1 to 32768`},
		{"channels", "8,0,1", "channels = [8, 0, 1]: must be a list of whole numbers from 1 to 32768"},
		{"channels", "-8,1", "channels = [-8, 1]: must be a list of whole numbers from 1 to 32768"},
		{"image", "a\x00b", `image = "a\u0000b": must be UTF-8 text`},
	}
	for _, c := range cases {
		s := moon(t)
		before := s
		err := s.Set(c.key, c.value)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s = %q: error %v, want %s", c.key, c.value, err, c.want)
		}
		if !sameSettings(s, before) {
			t.Errorf("%s = %q changed settings", c.key, c.value)
		}
	}
}

func TestUnknownKeysNameTheNearest(t *testing.T) {
	for name, want := range map[string]string{
		"raduis":       `unknown setting "raduis": did you mean radius?`,
		"learningrate": `unknown setting "learningrate": did you mean learning_rate?`,
		"lr":           `unknown setting "lr": see prismtop presets show`,
		"iteration":    `unknown setting "iteration": did you mean iterations or init_iterations or max_iterations?`,
		"xyzzyx":       `unknown setting "xyzzyx": see prismtop presets show`,
		"":             `unknown setting "": see prismtop presets show`,
	} {
		var s Settings
		if err := s.Set(name, "1"); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", name, err, want)
		}
		if s.Get(name) != "" {
			t.Errorf("%q has a value", name)
		}
	}
}

func FuzzSet(f *testing.F) {
	p, err := Lookup(Default)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("size", "512")
	f.Add("channels", "[8,4,1]")
	f.Add("image", "a\nb")
	f.Fuzz(func(t *testing.T, key, value string) {
		s := p.Settings
		if err := s.Set(key, value); err != nil {
			if !sameSettings(s, p.Settings) {
				t.Fatalf("%v, and the settings changed", err)
			}
			return
		}
		again := p.Settings
		if err := again.Set(key, s.Get(key)); err != nil || !sameSettings(again, s) {
			t.Fatalf("%s = %q reads back as %q: %v", key, value, s.Get(key), err)
		}
		_ = s.validate(1 << 34)
	})
}
