package words

import (
	"math"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/tui/tuitest"
)

func TestEffectsAreShortInAList(t *testing.T) {
	s := tuitest.Busy()
	for i, want := range []string{"7.90 → 7.00 ms · PSNR +0.31 dB meanwhile", "others took 1 % before, 62 % after",
		"9 before · change back and again"} {
		got, _ := Detail(s, &s.Effects[i], 52)
		if i == 2 {
			got, _ = Detail(s, &s.Effects[i], 36)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
}

// Changes are described with their values, without those before, or by names, depending on the
// space.
func TestSeveralSettingsAreToldAsThereIsRoom(t *testing.T) {
	s := tuitest.Together()
	e := &s.Effects[2]
	for w, want := range map[int]string{
		60: "threads 2→1 + lr 1.0e-03→5.0e-04 + loss l1→ssim",
		40: "threads 1 + lr 5.0e-04 + loss ssim (3)",
		25: "threads + lr + loss (3)",
		18: "threads + lr (3)",
		12: "threads (3)",
		10: "3 settings",
	} {
		if got := ChangedIn(prism.Table, e, 2, w); got != want {
			t.Errorf("%d cells: %q, want %q", w, got, want)
		}
	}
}

// Of one setting the values stay where its name does not fit: from what to what the change was.
func TestAChangeKeepsItsDirection(t *testing.T) {
	e := &profiles.Effect{Change: profiles.Change{Key: "measurement_cache", Before: "true", After: "false"}}
	for w, want := range map[int]string{40: "meas. cache on→off", 14: "meas.… on→off", 6: "mea…→off"} {
		if got := ChangedIn(prism.Table, e, 2, w); got != want {
			t.Errorf("%d cells: %q, want %q", w, got, want)
		}
	}
}

// Where its values have no room, a change says what is in force now.
func TestAChangeSaysItsValueLast(t *testing.T) {
	e := &profiles.Effect{Change: profiles.Change{Key: "loss", Before: "l1", After: "ssim"}}
	for w, want := range map[int]string{12: "loss l1→ssim", 11: "loss→ssim", 8: "los…→ssim"} {
		if got := ChangedIn(prism.Table, e, 2, w); got != want {
			t.Errorf("%d cells: %q, want %q", w, got, want)
		}
	}
}

// A decision without an interval has none beside it.
func TestADecisionWithoutAnIntervalShowsNone(t *testing.T) {
	a := &profiles.Ablation{Rows: []profiles.AblationRow{{Key: "x", Off: "2", On: "4", Sequential: true, Effect: -1, Low: -1, High: math.Inf(1), Final: true}}}
	if got := Decision(settings.NewTable("test", nil), a, 2, ""); got[0] != "x: not decided" {
		t.Errorf("it says %q", got)
	}
}
