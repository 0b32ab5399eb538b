package comparison

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/tui/page"
	"prismtop/tui/terminal"
	"prismtop/tui/tuitest"
)

// bench is a source with a comparison, or an error.
type bench struct {
	c       *compare.Comparison
	err     error
	written []string
	exists  bool
}

func (b *bench) Compare(context.Context) (*compare.Comparison, error) { return b.c, b.err }

func (b *bench) Write(_ *compare.Comparison, path string, replace bool) error {
	if b.exists && !replace {
		return &fs.PathError{Op: "open", Path: path, Err: fs.ErrExist}
	}
	b.written = append(b.written, path)
	return nil
}

// compared returns a comparison of n sides with a row of every kind.
func compared(n int) *compare.Comparison {
	c := &compare.Comparison{Kind: "later samples", Intervals: 12, Miss: 0.05 / 12,
		Settings: []compare.Setting{{Key: "learning_rate"}, {Key: "max_iterations", Limit: true}},
		Warnings: []compare.Warning{{About: "threads", Text: "the threads differ: 2, 4"}}}
	for k := range n {
		c.Sides = append(c.Sides, compare.Side{Name: fmt.Sprintf("2026-11-2%dT13-57-48-moon", k), Runs: []compare.Run{{Iterations: 4120, Seconds: 102, Blocks: 84, LeftOut: compare.LeftOut{Disturbed: 3}}}})
		c.Settings[0].Values = append(c.Settings[0].Values, fmt.Sprintf("%g", 0.001*float64(k+1)))
		c.Settings[1].Values = append(c.Settings[1].Values, fmt.Sprint(1000*(k+1)))
	}
	row := func(g compare.Group, title, unit string, better profiles.Direction, absolute bool, base float64, ds ...compare.Difference) {
		r := compare.Row{Group: g, Name: title, Title: title, Unit: unit, Better: better, Absolute: absolute, Values: []compare.Value{{Value: base, Blocks: 84, Floor: 0.006}}}
		for k := range n - 1 {
			d := ds[k%len(ds)]
			v := base * (1 + d.Raw)
			if absolute {
				v = base + d.Raw
			}
			r.Values, r.Against = append(r.Values, compare.Value{Value: v, Blocks: 84, Floor: 0.008}), append(r.Against, d)
		}
		c.Rows = append(c.Rows, r)
	}
	nan := math.NaN()
	row(compare.Speed, "iteration", "ms", profiles.LessIsBetter, false, 5.93, compare.Difference{Raw: 0.08, Value: 0.08, Low: 0.05, High: 0.11, Verdict: compare.NotComparable, Reason: "all times moved together, as on a machine at another speed", Briefly: "moved together"})
	row(compare.Phases, "forward", "ms", profiles.LessIsBetter, false, 1.21, compare.Difference{Raw: -0.22, Value: -0.28, Low: -0.31, High: -0.25, Beside: true, Verdict: compare.Faster})
	row(compare.Phases, "backward", "ms", profiles.LessIsBetter, false, 2.43, compare.Difference{Raw: 0.16, Value: 0.08, Low: 0.05, High: 0.11, Beside: true, Verdict: compare.Slower})
	row(compare.Phases, "loss", "ms", profiles.LessIsBetter, false, 0.18, compare.Difference{Raw: 0.081, Value: 0.001, Low: -0.008, High: 0.01, Beside: true, Verdict: compare.Equal, Within: 0.01})
	row(compare.Phases, "optimizer", "ms", profiles.LessIsBetter, false, 1.02, compare.Difference{Raw: 0.1, Value: 0.02, Low: -0.03, High: 0.07, Beside: true, Verdict: compare.InNoise})
	row(compare.Caches, "FFT plans, hits", "1", profiles.MoreIsBetter, true, 0.98, compare.Difference{Raw: 0.001, Value: 0.001, Low: nan, High: nan, Verdict: compare.Equal, Within: 0.001})
	row(compare.Memory, "activations", "B", profiles.LessIsBetter, false, 31e6, compare.Difference{Raw: -0.5, Value: -0.5, Low: -0.5, High: -0.5, Verdict: compare.Less})
	row(compare.Quality, "PSNR", "dB", profiles.MoreIsBetter, true, 24.3, compare.Difference{Raw: 0.4, Value: 0.4, Low: 0.1, High: 0.7, Verdict: compare.More})
	for range n - 1 {
		c.Common = append(c.Common, compare.Common{Move: 0.08, Low: 0.06, High: 0.1, Moved: true, Text: "everything moved together by +8 %, as on a machine at another speed"})
	}
	curve := func(title, unit string, scale profiles.Scale, of func(k int, x float64) float64) {
		v := compare.Curve{Name: title, Title: title, Unit: unit, Scale: scale}
		for k := range n {
			var points []compare.Point
			for i := range 100 {
				x := float64(i) * 40
				y := of(k, x)
				points = append(points, compare.Point{Iteration: x, Seconds: x / 40, Value: y, Lowest: y, Highest: y})
			}
			v.Sides = append(v.Sides, points)
		}
		c.Curves = append(c.Curves, v)
	}
	curve("iteration time", "ms", profiles.Linear, func(k int, x float64) float64 { return 5.9 + float64(k) + 0.3*math.Sin(x/200) })
	curve("loss", "", profiles.Logarithmic, func(k int, x float64) float64 { return math.Exp(-x/800) * (1 + float64(k)) })
	return c
}

