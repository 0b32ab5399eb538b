package layout_test

import (
	"math/rand/v2"
	"testing"

	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/screen"
)

// deck holds the panes of the screen.
var deck = pane.NewDeck(screen.Panes)

// choices returns panes that users may show and hide: none, each pane, and random ones.
func choices() []layout.Choice {
	random := rand.New(rand.NewPCG(3, 4))
	list := []layout.Choice{{}}
	for id := range deck.Panes {
		var hide, show layout.Choice
		hide.Hide[id], show.Show[id] = true, true
		list = append(list, hide, show)
	}
	for range 20 {
		var c layout.Choice
		for id := range deck.Panes {
			switch random.IntN(4) {
			case 0:
				c.Hide[id] = true
			case 1:
				c.Show[id] = true
			}
		}
		list = append(list, c)
	}
	return list
}

// brief holds the least heights of panes that the overview makes smaller than others.
var brief = map[string]int{"effects": 3, "memory": 5}

// At every size from 40x10 to 300x100 and in every arrangement, the parts tile the screen, every
// shown pane has its minimum size, and at least one pane is shown.
func TestPartsTileTheScreen(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: every size takes long under the race detector, and no goroutine is there")
	}
	list := choices()
	for h := 10; h <= 100; h++ {
		for w := 40; w <= 300; w++ {
			for i := range deck.Arrangements {
				a := &deck.Arrangements[i]
				picks := []layout.Choice{{}}
				if (w+h)%len(deck.Arrangements) == i { // each choice at many sizes
					picks = append(picks, list[(w*7+h*13)%len(list)])
				}
				for _, c := range picks {
					l := layout.Arrange(w, h, a, c)
					if l.TooSmall != (w < layout.MinWidth || h < layout.MinHeight) {
						t.Fatalf("%dx%d: too small: %v", w, h, l.TooSmall)
					}
					if l.TooSmall {
						continue
					}
					if err := l.Check(); err != nil && len(a.Order(c)) > 0 {
						t.Fatalf("%dx%d %s, showing %v hiding %v: %v", w, h, a.Name, c.Show, c.Hide, err)
					}
					for id := range deck.Panes {
						r := l.Panes[id]
						// A plan may give its main pane more, never less, except those of the overview that are brief.
						x, y := deck.Panes[id].Shape.Width.Least, deck.Panes[id].Shape.Height.Least
						if least, brief := brief[deck.Panes[id].Name]; brief && a.Name == "overview" {
							y = least
						}
						if !r.Empty() && (r.W < x || r.H < y) {
							t.Fatalf("%dx%d %s: %s is %dx%d, wants %dx%d", w, h, a.Name, deck.Panes[id].Name, r.W, r.H, x, y)
						}
						if !r.Empty() && !l.Wanted[id] {
							t.Fatalf("%dx%d %s: %s is shown and not wanted", w, h, a.Name, deck.Panes[id].Name)
						}
					}
				}
			}
		}
	}
}

// Adding a row or a column to the terminal never hides a pane.
func TestMoreRoomNeverHidesAPane(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: every size takes long under the race detector, and no goroutine is there")
	}
	for n, c := range choices() {
		a := &deck.Arrangements[n%len(deck.Arrangements)]
		step := 4
		if c == (layout.Choice{}) {
			step = 1
		}
		above := map[int]layout.Layout{}
		for h := layout.MinHeight; h <= 90; h += step {
			var left layout.Layout
			for w := layout.MinWidth; w <= 240; w += step {
				l := layout.Arrange(w, h, a, c)
				for id := range deck.Panes {
					if l.Panes[id].Empty() && (w > layout.MinWidth && !left.Panes[id].Empty() || h > layout.MinHeight && !smaller(above, w).Panes[id].Empty()) {
						t.Fatalf("%s, showing %v hiding %v: %s is hidden at %dx%d and shown at a smaller size", a.Name, c.Show, c.Hide, deck.Panes[id].Name, w, h)
					}
				}
				left, above[w] = l, l
			}
		}
	}
}

func smaller(above map[int]layout.Layout, w int) *layout.Layout { l := above[w]; return &l }

