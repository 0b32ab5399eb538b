package theme

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

func TestDepthFollowsTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		profile colorprofile.Profile
		has     string // in the sequence of Forward
		not     string
	}{
		{colorprofile.TrueColor, "38;5;75", "38;2"},
		{colorprofile.ANSI256, "38;5;75", "38;2"},
		{colorprofile.ANSI, "96", "38;"},
		{colorprofile.ASCII, "", "3"},
		{colorprofile.NoTTY, "", "3"},
	} {
		got := New(tt.profile, true, false).SGR(Forward)
		if !strings.Contains(got, tt.has) || strings.Contains(got, tt.not) {
			t.Errorf("%v: %q, want %q and no %q", tt.profile, got, tt.has, tt.not)
		}
	}
}

func TestNoColorUsesWeightOnly(t *testing.T) {
	th := New(colorprofile.ASCII, true, false)
	for s := Plain; s < NumStyles; s++ {
		switch got := th.SGR(s); got {
		case "", "\x1b[1m", "\x1b[2m", "\x1b[1;2m":
		default:
			t.Errorf("style %d is %q", s, got)
		}
	}
	if got := th.SGR(Grey(3, 4)); got != "" {
		t.Errorf("a grey is %q", got)
	}
}

func TestPhasesDifferInEveryTheme(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ANSI256} {
		for _, dark := range []bool{true, false} {
			th, seen := New(p, dark, false), map[string]Style{}
			for s := Forward; s <= Metrics; s++ {
				if other, twice := seen[th.SGR(s)]; twice {
					t.Errorf("%v dark=%v: styles %d and %d look the same", p, dark, s, other)
				}
				seen[th.SGR(s)] = s
			}
		}
	}
}

func TestDarkAndLightDiffer(t *testing.T) {
	dark, light := New(colorprofile.ANSI256, true, false), New(colorprofile.ANSI256, false, false)
	for _, s := range []Style{Faint, Title, Border, Good, Bad, Warn, Forward, LossOld, LossNew, Current} {
		if dark.SGR(s) == light.SGR(s) {
			t.Errorf("style %d is the same on dark and light", s)
		}
	}
}

func TestGreysRoundTrip(t *testing.T) {
	th := New(colorprofile.ANSI256, true, false)
	for u := range GreyLevels {
		for l := range GreyLevels {
			if a, b, ok := Grey(u, l).Greys(); !ok || a != u || b != l {
				t.Fatalf("Grey(%d,%d) gives back %d,%d,%v", u, l, a, b, ok)
			}
		}
	}
	if got := th.SGR(Grey(0, 23)); got != "\x1b[38;5;232;48;5;255m" {
		t.Errorf("got %q", got)
	}
	if Grey(-5, 99) != Grey(0, GreyLevels-1) {
		t.Error("levels outside are not clamped")
	}
	if _, _, ok := Forward.Greys(); ok {
		t.Error("a named style counts as a grey")
	}
}

func TestASCIIIsSevenBit(t *testing.T) {
	for r := rune(0x20); r < 0x3000; r++ {
		if a := ASCII(r); a < 0x20 || a > 0x7e && r != 0x7f {
			t.Fatalf("%q becomes %q", r, a)
		}
	}
	for r, want := range map[rune]rune{'a': 'a', '─': '-', '│': '|', '●': '*', '○': 'o', '⠀': ' ', '⣿': '#', '▇': '#', '月': '?'} {
		if got := ASCII(r); got != want {
			t.Errorf("%q becomes %q, want %q", r, got, want)
		}
	}
}
