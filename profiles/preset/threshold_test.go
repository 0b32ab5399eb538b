package preset

import (
	"strings"
	"testing"
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
		s := moon(t)
		for _, set := range tt.sets {
			key, value, _ := strings.Cut(set, "=")
			if err := s.Set(key, value); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.LossName(); got != tt.want || !isLossName(got) {
			t.Errorf("%v: %q (known: %v), want %q", tt.sets, got, isLossName(got), tt.want)
		}
	}
}

// A threshold that was not bound is of whichever loss there is; a bound one is suspended
// under every other loss, and what Get says of it gives the same settings back.
func TestAThresholdIsSuspendedUnderAnotherLoss(t *testing.T) {
	s := moon(t)
	s.Loss, s.Threshold = "l2", 0.003
	if s.ThresholdInForce() != s.Threshold {
		t.Error("a threshold that belongs to no loss yet is suspended")
	}
	s.BindThreshold()
	s.Loss = "ssim"
	loss, suspended := s.ThresholdSuspended()
	if text := s.Get("threshold"); loss != "normalised l2" || !suspended || s.ThresholdInForce() != 0 || text != "0.003 for normalised l2" {
		t.Errorf("suspended %v for %q, in force %g: %q", suspended, loss, s.ThresholdInForce(), text)
	}
	var again Settings
	for _, k := range Keys() {
		if err := again.Set(k.Name, s.Get(k.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if !sameSettings(again, s) || len(again.Differing(&s)) != 0 {
		t.Errorf("set key by key gives %+v, want %+v", again, s)
	}
	if got := s.Differing(&Settings{}); len(got) < 20 {
		t.Errorf("differs from nothing in %v", got)
	}
	s.Threshold = 0
	if _, suspended := s.ThresholdSuspended(); suspended || s.Get("threshold") != "0" {
		t.Errorf("never is suspended: %q", s.Get("threshold"))
	}
}

func TestAThresholdForNoLossIsRefused(t *testing.T) {
	for _, text := range []string{"0.1 for", "0.1 for ", "0.1 for l3", "0.1 for composite 1/2", "0.1 for composite a/b/c", "for l1", "x for l1"} {
		s := moon(t)
		if err := s.Set("threshold", text); err == nil || !strings.Contains(err.Error(), "must be a number, at least 0") {
			t.Errorf("threshold = %q: %v", text, err)
		}
		if got, _, err := Resolve(Sources{Sets: []string{"threshold=" + text}}); err == nil {
			t.Errorf("--set threshold=%q gives %v", text, got.Threshold)
		}
	}
	if _, _, err := Resolve(Sources{Sets: []string{"threshold=0.1 for l2"}}); err == nil || !strings.Contains(err.Error(), "must be a number") {
		t.Errorf("a run that starts with a threshold of another loss: %v", err)
	}
}

// What a start reads stays, what is live is the other's.
func TestWithLiveTakesTheLiveSettings(t *testing.T) {
	a, b := moon(t), moon(t)
	b.Size, b.Threads, b.Channels, b.Loss, b.Threshold = 128, 3, []int{8, 1}, "l2", 0.1
	b.BindThreshold()
	got := a.WithLive(&b)
	if got.Size != a.Size || len(got.Channels) != len(a.Channels) || got.Threads != 3 || got.Loss != "l2" || !got.SameThreshold(&b) {
		t.Errorf("with live settings %+v", got)
	}
	for _, key := range got.Differing(&a) {
		if k, _ := LookupKey(key); !k.Live {
			t.Errorf("%s was taken over", key)
		}
	}
	for _, key := range got.Differing(&b) {
		if k, _ := LookupKey(key); k.Live {
			t.Errorf("%s was not taken over", key)
		}
	}
}

func TestFitsBesideCountsWhatIsHeld(t *testing.T) {
	s := moon(t)
	if total := physicalMemory(); total > 0 && (!s.FitsBeside(0) || s.FitsBeside(total-1000)) {
		t.Errorf("fits an empty machine: %v, a full one: %v", s.FitsBeside(0), s.FitsBeside(total-1000))
	}
}
