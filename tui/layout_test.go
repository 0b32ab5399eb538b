package tui

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
)

// choices are what users may show and hide: nothing, each pane, and some at
// random.
func choices() []choice {
	random := rand.New(rand.NewPCG(3, 4))
	list := []choice{{}}
	for id := range numPanes {
		var hide, show choice
		hide.hide[id], show.show[id] = true, true
		list = append(list, hide, show)
	}
	for range 20 {
		var c choice
		for id := range numPanes {
			switch random.IntN(4) {
			case 0:
				c.hide[id] = true
			case 1:
				c.show[id] = true
			}
		}
		list = append(list, c)
	}
	return list
}

// tiled says what is wrong with a layout: a gap, an overlap or a part off the
// screen.
func tiled(l *layout) error {
	parts := append([]rect{l.header, l.footer}, l.panes[:]...)
	area := 0
	for i, r := range parts {
		if r.empty() {
			continue
		}
		if r.x < 0 || r.y < 0 || r.x+r.w > l.w || r.y+r.h > l.h {
			return fmt.Errorf("%+v is off the screen", r)
		}
		area += r.w * r.h
		for _, q := range parts[:i] {
			if !q.empty() && r.x < q.x+q.w && q.x < r.x+r.w && r.y < q.y+q.h && q.y < r.y+r.h {
				return fmt.Errorf("%+v overlaps %+v", r, q)
			}
		}
	}
	if area != l.w*l.h { // nothing overlaps, so this is a gap
		return fmt.Errorf("%d of %d cells are covered", area, l.w*l.h)
	}
	return nil
}

// Every size from 40x10 to 300x100, every arrangement: the parts tile the screen,
// every pane has the room that it cannot do without, and one is always there.
func TestPartsTileTheScreen(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: every size takes long under the race detector, and no goroutine is there")
	}
	list := choices()
	for h := 10; h <= 100; h++ {
		for w := 40; w <= 300; w++ {
			for i := range arrangements {
				a := &arrangements[i]
				picks := []choice{{}}
				if (w+h)%len(arrangements) == i { // each choice at many sizes
					picks = append(picks, list[(w*7+h*13)%len(list)])
				}
				for _, c := range picks {
					l := arrange(w, h, a, c)
					if l.tooSmall != (w < minWidth || h < minHeight) {
						t.Fatalf("%dx%d: too small: %v", w, h, l.tooSmall)
					}
					if l.tooSmall {
						continue
					}
					if err := tiled(&l); err != nil && len(a.order(c)) > 0 {
						t.Fatalf("%dx%d %s, showing %v hiding %v: %v", w, h, a.name, c.show, c.hide, err)
					}
					for id, r := range l.panes {
						// A plan may want more for its lead, never less.
						x, y := paneID(id).extent(across, 0).least, paneID(id).extent(down, 0).least
						if !r.empty() && (r.w < x || r.h < y) {
							t.Fatalf("%dx%d %s: %s is %dx%d, wants %dx%d", w, h, a.name, paneNames[id], r.w, r.h, x, y)
						}
						if !r.empty() && !l.wanted[id] {
							t.Fatalf("%dx%d %s: %s is shown and not wanted", w, h, a.name, paneNames[id])
						}
					}
				}
			}
		}
	}
}

// Growing a terminal by a row or a column never takes a pane away.
func TestMoreRoomNeverHidesAPane(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: every size takes long under the race detector, and no goroutine is there")
	}
	for n, c := range choices() {
		a := &arrangements[n%len(arrangements)]
		step := 4
		if c == (choice{}) {
			step = 1
		}
		above := map[int]layout{}
		for h := minHeight; h <= 90; h += step {
			var left layout
			for w := minWidth; w <= 240; w += step {
				l := arrange(w, h, a, c)
				for id := range numPanes {
					if l.panes[id].empty() && (w > minWidth && !left.panes[id].empty() || h > minHeight && !smaller(above, w).panes[id].empty()) {
						t.Fatalf("%s, showing %v hiding %v: %s is hidden at %dx%d and shown at a smaller size", a.name, c.show, c.hide, paneNames[id], w, h)
					}
				}
				left, above[w] = l, l
			}
		}
	}
}

func smaller(above map[int]layout, w int) *layout { l := above[w]; return &l }

// Panes drop in the order of their arrangement: those on screen are the first of
// it.
func TestPanesDropInOrder(t *testing.T) {
	for i := range arrangements {
		a := &arrangements[i]
		order := a.order(choice{})
		for h := minHeight; h <= 100; h += 3 {
			for w := minWidth; w <= 300; w += 7 {
				l := arrange(w, h, a, choice{})
				gone := false
				for _, id := range order {
					if !l.panes[id].empty() && gone {
						t.Fatalf("%s %dx%d: %s is shown though one before it is not", a.name, w, h, paneNames[id])
					}
					gone = gone || l.panes[id].empty()
				}
			}
		}
	}
}

