package aggregate

import (
	"math"
	"testing"

	"prismtop/profiles"
)

// Where changes follow each other faster than the aggregator takes events, the newest memory is left of
// several. It counts for the settings that it was measured under, and for no others.
func TestMemoryIsOfTheSettingsInForce(t *testing.T) {
	schema := &profiles.Schema{Memory: []profiles.MemoryInfo{{Name: "activations"}}}
	var n needs
	m := func(bytes int64) *profiles.Memory {
		m := &profiles.Memory{}
		m.Parts[0] = bytes
		return m
	}
	small, large := m(1), m(6)
	is := func(what string, m *profiles.Memory, want int64) {
		t.Helper()
		if got := n.of(m, schema); got != want {
			t.Errorf("%s: %d bytes, want %d", what, got, want)
		}
	}
	is("at the start", small, 1)
	n = needs{}
	n.change()
	n.change() // of two settings at one boundary
	is("after its memory and a change", large, 6)
	is("again", large, 6)
	n.change() // whose memory was replaced by a newer one
	is("after a change without memory", large, 0)
	n.change()
	is("after another", large, 0)
	n = needs{}
	n.change()
	is("with its memory again", small, 1)
}

// Stretches of neighbouring batches give one value each, the first batch after a change none.
func TestBatchesAreCollectedBySize(t *testing.T) {
	var b batches
	index := int64(0)
	add := func(begins bool, size, n int, ns int64) {
		for i := range n {
			took := ns
			if begins && i == 0 {
				took *= 100
			}
			b.add(&profiles.Iteration{Index: index, Total: took}, begins && i == 0, size, int64(size)<<20)
			index++
		}
	}
	for range 4 {
		add(true, 8, 3, 100e6)  // two make a stretch: the change ends it
		add(true, 16, 5, 150e6) // three and one
	}
	views := b.views()
	if len(views) != 2 || views[0].Size != 8 || views[1].Size != 16 {
		t.Fatalf("%+v", views)
	}
	eight, sixteen := views[0], views[1]
	if eight.Stretches != 4 || eight.Iterations != 8 || math.Abs(eight.PerSecond-80) > 1e-6 || !math.IsInf(eight.High, 1) || eight.Low != 0 {
		t.Errorf("of 8: %+v", eight)
	}
	if sixteen.Stretches < 7 || math.Abs(sixteen.PerSecond-16/0.15) > 1e-6 || math.Abs(sixteen.High-sixteen.Low) > 1e-6 || sixteen.Bytes != 16<<20 {
		t.Errorf("of 16: %+v", sixteen)
	}
	if math.Abs(sixteen.Efficiency()-16/0.15/16.777216) > 1e-6 || math.Abs(sixteen.Latency-150e6) > 1 {
		t.Errorf("of 16: %g images/s/MB, %g ns", sixteen.Efficiency(), sixteen.Latency)
	}
	for size := 1; size <= 2*mostSizes; size++ {
		add(true, size, 3, 1e6)
	}
	if views := b.views(); len(views) > mostSizes || views[len(views)-1].Size < 2*mostSizes-1 {
		t.Errorf("%d sizes are kept, up to %d", len(views), views[len(views)-1].Size)
	}
}
