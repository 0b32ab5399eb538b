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
	Joules   float64 // of all packages
	packages []counter
	Reason   string // why it cannot be read; empty if it was
}

// counter is the energy of one package in joules, which begins again at 0 after wraps; 0 for never.
type counter struct{ joules, wraps float64 }

// powercap is the folder of Linux's energy counters (RAPL), one for each processor package.
const powercap = "/sys/class/powercap"

// ReadEnergy reads the energy counters of all processor packages.
func ReadEnergy() Energy { return ReadEnergyIn(powercap) }

// ReadEnergyIn is ReadEnergy for counters in another folder.
func ReadEnergyIn(folder string) Energy {
	if runtime.GOOS != "linux" {
		return Energy{Reason: "the energy of processors is read on Linux only"}
	}
	packages, _ := filepath.Glob(filepath.Join(folder, "intel-rapl:*")) // the pattern is valid
	var e Energy
	for _, p := range packages {
		if strings.Count(filepath.Base(p), ":") != 1 { // a part of a package
			continue
		}
		if name, err := os.ReadFile(filepath.Join(p, "name")); err == nil && strings.TrimSpace(string(name)) == "psys" {
			continue // the whole platform, which holds the packages
		}
		var c counter
		var err error
		if c.joules, err = microjoules(filepath.Join(p, "energy_uj")); err != nil {
			return Energy{Reason: "RAPL: " + err.Error()}
		}
		if most, err := microjoules(filepath.Join(p, "max_energy_range_uj")); err == nil {
			c.wraps = most
		}
		e.Joules += c.joules
		e.packages = append(e.packages, c)
	}
	if len(e.packages) == 0 {
		return Energy{Reason: "no RAPL on this machine: no energy counters in " + folder}
	}
	return e
}

func microjoules(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrPermission) {
		return 0, errors.New("no permission: the energy counters may be read by root only")
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
	if len(e.packages) != len(before.packages) {
		return Energy{Reason: "RAPL: the packages changed between the readings"}
	}
	sum := 0.0
	for i, now := range e.packages {
		d := now.joules - before.packages[i].joules
		if d < 0 {
			d += now.wraps
		}
		sum += max(d, 0)
	}
	return Energy{Joules: sum}
}
