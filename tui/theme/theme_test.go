package theme

import (
	"image/color"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// opened returns the sequence that sets a style after a reset.
func opened(t *Theme, s Style) string {
	if look := t.Look(s); look != (Look{}) {
		return "\x1b[" + look.Parameters() + "m"
	}
	return ""
}

func TestDepthFollowsTheTerminal(t *testing.T) {
	for _, tt := range []struct {
		profile colorprofile.Profile
		has     string // contained in the sequence of Phase1
		not     string
	}{
		{colorprofile.TrueColor, "38;5;75", "38;2"},
		{colorprofile.ANSI256, "38;5;75", "38;2"},
		{colorprofile.ANSI, "96", "38;"},
		{colorprofile.ASCII, "", "3"},
		{colorprofile.NoTTY, "", "3"},
	} {
		got := opened(New(tt.profile, true, false), Phase1)
		if !strings.Contains(got, tt.has) || strings.Contains(got, tt.not) {
			t.Errorf("%v: %q, want %q and no %q", tt.profile, got, tt.has, tt.not)
		}
	}
}

func TestNoColorUsesWeightOnly(t *testing.T) {
	th := New(colorprofile.ASCII, true, false)
	for s := Plain; s < NumStyles; s++ {
		switch got := opened(th, s); got {
		case "", "\x1b[1m", "\x1b[2m", "\x1b[1;2m":
		case "\x1b[7m": // reverse is not a colour
			if s != Selected {
				t.Errorf("style %d is in reverse", s)
			}
		default:
			t.Errorf("style %d is %q", s, got)
		}
	}
	if got := opened(th, Shade(Greys, 3, 4)); got != "" {
		t.Errorf("a grey is %q", got)
	}
}

func TestPhasesDifferInEveryTheme(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.ANSI, colorprofile.ANSI256} {
		for _, dark := range []bool{true, false} {
			th, seen := New(p, dark, false), map[string]Style{}
			for s := Phase1; s <= Phase8; s++ {
				if other, twice := seen[opened(th, s)]; twice {
					t.Errorf("%v dark=%v: styles %d and %d look the same", p, dark, s, other)
				}
				seen[opened(th, s)] = s
			}
		}
	}
}

func TestDarkAndLightDiffer(t *testing.T) {
	dark, light := New(colorprofile.ANSI256, true, false), New(colorprofile.ANSI256, false, false)
	for _, s := range []Style{Faint, Title, Border, Good, Bad, Warn, Phase1, LossOld, LossNew, Current} {
		if opened(dark, s) == opened(light, s) {
			t.Errorf("style %d is the same on dark and light", s)
		}
	}
}

func TestShadesRoundTrip(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.ANSI256, colorprofile.TrueColor} {
		th := New(p, true, false)
		for m := range NumMaps {
			levels := m.Levels(th.Depth)
			seen := map[string]Style{}
			for u := range levels {
				for l := range levels {
					s := Shade(m, u, l)
					if n, a, b, ok := s.Shades(); !ok || n != m || a != u || b != l {
						t.Fatalf("Shade(%d,%d,%d) gives back %d,%d,%d,%v", m, u, l, n, a, b, ok)
					}
					sgr := opened(th, s)
					if other, twice := seen[sgr]; twice || sgr == "" {
						t.Fatalf("%v: style %d of map %d is %q, as style %d", p, s, m, sgr, other)
					}
					seen[sgr] = s
				}
			}
			if got, want := opened(th, Shade(m, -5, 99)), opened(th, Shade(m, 0, levels-1)); got != want {
				t.Errorf("%v: levels outside are not clamped: %q, want %q", p, got, want)
			}
		}
	}
	if _, _, _, ok := Phase1.Shades(); ok {
		t.Error("a named style counts as a shade")
	}
	if _, _, _, ok := Image(200).Shades(); ok {
		t.Error("an image counts as a shade")
	}
}

