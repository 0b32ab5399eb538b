package imaging

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// noisyMoon returns a reconstruction that improves and flickers.
func noisyMoon(random *rand.Rand, frame int, noise float32) *profiles.Picture {
	of := tuitest.BlurredMoon()
	if frame%40 >= 20 {
		of = tuitest.SharpMoon()
	}
	p := &profiles.Picture{Iteration: int64(frame), Width: of.Width, Height: of.Height, Pixels: make([]float32, len(of.Pixels))}
	for i, v := range of.Pixels {
		p.Pixels[i] = v + noise*(random.Float32()-0.5)
	}
	return p
}

// bytesOf returns the bytes per second that the pane's pictures take after the first frame of a
// run that delivers a noisy picture ten times a second.
func bytesOf(t *testing.T, profile colorprofile.Profile, w, h, budget int, noise float32) float64 {
	random := rand.New(rand.NewPCG(7, 8))
	at := time.Unix(1e9, 0)
	p := newPicture(func() time.Time { return at }, terminal.NewGraphics(), amplitudeSubject)
	p.SetBudget(budget, false)
	colours := theme.New(profile, true, false)
	p.SetTheme(colours)
	p.SetSize(w, h)
	var out terminal.Wire
	const seconds = 12
	sum := 0
	for frame := range 10 * seconds {
		s := tuitest.Running()
		s.Pictures[prism.PictureReconstruction] = noisyMoon(random, frame, noise)
		at = at.Add(100 * time.Millisecond)
		p.Update(s)
		if n := len(out.Frame(p.Cells(), colours)); frame > 0 {
			sum += n
		}
	}
	return float64(sum) / seconds
}

// Pictures stay within their budget, whatever the noise and the size.
func TestPicturesKeepTheirBudget(t *testing.T) {
	for _, tt := range []struct {
		name   string
		w, h   int
		budget int
		noise  float32
		atMost float64
	}{
		{"80x24, quiet", 30, 16, terminal.PictureBudget, 0.02, 12 << 10},
		{"120x40", 34, 17, terminal.PictureBudget, 0.1, terminal.PictureBudget * 1.1},
		{"200x60", 96, 27, terminal.PictureBudget, 0.1, terminal.PictureBudget * 1.1},
		{"200x60 zoomed", 200, 57, terminal.PictureBudget, 0.2, terminal.PictureBudget * 1.1},
		{"200x60 zoomed, without a budget", 200, 57, 0, 0.2, math.Inf(1)},
		{"200x60 zoomed, low", 200, 57, terminal.LowPictureBudget, 0.2, terminal.LowPictureBudget * 1.25},
		{"120x40, low", 34, 17, terminal.LowPictureBudget, 0.1, terminal.LowPictureBudget * 1.25},
	} {
		for _, profile := range []colorprofile.Profile{colorprofile.ANSI256, colorprofile.TrueColor} {
			got := bytesOf(t, profile, tt.w, tt.h, tt.budget, tt.noise)
			t.Logf("%s, %v: %.1f KB/s", tt.name, profile, got/1000)
			if got > tt.atMost {
				t.Errorf("%s, %v: %.0f bytes per second, at most %.0f are allowed", tt.name, profile, got, tt.atMost)
			}
			if got == 0 {
				t.Errorf("%s, %v: the picture never changes", tt.name, profile)
			}
		}
	}
}

// A paused run shows its whole picture, whatever it costs.
func TestAPausedRunShowsItsWholePicture(t *testing.T) {
	for _, budget := range []int{terminal.PictureBudget, terminal.LowPictureBudget} {
		at := time.Unix(1e9, 0)
		pane := func() *picture {
			p := newPicture(func() time.Time { return at }, terminal.NewGraphics(), amplitudeSubject)
			p.SetBudget(budget, false)
			p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
			p.SetSize(120, 57)
			return p
		}
		random := rand.New(rand.NewPCG(9, 9))
		p := pane()
		s := tuitest.Running()
		for frame := range 20 {
			s = tuitest.Running()
			s.Pictures[prism.PictureReconstruction] = noisyMoon(random, frame, 0.3)
			p.Update(s)
			p.Cells()
			at = at.Add(100 * time.Millisecond)
		}
		still := *s
		still.State = profiles.Paused
		p.Update(&still)
		got := tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(p), "\n"), 120, 57))
		q := pane()
		q.Update(&still)
		if want := tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(q), "\n"), 120, 57)); differing(got, want) > len([]rune(want))/10 {
			t.Errorf("budget %d: %d characters of the paused picture differ from a fresh one", budget, differing(got, want))
		}
		if p.panels[reconstructionPanel].behind {
			t.Errorf("budget %d: the paused picture is behind", budget)
		}
	}
}

func differing(a, b string) int {
	x, y, n := []rune(a), []rune(b), 0
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			n++
		}
	}
	return n + max(len(x), len(y)) - min(len(x), len(y))
}

func TestAPaneIsRebuiltOnlyWhenItsPictureChanges(t *testing.T) {
	p := newPicture(tuitest.Host{}.Now, terminal.NewGraphics(), amplitudeSubject)
	p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
	p.SetSize(34, 17)
	s := tuitest.Running()
	p.Update(s)
	p.Cells()
	s = tuitest.Running()
	s.Index++
	p.Update(s)
	if p.Stale {
		t.Error("a snapshot with the same picture and quality rebuilds the pane")
	}
	s = tuitest.Running()
	s.Series[prism.SeriesPSNR].Latest++
	p.Update(s)
	if !p.Stale {
		t.Error("another quality does not rebuild the pane")
	}
}
