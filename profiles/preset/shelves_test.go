package preset_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
)

// twoShelves have the presets of two workloads that share a setting's name.
func twoShelves() preset.Shelves {
	shelf := func(workload, name, text string, entries ...settings.Entry) preset.Shelf {
		files := fstest.MapFS{name + ".toml": {Data: []byte(text)}, workload + ".toml": {Data: []byte("base = \"" + name + "\"\nseed = 5\n")}}
		entries = append(entries, settings.Integer("", "seed", "", "a seed", 0, 9))
		return preset.Shelf{Table: settings.NewTable(workload, nil, entries...), Files: files, Default: name}
	}
	return preset.Shelves{
		shelf("bread", "loaf", "heat = 200\nseed = 1\n", settings.Integer("", "heat", "", "the oven's", 0, 300)),
		shelf("tea", "cup", "milk = true\nseed = 2\n", settings.Switch("", "milk", "with milk")),
	}
}

func TestAPresetIsOfItsWorkload(t *testing.T) {
	all := twoShelves()
	if got := all.Names(); !slices.Equal(got, []string{"loaf", "bread", "cup", "tea"}) || all.Default() != "loaf" {
		t.Errorf("presets %q, of which %s is the default", got, all.Default())
	}
	for name, want := range map[string]string{"": "bread heat=200 seed=1", "bread": "bread heat=200 seed=5", "cup": "tea milk=true seed=2", "tea": "tea milk=true seed=5"} {
		v, _, err := preset.Resolve(preset.Sources{Shelves: all, Preset: name})
		if err != nil {
			t.Fatal(err)
		}
		got := v.Table().Workload
		for _, k := range v.Keys() {
			got += " " + k.Name + "=" + v.Get(k.Name)
		}
		if got != want {
			t.Errorf("preset %q is %q, want %q", name, got, want)
		}
	}
}

// An environment serves every workload; a file and --set are meant for one.
func TestKeysOfAnotherWorkload(t *testing.T) {
	all := twoShelves()
	env := []string{"PRISMTOP_HEAT=250", "PRISMTOP_MILK=false", "PRISMTOP_SEED=7"}
	for name, want := range map[string]string{"loaf": "250 7", "cup": "false 7"} {
		v, _, err := preset.Resolve(preset.Sources{Shelves: all, Preset: name, Env: env})
		if err != nil || strings.Join(values(v), " ") != want {
			t.Errorf("%s: %q, %v; want %s", name, values(v), err, want)
		}
	}
	file := settingsFile(t, "preset = \"cup\"\nmilk = false\n")
	if v, _, err := preset.Resolve(preset.Sources{Shelves: all, File: file}); err != nil || v.On("milk") {
		t.Errorf("a cup of a file: %q, %v", values(v), err)
	}
	for _, c := range []struct {
		src  preset.Sources
		want string
	}{
		{preset.Sources{Sets: []string{"milk=true"}}, `flag --set: the workload bread has no setting "milk": prismtop settings --workload bread lists them`},
		{preset.Sources{Flags: []preset.Flag{{Name: "milk", Key: "milk", Value: "true"}}}, `flag --milk: the workload bread has no setting "milk": prismtop settings --workload bread lists them`},
		{preset.Sources{Sets: []string{"salt=true"}}, `flag --set: unknown setting "salt": prismtop settings lists them`},
		{preset.Sources{File: file, Preset: "loaf"}, `file ` + file + `: the workload bread has no setting "milk": prismtop settings --workload bread lists them`},
		{preset.Sources{Env: []string{"PRISMTOP_SUGAR=1"}}, "environment PRISMTOP_SUGAR: no such setting"},
	} {
		c.src.Shelves = all
		if _, _, err := preset.Resolve(c.src); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
