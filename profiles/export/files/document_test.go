package files

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/export/openmetrics"
	"prismtop/profiles/export/table"
	"prismtop/profiles/machine"
)

// docs/export.md describes every format, column and metric.
func TestTheDocumentNamesEverything(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "export.md"))
	if err != nil {
		t.Fatal(err)
	}
	document := string(text)
	for _, f := range formats {
		if !strings.Contains(document, "\n## `"+f.name+"`: ") {
			t.Errorf("no section on %s", f.name)
		}
	}
	// Columns that come from the schema are described by one example of each kind.
	schema := exporttest.Schema()
	for _, column := range append(table.Columns(&profiles.Schema{}), table.ChangeColumns()...) {
		if !strings.Contains(document, "`"+column+"`") {
			t.Errorf("no column %s", column)
		}
	}
	cache := schema.Caches[0].Name
	for _, column := range table.Columns(&schema) {
		if rest, ok := strings.CutPrefix(column, cache); ok && !strings.Contains(document, "`…"+rest+"`") && !strings.Contains(document, "`"+column+"`") {
			t.Errorf("no column …%s of a cache", rest)
		}
	}
	snapshot := &profiles.Snapshot{Run: profiles.RunInfo{Schema: schema}}
	snapshot.Load.Known = true
	snapshot.Memory.RSS, snapshot.Memory.PeakRSS = 1, 1
	snapshot.Memory.Device.Device = "GPU-1"
	snapshot.Sensors.GPUs = make([]machine.GPUSensors, 1)
	snapshot.Sensors.Energy = []profiles.EnergyView{{Run: machine.Reading(1)}}
	metrics := openmetrics.New("", func() *profiles.Snapshot { return snapshot }).Text()
	for _, family := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(string(metrics), -1) {
		name := family[1]
		short := "…" + strings.TrimPrefix(name, "prismtop_cache")
		if !slices.ContainsFunc([]string{"`" + name + "`", "`" + name + "{", "`" + short + "`"}, func(s string) bool { return strings.Contains(document, s) }) {
			t.Errorf("no metric %s", name)
		}
	}
}
