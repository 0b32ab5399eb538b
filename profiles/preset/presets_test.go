package preset_test

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryPresetIsWholeAndValid(t *testing.T) {
	for _, name := range shelves.Names() {
		p, err := shelves.Lookup(name)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if err := p.Settings.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p.Description == "" || strings.Contains(p.Description, "\n") {
			t.Errorf("%s: description %q", name, p.Description)
		}
	}
}

func TestNamesBeginWithTheDefault(t *testing.T) {
	names := shelves.Names()
	if names[0] != "moon" || shelves.Default() != "moon" {
		t.Errorf("%v", names)
	}
	for _, want := range []string{"moon", "baseline", "phase5", "europa", "quick", "high-quality", "quick-test", "production", "debug", "line-sampling", "prism", "standard", "profiling", "ten-samples", "guide"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// Values of spec/prism.md §5.9, §7.4, §7.6 and §9.1.
func TestPresetsHoldThePublishedValues(t *testing.T) {
	cases := map[string]map[string]string{
		"prism":         {"size": "1024", "radius": "8.5", "samples": "64", "threshold": "0.005", "iterations": "1000", "cycles": "1", "passes": "1", "init_iterations": "100", "init_cycles": "100", "output_activation": "none", "loss": "l1", "learning_rate": "0.001", "sampling": "fermat"},
		"baseline":      {"size": "512", "object_size": "128", "radius": "20", "samples": "100", "sampling": "fermat", "pattern": "trainer", "cycles": "1", "roi_diameter": "0"},
		"phase5":        {"size": "512", "object_size": "128", "radius": "20", "samples": "20", "iterations": "50", "pattern": "remeasure", "warmup_measurements": "5", "threshold": "0", "init_iterations": "0"},
		"standard":      {"size": "512", "object_size": "128", "radius": "20", "samples": "100", "sampling": "fermat", "iterations": "1", "cycles": "1", "passes": "1", "pattern": "trainer", "threshold": "0", "init_iterations": "0", "init_cycles": "0"},
		"profiling":     {"size": "512", "object_size": "128", "radius": "20", "samples": "20", "iterations": "1", "threshold": "0"},
		"ten-samples":   {"size": "512", "object_size": "128", "samples": "10", "iterations": "1", "threshold": "0"},
		"guide":         {"size": "1024", "object_size": "512", "radius": "20", "noise": "shot", "snr": "40", "loss": "composite", "composite_l1": "0.7", "composite_ssim": "0.3", "learning_rate": "0.001"},
		"europa":        {"size": "1024", "object_size": "73", "radius": "8.5", "samples": "64"},
		"moon":          {"size": "512", "object_size": "128", "passes": "14", "object": "moon", "image": ""},
		"quick":         {"size": "128", "object_size": "32", "samples": "8", "passes": "1"},
		"quick-test":    {"samples": "64", "sample_length": "64", "iterations": "1000", "cycles": "1", "threshold": "0.001", "noise": "none"},
		"production":    {"samples": "200", "sample_length": "0", "noise": "shot", "snr": "40", "iterations": "1000", "cycles": "25", "init_iterations": "100", "init_cycles": "100", "threshold": "0.001"},
		"high-quality":  {"samples": "240", "noise": "shot", "snr": "50", "iterations": "2000", "cycles": "50", "init_iterations": "200", "init_cycles": "200", "threshold": "0.0005"},
		"debug":         {"samples": "16", "iterations": "100", "cycles": "1", "init_iterations": "10", "init_cycles": "1", "threshold": "0.01"},
		"line-sampling": {"samples": "100", "sample_length": "128", "iterations": "1000", "cycles": "25", "threshold": "0.001", "noise": "none"},
	}
	for name, values := range cases {
		p := lookup(t, name)
		for key, want := range values {
			if got := p.Settings.Get(key); got != want {
				t.Errorf("%s: %s = %s, want %s", name, key, got, want)
			}
		}
	}
}

func TestAPictureThatIsNotShippedIsNoted(t *testing.T) {
	p := lookup(t, "europa")
	notes := p.Notes(p.Settings)
	if len(notes) != 1 || !strings.Contains(notes[0], "europa.jpg") || !strings.Contains(notes[0], "moon") {
		t.Errorf("notes %q", notes)
	}
	v, err := p.Settings.Set("image", "europa.jpg")
	if err != nil {
		t.Fatal(err)
	}
	if notes := p.Notes(v); notes != nil {
		t.Errorf("notes %q with a picture", notes)
	}
	for _, name := range []string{"moon", "baseline", "phase5", "quick"} {
		p := lookup(t, name)
		if notes := p.Notes(p.Settings); notes != nil {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
}
