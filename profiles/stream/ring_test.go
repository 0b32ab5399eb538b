package stream

import (
	"runtime"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/sim/prism"
)

func TestRingRoundsItsCapacityUpToAPowerOfTwo(t *testing.T) {
	for _, c := range []struct{ asked, want int }{{-1, 2}, {0, 2}, {1, 2}, {2, 2}, {3, 4}, {4, 4}, {1000, 1024}, {1025, 2048}} {
		if got := NewRing(c.asked).Cap(); got != c.want {
			t.Errorf("NewRing(%d).Cap() = %d, want %d", c.asked, got, c.want)
		}
	}
}

func TestRingRefusesWhenFullAndKeepsWhatItHas(t *testing.T) {
	r := NewRing(4)
	for i := range int64(7) {
		if got, want := r.Push(&profiles.Iteration{Index: i}, 1), i < 4; got != want {
			t.Errorf("Push %d = %v, want %v", i, got, want)
		}
	}
	if r.Dropped() != 3 || r.Written() != 4 {
		t.Errorf("dropped %d, written %d; want 3 and 4", r.Dropped(), r.Written())
	}
	var it profiles.Iteration
	for i := range int64(4) {
		if !r.Pop(&it) || it.Index != i {
			t.Fatalf("Pop %d gave record %d", i, it.Index)
		}
	}
	if r.Pop(&it) {
		t.Error("Pop of an empty ring gave a record")
	}
	if !r.Push(&it, 1) {
		t.Error("Push after the ring was emptied was refused")
	}
}

// Every record arrives once, in order and whole, while both sides run: the
// fields of a record that was read while it was written would disagree.
func TestRingHandsOverEveryRecordInOrder(t *testing.T) {
	const n = 200_000 / profilestest.Slow
	r := NewRing(64)
	go func() {
		it := profiles.Iteration{}
		for i := int64(0); i < n; {
			it.Index, it.Total, it.Start = i, 3*i, -i
			it.Caches[prism.CacheMasks].Saved = i
			if r.Push(&it, 1) {
				i++
			} else {
				runtime.Gosched()
			}
		}
	}()
	var it profiles.Iteration
	for want := int64(0); want < n; {
		if !r.Pop(&it) {
			runtime.Gosched()
			continue
		}
		if it.Index != want || it.Total != 3*want || it.Start != -want || it.Caches[prism.CacheMasks].Saved != want {
			t.Fatalf("record %d arrived as %+v", want, it)
		}
		want++
	}
	if r.Read() != n {
		t.Errorf("Read() = %d, want %d", r.Read(), n)
	}
}

// A record of a large schema takes several slots, and arrives whole beside others.
func TestRingKeepsRecordsOfAnySchema(t *testing.T) {
	r := NewRing(8)
	var wide profiles.Iteration
	wide.Total = 5
	for p := range wide.Phases {
		wide.Phases[p] = int64(p + 1)
	}
	for s := range wide.Series {
		wide.Series[s] = float64(s) + 0.5
	}
	for c := range wide.Caches {
		wide.Caches[c].Hits = int64(c + 1)
	}
	narrow := wide
	clear(narrow.Phases[profiles.SlotPhases:])
	clear(narrow.Series[profiles.SlotSeries:])
	clear(narrow.Caches[profiles.SlotCaches:])
	schema := profiles.Schema{Series: make([]profiles.SeriesInfo, profiles.MaxSeries)}
	slots := schema.Slots()
	if small := (profiles.Schema{Phases: make([]profiles.PhaseInfo, profiles.SlotPhases)}); slots != 3 || small.Slots() != 1 {
		t.Fatalf("the largest record takes %d slots, want 3, and one that fits %d", slots, small.Slots())
	}
	for range 50 {
		if !r.Push(&wide, slots) || !r.Push(&narrow, 1) || !r.Push(&wide, slots) || r.Push(&wide, slots) || !r.Push(&narrow, 1) {
			t.Fatal("eight slots are not the room for two large records and two small ones")
		}
		it := wide
		for i, want := range []*profiles.Iteration{&wide, &narrow, &wide, &narrow} {
			if !r.Pop(&it) || it != *want {
				t.Fatalf("record %d arrived as %+v", i, it)
			}
		}
	}
	if r.Dropped() != 50 {
		t.Errorf("%d records are counted as dropped, want 50", r.Dropped())
	}
}

func BenchmarkRingPush(b *testing.B) {
	b.Run("into a full ring", func(b *testing.B) {
		r, it := NewRing(2), profiles.Iteration{}
		for b.Loop() {
			r.Push(&it, 1)
		}
	})
	b.Run("and pop", func(b *testing.B) {
		r, it := NewRing(1024), profiles.Iteration{}
		for b.Loop() {
			r.Push(&it, 1)
			r.Pop(&it)
		}
	})
	b.Run("while drained", func(b *testing.B) {
		r := NewRing(8192)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			var it profiles.Iteration
			for {
				for r.Pop(&it) {
				}
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
		it := profiles.Iteration{}
		for b.Loop() {
			r.Push(&it, 1)
		}
		close(stop)
		<-done
		b.ReportMetric(float64(r.Dropped())/float64(b.N), "dropped/op")
	})
}
