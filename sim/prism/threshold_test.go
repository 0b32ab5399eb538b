package prism

import (
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
)

func TestLossNamesHaveEverythingThatTheScaleDependsOn(t *testing.T) {
	for _, tt := range []struct {
		sets []string
		want string
	}{
		{nil, "normalised l1"},
		{[]string{"loss=l2"}, "normalised l2"},
		{[]string{"loss=l2", "normalize_loss=false"}, "l2"},
		{[]string{"loss=ssim"}, "ssim"},
		{[]string{"loss=ssim", "normalize_loss=false"}, "ssim"},
		{[]string{"loss=ms-ssim"}, "ms-ssim"},
		{[]string{"loss=composite"}, "composite 0.7/0/0.3"},
		{[]string{"composite_l1=0.5"}, "normalised l1"},
	} {
		v := moonWith(t, tt.sets...)
		s := From(v)
		if v.Of(thresholdKey) != s.LossName() {
			t.Errorf("%v: the threshold is of %q", tt.sets, v.Of(thresholdKey))
		}
		if got := s.LossName(); got != tt.want || !isLossName(got) {
			t.Errorf("%v: %q (known: %v), want %q", tt.sets, got, isLossName(got), tt.want)
		}
	}
}

// A threshold that was not settled is of whichever loss there is; one that was is suspended
// under every other loss, and what Get says of it gives the same settings back.
func TestAThresholdIsSuspendedUnderAnotherLoss(t *testing.T) {
	v := moonWith(t, "loss=l2", "threshold=0.003")
	if s := From(v); s.ThresholdInForce() != s.Threshold || s.Threshold != 0.003 {
		t.Error("a threshold that belongs to no loss yet is suspended")
	}
	v, err := v.Settled().Set("loss", "ssim")
	if err != nil {
		t.Fatal(err)
	}
	s := From(v)
	loss, now, suspended := v.Suspended(thresholdKey)
	if text := v.Get(thresholdKey); loss != "normalised l2" || now != "ssim" || !suspended || v.InForce(thresholdKey) != 0 ||
		s.ThresholdInForce() != 0 || s.Threshold != 0.003 || text != "0.003 for normalised l2" {
		t.Errorf("suspended %v for %q under %q, in force %g: %q", suspended, loss, now, v.InForce(thresholdKey), text)
	}
	again := Table.Zero()
	for _, k := range Table.Keys() {
		if again, err = again.Set(k.Name, v.Get(k.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if differ := again.Differing(v); len(differ) != 0 {
		t.Errorf("set key by key it differs in %v", differ)
	}
	if got := v.Differing(Table.Zero()); len(got) < 20 {
		t.Errorf("differs from nothing in %v", got)
	}
	if v, err = v.With(settings.Assignment{Key: thresholdKey, Value: "0"}); err != nil {
		t.Fatal(err)
	}
	if _, _, suspended := v.Suspended(thresholdKey); suspended || v.Get(thresholdKey) != "0" {
		t.Errorf("never is suspended: %q", v.Get(thresholdKey))
	}
}

func TestAThresholdForNoLossIsRefused(t *testing.T) {
	for _, text := range []string{"0.1 for", "0.1 for ", "0.1 for l3", "0.1 for composite 1/2", "0.1 for composite a/b/c", "for l1", "x for l1"} {
		if _, err := moonWith(t).Set(thresholdKey, text); err == nil || !strings.Contains(err.Error(), "must be a number, at least 0") {
			t.Errorf("threshold = %q: %v", text, err)
		}
		if got, _, err := preset.Resolve(preset.Sources{Shelves: shelves, Sets: []string{"threshold=" + text}}); err == nil {
			t.Errorf("--set threshold=%q gives %v", text, got.Get(thresholdKey))
		}
	}
	_, _, err := preset.Resolve(preset.Sources{Shelves: shelves, Sets: []string{"threshold=0.1 for l2"}})
	if err == nil || !strings.Contains(err.Error(), "must be a number") {
		t.Errorf("a run that starts with a threshold of another loss: %v", err)
	}
}

// Settings read at the start are kept, live ones are replaced.
func TestWithLiveTakesTheLiveSettings(t *testing.T) {
	a := moonWith(t)
	b := moonWith(t, "size=128", "threads=3", "channels=8,1", "loss=l2", "threshold=0.1").Settled()
	got := a.WithLive(b)
	if got.Int("size") != a.Int("size") || got.Get("channels") != a.Get("channels") || got.Int("threads") != 3 ||
		got.Text("loss") != "l2" || got.InForce(thresholdKey) != 0.1 {
		t.Errorf("with live settings it differs from its own in %v", got.Differing(a))
	}
	for _, key := range got.Differing(a) {
		if k, _ := Table.Lookup(key); !k.Live {
			t.Errorf("%s was taken over", key)
		}
	}
	for _, key := range got.Differing(b) {
		if k, _ := Table.Lookup(key); k.Live {
			t.Errorf("%s was not taken over", key)
		}
	}
}

func TestFitsBesideCountsWhatIsHeld(t *testing.T) {
	s := From(moonWith(t))
	if total := physicalMemory(); total > 0 && (!s.FitsBeside(0) || s.FitsBeside(total-1000)) {
		t.Errorf("fits an empty machine: %v, a full one: %v", s.FitsBeside(0), s.FitsBeside(total-1000))
	}
}

// moonWith is the default preset with some settings changed, not settled.
func moonWith(t testing.TB, sets ...string) settings.Values {
	t.Helper()
	p, err := shelves.Lookup("moon")
	if err != nil {
		t.Fatal(err)
	}
	v := p.Settings
	for _, set := range sets {
		key, value, _ := strings.Cut(set, "=")
		if v, err = v.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// The phases that settings say they touch are those of the schema.
func TestSettingsTouchPhasesThatThereAre(t *testing.T) {
	schema := Schema()
	known := func(name string) bool {
		return slices.ContainsFunc(schema.Phases, func(p profiles.PhaseInfo) bool { return p.Name == name })
	}
	for _, k := range Table.Keys() {
		for _, name := range k.Touches {
			if !known(name) {
				t.Errorf("%s touches %q, which is no phase", k.Name, name)
			}
		}
		if len(k.Compared.Pairs) > 0 && !k.TouchesKnown && k.Name != "amp" { // which touches all
			t.Errorf("%s can be switched, and what it touches is not said", k.Name)
		}
	}
}
