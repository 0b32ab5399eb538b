package command

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/bench"
	"prismtop/sim/workloads"
)

func TestForesightsSchema(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "foresight", Title: "prismtop run --dry-run --json", Value: foresightJSON{},
		Special: map[reflect.Type]func(func(reflect.Type) schematest.Schema) schematest.Schema{reflect.TypeFor[settings.Values](): schematest.Settings}})
}

// A run that does not fit is not measured, and one that takes hours is warned about.
func TestForesightsWarn(t *testing.T) {
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets()})
	if err != nil {
		t.Fatal(err)
	}
	pace := []float64{float64(7 * time.Millisecond)}
	for _, c := range []struct {
		name string
		f    bench.Foresight
		want []string
		not  string
	}{
		{"fits", bench.Foresight{Known: true, Memory: profiles.Memory{Caches: 1e8}, Free: machine.Memory{Available: 2e9}, Most: 1000, Times: pace},
			[]string{"about 100 MB of memory", "2.00 GB are available", "at most ~7 s, at 7.00 ms", "caches when full 100 MB; not counted: FFT plans"}, "warning"},
		{"does not fit", bench.Foresight{Known: true, Memory: profiles.Memory{Caches: 4e9}, Free: machine.Memory{Available: 2e9, Limit: 1e9}, Most: 1000},
			[]string{"about 4.00 GB of memory", "but 1.00 GB are available", "not measured: the run does not fit", "warning  needs about 4.00 GB"}, "at most ~"},
		{"long", bench.Foresight{Known: true, Most: 10_000_000, Sooner: true, Times: pace}, []string{"at most ~19 h", "less where it converges before its limits", "warning  takes up to ~19 h: --max-time bounds it"}, "are available"},
		{"fits on the card", bench.Foresight{Known: true, Memory: profiles.Memory{Caches: 4e9}, Free: machine.Memory{Available: 2e9}, Card: &machine.GPUDevice{Name: "NVIDIA T4", FreeBytes: 15e9}, Most: 1000, Times: pace},
			[]string{"about 4.00 GB of the memory of NVIDIA T4", "15.0 GB are free", "at most ~7 s"}, "available"},
		{"does not fit on the card", bench.Foresight{Known: true, Memory: profiles.Memory{Caches: 4e9}, Free: machine.Memory{Available: 64e9}, Card: &machine.GPUDevice{Name: "NVIDIA T4", TotalBytes: 3e9}, Most: 1000},
			[]string{"but 3.00 GB are free: a run on it is refused, and device = auto is on the CPU", "not measured: the run does not fit"}, "at most ~"},
		{"measured", bench.Foresight{Held: true, Memory: profiles.Memory{Caches: 1e8}, Times: pace}, []string{"memory   about 100 MB of memory, held after the first iterations", "caches 100 MB\n", "7.00 ms an iteration"}, "warning"},
	} {
		c.f.Settings = v
		var b bytes.Buffer
		err := writePlanned(&b, "moon", &c.f)
		if err == nil {
			err = writeMeasured(&b, describeForesight(&c.f, "moon"), &c.f)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: %q is missing in\n%s", c.name, want, b.String())
			}
		}
		if strings.Contains(b.String(), c.not) {
			t.Errorf("%s: %q is in\n%s", c.name, c.not, b.String())
		}
	}
}
