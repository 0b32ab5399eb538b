package im2im_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cyto/im2im"
)

// The presets are valid, the schemas fit the records, and every phase, series and setting is in the
// document.
func TestExperimentsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "cyto.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Clone(im2im.Table.Names())
	for _, mode := range []string{im2im.Train, im2im.Predict} {
		for _, e := range []string{im2im.Segmentation, im2im.LabelFree} {
			s := im2im.SchemaOf(mode, e)
			if err := s.Check(); err != nil || s.Looking() < 0 || s.SeriesNamed(s.Quality) != im2im.SeriesSimilarity {
				t.Errorf("%s, %s: %v, quality %s", mode, e, err, s.Quality)
			}
			for _, p := range s.Phases {
				names = append(names, p.Name)
			}
			for _, one := range s.Series {
				names = append(names, one.Name)
			}
		}
	}
	names = append(names, (preset.Shelves{im2im.Presets()}).Names()...)
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/cyto.md does not mention %s", name)
		}
	}
	for _, name := range (preset.Shelves{im2im.Presets()}).Names() {
		v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{im2im.Presets()}, Preset: name})
		if err != nil {
			t.Fatal(err)
		}
		if back := im2im.Table.Encode(im2im.From(v)); len(back.Differing(v)) > 0 {
			t.Errorf("%s: %v change on the way through the struct", name, back.Differing(v))
		}
	}
}

func TestImpossibleSettingsAreRefused(t *testing.T) {
	for sets, want := range map[string]string{
		"patch=16x32":      `patch = "16x32": must be the sides of a volume, multiples of 4`,
		"axes=2":           `patch = "16x32x32": must be the sides of a plane, multiples of 4`,
		"patch=6x32x32":    "multiples of 4",
		"patch=2048x32x32": "up to 1024",
		"depth=12":         "depth = 12: must be at least 16, the patch",
		"side=28":          "side = 28: must be at least 32, the patch",
		"replicas=3":       "batch = 8: must be a multiple of the 3 replicas",
		"mode=guess":       "must be one of train, predict",
		"overlap=1":        "overlap = 1: must be",
		"batch=4096 patch=128x512x512 depth=128 side=512 volumes=1": "batch = 4096: needs at least",
		"volumes=65536 side=512":                                    "side = 512: needs at least",
	} {
		v := configured(t)
		var err error
		for _, set := range strings.Fields(sets) {
			key, value, _ := strings.Cut(set, "=")
			if v, err = v.With(settings.Assignment{Key: key, Value: value}); err != nil {
				break
			}
		}
		if err == nil {
			err = v.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", sets, err, want)
		}
	}
}