// Panes are dropped in reverse order of priority.
func TestPanesDropInOrder(t *testing.T) {
	for i := range deck.Arrangements {
		a := &deck.Arrangements[i]
		order := a.Order(layout.Choice{})
		for h := layout.MinHeight; h <= 100; h += 3 {
			for w := layout.MinWidth; w <= 300; w += 7 {
				l := layout.Arrange(w, h, a, layout.Choice{})
				gone := false
				for _, id := range order {
					if !l.Panes[id].Empty() && gone {
						t.Fatalf("%s %dx%d: %s is shown though one before it is not", a.Name, w, h, deck.Panes[id].Name)
					}
					gone = gone || l.Panes[id].Empty()
				}
			}
		}
	}
}

// prism lacks the panes that PRISM's runs have nothing for.
func prism() (c layout.Choice) {
	for _, name := range []string{"phase", "slices", "raw", "task list", "task losses", "gpu", "output", "ranks"} {
		c.Without[deck.Find(name)] = true
	}
	return c
}

func TestPanesPerSize(t *testing.T) {
	for _, tt := range []struct {
		preset      string
		w, h, shown int
	}{
		{"overview", 60, 15, 3}, {"overview", 80, 24, 6}, {"overview", 120, 40, 7}, {"overview", 200, 60, 7}, {"overview", 120, 24, 7},
		{"everything", 60, 15, 3}, {"everything", 80, 15, 4}, {"everything", 80, 24, 5}, {"everything", 104, 23, 8},
		{"everything", 120, 40, 8}, {"everything", 200, 60, 11}, {"everything", 120, 60, 11}, {"everything", 120, 20, 7},
		{"timing", 60, 15, 2}, {"timing", 80, 24, 4}, {"timing", 120, 40, 4}, {"quality", 80, 24, 5}, {"quality", 120, 40, 5},
		{"memory", 80, 24, 4}, {"memory", 120, 40, 4},
	} {
		l := layout.Arrange(tt.w, tt.h, deck.Arrangement(tt.preset), prism())
		if got := l.Shown(); got != tt.shown {
			t.Errorf("%s %dx%d shows %d panes, want %d; no room for %v", tt.preset, tt.w, tt.h, got, tt.shown, l.Crowded())
		}
	}
	for _, size := range [][2]int{{0, 0}, {59, 15}, {60, 14}, {-1, -1}, {1, 300}} {
		if l := layout.Arrange(size[0], size[1], &deck.Arrangements[0], layout.Choice{}); !l.TooSmall {
			t.Errorf("%v is not too small", size)
		}
	}
}

// A pane that the user shows is placed before all others, and the space of a hidden one goes to
// the others.
func TestChosenPanesComeFirst(t *testing.T) {
	for id := range deck.Panes {
		for i := range deck.Arrangements {
			var show layout.Choice
			show.Show[id] = true
			for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
				l := layout.Arrange(size[0], size[1], &deck.Arrangements[i], show)
				if l.Panes[id].Empty() {
					t.Errorf("%s %v: %s is wanted and not there", deck.Arrangements[i].Name, size, deck.Panes[id].Name)
				}
			}
		}
	}
	hide := prism()
	hide.Hide[deck.Find("reconstruction")] = true
	all := deck.Arrangement("everything")
	before, after := layout.Arrange(120, 40, all, prism()), layout.Arrange(120, 40, all, hide)
	if !after.Panes[deck.Find("reconstruction")].Empty() || after.Panes[deck.Find("phases")].W <= before.Panes[deck.Find("phases")].W {
		t.Errorf("without the picture the phases are %+v, with it %+v", after.Panes[deck.Find("phases")], before.Panes[deck.Find("phases")])
	}
}

// A pane that lists its content is as high as that, where the screen has room, and never lower than without.
func TestAListIsAsHighAsItsContent(t *testing.T) {
	c, phases := prism(), deck.Find("phases")
	for _, id := range []string{"reconstruction", "k-space", "caches"} {
		c.Without[deck.Find(id)] = true
	}
	for _, tt := range []struct{ w, h, rows, want int }{{120, 40, 0, 8}, {120, 40, 6, 8}, {120, 40, 8, 10}, {120, 40, 12, 14}, {80, 24, 8, 10}, {60, 15, 12, 8}} {
		c.Rows[phases] = tt.rows
		l := layout.Arrange(tt.w, tt.h, &deck.Arrangements[0], c)
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		if got := l.Panes[phases].H; got < tt.want {
			t.Errorf("%dx%d: %d phases get %d rows, want %d", tt.w, tt.h, tt.rows, got, tt.want)
		}
	}
}
