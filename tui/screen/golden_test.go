package screen

import (
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
	"prismtop/tui/lines"
	"prismtop/tui/terminal"
	"prismtop/tui/tuitest"
)

func TestGoldenScreens(t *testing.T) {
	for _, tt := range []struct {
		name    string
		w, h    int
		options Options
		profile colorprofile.Profile
		snap    *profiles.Snapshot
		keys    []string
	}{
		{"running-60x15", 60, 15, Options{}, colorprofile.ANSI256, tuitest.Running(), nil},
		{"running-80x24", 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running(), nil},
		{"running-120x40", 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running(), nil},
		{"running-200x60", 200, 60, Options{}, colorprofile.ANSI256, tuitest.Running(), nil},
		{"preparing-120x40", 120, 40, Options{}, colorprofile.ANSI256, tuitest.Preparing(), nil},
		{"busy-120x40", 120, 40, Options{}, colorprofile.ANSI256, tuitest.Busy(), nil},
		{"paused-80x24", 80, 24, Options{}, colorprofile.ASCII, tuitest.Paused(), nil},
		{"finished-120x40", 120, 40, Options{}, colorprofile.ANSI, tuitest.Finished(), nil},
		{"failed-80x24", 80, 24, Options{}, colorprofile.ANSI256, tuitest.Failed(), nil},
		{"trainer-120x40", 120, 40, Options{Colours: terminal.LightColours}, colorprofile.ANSI256, tuitest.Trainer(), nil},
		{"ascii-120x40", 120, 40, Options{ASCII: true}, colorprofile.ANSI256, tuitest.Running(), nil},
		{"help-120x40", 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"?"}},
		{"help-60x15", 60, 15, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"?"}},
		{"timing-120x40", 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"w", "w"}},
		{"quality-80x24", 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"w", "w", "w"}},
		{"everything-80x24", 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"w"}},
		{"everything-120x40", 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"w"}},
		{"everything-200x60", 200, 60, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"w"}},
		{"panes-80x24", 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"P", "4"}},
		{"quit-80x24", 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running(), []string{"q"}},
		{"waiting-80x24", 80, 24, Options{}, colorprofile.ANSI256, nil, nil},
		{"small-40x10", 40, 10, Options{}, colorprofile.ANSI256, tuitest.Running(), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := screen(t, tt.w, tt.h, tt.options, tt.profile)
			if tt.snap != nil {
				m.Update(snapshotMsg{tt.snap})
			}
			for _, k := range tt.keys {
				m.Update(pressed(k))
			}
			checkFrame(t, m, tt.w, tt.h)
			tuitest.Golden(t, tt.name, tuitest.Shown(tuitest.Cells(m.View().Content, tt.w, tt.h)))
		})
	}
}

// checkFrame checks that a frame has the number and width of lines of the screen.
func checkFrame(t testing.TB, m *Model, w, h int) {
	t.Helper()
	if m.crash != nil {
		t.Fatalf("%dx%d: %v", w, h, m.crash)
	}
	lines := strings.Split(m.View().Content, "\n")
	if w == 0 || h == 0 {
		return
	}
	if len(lines) != h {
		t.Fatalf("%dx%d: %d lines", w, h, len(lines))
	}
	for i, l := range lines {
		if got := ansi.StringWidth(l); got != w {
			t.Fatalf("%dx%d: line %d is %d wide: %q", w, h, i, got, l)
		}
	}
}

// states are the screens in the course of a run.
var states = []func() *profiles.Snapshot{tuitest.Running, tuitest.Preparing, tuitest.Paused, tuitest.Finished, tuitest.Failed, tuitest.Trainer,
	func() *profiles.Snapshot { return &profiles.Snapshot{} },
}

func TestEverySizeHoldsTheScreen(t *testing.T) {
	profilestest.OneGoroutine(t)
	random := rand.New(rand.NewPCG(1, 2))
	snaps := make([]*profiles.Snapshot, len(states))
	for i, f := range states {
		snaps[i] = f()
	}
	for i := range 80 {
		w, h := 1+random.IntN(300), 1+random.IntN(100)
		o := Options{ASCII: i%5 == 0, Colours: terminal.Colours(i % 4)}
		m, _ := screen(t, w, h, o, colorprofile.Profile(1+i%5), snaps[i%len(snaps)])
		checkFrame(t, m, w, h)
		m.Update(pressed("?"))
		checkFrame(t, m, w, h)
		m.Update(pressed("q"))
		checkFrame(t, m, w, h)
		// A resized screen is drawn like a new one of that size.
		w, h = 1+random.IntN(300), 1+random.IntN(100)
		m.Update(tea.WindowSizeMsg{Width: w, Height: h})
		checkFrame(t, m, w, h)
	}
	for _, size := range [][2]int{{0, 0}, {0, 5}, {5, 0}, {1, 1}, {layout.MinWidth, layout.MinHeight}, {layout.MinWidth - 1, layout.MinHeight}, {300, 100}} {
		m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, snaps[0])
		checkFrame(t, m, size[0], size[1])
	}
}

func TestResizingThereAndBackChangesNothing(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	before := m.View().Content
	for _, size := range [][2]int{{60, 15}, {10, 3}, {200, 60}, {120, 40}} {
		m.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
	}
	if m.View().Content != before {
		t.Error("the screen differs after resizing there and back")
	}
}

func TestASCIIScreensAreSevenBit(t *testing.T) {
	for _, f := range states {
		m, _ := screen(t, 120, 40, Options{ASCII: true}, colorprofile.ANSI256, f())
		for _, r := range m.View().Content {
			if r > 0x7e {
				t.Fatalf("%q is on the ASCII screen", r)
			}
		}
	}
}

