package benchmark_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/workloads"
)

// The presets' own lists are valid, their schemas fit the records, and every setting is in the
// document.
func TestPresetsRunTheirOwnLists(t *testing.T) {
	for _, name := range (preset.Shelves{benchmark.Presets()}).Names() {
		p, err := preset.Shelves{benchmark.Presets()}.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		m := workloads.Of(p.Settings).Maker(workloads.Devices{})
		in, err := m.Load(t.Context(), p.Settings)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		task, err := m.New(t.Context(), p.Settings, in)
		if err != nil {
			t.Fatal(err)
		}
		info := task.Info()
		if err := info.Schema.Check(); err != nil || info.Units != 6 || !info.Schema.Tasks || len(info.Schema.Kinds) != 7 {
			t.Errorf("%s: %v, %d units, kinds %v", name, err, info.Units, info.Schema.Kinds)
		}
		task.Close()
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "cyto-tasks.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range benchmark.Table.Names() {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/cyto-tasks.md does not mention %s", name)
		}
	}
	for _, a := range []settings.Assignment{{Key: "cancelled", Value: "0"}, {Key: "rounds", Value: "0"}, {Key: "baseline", Value: "best"}} {
		if _, err := benchmark.Table.Zero().With(a); err == nil {
			t.Errorf("%s = %s is accepted", a.Key, a.Value)
		}
	}
}
