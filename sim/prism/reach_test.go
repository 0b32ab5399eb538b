package prism

import "testing"

// The ranges of spec/prism.md §1.4, and the floors that follow for PRISM's
// initialisation (§5.2).
func TestReachIsWhatTheDecoderCanDraw(t *testing.T) {
	for _, c := range []struct{ size, object, first, end int }{
		{512, 128, 193, 319}, {1024, 73, 475, 548}, {64, 32, 17, 47}, {256, 256, 1, 255},
	} {
		d, err := NewDecoder(DecoderConfig{Size: c.size, ObjectSize: c.object, BatchNorm: true})
		if err != nil {
			t.Fatal(err)
		}
		if first, end := d.Reach(); first != c.first || end != c.end {
			t.Errorf("%d/%d: reach %d to %d, want %d to %d", c.size, c.object, first, end, c.first, c.end)
		}
	}
}
