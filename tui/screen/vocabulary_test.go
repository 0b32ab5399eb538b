package screen

import (
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/tuitest"
)

// A cache that is off and one without lookups have one term each, at every size and in both
// views.
func TestACacheIsOffOrNotAsked(t *testing.T) {
	s := tuitest.Running()
	for id := range s.Caches {
		s.Caches[id] = profiles.CacheView{CacheCounters: profiles.CacheCounters{Enabled: true}}
	}
	s.Caches[prism.CacheMasks].Enabled = false
	rested := tuitest.Running() // not used recently
	for id := range rested.Caches {
		rested.Caches[id].RecentN, rested.Caches[id].Enabled = 0, true
	}
	for _, size := range [][2]int{{35, 5}, {38, 11}, {60, 8}, {80, 24}, {120, 40}} {
		for _, key := range []string{"", "v"} {
			frame := func(s *profiles.Snapshot) string {
				p := paneOf(t, idCaches, size[0], size[1], s)
				if key != "" {
					p.Press(key)
				}
				return tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(p), "\n"), size[0], size[1]))
			}
			text := frame(s)
			if key == "v" && size[1] == 5 {
				continue // the pane scrolls
			}
			if !strings.Contains(text, "not asked") || !strings.Contains(text, "off") {
				t.Errorf("%v %s: neither off nor not asked:\n%s", size, key, text)
			}
			for _, other := range []string{"no lookups", "looked up", "unused"} {
				if strings.Contains(text, other) {
					t.Errorf("%v %s: %q:\n%s", size, key, other, text)
				}
			}
			if text := frame(rested); key == "" && !strings.Contains(text, "not asked") {
				t.Errorf("%v: not asked recently:\n%s", size, text)
			}
		}
	}
}
