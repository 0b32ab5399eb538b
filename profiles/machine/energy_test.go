package machine

import (
	"math"
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
	if e := ReadEnergyIn(folder); !strings.Contains(e.Reason, "no RAPL on this machine") {
		t.Errorf("without counters: %+v", e)
	}
	for name, value := range map[string]string{"intel-rapl:0/energy_uj": "2500000", "intel-rapl:0/max_energy_range_uj": "10000000",
		"intel-rapl:1/energy_uj": "1000000", "intel-rapl:0:0/energy_uj": "700000",
		"intel-rapl:2/name": "psys", "intel-rapl:2/energy_uj": "9000000"} {
		write(name, value)
	}
	before := ReadEnergyIn(folder)
	if before.Joules != 3.5 || before.Reason != "" {
		t.Fatalf("%+v, want 3.5 J", before)
	}
	write("intel-rapl:0/energy_uj", "500000")
	if d := ReadEnergyIn(folder).Since(before); d.Joules != 8 { // 2.5 to 10, and 0 to 0.5
		t.Errorf("%+v, want 8 J", d)
	}
	write("intel-rapl:1/energy_uj", "1200000")
	write("intel-rapl:1/max_energy_range_uj", "20000000")
	both := ReadEnergyIn(folder)
	write("intel-rapl:0/energy_uj", "100000")
	write("intel-rapl:1/energy_uj", "200000")
	if d := ReadEnergyIn(folder).Since(both); math.Abs(d.Joules-28.6) > 1e-9 { // 0.5 to 10 to 0.1, and 1.2 to 20 to 0.2
		t.Errorf("%+v after both began again, want 28.6 J", d)
	}
	if os.Geteuid() != 0 { // root reads everything
		if err := os.Chmod(filepath.Join(folder, "intel-rapl:1/energy_uj"), 0); err != nil {
			t.Fatal(err)
		}
		if e := ReadEnergyIn(folder); !strings.Contains(e.Reason, "no permission") {
			t.Errorf("without permission: %+v", e)
		}
	}
	write("intel-rapl:0/energy_uj", "none")
	if d := ReadEnergyIn(folder).Since(before); d.Reason == "" || d.Joules != 0 {
		t.Errorf("a damaged counter: %+v", d)
	}
}
