package command

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"prismtop/profiles/preset"
	"prismtop/sim/workloads"
)

// What presets show prints is a file for --config, of every workload: it names its preset.
func TestAShownPresetIsAFileOfSettings(t *testing.T) {
	for _, name := range workloads.Presets().Names() {
		want, err := workloads.Presets().Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		var shown bytes.Buffer
		command := presetsCommand()
		command.SetOut(&shown)
		command.SetArgs([]string{"show", name})
		if err := command.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		path := filepath.Join(t.TempDir(), "shown.toml")
		if err := os.WriteFile(path, shown.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		from := preset.Sources{Shelves: workloads.Presets(), File: path}
		chosen, err := from.Chosen()
		if err != nil || chosen.Name != name {
			t.Errorf("%s: its file is of the preset %q (%v)", name, chosen.Name, err)
			continue
		}
		from = preset.Sources{Shelves: workloads.Presets(), File: path}
		if v, _, err := preset.Resolve(from); err != nil || len(v.Differing(want.Settings)) > 0 {
			t.Errorf("%s: its file differs in %v (%v)", name, v.Differing(want.Settings), err)
		}
	}
}
