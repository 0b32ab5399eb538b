package chart

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/theme"
)

func plainLines(c *Canvas) []string {
	return c.Lines(theme.New(colorprofile.ASCII, true, false))
}

func TestTextIsCutAndCleaned(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"short", "ab", "ab   "},
		{"too long", "abcdefgh", "abcde"},
		{"escape sequence", "a\x1b[31mb", "a[31m"},
		{"newline and tab", "a\n\tb", "ab   "},
		{"C1 control", "a\u009b31mb", "a31mb"},
		{"wide", "月光", "月光 "},
		{"wide at the edge", "abcd月", "abcd "},
		{"combining mark", "e\u0301a", "ea   "},
		{"spacing mark", "निa", "नa   "},
		{"flag", "🇩🇪a", "\ufffd\ufffda  "},
		{"skin tone", "👋🏽a", "👋a  "},
		{"joined faces", "👩\u200d🚀a", "👩🚀a"},
		{"keycap", "1\ufe0f\u20e3a", "1a   "},
		{"letters of a syllable", "\u1112\u1161\u11aba", "\ufffd\ufffd\ufffda "},
		{"emoji among symbols", "✅a", "✅a  "},
		{"change of direction", "a\u202eb", "ab   "},
		{"place of a picture", "a\U0010eeee\u0305b", "a\ufffdb  "},
		{"invalid UTF-8", "a\xffb", "a\ufffdb  "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c Canvas
			c.Resize(5, 1)
			c.Text(0, 0, tt.text, theme.Plain)
			if got := ansi.Strip(plainLines(&c)[0]); got != tt.want {
				t.Errorf("%q is drawn as %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

func TestHalfAWideCharacterIsASpace(t *testing.T) {
	var c Canvas
	c.Resize(4, 1)
	c.Text(0, 0, "月光", theme.Plain)
	c.Set(1, 0, 'x', theme.Plain)
	c.Set(2, 0, 'y', theme.Plain)
	if got := plainLines(&c)[0]; got != " xy " {
		t.Errorf("got %q, want %q", got, " xy ")
	}
}

func TestLinesAreRunsOfOneStyle(t *testing.T) {
	var c Canvas
	c.Resize(9, 1)
	c.Text(0, 0, "aaa", theme.Plain)
	c.Text(3, 0, "bbb", theme.Good)
	c.Text(6, 0, "ccc", theme.Good)
	th := theme.New(colorprofile.ANSI256, true, false)
	if got, want := c.Lines(th)[0], "aaa\x1b["+th.Look(theme.Good).Parameters()+"mbbbccc\x1b[m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCutKeepsWidth(t *testing.T) {
	for n := range 8 {
		if got := Width(Cut("a月b光cd", n)); got > n {
			t.Errorf("Cut to %d is %d wide", n, got)
		}
	}
	if got := Cut("exact", 5); got != "exact" {
		t.Errorf("Cut changed a text that fits: %q", got)
	}
}

func TestSubSharesAndClips(t *testing.T) {
	var c Canvas
	c.Resize(4, 3)
	s := c.Sub(1, 1, 9, 9)
	if w, h := s.Size(); w != 3 || h != 2 {
		t.Fatalf("size %dx%d, want 3x2", w, h)
	}
	s.Text(0, 0, "abcdef", theme.Plain)
	if got := strings.Join(plainLines(&c), "|"); got != "    | abc|    " {
		t.Errorf("got %q", got)
	}
	empty := c.Sub(7, 7, 2, 2)
	empty.Set(0, 0, 'x', theme.Plain)
	if w, h := empty.Size(); w != 0 || h != 0 {
		t.Errorf("a part outside is %dx%d", w, h)
	}
}

// hostile are values that a diverging run produces.
var hostile = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1, 1e300, -1e300, math.MaxFloat64, 5e-324, 1e-30}

func TestLineChartSurvivesEveryNumberAndSize(t *testing.T) {
	for _, a := range hostile {
		for _, b := range hostile {
			for _, log := range []bool{false, true} {
				curve := profiles.Curve{
					{First: 0, Last: 9, Min: 1, Mean: 2, Max: 3},
					{First: 10, Last: 19, Min: a, Mean: b, Max: a},
					{First: 20, Last: 29, Min: b, Mean: a, Max: b},
					{First: 40, Last: 30, Min: 1, Mean: 1, Max: 1},
				}
				line := Line{
					Series:  []Series{{Curve: curve, Style: theme.Line, Envelope: true, EnvelopeStyle: theme.Envelope}},
					Ceiling: Ceiling(curve, a), Log: log, Threshold: b, Label: func(float64) string { return "label" }, LabelWidth: 5,
					Marks: []Mark{{At: 15, Label: 'a'}, {At: -5, Label: 'b'}, {At: math.MaxInt64, Label: 'c'}},
				}
				for _, size := range [][2]int{{0, 0}, {1, 1}, {5, 3}, {17, 3}, {18, 4}, {60, 12}} {
					var c Canvas
					c.Resize(size[0], size[1])
					line.Draw(&c)
					for _, l := range plainLines(&c) {
						if ansi.StringWidth(l) != size[0] {
							t.Fatalf("%v %v log=%v at %v: line %q", a, b, log, size, l)
						}
					}
				}
			}
		}
	}
}

func TestLineChartDrawsValuesWhereTheyBelong(t *testing.T) {
	curve := profiles.Curve{}
	for i := range int64(40) {
		v := 10.0
		if i >= 20 {
			v = 0
		}
		curve = append(curve, profiles.Point{First: i, Last: i, Min: v, Mean: v, Max: v})
	}
	line := Line{Series: []Series{{Curve: curve, Style: theme.Line}}, Ceiling: 10,
		Label: func(v float64) string { return strings.Repeat("x", int(v)) }, LabelWidth: 10}
	var c Canvas
	c.Resize(31, 6)
	if !line.Draw(&c) {
		t.Fatal("nothing drawn")
	}
	// The plot is 20 cells wide from column 11, and 5 rows high.
	for x := 11; x < 31; x++ {
		top, bottom := c.At(x, 0).Rune != ' ', c.At(x, 4).Rune != ' '
		if left := x < 21; top != left || bottom == left && x != 20 && x != 21 {
			t.Errorf("column %d: top %v, bottom %v", x, top, bottom)
		}
	}
	if got := ansi.Strip(plainLines(&c)[0])[:10]; got != "xxxxxxxxxx" {
		t.Errorf("the top label is %q", got)
	}
}

func TestGapsInTheDataAreGapsInTheLine(t *testing.T) {
	curve := profiles.Curve{
		{First: 0, Last: 9, Min: 1, Mean: 1, Max: 1}, {First: 10, Last: 19, Min: 1, Mean: 1, Max: 1},
		{First: 80, Last: 89, Min: 1, Mean: 1, Max: 1}, {First: 90, Last: 99, Min: 1, Mean: 1, Max: 1},
	}
	line := Line{Series: []Series{{Curve: curve, Style: theme.Line}}, Ceiling: 2, Label: func(float64) string { return "" }}
	var c Canvas
	c.Resize(41, 4)
	line.Draw(&c)
	for x := 10; x < 32; x++ {
		for y := range 3 {
			if r := c.At(x, y).Rune; r != ' ' {
				t.Errorf("(%d,%d) is %q in the gap", x, y, r)
			}
		}
	}
}

func TestCeilingIgnoresSpikesAndStandsStill(t *testing.T) {
	var curve profiles.Curve
	for i := range int64(100) {
		curve = append(curve, profiles.Point{First: i, Last: i, Min: 5, Mean: 5, Max: 5.2})
	}
	curve[50].Max = 1000
	first := Ceiling(curve, 0)
	if first < 5.2 || first > 10 {
		t.Errorf("ceiling %v, want just above 5.2", first)
	}
	if got := Ceiling(curve, 8); got != 8 {
		t.Errorf("ceiling moved from 8 to %v", got)
	}
	if got := Ceiling(curve, 100); got == 100 {
		t.Error("a ceiling far above the curve was kept")
	}
	if got := Ceiling(nil, 0); got != 1 {
		t.Errorf("ceiling of nothing is %v", got)
	}
}

func TestLogarithmicAxisHoldsItsValues(t *testing.T) {
	for _, v := range [][2]float64{{1e-3, 1e-3}, {2.4e-3, 0.7}, {1e-40, 1e40}, {5e-324, 5e-324}, {3, 1e300}} {
		s := logarithmic([]Series{{Curve: profiles.Curve{{Min: v[0], Mean: v[1], Max: v[1]}}}})
		if s.hi < v[1]*(1-1e-6) && !math.IsInf(s.hi, 1) || s.lo > s.hi/10*(1+1e-9) {
			t.Errorf("%v: axis from %v to %v", v, s.lo, s.hi)
		}
		if n := len(s.ticks(4)); n > 5 {
			t.Errorf("%v: %d ticks", v, n)
		}
	}
}

func TestBarLength(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want string
	}{
		{0, "     "}, {-3, "     "}, {math.NaN(), "     "}, {math.Inf(1), "     "},
		{0.01, "▇    "}, {2.4, "▇▇   "}, {2.6, "▇▇▇  "}, {99, "▇▇▇▇▇"},
	} {
		var c Canvas
		c.Resize(5, 1)
		c.Bar(0, 0, 5, tt.v, theme.Plain)
		if got := plainLines(&c)[0]; got != tt.want {
			t.Errorf("bar of %v is %q, want %q", tt.v, got, tt.want)
		}
	}
}

// The patterns of lines differ, also where a cell has a single character.
func TestPatternsOfLinesDiffer(t *testing.T) {
	seen := map[string]Dash{}
	for d := Solid; d <= DashDotted; d++ {
		var c Canvas
		c.Resize(12, 1)
		c.DotLine(0, 1, 23, 1, d, theme.Plain)
		line := plainLines(&c)[0]
		cells := strings.Map(func(r rune) rune {
			if r == ' ' || r == '⠀' {
				return ' '
			}
			return '*'
		}, line)
		if other, ok := seen[cells]; ok {
			t.Errorf("patterns %d and %d are both %q", other, d, cells)
		}
		seen[cells] = d
	}
}

func TestDotsMakeBraille(t *testing.T) {
	var c Canvas
	c.Resize(2, 1)
	c.Dot(0, 0, theme.Plain)
	c.Dot(1, 3, theme.Plain)
	for y := range 4 {
		for x := range 2 {
			c.Dot(2+x, y, theme.Plain)
		}
	}
	c.Dot(-1, 0, theme.Plain)
	c.Dot(0, 4, theme.Plain)
	if got := plainLines(&c)[0]; got != "⢁⣿" {
		t.Errorf("got %q, want %q", got, "⢁⣿")
	}
}

func TestFitKeepsShape(t *testing.T) {
	for _, tt := range [][6]int{
		{128, 128, 30, 26, 26, 26}, {128, 128, 20, 26, 20, 20}, {200, 100, 30, 26, 30, 15},
		{1, 1000, 10, 10, 1, 10}, {0, 5, 10, 10, 0, 0}, {5, 5, 0, 10, 0, 0},
	} {
		if w, h := Fit(tt[0], tt[1], tt[2], tt[3]); w != tt[4] || h != tt[5] {
			t.Errorf("Fit(%v) = %d, %d", tt, w, h)
		}
	}
}

func BenchmarkLineChart120x20(b *testing.B) {
	var curve profiles.Curve
	for i := range int64(512) {
		v := 5 + math.Sin(float64(i)/20)
		curve = append(curve, profiles.Point{First: i, Last: i, Min: v * 0.9, Mean: v, Max: v * 1.2})
	}
	line := Line{Series: []Series{{Curve: curve, Style: theme.Line, Envelope: true, EnvelopeStyle: theme.Envelope}},
		Ceiling: 8, Label: func(float64) string { return "1.0" }, LabelWidth: 5}
	th := theme.New(colorprofile.ANSI256, true, false)
	var c Canvas
	c.Resize(120, 20)
	for b.Loop() {
		c.Clear()
		line.Draw(&c)
		c.Lines(th)
	}
}

// A single value at rounding error, like the old loss in a sample's first iteration, does not
// stretch the axis over the decades in between.
func TestLogarithmicAxisLeavesOutTheRareLow(t *testing.T) {
	curve := make(profiles.Curve, 100)
	for i := range curve {
		curve[i] = profiles.Point{First: int64(i), Last: int64(i), Min: 0.01, Max: 0.5, Mean: 0.1}
	}
	curve[40] = profiles.Point{First: 40, Last: 40, Min: 1e-9, Max: 1e-9, Mean: 1e-9}
	s := logarithmic([]Series{{Curve: curve}}, 0.005)
	if s.lo < 1e-3 || s.lo > 5e-3 || s.hi < 0.5 {
		t.Errorf("axis from %g to %g", s.lo, s.hi)
	}
}

// Points in the same column of dots merge into their mean and extremes.
func TestABandHoldsTheExtremesOfItsColumn(t *testing.T) {
	var curve profiles.Curve
	for i := range int64(4000) {
		v := 5.0
		if i%100 == 50 {
			v = 10
		}
		curve = append(curve, profiles.Point{First: i, Last: i, Min: v, Mean: v, Max: v})
	}
	line := Line{Ceiling: 10, Label: func(float64) string { return "" },
		Series: []Series{{Curve: curve, Style: theme.Line, Envelope: true, EnvelopeStyle: theme.Envelope}}}
	var c Canvas
	c.Resize(21, 11)
	line.Draw(&c)
	for x := 1; x < 21; x++ {
		if r := c.At(x, 0).Rune; r == ' ' {
			t.Errorf("column %d does not show the extreme", x)
		}
		for y := range 10 {
			if c.At(x, y).Style == theme.Line && y != 4 && y != 5 {
				t.Errorf("the line passes (%d,%d), its mean is in the middle", x, y)
			}
		}
	}
}

// Labels of changes stay apart, however many there are, and spikes do not cover them.
func TestMarksThatAreNearBecomeOne(t *testing.T) {
	line := Line{From: 0, To: 4000, Ceiling: 10, Label: func(float64) string { return "" }, LabelWidth: 5}
	var curve profiles.Curve
	for i := range int64(400) {
		curve = append(curve, profiles.Point{First: 10 * i, Last: 10*i + 9, Min: 4, Mean: 5, Max: 30})
	}
	line.Series = []Series{{Curve: curve, Envelope: true}}
	for i := range int64(40) {
		line.Marks = append(line.Marks, Mark{At: 1000 + 25*i, Label: rune("mfga"[i%4])})
	}
	line.Marks = append(line.Marks, Mark{At: 3000, Label: 'p'}, Mark{At: 3010, Label: 'p'})
	var c Canvas
	c.Resize(47, 8)
	if !line.Draw(&c) {
		t.Fatal("nothing drawn")
	}
	top := ansi.Strip(plainLines(&c)[0])
	labels, spikes := 0, 0
	last, lastSpike := -9, -9
	for x, r := range []rune(top) {
		switch {
		case r == '▴':
			if x-last < 2 || x-lastSpike < 4 {
				t.Errorf("a spike in column %d touches what is before it: %q", x, top)
			}
			lastSpike = x
			spikes++
		case strings.ContainsRune("mfgap*", r):
			if x-last < 2 || x-lastSpike < 2 {
				t.Errorf("the label in column %d touches what is before it: %q", x, top)
			}
			last = x
			labels++
		}
	}
	if labels < 5 || spikes < 4 || !strings.Contains(top, "p") || !strings.Contains(top, "*") {
		t.Errorf("%d labels, %d spikes: %q", labels, spikes, top)
	}
}

// Characters of points never overlap; Point reports those that find no free cell.
func TestPointsOfAPlaneDoNotCollide(t *testing.T) {
	p := Plane{X: [2]float64{0.1, 100}, Y: [2]float64{1, 1000}, Label: func(float64) string { return "" }, LabelWidth: 5}
	var c Canvas
	c.Resize(60, 20)
	if !p.Begin(&c) {
		t.Fatal("no room")
	}
	p.Roof(10, 200, theme.Axis)
	missing := 0
	for _, r := range "123456789abcdefghijk" {
		if by := p.Point(2, 30, r, true, theme.Plain); by != 0 {
			missing++
			if by != '1' {
				t.Errorf("%c is under %c, want 1", r, by)
			}
		}
	}
	text := ansi.Strip(strings.Join(plainLines(&c), "\n"))
	drawn := 0
	for _, r := range "23456789abcdefghijk" {
		drawn += strings.Count(text, string(r))
	}
	if drawn+missing != 19 || missing == 0 || drawn < 10 {
		t.Errorf("%d drawn, %d missing:\n%s", drawn, missing, text)
	}
}

// A pixel that changes from white to black or back reaches the new end, however wide the band
// is.
func TestBlackAndWhiteAreReached(t *testing.T) {
	for _, form := range []Form{{Way: Dots, W: 32, H: 32}, {Way: Ramp, W: 16, H: 16}} {
		for _, to := range []float32{0.004, 0.998} {
			img := Image{Width: 32, Height: 32, Pixels: make([]float32, 32*32), White: 1}
			for i := range img.Pixels {
				img.Pixels[i] = 0.5
			}
			var r Raster
			r.Sample(img, form)
			for i := range img.Pixels {
				img.Pixels[i] = to
			}
			r.Sample(img, form)
			r.Plan(r.Widest())
			r.Adopt()
			levels, top := r.Levels()
			for i, level := range levels {
				if int(level) != int(math.Round(float64(to)))*top {
					t.Fatalf("%v: value %d, which is %v, has level %d of %d", form.Way, i, to, level, top)
				}
			}
		}
	}
}
