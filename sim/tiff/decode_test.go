package tiff

import "testing"

// The floating point predictor keeps the most significant bytes of a row first.
func TestBytesOfFloatsAreGathered(t *testing.T) {
	d := decoder{spare: make([]byte, 8)}
	row := []byte{0x3f, 0xc0, 0x80, 0x20, 0, 0, 0, 0} // of 1.0 and -2.5, byte by byte
	d.gather(row, 4)
	got := make([]float32, 2)
	convert(got, row, 4, Float, 32)
	if got[0] != 1 || got[1] != -2.5 {
		t.Errorf("%v", got)
	}
}

// Samples of less than a byte come from the high bits to the low ones, across the bytes of a row.
func TestSamplesOfFewBitsAreSpread(t *testing.T) {
	d := decoder{spare: make([]byte, 12)}
	for width, want := range map[int]string{1: "\x01\x00\x01\x01\x00\x00\x00\x01\x00\x01", 2: "\x02\x03\x00\x01\x01\x00", 4: "\x0b\x01\x04"} {
		if got := d.spread([]byte{0xb1, 0x4f}, len(want), width); string(got) != want {
			t.Errorf("%d bits: %x, want %x", width, got, want)
		}
	}
}