// shown returns a screen of the given size.
func shown(t testing.TB, w, h int, o page.Options, b *bench) *Screen {
	t.Helper()
	at := time.Unix(1e9, 0)
	o.Now = func() time.Time { return at }
	o.On.Environ = []string{"TERM=xterm-256color"}
	s := New(b, o)
	s.Update(tea.ColorProfileMsg{Profile: colorprofile.ANSI256})
	s.Update(tea.WindowSizeMsg{Width: w, Height: h})
	s.Update(s.Begin(t.Context())())
	return s
}

// press presses keys, and hands the messages of operations back.
func press(s *Screen, keys ...string) {
	for _, name := range keys {
		k := tea.KeyPressMsg{Code: rune(name[0]), Text: name}
		if special, ok := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "up": tea.KeyUp, "down": tea.KeyDown, "end": tea.KeyEnd, "home": tea.KeyHome,
			"pgdown": tea.KeyPgDown, "pgup": tea.KeyPgUp, "tab": tea.KeyTab, "left": tea.KeyLeft, "right": tea.KeyRight}[name]; ok {
			k = tea.KeyPressMsg{Code: special}
		}
		if _, cmd := s.Update(k); cmd != nil {
			if msg, ok := cmd().(writtenMsg); ok {
				s.Update(msg)
			}
		}
	}
}

// frame returns the text of a screen's frame, after checking its size.
func frame(t testing.TB, s *Screen, w, h int) string {
	t.Helper()
	if err := s.Failure(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(s.View().Content, "\n")
	if len(lines) != h {
		t.Fatalf("%dx%d: %d lines", w, h, len(lines))
	}
	for i, l := range lines {
		if got := ansi.StringWidth(l); got != w {
			t.Fatalf("%dx%d: line %d is %d wide: %q", w, h, i, got, l)
		}
	}
	return tuitest.Shown(tuitest.Cells(s.View().Content, w, h))
}

func TestGoldenComparisons(t *testing.T) {
	for _, tt := range []struct {
		name  string
		w, h  int
		o     page.Options
		sides int
		keys  string
	}{
		{"rows-60x15", 60, 15, page.Options{}, 2, ""},
		{"rows-80x24", 80, 24, page.Options{}, 2, "down down down"},
		{"settings-80x24", 80, 24, page.Options{Colours: terminal.NoColours}, 2, "end"},
		{"curve-80x24", 80, 24, page.Options{}, 2, "tab"},
		{"curve-60x15", 60, 15, page.Options{}, 2, "tab tab x"},
		{"both-120x40", 120, 40, page.Options{}, 2, "down down down down"},
		{"both-200x60", 200, 60, page.Options{Colours: terminal.LightColours}, 3, "tab right"},
		{"ascii-120x40", 120, 40, page.Options{ASCII: true}, 2, "tab"},
		{"three-without-colours-120x40", 120, 40, page.Options{Colours: terminal.NoColours}, 3, "tab"},
		{"three-ascii-120x40", 120, 40, page.Options{ASCII: true}, 3, "tab"},
		{"verdicts-80x24", 80, 24, page.Options{}, 2, "v"},
		{"differences-80x24", 80, 24, page.Options{}, 2, "v v"},
		{"markdown-80x24", 80, 24, page.Options{}, 2, "m"},
		{"help-80x24", 80, 24, page.Options{}, 2, "?"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := shown(t, tt.w, tt.h, tt.o, &bench{c: compared(tt.sides)})
			press(s, strings.Fields(tt.keys)...)
			tuitest.Golden(t, tt.name, frame(t, s, tt.w, tt.h))
		})
	}
}

