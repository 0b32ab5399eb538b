package preset_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

// shelves hold the presets of reconstructions.
var shelves = preset.Shelves{prism.Presets()}

// resolve joins sources over those presets.
func resolve(src preset.Sources) (settings.Values, settings.Origins, error) {
	src.Shelves = shelves
	return preset.Resolve(src)
}

// lookup is the preset of a name.
func lookup(t testing.TB, name string) preset.Preset {
	t.Helper()
	p, err := shelves.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// values are the settings' values as text, in the order of their table.
func values(v settings.Values) (list []string) {
	for _, k := range v.Keys() {
		list = append(list, v.Get(k.Name))
	}
	return list
}

// same reports whether two settings have one table and the same values.
func same(v, w settings.Values) bool {
	return v.Table() == w.Table() && len(v.Differing(w)) == 0 && slices.Equal(values(v), values(w))
}

// settingsFile writes a TOML file and returns its path.
func settingsFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLaterSourcesWinAndSayWhereValuesCameFrom(t *testing.T) {
	file := settingsFile(t, "preset = \"baseline\"\nradius = 30\nsamples = 50\nthreshold = 0.2\nlearning_rate = 1\n")
	s, origins, err := resolve(preset.Sources{
		File:  file,
		Env:   []string{"HOME=/x", "PRISMTOP_SAMPLES=60", "PRISMTOP_THRESHOLD=0.3", "PRISMTOP_LEARNING_RATE=2", "PRISMTOP_COLOUR=1"},
		Sets:  []string{"threshold=0.4", "learning_rate=3", "learning_rate=4"},
		Flags: []preset.Flag{{"learning-rate", "learning_rate", "5"}, {"image", "image", "a.png"}, {"max-time", "max_seconds", "90"}},

		EnvOthers: []string{"PRISMTOP_COLOUR"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][2]string{
		"size":          {"512", "preset baseline"},
		"radius":        {"30", "file " + file},
		"samples":       {"60", "environment PRISMTOP_SAMPLES"},
		"threshold":     {"0.4", "flag --set"},
		"learning_rate": {"5", "flag --learning-rate"},
		"image":         {"a.png", "flag --image"},
		"max_seconds":   {"90", "flag --max-time"},
		"amp":           {"off", "preset baseline"}, // which baseline has from its base
	} {
		if got := [2]string{s.Get(key), origins[key]}; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if len(origins) != len(prism.Table.Keys()) {
		t.Errorf("%d origins for %d keys", len(origins), len(prism.Table.Keys()))
	}
}

func TestThePresetIsChosenByFlagThenEnvironmentThenFile(t *testing.T) {
	file := settingsFile(t, `preset = "quick"`)
	env := []string{"PRISMTOP_PRESET=phase5"}
	for _, c := range []struct {
		src  preset.Sources
		want string
	}{
		{preset.Sources{}, "moon"},
		{preset.Sources{File: file}, "quick"},
		{preset.Sources{File: file, Env: env}, "phase5"},
		{preset.Sources{File: file, Env: env, Preset: "quick_test"}, "quick-test"},
	} {
		c.src.Shelves = shelves
		p, err := c.src.Chosen()
		if err != nil || p.Name != c.want {
			t.Errorf("%+v chooses %q, want %q (%v)", c.src, p.Name, c.want, err)
		}
	}
}

func TestWholeNumbersMayBeWrittenWithAPoint(t *testing.T) {
	s, _, err := resolve(preset.Sources{File: settingsFile(t, "samples = 8.0\nsize = 1024.0\nmax_iterations = 1e6\nchannels = [64.0, 32, 16, 8, 8, 1]")})
	if err != nil {
		t.Fatal(err)
	}
	if s.Int("samples") != 8 || s.Int("size") != 1024 || s.Int("max_iterations") != 1_000_000 || s.Get("channels") != "64,32,16,8,8,1" {
		t.Errorf("%v", values(s))
	}
}

// Editors of some systems put a mark in front of UTF-8.
func TestAMarkInFrontOfAFileIsNoText(t *testing.T) {
	s, _, err := resolve(preset.Sources{File: settingsFile(t, "\xef\xbb\xbfpreset = \"quick\"\nradius = 7.5\n")})
	if err != nil || s.Number("radius") != 7.5 {
		t.Errorf("radius %g, %v", s.Number("radius"), err)
	}
}

// A pipe can be read only once: Read keeps its contents for all callers.
func TestAPipeIsReadOnce(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	src := preset.Sources{Shelves: shelves, File: fmt.Sprintf("/dev/fd/%d", r.Fd())}
	if _, err := os.Stat(src.File); err != nil {
		t.Skipf("no names of open files here: %v", err)
	}
	if _, err := w.WriteString("preset = \"quick\"\nradius = 7.5\n"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if err := src.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, _, err := resolve(src)
		if err != nil || s.Number("radius") != 7.5 {
			t.Errorf("radius %g, %v", s.Number("radius"), err)
		}
		if p, err := src.Chosen(); err != nil || p.Name != "quick" {
			t.Errorf("preset %q, %v", p.Name, err)
		}
	}
}

// A pipe whose writer says nothing is waited for, but not beyond the context's end.
func TestReadEndsWithItsContext(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	src := preset.Sources{Shelves: shelves, File: fmt.Sprintf("/dev/fd/%d", r.Fd())}
	done := make(chan error, 1)
	go func() { done <- src.Read(ctx) }()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("still waiting after 30 s")
	}
}

func TestResolveErrorsAreOneLineThatNamesTheSource(t *testing.T) {
	file := func(content string) preset.Sources { return preset.Sources{File: settingsFile(t, content)} }
	folder := t.TempDir()
	wrongBelow := file(`preset = "nope"`)
	wrongBelow.Preset = "quick"
	cases := []struct {
		src  preset.Sources
		want string // the folder of the file is left out
	}{
		{preset.Sources{Preset: "mooon"}, `preset "mooon": unknown, did you mean moon?`},
		{preset.Sources{Preset: "saturn-rings"}, `preset "saturn-rings": unknown, must be one of moon, baseline,`},
		{preset.Sources{Preset: "../preset/moon"}, `preset "../preset/moon": unknown`},
		{preset.Sources{Env: []string{"PRISMTOP_PRESET=x"}}, `environment PRISMTOP_PRESET: preset "x": unknown`},
		{preset.Sources{File: folder}, "file " + folder + ": is a folder"},
		{preset.Sources{File: folder + "/none.toml"}, "file " + folder + "/none.toml: no such file or directory"},
		{file(`preset = "x"`), `file x.toml: preset "x": unknown`},
		{file(`preset = ""`), `file x.toml: preset "": unknown`},
		{wrongBelow, `file x.toml: preset "nope": unknown`},
		{preset.Sources{Preset: "quick", Env: []string{"PRISMTOP_PRESET=nope"}}, `environment PRISMTOP_PRESET: preset "nope": unknown`},
		{file(`preset = 3`), `file x.toml: preset = 3: must be text`},
		{file("raduis = 3"), `file x.toml: unknown setting "raduis": did you mean radius? prismtop settings lists them`},
		{file("pre = 3"), `file x.toml: unknown setting "pre": did you mean preset? prismtop settings lists them`},
		{file("[radius]\na = 1"), `file x.toml: radius = {a = 1}: must be a number above 0, at most 4096`},
		{file("size = \"512\""), `file x.toml: size = "512": must be a power of two from 16 to 8192`},
		{file("size = 500.0"), `file x.toml: size = 500: must be a power of two from 16 to 8192`},
		{file("samples = 8.5"), `file x.toml: samples = 8.5: must be a whole number`},
		{file("samples = 1e300"), `file x.toml: samples = 1e+300: must be a whole number`},
		{file("samples = nan"), `file x.toml: samples = nan: must be a whole number`},
		{file("image = 8.0"), `file x.toml: image = 8.0: must be UTF-8 text`},
		{file("invert = 1"), `file x.toml: invert = 1: must be true or false`},
		{file("channels = [8, \"a\"]"), `file x.toml: channels = [8, "a"]: must be a list of whole numbers`},
		{file("channels = [64, 32.5, 1]"), `file x.toml: channels = [64, 32.5, 1]: must be a list of whole numbers`},
		{file("radius = inf"), `file x.toml: radius = +inf: must be a number above 0`},
		{file("radius = 3\nradius = 4"), `file x.toml: line 2, column 1: toml:`},
		{file("radius 3"), `file x.toml: line 1, column 8: toml:`},
		{file("\xff\xfer\x00"), `file x.toml: is in UTF-16: must be in UTF-8`},
		{file("# " + strings.Repeat("x", preset.LargestFile)), `file x.toml: is larger than 64 KiB: settings files are short`},
		{file("size = 512\nradius = 300"), `radius = 300: must be at most half of size, 256 (file x.toml)`},
		{preset.Sources{Env: []string{"PRISMTOP_RADIUS=wide"}}, `environment PRISMTOP_RADIUS: radius = "wide": must be a number above 0`},
		{preset.Sources{Env: []string{"PRISMTOP_RADIUSS=3"}}, `environment PRISMTOP_RADIUSS: no such setting, did you mean PRISMTOP_RADIUS?`},
		{preset.Sources{Env: []string{"PRISMTOP_Q=3", "PRISMTOP_B=3"}}, `environment PRISMTOP_B, PRISMTOP_Q: no such setting`},
		{preset.Sources{Sets: []string{"radius"}}, `flag --set "radius": must be key=value`},
		{preset.Sources{Sets: []string{"size=500"}}, `flag --set: size = 500: must be a power of two`},
		{preset.Sources{Flags: []preset.Flag{{"max-iterations", "max_iterations", "x"}}}, `flag --max-iterations: max_iterations = "x": must be a whole number`},
		{preset.Sources{Flags: []preset.Flag{{"max-time", "max_seconds", "-3"}}}, `flag --max-time: max_seconds = -3: must be a number from 0`},
		{preset.Sources{Sets: []string{"samples=2147483647"}}, `samples = 2147483647: must be at most`},
	}
	for _, c := range cases {
		_, _, err := resolve(c.src)
		if err == nil {
			t.Errorf("no error, want %s", c.want)
			continue
		}
		got := err.Error()
		if strings.HasSuffix(c.src.File, "x.toml") {
			got = strings.ReplaceAll(got, c.src.File, "x.toml")
		}
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("error %q, want %q", got, c.want)
		}
	}
}

func TestWrittenSettingsResolveToThemselves(t *testing.T) {
	for _, name := range shelves.Names() {
		src := preset.Sources{Preset: name, Sets: []string{"image=a \"b\"\\\tc\u00e9\n.png", "channels=512,256,128,64,32,16,8,4,2,1", "seed=9223372036854775807"}}
		s, origins, err := resolve(src)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := s.Write(&text, origins); err != nil {
			t.Fatal(err)
		}
		again, _, err := resolve(preset.Sources{File: settingsFile(t, text.String())})
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text.String())
		}
		if !same(s, again) {
			t.Errorf("%s: %v read back as %v", name, values(s), values(again))
		}
		if !strings.Contains(text.String(), "# flag --set") || !strings.Contains(text.String(), "# preset "+name) {
			t.Errorf("%s: origins are missing:\n%s", name, text.String())
		}
	}
}

func TestWriteKeepsOriginsOnTheirLine(t *testing.T) {
	var text strings.Builder
	if err := lookup(t, shelves.Default()).Settings.Write(&text, settings.Origins{"radius": "file a\nb\xff.toml"}); err != nil {
		t.Fatal(err)
	}
	if _, err := preset.Apply(prism.Table.Zero(), []byte(text.String())); err != nil {
		t.Error(err)
	}
}

func FuzzLoad(f *testing.F) {
	for _, name := range shelves.Names() {
		data, err := fs.ReadFile(shelves[0].Files, name+".toml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("preset = \"moon\"\nchannels = [8, 4, 1]\n[a.b]\nc = 1979-05-27"))
	start := lookup(f, shelves.Default()).Settings
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := preset.Apply(start, data, "preset", "description", "base", "picture")
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than a line: %q", err)
			}
			return
		}
		var text strings.Builder
		if err := v.Write(&text, nil); err != nil {
			t.Fatal(err)
		}
		back, err := preset.Apply(prism.Table.Zero(), []byte(text.String()))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text.String())
		}
		if !same(v, back) {
			t.Fatalf("%v read back as %v", values(v), values(back))
		}
	})
}
