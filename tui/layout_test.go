package tui

import "testing"

func TestPartsTileTheScreen(t *testing.T) {
	for h := minHeight; h <= 90; h++ {
		for w := minWidth; w <= 260; w += 2 + h%5 {
			l := arrange(w, h)
			covered := make([]int, w*h)
			cover := func(r rect) {
				if r.x < 0 || r.y < 0 || r.x+r.w > w || r.y+r.h > h {
					t.Fatalf("%dx%d: %+v is off the screen", w, h, r)
				}
				for y := r.y; y < r.y+r.h; y++ {
					for x := r.x; x < r.x+r.w; x++ {
						covered[y*w+x]++
					}
				}
			}
			cover(l.header)
			cover(l.footer)
			for _, r := range l.panes {
				if !r.empty() {
					cover(r)
				}
			}
			for i, n := range covered {
				if n != 1 {
					t.Fatalf("%dx%d: cell (%d,%d) is covered %d times: %+v", w, h, i%w, i/w, n, l.panes)
				}
			}
		}
	}
}

func TestShownPanesHaveRoom(t *testing.T) {
	least := [numPanes]rect{
		phasesPane: {w: phasesMinW, h: phasesMinH}, picturePane: {w: pictureMinW, h: 8},
		cachesPane: {w: 34, h: cachesMinH}, effectsPane: {w: 34, h: cachesMinH},
		lossPane: {w: 36, h: chartMinH}, timePane: {w: 36, h: chartMinH},
		kspacePane: {w: 20, h: 8}, memoryPane: {w: 22, h: 5},
	}
	for h := minHeight; h <= 120; h++ {
		for w := minWidth; w <= 320; w++ {
			for id, r := range arrange(w, h).panes {
				if !r.empty() && (r.w < least[id].w || r.h < least[id].h) {
					t.Fatalf("%dx%d: %s is %dx%d, wants %dx%d", w, h, paneNames[id], r.w, r.h, least[id].w, least[id].h)
				}
			}
		}
	}
}

// Growing a terminal by a row or a column never takes a pane away.
func TestMoreRoomNeverHidesAPane(t *testing.T) {
	for h := minHeight; h <= 90; h++ {
		for w := minWidth; w <= 260; w++ {
			l, wider, taller := arrange(w, h), arrange(w+1, h), arrange(w, h+1)
			for id := range numPanes {
				if l.panes[id].empty() {
					continue
				}
				if wider.panes[id].empty() {
					t.Errorf("%s is shown at %dx%d and hidden at %dx%d", paneNames[id], w, h, w+1, h)
				}
				if taller.panes[id].empty() {
					t.Errorf("%s is shown at %dx%d and hidden at %dx%d", paneNames[id], w, h, w, h+1)
				}
			}
		}
	}
}

func TestPanesPerSize(t *testing.T) {
	for _, tt := range []struct{ w, h, hidden int }{
		{60, 15, 8}, {80, 15, 7}, {80, 24, 6}, {104, 22, 3}, {120, 40, 3}, {200, 60, 3},
	} {
		l := arrange(tt.w, tt.h)
		if got := l.hidden(); len(got) != tt.hidden {
			t.Errorf("%dx%d hides %v, want %d panes hidden", tt.w, tt.h, got, tt.hidden)
		}
	}
	for _, size := range [][2]int{{0, 0}, {59, 15}, {60, 14}, {-1, -1}, {1, 300}} {
		if l := arrange(size[0], size[1]); !l.tooSmall {
			t.Errorf("%v is not too small", size)
		}
	}
}
