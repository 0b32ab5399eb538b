package training

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
)

func resolved(t *testing.T, name string) settings.Values {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{Presets()}, Preset: name})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPresetsAreValid(t *testing.T) {
	for _, name := range (preset.Shelves{Presets()}).Names() {
		v := resolved(t, name)
		if back := Table.Encode(From(v)); len(back.Differing(v)) > 0 {
			t.Errorf("%s: %v change on the way through the struct", name, back.Differing(v))
		}
	}
}

func TestImpossibleSettingsAreRefused(t *testing.T) {
	for sets, want := range map[string]string{
		"size=100":                 "must be a power of two from 64 to 256",
		"object_size=150 size=128": "object_size = 150: must be at least twice the size, 256",
		"gridsize=4 positions=16":  "positions = 16: must be at least 17 for groups of 16",
		"batch=512":                "batch = 512: with 512 of 512 groups for testing",
		"batch=300 test_share=0.5": "none is left to learn from: must be smaller",
		"learning_rate=0":          "learning_rate = 0: must be a number above 0",
		"scheduler=cosine":         "must be one of constant, plateau",
		"photons=0.5":              "photons = 0.5: must be a number from 1",
	} {
		v := resolved(t, "")
		var err error
		for _, set := range strings.Fields(sets) {
			key, value, _ := strings.Cut(set, "=")
			if v, err = v.Set(key, value); err != nil {
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

// Settings that need more memory than there is are refused, by the key that needs most.
func TestMemoryIsBounded(t *testing.T) {
	v := resolved(t, "")
	for set, want := range map[string]string{"batch=200": "batch = 200: needs at least", "positions=65536": "positions = 65536: needs at least", "object_size=4096": "object_size = 4096: needs at least"} {
		key, value, _ := strings.Cut(set, "=")
		w, err := v.Set(key, value)
		if err != nil {
			t.Fatal(err)
		}
		if err := joinedWith(w, 300<<20); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", set, err)
		}
		if err := joinedWith(w, 1<<40); err != nil {
			t.Errorf("%s: %v", set, err)
		}
	}
	if err := joinedWith(v, 300<<20); err != nil {
		t.Error(err)
	}
}

func TestGroupsAreDividedInWholeMinibatches(t *testing.T) {
	for _, c := range []struct {
		positions, batch int
		share            float64
		test, batches    int
	}{{512, 16, 0.125, 64, 28}, {512, 16, 0, 16, 31}, {100, 16, 0.05, 16, 5}, {64, 8, 0.5, 32, 4}} {
		s := Settings{Positions: c.positions, Batch: c.batch, TestShare: c.share}
		if s.testGroups() != c.test || s.batches() != c.batches {
			t.Errorf("%+v: %d for testing, %d minibatches", c, s.testGroups(), s.batches())
		}
	}
}

// The schema fits the records, and every phase, series and setting is in the document.
func TestSchemaIsWholeAndDocumented(t *testing.T) {
	s := Schema()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
	if s.Looking() != int(PhaseMetrics) || s.QualityInfo().Title != "PSNR" {
		t.Errorf("looking %d, quality %q", s.Looking(), s.QualityInfo().Title)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "ptycho.md"))
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Clone(Table.Names())
	for _, p := range s.Phases {
		names = append(names, p.Name)
	}
	for _, one := range s.Series {
		names = append(names, one.Name)
	}
	for _, name := range names {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/ptycho.md does not mention %s", name)
		}
	}
}

func TestPlateauHalvesTheLearningRate(t *testing.T) {
	p, lr := newPlateau(), 1e-3
	for i, c := range []struct{ loss, want float64 }{
		{5, 1e-3}, {4, 1e-3}, {4, 1e-3}, {4.5, 5e-4}, {4, 5e-4}, {4, 2.5e-4}, {3, 2.5e-4}, {3, 2.5e-4}, {3, 1.25e-4}, {3, 1.25e-4}, {3, 1e-4}, {3, 1e-4}, {3, 1e-4},
	} {
		if lr = p.step(c.loss, lr, "plateau"); math.Abs(lr-c.want) > 1e-12 {
			t.Errorf("epoch %d: %g, want %g", i, lr, c.want)
		}
	}
	if p.stale != 6 {
		t.Errorf("%d epochs since the best, want 6", p.stale)
	}
	constant := newPlateau()
	for range 10 {
		if constant.step(1, 0.5, "constant") != 0.5 {
			t.Error("a constant learning rate changes")
		}
	}
}

// A change of the learning rate scales the present one: half of it is less, also after the plateau.
func TestKeysScaleThePresentLearningRate(t *testing.T) {
	v := resolved(t, "ptycho-train")
	s := From(v)
	r := &training{settings: s, lr: s.LearningRate / 4, plateau: plateau{bad: 1}}
	for _, c := range []struct{ set, want float64 }{{s.LearningRate / 2, s.LearningRate / 8}, {s.LearningRate, s.LearningRate / 4}, {4 * s.LearningRate, s.LearningRate}} {
		var err error
		if v, err = v.Set("learning_rate", strconv.FormatFloat(c.set, 'g', -1, 64)); err != nil {
			t.Fatal(err)
		}
		if err := r.Apply(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.lr-c.want) > 1e-15 || r.plateau.bad != 0 {
			t.Errorf("learning_rate = %g makes it %g, want %g", c.set, r.lr, c.want)
		}
	}
}

// A state that no run has is not gone on from.
func TestImpossibleStatesAreRefused(t *testing.T) {
	s := Settings{Epochs: 8, Positions: 512, Batch: 16, TestShare: 0.125} // 28 minibatches an epoch
	for _, task := range []string{
		`{"epoch":-1,"learning_rate":0.001}`, `{"epoch":8,"learning_rate":0.001}`, `{"in_epoch":28,"learning_rate":0.001}`,
		`{"learning_rate":0}`, `{"learning_rate":"NaN"}`, `{"learning_rate":0.001,"best":"NaN"}`, `{"learning_rate":0.001,"bad":-1}`, `{"unknown":1}`,
	} {
		c := &checkpoint.Checkpoint{Task: []byte(task)}
		if err := (&training{settings: s}).Resume(t.Context(), c); err == nil {
			t.Errorf("%s is accepted", task)
		}
	}
}
