package runreport

import (
	"strings"
	"testing"

	"prismtop/profiles"
)

// Each part of a complex object is drawn on the scale of its own truth.
func TestPicturesHaveTheScaleOfTheirTruth(t *testing.T) {
	one := func(v float32) *profiles.Picture {
		return &profiles.Picture{Width: 1, Height: 2, Pixels: []float32{0, v}}
	}
	s := &profiles.Snapshot{Pictures: [profiles.MaxPictures]*profiles.Picture{one(3), one(1), one(5), one(6)}}
	s.Run.Schema.Pictures = []profiles.PictureInfo{{Name: "amplitude", Live: true}, {Name: "truth"}, {Name: "phase", Live: true}, {Name: "true phase"}}
	var m markup
	(&facts{newest: s}).pictures(&m)
	for _, want := range []string{"amplitude, iteration 0; black 0, white 1<", ">truth; black 0, white 1<", "phase, iteration 0; black 0, white 6<", ">true phase; black 0, white 6<"} {
		if !strings.Contains(m.String(), want) {
			t.Errorf("%q is missing in %s", want, m.String())
		}
	}
}
