package criteria

import (
	"math"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

func centre(value, low, high float64) stats.Centre {
	return stats.Centre{Value: value, Low: low, High: high}
}

func alone(value float64) stats.Centre { return centre(value, math.Inf(-1), math.Inf(1)) }

// list is a list of acceptance of a workload with a cache of measurements.
var list = profiles.Acceptance{Name: "the list", Criteria: []profiles.Criterion{
	{Name: "speed-up", Of: profiles.OfSpeedup, Limit: 3}, {Name: "hit rate", Of: profiles.OfHits, Cache: "measurement", Limit: 0.8, Met: "of measurements", Missed: "lost"},
	{Name: "quality", Of: profiles.OfQuality, Limit: 1, Met: "the same reconstruction"}, {Name: "memory", Of: profiles.OfPeak, Limit: 2e9}, {Name: "reproducible", Of: profiles.OfSpread, Limit: 0.1},
}}

var psnr = profiles.SeriesInfo{Name: "psnr_db", Title: "PSNR", Unit: "dB"}

func TestVerdicts(t *testing.T) {
	eight := Repeats{8, "rounds"}
	most := Bound{1.4, "because the telescope is no more of it"}
	for _, c := range []struct {
		name   string
		got    Judged
		want   Verdict
		reason string
	}{
		{"fast", Speedup(list.Criterion(profiles.OfSpeedup), centre(3.2, 3.1, 3.4), eight, Bound{}), Pass, "whole interval"},
		{"slow", Speedup(list.Criterion(profiles.OfSpeedup), centre(1.2, 1.1, 1.3), eight, Bound{}), Fail, "does not reach"},
		{"slow by its nature", Speedup(list.Criterion(profiles.OfSpeedup), centre(1.2, 1.1, 1.3), eight, most), Impossible, "telescope"},
		{"beyond a wrong bound", Speedup(list.Criterion(profiles.OfSpeedup), centre(3.2, 3.1, 3.4), eight, most), Pass, "whole interval"},
		{"not shown", Speedup(list.Criterion(profiles.OfSpeedup), centre(3, 2.9, 3.1), eight, most), Undecided, "includes 3x"},
		{"two rounds", Speedup(list.Criterion(profiles.OfSpeedup), alone(3.5), Repeats{2, "rounds"}, Bound{}), Undecided, "2 rounds give no interval: it takes 6"},
		{"two rounds of what cannot be", Speedup(list.Criterion(profiles.OfSpeedup), alone(1.2), Repeats{2, "rounds"}, most), Impossible, "telescope"},
		{"hits", Hits(list.Criterion(profiles.OfHits), 985, 20, Bound{}), Pass, "of measurements"},
		{"hits with a bound", Hits(list.Criterion(profiles.OfHits), 0, 100, Bound{0, "because each is asked once"}), Impossible, "asked once"},
		{"a bound that allows it", Hits(list.Criterion(profiles.OfHits), 10, 90, Bound{0.9, "because of ten passes"}), Fail, "lost"},
		{"never asked", Hits(list.Criterion(profiles.OfHits), 0, 0, Bound{0, "because each is asked once"}), Fail, "not asked"},
		{"the same result", Quality(list.Criterion(profiles.OfQuality), alone(0), psnr, "optimised less baseline"), Pass, "the same reconstruction"},
		{"perhaps a worse result", Quality(list.Criterion(profiles.OfQuality), centre(-0.8, -1.2, -0.4), psnr, "optimised less baseline"), Undecided, "less baseline"},
		{"a worse result", Quality(list.Criterion(profiles.OfQuality), centre(-1.8, -2.2, -1.4), psnr, "optimised less baseline"), Fail, "less baseline"},
		{"no result", Quality(list.Criterion(profiles.OfQuality), alone(math.NaN()), psnr, ""), Fail, "not measured"},
		{"little memory", Memory(list.Criterion(profiles.OfPeak), 300e6, ""), Pass, "the most"},
		{"much memory", Memory(list.Criterion(profiles.OfPeak), 3e9, ""), Fail, "the most"},
		{"unknown memory", Memory(list.Criterion(profiles.OfPeak), 0, "no /proc"), Fail, "no /proc"},
		{"close together", Reproducible(list.Criterion(profiles.OfSpread), centre(1.5, 1.45, 1.6), eight), Pass, "within 10 %"},
		{"far apart", Reproducible(list.Criterion(profiles.OfSpread), centre(1.5, 1.2, 1.9), eight), Fail, "further than 10 %"},
		{"too few", Reproducible(list.Criterion(profiles.OfSpread), alone(1.5), Repeats{3, "groups"}), Undecided, "3 groups"},
	} {
		if c.got.Verdict != c.want || !strings.Contains(c.got.Reason, c.reason) || strings.Contains(c.got.Measured, "NaN") || strings.Contains(c.got.Measured, "Inf") {
			t.Errorf("%s: %+v", c.name, c.got)
		}
	}
}

// switched returns a run after everything was switched off and on.
func switched() *profiles.Snapshot {
	s := &profiles.Snapshot{Ablation: &profiles.Ablation{Replication: true, Ended: "complete", Rows: []profiles.AblationRow{{
		Key: profiles.Everything, Off: "off", On: "on", Effect: -0.5, Low: -0.52, High: -0.48, Groups: 8, Sequential: true, Final: true,
		Quality: 0.1, QualityLow: -0.1, QualityHigh: 0.3, QualityGroups: 8,
	}}}}
	s.Run.Units, s.Run.Schema.Caches = 100, []profiles.CacheInfo{{Name: "masks"}, {Name: "measurement", Uses: []profiles.CacheUse{{Once: true, Reason: "each asks once"}}}}
	s.Run.Schema.Quality, s.Run.Schema.Series, s.Run.Schema.Acceptance = psnr.Name, []profiles.SeriesInfo{psnr}, list
	s.Caches[1].Misses = 40
	s.Memory.PeakRSS = 300e6
	return s
}

func TestTheListOfTheLiveRun(t *testing.T) {
	judged := Live(switched())
	if len(judged) != 5 {
		t.Fatalf("%d criteria, want 5", len(judged))
	}
	for i, want := range []struct {
		verdict  Verdict
		measured string
		reason   string
	}{
		{Fail, "2.00x [1.92, 2.08]", "does not reach"}, {Impossible, "0.0 %: 0 of 40", "because each asks once; one pass of 100 hit 0 % at most, and it takes 5 passes to reach 80 %"},
		{Pass, "0.10 dB [-0.10, 0.30]", "100 iterations"}, {Pass, "300 MB", "the most"}, {Pass, "8 groups, speed-up 2.00x", "within 10 %"},
	} {
		if k := judged[i]; k.Verdict != want.verdict || !strings.Contains(k.Measured, want.measured) || !strings.Contains(k.Reason, want.reason) {
			t.Errorf("%+v", k)
		}
	}
	s := switched()
	s.Run.Passes = 5
	if k := Live(s)[1]; k.Verdict != Fail {
		t.Errorf("five passes can reach 80 %%: %+v", k)
	}
	s = switched()
	s.Run.Schema.Acceptance.Criteria = list.Criteria[:1]
	s.Run.Schema.Caches = nil
	if some := Live(s); len(some) != 1 || some[0].Name != "speed-up" {
		t.Errorf("of a list of one: %+v", some)
	}
	s = switched()
	s.Ablation.Rows[0].Low, s.Ablation.Rows[0].High, s.Ablation.Rows[0].Groups = math.Inf(-1), math.Inf(1), 2
	if k := Live(s)[0]; k.Verdict != Undecided || !strings.Contains(k.Reason, "2 groups") {
		t.Errorf("%+v", k)
	}
	for name, change := range map[string]func(*profiles.Snapshot){
		"no ablation":      func(s *profiles.Snapshot) { s.Ablation = nil },
		"one that runs":    func(s *profiles.Snapshot) { s.Ablation.Running = true },
		"another change":   func(s *profiles.Snapshot) { s.Ablation.Rows[0].Key = "amp" },
		"no group":         func(s *profiles.Snapshot) { s.Ablation.Rows[0].Groups = 0 },
		"no declared list": func(s *profiles.Snapshot) { s.Run.Schema.Acceptance = profiles.Acceptance{} },
	} {
		s := switched()
		if change(s); Live(s) != nil {
			t.Errorf("%s: there is a list", name)
		}
	}
}
