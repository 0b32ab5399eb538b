package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The counters of all packages are added, not those of their parts, and one that began
// again at 0 has gone on.
func TestEnergyIsReadOfPackages(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("skipped: the counters are Linux's")
	}
	folder := t.TempDir()
	write := func(name, value string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if e := readEnergy(folder); !strings.Contains(e.Reason, "no energy counters") {
		t.Errorf("without counters: %+v", e)
	}
	for name, value := range map[string]string{"intel-rapl:0/energy_uj": "2500000", "intel-rapl:0/max_energy_range_uj": "10000000",
		"intel-rapl:1/energy_uj": "1000000", "intel-rapl:0:0/energy_uj": "700000"} {
		write(name, value)
	}
	before := readEnergy(folder)
	if before.Joules != 3.5 || before.Reason != "" {
		t.Fatalf("%+v, want 3.5 J", before)
	}
	write("intel-rapl:0/energy_uj", "500000")
	if d := readEnergy(folder).Since(before); d.Joules != 8 { // 2.5 to 10, and 0 to 0.5
		t.Errorf("%+v, want 8 J", d)
	}
	write("intel-rapl:0/energy_uj", "none")
	if d := readEnergy(folder).Since(before); d.Reason == "" || d.Joules != 0 {
		t.Errorf("a damaged counter: %+v", d)
	}
}
