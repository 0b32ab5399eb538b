package pane

import (
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/tuitest"
)

// timelineOf returns a timeline that has seen a run on a plot of 60 columns.
func timelineOf(s *profiles.Snapshot) (*Timeline, func(*profiles.Snapshot)) {
	t := &Timeline{}
	var c chart.Canvas
	c.Resize(60+AxisLabelWidth+1, 8)
	see := func(s *profiles.Snapshot) { t.See(&c, s, s.IterationTime) }
	see(s)
	return t, see
}

func TestTheAxisFillsAndThenJumps(t *testing.T) {
	line, see := timelineOf(tuitest.Steady(500, 1e9))
	if line.axis != (window{0, 500}) {
		t.Errorf("500 iterations are shown on %v", line.axis)
	}
	see(tuitest.Steady(502, 1e9))
	if line.axis != (window{0, 600}) {
		t.Errorf("502 iterations are shown on %v", line.axis)
	}
	line.press("up")
	line.press("up")
	axes := map[window]bool{}
	for n := 1000; n < 1400; n++ {
		see(tuitest.Steady(n, 1e9))
		axes[line.axis] = true
		if line.axis.last < int64(n-1) || line.axis.first > int64(n-1)-line.span/2 {
			t.Fatalf("iteration %d is not well on %v", n-1, line.axis)
		}
	}
	if want := 400/(int(line.span)/4) + 2; len(axes) > want {
		t.Errorf("the window moved %d times over 400 iterations, span %d", len(axes), line.span)
	}
}

func TestAChartScrolledBackStandsStill(t *testing.T) {
	line, see := timelineOf(tuitest.Steady(1000, 1e9))
	line.press("up")
	line.press("up")
	see(tuitest.Steady(1000, 1e9))
	line.press("pgup")
	see(tuitest.Steady(1001, 1e9))
	still := line.axis
	for n := 1002; n < 3000; n += 400 {
		see(tuitest.Steady(n, 1e9))
		if line.axis != still {
			t.Fatalf("after %d iterations the axis is %v, was %v", n, line.axis, still)
		}
	}
	if note, _ := line.Footnote(tuitest.Running(), "", ""); !strings.Contains(note, "end: live") {
		t.Errorf("the note says %q", note)
	}
	for range 20 {
		line.press("pgup")
		see(tuitest.Steady(3000, 1e9))
	}
	if line.axis.first != 0 {
		t.Errorf("the beginning is not reached: %v", line.axis)
	}
	line.press("end")
	see(tuitest.Steady(3000, 1e9))
	if line.Held || line.axis.last < 2999 {
		t.Errorf("not live again: %v", line.axis)
	}
	line.press("home")
	see(tuitest.Steady(3000, 1e9))
	if line.axis != (window{0, 3000}) {
		t.Errorf("the whole run is %v", line.axis)
	}
	see(tuitest.Steady(5, 1e9)) // a restart
	if line.axis.first != 0 || line.axis.last < 4 {
		t.Errorf("after a restart the axis is %v", line.axis)
	}
}

func TestTheCursorReadsTheCurve(t *testing.T) {
	s := tuitest.Steady(600, 1e9)
	line, see := timelineOf(s)
	if _, ok := line.Read(s.IterationTime); ok {
		t.Error("there is a cursor before any key")
	}
	line.press("left")
	if p, ok := line.Read(s.IterationTime); !ok || p.First != 599 {
		t.Errorf("the cursor begins at %+v", p)
	}
	line.press("left")
	if p, _ := line.Read(s.IterationTime); p.First != 589 {
		t.Errorf("a column further it is at %+v", p)
	}
	line.press("up")
	line.press("up")
	see(s)
	for range 400 {
		line.press("left")
		see(s)
		if at := line.unit(line.cursor); at < line.axis.first || at > line.axis.last {
			t.Fatalf("the cursor at %d is not on %v", at, line.axis)
		}
	}
	if line.cursor != 0 {
		t.Errorf("the cursor stops at %d", line.cursor)
	}
}

func TestWallTimeShowsPauses(t *testing.T) {
	s := tuitest.Steady(400, 200)
	line, see := timelineOf(s)
	line.toggleWall()
	see(s)
	if line.data != (window{0, 62_000_000}) {
		t.Errorf("the run lasts %v", line.data)
	}
	for _, i := range []int64{0, 1, 199, 200, 399} {
		if got := line.iteration(line.unit(i)); got != i {
			t.Errorf("iteration %d lies where %d does", i, got)
		}
	}
	var c chart.Canvas
	c.Resize(66, 8)
	seen := line.See(&c, s, s.IterationTime)[0]
	if len(seen) != 400 || seen[199].Last != 1_000_000 || seen[200].First != 61_000_000 {
		t.Errorf("around the pause: %+v %+v", seen[199], seen[200])
	}
	line.press("left")
	line.press("left")
	if line.cursor >= 399 || line.cursor < 190 {
		t.Errorf("the cursor is at %d", line.cursor)
	}
}