func TestSequencesOfPictures(t *testing.T) {
	for _, tt := range []struct {
		profile colorprofile.Profile
		style   Style
		want    string
	}{
		{colorprofile.ANSI256, Shade(Greys, 0, 23), "\x1b[38;5;232;48;5;255m"},
		{colorprofile.ANSI256, Shade(Greys, 7, 7), "\x1b[48;5;239m"}, // the foreground is invisible
		{colorprofile.TrueColor, Shade(Greys, 0, 63), "\x1b[38;2;0;0;0;48;2;255;255;255m"},
		{colorprofile.TrueColor, Shade(Viridis, 0, 0), "\x1b[48;2;68;1;84m"},
		{colorprofile.TrueColor, Shade(Diverging, 31, 62), "\x1b[38;2;24;24;24;48;2;255;215;135m"},
		{colorprofile.ANSI256, Image(200), "\x1b[38;5;200m"},
		{colorprofile.TrueColor, Image(200), "\x1b[38;5;200m"}, // the terminal reads the index
		{colorprofile.ANSI, Shade(Greys, 0, 23), ""},
		{colorprofile.ASCII, Image(200), ""},
	} {
		if got := opened(New(tt.profile, true, false), tt.style); got != tt.want {
			t.Errorf("%v: style %x is %q, want %q", tt.profile, tt.style, got, tt.want)
		}
	}
	if id, ok := Image(200).Image(); !ok || id != 200 {
		t.Errorf("image 200 is %d, %v", id, ok)
	}
}

// InkBytes returns the length of the colour's sequence.
func TestInkBytesAreThoseOfTheSequence(t *testing.T) {
	for _, p := range []colorprofile.Profile{colorprofile.ANSI256, colorprofile.TrueColor} {
		th := New(p, true, false)
		for m := range NumMaps {
			for level := range m.Levels(th.Depth) {
				if got, want := m.InkBytes(th.Depth, level), len(opened(th, Shade(m, level, level)))-len("\x1b[m"); got != want {
					t.Errorf("%v: level %d of map %d: %d bytes, want %d", p, level, m, got, want)
				}
			}
		}
	}
}

// palette returns the standard colour of an index of 16 or above.
func palette(i uint8) color.NRGBA {
	if i >= 232 {
		v := 8 + 10*(i-232)
		return color.NRGBA{v, v, v, 255}
	}
	steps := [6]uint8{0, 95, 135, 175, 215, 255}
	i -= 16
	return color.NRGBA{steps[i/36], steps[i/6%6], steps[i%6], 255}
}

// A colour map must rise in brightness, for readers without colour vision.
func TestMapsRiseInBrightness(t *testing.T) {
	brightness := func(i uint8) float64 {
		c := palette(i)
		return 0.2126*float64(c.R) + 0.7152*float64(c.G) + 0.0722*float64(c.B)
	}
	for _, m := range []Map{Greys, Viridis} {
		for i := 1; i < m.Levels(Colors256); i++ {
			if a, b := brightness(palettes[m][i-1]), brightness(palettes[m][i]); a >= b {
				t.Errorf("map %d: level %d is as bright as level %d: %.0f, %.0f", m, i-1, i, a, b)
			}
		}
		for v := 0.01; v <= 1; v += 0.01 {
			a, b := m.Color(v-0.01), m.Color(v)
			if int(a.R)*2+int(a.G)*7+int(a.B) > int(b.R)*2+int(b.G)*7+int(b.B)+1 {
				t.Errorf("map %d is darker at %.2f than below: %v %v", m, v, a, b)
			}
		}
	}
	middle := Diverging.Levels(Colors256) / 2
	for i := 1; i <= middle; i++ {
		for _, side := range []int{-1, 1} {
			if a, b := brightness(palettes[Diverging][middle+side*(i-1)]), brightness(palettes[Diverging][middle+side*i]); i > 1 && a >= b {
				t.Errorf("diverging: step %d of side %d is not brighter than the one before", i, side)
			}
		}
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
