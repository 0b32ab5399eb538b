package optics

import "testing"

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		n, s        int
		ours, prism Window
	}{
		{512, 128, Window{192, 192, 128}, Window{193, 193, 128}},
		{1024, 73, Window{475, 475, 73}, Window{476, 476, 73}},
		{64, 64, Window{0, 0, 64}, Window{1, 1, 63}},
	} {
		if got := ObjectWindow(c.n, c.s); got != c.ours {
			t.Errorf("%d in %d: %+v", c.s, c.n, got)
		}
		if got := PRISMWindow(c.n, c.s); got != c.prism {
			t.Errorf("PRISM's %d in %d: %+v", c.s, c.n, got)
		}
	}
	plane := make([]float32, 36)
	for i := range plane {
		plane[i] = float32(i)
	}
	got := make([]float32, 4)
	Window{2, 3, 2}.Crop(got, plane, 6)
	if got[0] != 15 || got[1] != 16 || got[2] != 21 || got[3] != 22 {
		t.Errorf("cropped %v", got)
	}
}

func TestFilledRows(t *testing.T) {
	plane := make([]float32, 16)
	if rows := FilledRows(plane, 4); rows != [2]int{} {
		t.Errorf("nothing fills %v", rows)
	}
	plane[4+3], plane[8] = -1, 2
	if rows := FilledRows(plane, 4); rows != [2]int{1, 3} {
		t.Errorf("rows %v", rows)
	}
	plane[0] = 1
	if rows := FilledRows(plane, 4); rows != [2]int{0, 3} {
		t.Errorf("rows %v", rows)
	}
}
