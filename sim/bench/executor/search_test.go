package executor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/sweep"
)

// tried returns what a run of a value in 40 MB and 2 MB each says, within a limit of megabytes; 0 for none.
func tried(v int, limit float64) *sweep.Tried {
	if mb := float64(40 + 2*v); limit == 0 || mb <= limit {
		return &sweep.Tried{Done: true, Bytes: []float64{mb * 1e6}}
	}
	return &sweep.Tried{Failed: true, OutOfMemory: true, Reason: "killed by the system"}
}

// The search for the fastest tries up and down a ladder, and ends where memory or speed does.
func TestTheFastestIsFoundWithTheValuesAroundIt(t *testing.T) {
	for _, c := range []struct {
		ms           func(v float64) float64
		most         int // that memory allows
		tried, found []int
	}{
		{func(v float64) float64 { return 2 + 8/v + v*v/2000 }, 256, []int{1, 3, 6, 8, 12, 16, 24, 32, 48}, []int{12, 16, 24, 32, 48}},
		{func(v float64) float64 { return 2 + 8/v }, 20, []int{1, 3, 6, 8, 12, 16, 24}, []int{8, 12, 16}},
	} {
		var order []int
		found, err := fastest(ladder(1, 256), func(v int) (*sweep.Tried, error) {
			order = append(order, v)
			if v > c.most {
				return &sweep.Tried{Failed: true, OutOfMemory: true}, nil
			}
			return &sweep.Tried{Done: true, Rate: 1e3 / c.ms(float64(v))}, nil
		})
		once := slices.Compact(slices.Sorted(slices.Values(order)))
		if err != nil || !slices.Equal(found, c.found) || !slices.Equal(once, c.tried) || len(once) != len(order) {
			t.Errorf("found %v after %v, %v; want %v after %v", found, order, err, c.found, c.tried)
		}
	}
	gone := errors.New("gone")
	if _, err := fastest(ladder(5, 7), func(int) (*sweep.Tried, error) { return nil, gone }); !errors.Is(err, gone) {
		t.Errorf("%v, want the error of a try", err)
	}
}

func TestLaddersHaveTheirEnds(t *testing.T) {
	for want, of := range map[string][2]int{"[1 2 3 4 6 8]": {1, 8}, "[5 6 7]": {5, 7}, "[13 14]": {13, 14}, "[10 12 16 24 30]": {10, 30}} {
		if got := fmt.Sprint(ladder(of[0], of[1])); got != want {
			t.Errorf("from %d to %d: %s, want %s", of[0], of[1], got, want)
		}
	}
}

// The edge is predicted, and found where it is.
func TestTheEdgeOfMemoryIsFound(t *testing.T) {
	for _, c := range []struct {
		name     string
		limit    float64 // MB
		edge     int     // largest value that runs
		curved   bool    // memory grows faster than the line through the measurements
		expected string
	}{
		{"predicted", 240, 100, false, "Of 240 MB, the line through the measurements predicts batch size 100"},
		{"beyond the prediction", 240, 100, true, "ran within it"},
		{"none up to the largest", 1e6, 4096, false, "Up to batch size 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := map[int]*sweep.Tried{512: tried(512, c.limit)}
			for _, v := range []int{1, 8, 32} {
				all[v] = tried(v, c.limit)
				if c.curved { // those that are measured use less
					all[v].Bytes[0] -= float64(v) * 5e5
				}
			}
			s := &sweep.Searched{Search: sweep.Search{Key: "batch_size", Most: 4096, Margin: 0.05}}
			e, err := edge(all, int64(c.limit*1e6), s, func(v int) error {
				all[v] = tried(v, c.limit)
				return nil
			})
			if err != nil || e.Verified == nil || *e.Verified > c.edge || float64(*e.Verified) < 0.94*float64(c.edge) {
				t.Fatalf("verified %+v, %v; want about %d", e, err, c.edge)
			}
			if c.edge < 4096 && (e.Failed == nil || *e.Failed <= c.edge || float64(*e.Failed) > 1.1*float64(c.edge)) {
				t.Errorf("failed at %v, want a little above %d: %s", e.Failed, c.edge, e.Sentence)
			}
			if !strings.Contains(e.Sentence, c.expected) {
				t.Errorf("%q, want %q", e.Sentence, c.expected)
			}
		})
	}
}

// A value that fails for another reason than memory ends the search for the edge instead of being tried without end.
func TestTheSearchForTheEdgeEndsAtFailures(t *testing.T) {
	all := map[int]*sweep.Tried{1: tried(1, 240), 8: tried(8, 240), 32: tried(32, 240), 512: tried(512, 240)}
	s := &sweep.Searched{Search: sweep.Search{Key: "batch_size", Most: 4096, Margin: 0.05}}
	e, err := edge(all, 240e6, s, func(v int) error {
		all[v] = &sweep.Tried{Failed: true, Reason: "the file is gone"}
		return nil
	})
	if err != nil || *e.Verified != 32 || *e.Failed != 512 || len(all) != 7 || !strings.Contains(e.Sentence, "; the search ended at 272, which failed: the file is gone") {
		t.Errorf("%+v, %v after %v", e, err, slices.Sorted(maps.Keys(all)))
	}
}

// Memory grows with the value up to a bend at 64, and little beyond: the line runs on the side of it where the limit lies.
func TestTheMemoryBeyondABendHasItsLine(t *testing.T) {
	peak := func(v int) float64 { return 40e6 + 2e6*float64(min(v, 64)) + 1e5*float64(v) }
	for _, c := range []struct {
		limit          float64 // bytes
		edge, smallest int     // smallest value that the line runs through
	}{{200.05e6, 320, 64}, {103.5e6, 30, 1}} {
		all := map[int]*sweep.Tried{}
		run := func(v int) error {
			all[v] = &sweep.Tried{Done: peak(v) <= c.limit, Failed: peak(v) > c.limit, OutOfMemory: peak(v) > c.limit, Bytes: []float64{peak(v)}, Bend: min(v, 64)}
			return nil
		}
		for _, v := range []int{1, 16, 64, 128, 256} {
			_ = run(v)
		}
		e, err := edge(all, int64(c.limit), &sweep.Searched{Search: sweep.Search{Key: "batch_size", Most: 4096, Margin: 0.05}}, run)
		if err != nil || e.Predicted != c.edge || e.Verified == nil || float64(*e.Verified) < 0.9*float64(c.edge) || *e.Verified > c.edge {
			t.Errorf("%g: %+v, %v", c.limit, e, err)
		}
		if l := sweep.MemoryLine(all, int64(c.limit)); l == nil || l.Smallest != c.smallest {
			t.Errorf("%g: the line is %+v", c.limit, l)
		}
	}
}
