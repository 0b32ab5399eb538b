package aggregate

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// watched feeds a watch one reading a second of a process of 200 MB with noise of
// some pages that leaks the given bytes per minute, and growing caches.
func watched(seconds int, leak, caches float64) *memoryWatch {
	w, schema := new(memoryWatch), prism.Schema()
	w.begin(0)
	r := rand.New(rand.NewPCG(1, 1))
	for s := range seconds {
		minutes := float64(s) / 60
		held := int64(caches * minutes)
		m := &profiles.MemoryView{Memory: profiles.Memory{Parts: [profiles.MaxMemory]int64{prism.MemoryWeights: 11e6, prism.MemoryActivations: 9e6}}}
		m.RSS = 200e6 + int64(leak*minutes) + held + int64(4096*r.IntN(50))
		w.read(&schema, m, held, 0, int64(s)*180, time.Duration(s)*time.Second)
	}
	return w
}

func TestALeaksSlopeIsMeasured(t *testing.T) {
	for _, tt := range []struct {
		name         string
		leak, caches float64
	}{{"a leak", 6e6, 0}, {"a leak beside caches that grow", 6e6, 20e6}} {
		got := watched(200, tt.leak, tt.caches).trend
		// 5 %: noise of 60 kB over three minutes moves the slope by some kB a minute,
		// and the fit is up to 5 s old.
		if !got.Known || got.Noise() || math.Abs(got.PerMinute/(tt.leak+tt.caches)-1) > 0.05 {
			t.Errorf("%s: %+v, want %.0f a minute", tt.name, got, tt.leak+tt.caches)
		}
		if got.Low > tt.leak+tt.caches || got.High < tt.leak+tt.caches {
			t.Errorf("%s: the interval [%.0f, %.0f] does not hold the truth", tt.name, got.Low, got.High)
		}
		if math.Abs(got.Beyond-tt.leak) > 0.05*tt.leak || math.Abs(got.CachesPerMinute-tt.caches) > 0.05*max(tt.caches, 1) {
			t.Errorf("%s: beyond the caches %.0f, caches %.0f", tt.name, got.Beyond, got.CachesPerMinute)
		}
		// 180 iterations a second are 10.8 thousand a minute.
		if want := got.PerMinute / 10.8; math.Abs(got.PerThousand/want-1) > 0.01 {
			t.Errorf("%s: %.0f per thousand iterations, want %.0f", tt.name, got.PerThousand, want)
		}
	}
}

func TestMemoryThatStaysIsNoise(t *testing.T) {
	if got := watched(200, 0, 0).trend; !got.Known || !got.Noise() {
		t.Errorf("%+v", got)
	}
}

func TestAFewSecondsGiveNoTrend(t *testing.T) {
	w := watched(20, 6e6, 0)
	if w.trend.Known || !w.trend.Noise() || w.trend.Needed <= 0 || w.trend.Needed > trendLeast {
		t.Errorf("%+v", w.trend)
	}
	w.begin(20 * time.Second)
	if len(w.readings) != 0 || w.trend.Needed != trendCalm+trendLeast || len(w.rss.curve()) != 20 {
		t.Errorf("after a change: %d readings, %+v, history of %d", len(w.readings), w.trend, len(w.rss.curve()))
	}
}

// A run of twelve days is watched in bounded memory, and a fit never rests on
// more than trendPoints readings.
func TestWatchingMemoryForAMillionSecondsStaysBounded(t *testing.T) {
	w := watched(0, 0, 0)
	m, schema := &profiles.MemoryView{}, prism.Schema()
	fits := 0
	for s := range 1_000_000 {
		m.RSS = 200e6 + int64(s%7)*4096
		// Fits cost milliseconds each; some are enough to see their size.
		if s%1000 != 0 {
			w.fitted = time.Duration(s) * time.Second
		} else {
			fits++
		}
		w.read(&schema, m, 0, 0, int64(s)*10, time.Duration(s)*time.Second)
	}
	h := w.history()
	for name, c := range map[string]profiles.Curve{"RSS": h.RSS, "parameters": h.Parameters, "buffers": h.Buffers, "caches": h.Caches} {
		if len(c) > maxPoints || c[0].First != 0 || c[len(c)-1].Last != 9_999_990 {
			t.Errorf("%s: %d points from %d to %d", name, len(c), c[0].First, c[len(c)-1].Last)
		}
	}
	if len(w.readings) > trendPoints || w.trend.N > trendPoints || w.trend.Span > trendPoints*trendWidth*time.Second {
		t.Errorf("%d readings, fit of %d over %v", len(w.readings), w.trend.N, w.trend.Span)
	}
	if fits == 0 || !w.trend.Noise() {
		t.Errorf("%d fits, %+v", fits, w.trend)
	}
}

func TestUnreadableMemoryHasNoTrend(t *testing.T) {
	w, schema := new(memoryWatch), prism.Schema()
	w.begin(0)
	for s := range 100 {
		w.read(&schema, &profiles.MemoryView{Reason: "no /proc"}, 5, 0, int64(s), time.Duration(s)*time.Second)
	}
	if h := w.history(); w.trend.Known || len(h.RSS) != 0 || len(h.Caches) != 100 {
		t.Errorf("%+v, %d and %d points", w.trend, len(h.RSS), len(h.Caches))
	}
}