func TestNoColorScreensHaveNoColor(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ASCII, tuitest.Running())
	for _, sgr := range regexp.MustCompile(`\x1b\[[0-9;]*m`).FindAllString(m.View().Content, -1) {
		switch sgr {
		case "\x1b[m", "\x1b[1m", "\x1b[2m":
		default:
			t.Fatalf("a screen without colours has %q", sgr)
		}
	}
}

// Unchanged parts are not redrawn: an equal snapshot gives an equal frame, and a message without
// news leaves the same string.
func TestAFrameThatChangesNothingStaysTheSame(t *testing.T) {
	s := tuitest.Running()
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	before := m.View().Content
	m.Update(snapshotMsg{tuitest.Running()})
	m.Update(tea.FocusMsg{})
	if m.View().Content != before {
		t.Error("an equal snapshot changed the frame")
	}
}

// Changing digits do not move their neighbours.
func TestNothingJumpsWhenNumbersChange(t *testing.T) {
	a, b := tuitest.Running(), tuitest.Running()
	b.Rate = 9.81
	for series, v := range map[int]float64{prism.SeriesLossNew: 9.9e-7, prism.SeriesLossOld: 1.2,
		prism.SeriesPSNR: 7.2, prism.SeriesSSIM: -0.101, prism.SeriesRMSE: 0.31} {
		tuitest.Latest(b, series, v)
	}
	for id := range b.Phases {
		b.Phases[id].Median, b.Phases[id].P95, b.Phases[id].Share = 123.4e6, 1234e6, 1
	}
	b.Caches[0].Saved, b.Caches[0].Hits = 12, 20
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		frames := [2]string{}
		for i, s := range []*profiles.Snapshot{a, b} {
			m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
			frames[i] = tuitest.Shown(tuitest.Cells(m.View().Content, size[0], size[1]))
		}
		for _, word := range []string{"SSIM", "saved", "│", "╭", "it/s", "‖", "running", "ms: median"} {
			if x, y := columns(frames[0], word), columns(frames[1], word); x != y {
				t.Errorf("%v: %q moved from %s to %s", size, word, x, y)
			}
		}
	}
}

// columns returns the columns of a word in the lines of a frame.
func columns(frame, word string) string {
	var s strings.Builder
	for i, line := range strings.Split(frame, "\n") {
		runes, at := []rune(line), 0
		want := []rune(word)
		for ; at+len(want) <= len(runes); at++ {
			if string(runes[at:at+len(want)]) == word {
				s.WriteString(" " + strconv.Itoa(i) + ":" + strconv.Itoa(at))
			}
		}
	}
	return s.String()
}

func FuzzSnapshots(f *testing.F) {
	f.Add(120, 40, 1.0, 2.0, int64(5), 37, "europa", "a\x1b[2Jb\n")
	f.Add(60, 15, math.NaN(), math.Inf(1), int64(-1), -1, "", "")
	f.Add(200, 60, -1e300, 1e300, int64(math.MinInt64), math.MaxInt32, "月光.png", "\xff")
	f.Fuzz(func(t *testing.T, w, h int, a, b float64, n int64, sample int, object, text string) {
		w, h = max(w, 0)%301, max(h, 0)%101
		s := tuitest.Running()
		s.Run.Object, s.Err, s.Run.GPUReason = object, text, text
		s.Unit, s.Run.Sampling.Radius, s.Run.Sampling.PerSample = sample, a, int(n%7)
		s.Index, s.Rate = n, b
		for series, v := range []float64{a, b, a, b, a, a, b, a} { // in the order of the schema
			tuitest.Latest(s, series, v)
		}
		s.Elapsed, s.ETA = time.Duration(n), time.Duration(-n)
		s.Total.Median, s.Phases[2].Median, s.Phases[3].P95, s.Phases[4].Share = a, b, a, b
		s.IterationTime = append(s.IterationTime, profiles.Point{First: n, Last: n, Min: a, Mean: b, Max: a})
		losses := &s.Series[prism.SeriesLossNew].Curve
		*losses = append(*losses, profiles.Point{First: 4120, Last: 4130, Min: b, Mean: a, Max: b})
		s.Caches[0].Hits, s.Caches[1].Saved, s.Caches[2].Bytes = n, n, n
		s.Memory.Parts[prism.MemoryWeights], s.Memory.RSS, s.Memory.Reason = n, n, text
		wild := prism.From(s.Settings)
		wild.AMP, wild.Pattern, wild.Threshold, wild.ROIDiameter = text, object, a, b
		s.Settings = wild.Values()
		s.Run.Sampling.Centres = append(s.Run.Sampling.Centres, [2]float64{a, b})
		s.Effects[0].Key, s.Effects[0].Shift, s.Effects[0].Low, s.Effects[0].Confounded = text, a, b, object
		s.Changes[0].Iteration, s.Own.Dropped = n, n
		m, _ := screen(t, w, h, Options{}, colorprofile.ANSI256, s)
		checkFrame(t, m, w, h)
		lines.SummaryWithin(s, 0)
		lines.Progress(s)
	})
}

func BenchmarkView120x40(b *testing.B) {
	m, _ := screen(b, 120, 40, Options{}, colorprofile.ANSI256)
	snaps := []*profiles.Snapshot{tuitest.Running(), tuitest.Running()}
	for i := range snaps[1].IterationTime {
		snaps[1].IterationTime[i].Mean *= 1.01
	}
	at := time.Unix(0, 0)
	m.now = func() time.Time { at = at.Add(100 * time.Millisecond); return at }
	m.out = terminal.Held()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		m.Update(snapshotMsg{snaps[i%2]})
		m.out.Collect()
	}
}
