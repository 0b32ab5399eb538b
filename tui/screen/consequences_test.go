package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
)

// early returns a run soon after a change, with the given number of iterations in its effect.
func early(key, before, after string, counted, waiting int) *profiles.Snapshot {
	e := profiles.Effect{Change: tuitest.Change(key, before, after, 4000), NBefore: 200, NAfter: counted, Waiting: waiting, Needed: profiles.EffectEnough - counted}
	s := tuitest.WithEffects(e)
	s.Index = 4005 + int64(counted+waiting)
	return s
}

// A key that ends the window of the previous change too soon says so, and no other does.
func TestAKeyThatCutsAnEffectShortSaysSo(t *testing.T) {
	for _, tt := range []struct {
		name, keys, want string
		snap             *profiles.Snapshot
	}{
		{"a key", "f", "FFT cache: on → off; AMP's effect had 12 of 20 iterations", early("amp", "off", "bf16", 8, 4)},
		{"of a name with an s", "f", "FFT cache: on → off; mask cache's effect had 0 of 20 iterations", early("mask_cache", "true", "false", 0, 0)},
		{"a threshold", "l", "lr: 1.0e-03 → 5.0e-04; AMP's effect had 19 of 20", early("amp", "off", "bf16", 19, 0)},
		{"enough that wait", "f", "FFT cache: on → off", early("amp", "off", "bf16", 8, 12)},
		{"a limit", "T", "threshold: 0.005 → 0.01", early("amp", "off", "bf16", 8, 4)},
		{"the device", "U", "device:  → cuda; AMP's effect had 12 of 20", early("amp", "off", "bf16", 8, 4)},
		{"undo", "f u", "undone: FFT cache off → on; AMP's effect had 12 of 20", early("amp", "off", "bf16", 8, 4)},
	} {
		m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256, tt.snap)
		press(m, strings.Fields(tt.keys)...)
		if got := m.status.text; !strings.HasPrefix(got, tt.want) || strings.Contains(got, "effect") != strings.Contains(tt.want, "effect") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	s := early("amp", "off", "bf16", 0, 0)
	s.Index = 4000 // no iteration ran with it: both changes take effect together
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, s)
	if press(m, "f"); strings.Contains(m.status.text, "effect") {
		t.Errorf("before any iteration: %q", m.status.text)
	}
}

// The answer to the mixed-precision key begins with its consequence and fits a screen of 80
// columns, even if it cuts an effect short.
func TestTheAnswerOfAMPFits(t *testing.T) {
	for _, tt := range []struct {
		snap *profiles.Snapshot
		want string
	}{
		{tuitest.Trainer(), "AMP: off → bf16, slower: emulated by these kernels; . lists the modes"},
		{func() *profiles.Snapshot {
			s := early("fft_cache", "true", "false", 12, 0)
			tuitest.Set(s, "amp", "off")
			return s
		}(), "AMP: off → bf16, slower: emulated by these kernels; FFT cache had 12 of 20"},
	} {
		m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tt.snap)
		press(m, "a")
		if got := strings.TrimSpace(lastLine(m)); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