func TestPanesPerSize(t *testing.T) {
	for _, tt := range []struct {
		preset      string
		w, h, shown int
	}{
		{"everything", 60, 15, 3}, {"everything", 80, 15, 4}, {"everything", 80, 24, 5}, {"everything", 104, 23, 8},
		{"everything", 120, 40, 8}, {"everything", 200, 60, 11}, {"everything", 120, 60, 11}, {"everything", 120, 20, 7},
		{"timing", 60, 15, 2}, {"timing", 80, 24, 4}, {"timing", 120, 40, 4}, {"quality", 80, 24, 5}, {"quality", 120, 40, 5},
		{"memory", 80, 24, 4}, {"memory", 120, 40, 4},
	} {
		l := arrange(tt.w, tt.h, findArrangement(tt.preset), choice{})
		if got := l.shown(); got != tt.shown {
			t.Errorf("%s %dx%d shows %d panes, want %d; no room for %s", tt.preset, tt.w, tt.h, got, tt.shown, namesOf(l.crowded()))
		}
	}
	for _, size := range [][2]int{{0, 0}, {59, 15}, {60, 14}, {-1, -1}, {1, 300}} {
		if l := arrange(size[0], size[1], &arrangements[0], choice{}); !l.tooSmall {
			t.Errorf("%v is not too small", size)
		}
	}
}

// A pane that a person shows gets a place before all others, and the room of one
// that is hidden goes to the others.
func TestChosenPanesComeFirst(t *testing.T) {
	for id := range numPanes {
		for i := range arrangements {
			var show choice
			show.show[id] = true
			for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
				l := arrange(size[0], size[1], &arrangements[i], show)
				if l.panes[id].empty() {
					t.Errorf("%s %v: %s is wanted and not there", arrangements[i].name, size, paneNames[id])
				}
			}
		}
	}
	var hide choice
	hide.hide[picturePane] = true
	before, after := arrange(120, 40, &arrangements[0], choice{}), arrange(120, 40, &arrangements[0], hide)
	if !after.panes[picturePane].empty() || after.panes[phasesPane].w <= before.panes[phasesPane].w {
		t.Errorf("without the picture the phases are %+v, with it %+v", after.panes[phasesPane], before.panes[phasesPane])
	}
}

// Where panes have no room the screen says so at every size, in words that name
// them or count them, and nowhere else.
func TestTheScreenSaysWhatIsHidden(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {60, 24}, {80, 20}, {80, 24}, {100, 30}, {120, 40}, {200, 60}, {300, 100}} {
		for _, a := range arrangements {
			m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, running())
			m.preset = a.name
			m.relay()
			m.Update(snapshotMsg{running()})
			frame, crowded := frameOf(m), m.layout.crowded()
			says := strings.Contains(frame, " hidden") || strings.Contains(frame, "no room for "+namesOf(crowded))
			if says != (len(crowded) > 0) {
				t.Errorf("%s at %dx%d hides %q:\n%s", a.name, size[0], size[1], namesOf(crowded), frame)
			}
			for _, said := range hiddenCount.FindAllStringSubmatch(frame, -1) {
				if said[1] != itoa(len(crowded)) {
					t.Errorf("%s at %dx%d hides %d panes and says %q:\n%s", a.name, size[0], size[1], len(crowded), said[0], frame)
				}
			}
			if foot := strings.Contains(footerOf(m), " hidden"); foot != (len(crowded) > 0) && size[0] > 60 {
				t.Errorf("%s at %dx%d hides %q and the footer says %s", a.name, size[0], size[1], namesOf(crowded), footerOf(m))
			}
			m.cycleFocus(1)
			m.toggleZoom()
			m.Update(snapshotMsg{running()})
			if frame := frameOf(m); strings.Contains(frame, " hidden") {
				t.Errorf("%s at %dx%d zoomed:\n%s", a.name, size[0], size[1], frame)
			}
		}
	}
}

var hiddenCount = regexp.MustCompile(`(\d+) (panes? )?hidden`)

// What the user hides counts like what has no room, on the edge, in the footer and in the
// list.
func TestHiddenPanesAreCountedOnce(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, running())
	press(m, "P", "1", "3", "esc") // phases and caches
	want := m.layout.unseen
	frame := frameOf(m)
	counts := hiddenCount.FindAllStringSubmatch(frame, -1)
	if len(counts) != 2 || counts[0][1] != itoa(want) || counts[1][1] != itoa(want) || want < 2 {
		t.Errorf("%d hidden, and the screen says %q:\n%s", want, counts, frame)
	}
	press(m, "P")
	if n := strings.Count(frameOf(m), "hidden") - len(hiddenCount.FindAllString(frameOf(m), -1)); n != want {
		t.Errorf("%d hidden, and the list marks %d:\n%s", want, n, frameOf(m))
	}
}

// What is told stands beside the keys where there is room, and covers them where not.
func TestAStatusLeavesTheKeysWhereThereIsRoom(t *testing.T) {
	for _, tt := range []struct {
		w    int
		keys bool
	}{{80, false}, {120, false}, {200, true}} {
		m, _ := screen(t, tt.w, 60, Options{}, colorprofile.ANSI256, running())
		press(m, "w")
		if got := lastLine(m); !strings.Contains(got, "panes: timing") || strings.Contains(got, "space pause") != tt.keys {
			t.Errorf("%d columns: %q", tt.w, got)
		}
	}
}