// v shows all rows, then those with a verdict, then those that differ; the selected row stays selected.
func TestRowsWithoutAVerdictAreHidden(t *testing.T) {
	s := shown(t, 80, 24, page.Options{}, &bench{c: compared(2)})
	for s.items[s.list.At].row == nil || s.items[s.list.At].row.Title != "backward" {
		press(s, "down")
	}
	for _, want := range []string{
		"forward backward loss FFT plans, hits activations PSNR",
		"forward backward activations PSNR",
		"iteration forward backward loss optimizer FFT plans, hits activations PSNR",
	} {
		press(s, "v")
		var got []string
		for _, it := range s.items {
			if it.row != nil {
				got = append(got, it.row.Title)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", s.shown, got, want)
		}
		if r := s.items[s.list.At].row; r == nil || r.Title != "backward" {
			t.Errorf("%s: another row is selected", s.shown)
		}
	}
}

// Bars lie on one axis: a difference twice as large is twice as far from 0.
func TestBarsShareAnAxis(t *testing.T) {
	c := compared(2)
	c.Rows = c.Rows[:3]
	for i, v := range []float64{0, 0.1, 0.2} {
		c.Rows[i].Against[0].Value, c.Rows[i].Against[0].Low, c.Rows[i].Against[0].High = v, math.NaN(), math.NaN()
		c.Rows[i].Values[0].Floor, c.Rows[i].Values[1].Floor = 0, 0
	}
	s := shown(t, 120, 40, page.Options{}, &bench{c: c})
	at := map[string]int{}
	for _, line := range strings.Split(frame(t, s, 120, 40), "\n") {
		for _, title := range []string{"iteration ", "forward ", "backward "} {
			if strings.HasPrefix(line, "│  "+title) {
				at[title] = slices.Index([]rune(line), '●')
			}
		}
	}
	zero, one, two := at["iteration "], at["forward "], at["backward "]
	if one-zero < 2 || two-one < one-zero-1 || two-one > one-zero+1 {
		t.Errorf("points of 0, 0.1 and 0.2 are in columns %d, %d and %d", zero, one, two)
	}
}

func TestSides(t *testing.T) {
	s := shown(t, 120, 40, page.Options{}, &bench{c: compared(3)})
	for _, step := range []struct {
		key  string
		side int
	}{{"right", 2}, {"right", 1}, {"left", 2}, {"left", 1}} {
		if press(s, step.key); s.side != step.side {
			t.Errorf("%s shows side %d, want %d", step.key, s.side, step.side)
		}
	}
}

// Markdown does not replace a file without a second enter.
func TestWritingMarkdown(t *testing.T) {
	b := &bench{c: compared(2)}
	s := shown(t, 80, 24, page.Options{}, b)
	press(s, "m", "enter")
	if !slices.Equal(b.written, []string{"comparison.md"}) || s.write != nil || !strings.Contains(frame(t, s, 80, 24), "written to comparison.md") {
		t.Errorf("wrote %v\n%s", b.written, frame(t, s, 80, 24))
	}
	b.exists = true
	press(s, "m", "a", "enter")
	if len(b.written) != 1 || !strings.Contains(frame(t, s, 80, 24), "a exists: enter again replaces it") {
		t.Errorf("wrote %v", b.written)
	}
	press(s, "b", "enter")
	if len(b.written) != 1 {
		t.Error("another file is replaced without a question")
	}
	if press(s, "enter"); len(b.written) != 2 || b.written[1] != "ab" {
		t.Errorf("wrote %v", b.written)
	}
}

func TestWhatCannotBeCompared(t *testing.T) {
	s := shown(t, 80, 24, page.Options{}, &bench{err: errors.New("a.sqlite: is damaged")})
	if text := frame(t, s, 80, 24); !strings.Contains(text, "a.sqlite: is damaged") || s.err == nil {
		t.Errorf("the reason is missing:\n%s", text)
	}
	press(s, "v", "tab", "x", "m", "down", "right", "?", "esc")
	frame(t, s, 80, 24)
	c := compared(2)
	c.Curves, c.Rows, c.Warnings, c.Settings = nil, nil, nil, nil
	s = shown(t, 120, 40, page.Options{}, &bench{c: c, err: errors.New("a block is damaged")})
	if text := frame(t, s, 120, 40); !strings.Contains(text, "a block is damaged") || !strings.Contains(text, "nothing was recorded to draw") {
		t.Errorf("what is missing is not said:\n%s", text)
	}
}

// Keys and sizes at random leave a whole frame, whatever the numbers and the texts are.
func TestEverySizeHoldsTheComparison(t *testing.T) {
	const hostile = "x\x1b]0;owned\a\u202e\u009b2J\r\ny 月光"
	random := rand.New(rand.NewPCG(1, 2))
	keys := strings.Fields("up down pgup pgdown home end left right v tab x m esc enter ? a M C")
	wild := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e300, -1e300, 5e-324}
	for i := range 18 {
		c := compared(2 + i%3)
		if i%2 == 0 {
			for r := range c.Rows {
				row := &c.Rows[r]
				row.Title, row.Unit = hostile, hostile
				d := &row.Against[0]
				for _, v := range []*float64{&d.Raw, &d.Value, &d.Low, &d.High, &d.Within, &row.Values[0].Value, &row.Values[0].Floor, &row.Values[1].Value} {
					*v = wild[random.IntN(len(wild))]
				}
				d.Reason, d.Briefly, row.Values[0].Reason = hostile, hostile, hostile
			}
			c.Sides[0].Name, c.Settings[0].Key, c.Settings[0].Values[0], c.Warnings[0].Text, c.Common[0].Text, c.Curves[0].Title, c.Kind = hostile, hostile, hostile, hostile, hostile, hostile, hostile
			for p := range c.Curves[0].Sides[0] {
				c.Curves[0].Sides[0][p] = compare.Point{Iteration: wild[random.IntN(len(wild))], Seconds: wild[random.IntN(len(wild))], Value: wild[random.IntN(len(wild))]}
			}
		}
		w, h := 1+random.IntN(300), 1+random.IntN(100)
		s := shown(t, w, h, page.Options{ASCII: i%3 == 0, Colours: terminal.Colours(i % 4)}, &bench{c: c})
		for range 30 {
			if random.IntN(6) == 0 {
				w, h = 1+random.IntN(300), 1+random.IntN(100)
				s.Update(tea.WindowSizeMsg{Width: w, Height: h})
			} else if random.IntN(6) == 0 {
				s.Update(tea.MouseClickMsg{X: random.IntN(w), Y: random.IntN(h), Button: tea.MouseLeft})
			} else {
				press(s, keys[random.IntN(len(keys))])
			}
			frame(t, s, w, h)
			for _, r := range ansi.Strip(s.View().Content) {
				if r != '\n' && (!unicode.IsGraphic(r) || i%3 == 0 && r > 0x7e) {
					t.Fatalf("%q is on the screen", r)
				}
			}
		}
	}
}
