package machine

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// Energy is what the processors have consumed since some moment.
type Energy struct {
	Joules float64
	wraps  float64 // joules at which the counters begin again at 0; 0 for never
	Reason string  // why it cannot be read; empty if it was
}

// powercap is the folder of Linux's energy counters (RAPL), one for each processor package.
const powercap = "/sys/class/powercap"

// ReadEnergy reads the energy counters of all processor packages.
func ReadEnergy() Energy { return readEnergy(powercap) }

func readEnergy(folder string) Energy {
	if runtime.GOOS != "linux" {
		return Energy{Reason: "the energy of processors is read on Linux only"}
	}
	packages, _ := filepath.Glob(filepath.Join(folder, "intel-rapl:*")) // the pattern is valid
	var e Energy
	counted := 0
	for _, p := range packages {
		if strings.Count(filepath.Base(p), ":") != 1 { // a part of a package
			continue
		}
		joules, err := microjoules(filepath.Join(p, "energy_uj"))
		if err != nil {
			return Energy{Reason: "energy counters: " + err.Error()}
		}
		if most, err := microjoules(filepath.Join(p, "max_energy_range_uj")); err == nil {
			e.wraps = max(e.wraps, most)
		}
		e.Joules += joules
		counted++
	}
	if counted == 0 {
		return Energy{Reason: "this machine shows no energy counters in " + folder}
	}
	return e
}

func microjoules(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrPermission) {
		return 0, errors.New("may be read by root only")
	}
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return float64(v) / 1e6, err
}

// Since returns the energy between two readings, less than the counters' range apart.
func (e Energy) Since(before Energy) Energy {
	if reason := cmp.Or(before.Reason, e.Reason); reason != "" {
		return Energy{Reason: reason}
	}
	d := e.Joules - before.Joules
	if d < 0 {
		d += e.wraps
	}
	return Energy{Joules: max(d, 0)}
}
