package compare

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Of 20 pairs of equal runs on a machine whose speed swings, at most 5 % of the rows get a verdict that
// something differs.
func TestEqualRunsAreNotToldApart(t *testing.T) {
	wrong, rows := 0, 0
	for pair := range uint64(20) {
		c := compared(t,
			simulation{seed: 2 * pair, iterations: 4000, layers: pair%2 == 0},
			simulation{seed: 2*pair + 1, iterations: 4000 + 13*int(pair), layers: pair%2 == 0, noise: rand.New(rand.NewPCG(pair, 17))})
		found := signed(c)
		for _, line := range found {
			t.Logf("pair %d: %s", pair, line)
		}
		wrong += len(found)
		for i := range c.Rows {
			if c.Rows[i].Against[0].Verdict != NotComparable {
				rows++
			}
		}
	}
	t.Logf("%d of %d rows", wrong, rows)
	if rows < 200 || float64(wrong) > 0.05*float64(rows) {
		t.Errorf("%d of %d rows of equal runs were called different", wrong, rows)
	}
}

// Equal programs whose phases differ from process to process, as their schema says, are not told apart.
func TestProcessesOfOneProgramAreNotToldApart(t *testing.T) {
	wrong, unsaid := 0, 0
	for pair := range uint64(20) {
		a, b := simulation{seed: 2 * pair, iterations: 4000, layout: 0.1}, simulation{seed: 2*pair + 1, iterations: 4000, layout: 0.1}
		for _, said := range []bool{true, false} {
			sides := [][]*Sample{{a.sample(t, "a", "")}, {b.sample(t, "b", "")}}
			if !said {
				sides[0][0].schema.Layout, sides[1][0].schema.Layout = 0, 0
			}
			c, err := Compare([]string{"a", "b"}, sides, quiet)
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.Rows {
				if v := c.Rows[i].Against[0].Verdict; c.Rows[i].Group == Phases && (v == Slower || v == Faster) {
					if said {
						wrong++
					} else {
						unsaid++
					}
				}
			}
		}
	}
	if wrong > 5 || unsaid < 10 {
		t.Errorf("%d of 100 phases of equal programs were called different, %d where the schema says nothing", wrong, unsaid)
	}
	t.Logf("%d and %d of 100", wrong, unsaid)
}

// A run compared with itself differs in nothing.
func TestARunEqualsItself(t *testing.T) {
	m := simulation{seed: 3, iterations: 4000, layers: true}
	c := compared(t, m, m)
	if found := signed(c); len(found) > 0 {
		t.Errorf("found %q", found)
	}
	for i := range c.Rows {
		if d := c.Rows[i].Against[0]; d.Raw != 0 || d.Verdict == NotComparable {
			t.Errorf("%s differs by %g: %s, %s", c.Rows[i].Name, d.Raw, c.Rows[i].Words(0), d.Reason)
		}
	}
	if len(c.Settings)+len(c.Warnings) > 0 || c.Common[0].Moved {
		t.Errorf("settings %v, warnings %v, together %+v", c.Settings, c.Warnings, c.Common[0])
	}
}

// A phase that is 5 % slower is found, with the right size, in most pairs; the others are not blamed.
func TestASlowerPhaseIsFound(t *testing.T) {
	for _, phase := range []string{"backward", "forward", "optimizer"} {
		found, blamed := 0, 0
		for pair := range uint64(10) {
			c := compared(t,
				simulation{seed: 100 + 2*pair, iterations: 6000},
				simulation{seed: 101 + 2*pair, iterations: 6000, slower: map[string]float64{phase: 1.05}})
			for _, p := range simulatedPhases {
				r := rowNamed(t, c, p.name+"_ms")
				d := r.Against[0]
				switch slower := d.Verdict == Slower; {
				case p.name == phase && slower:
					found++
					if d.Low > 0.05 || d.High < 0.05 {
						t.Errorf("%s, pair %d: %.3f [%.3f, %.3f] misses 5 %%", phase, pair, d.Value, d.Low, d.High)
					}
				case p.name == phase:
					t.Logf("%s, pair %d: %s, %.3f [%.3f, %.3f]", phase, pair, r.Words(0), d.Value, d.Low, d.High)
				case d.Verdict == Slower || d.Verdict == Faster:
					blamed++
					t.Logf("%s, pair %d: %s is called %s", phase, pair, p.name, r.Words(0))
				}
			}
		}
		t.Logf("%s: found %d of 10, blamed %d of 40", phase, found, blamed)
		if found < 6 || blamed > 2 {
			t.Errorf("%s: found in %d of 10, others blamed %d times", phase, found, blamed)
		}
	}
}

// What all times do together is the machine's as far as two recordings tell, unless no machine does
// that; with recordings of both sides by turns it is the program's.
func TestWhatAllTimesDoTogetherIsNotBlamedOnARow(t *testing.T) {
	c := compared(t, simulation{seed: 1, iterations: 4000}, simulation{seed: 2, iterations: 4000, all: 1.4})
	if found := signed(c); len(found) > 0 || !c.Common[0].Moved || c.Common[0].Judged || c.Undecided(0.02) == "" {
		t.Errorf("40 %% slower: %q, %+v", found, c.Common[0])
	}
	c = compared(t, simulation{seed: 1, iterations: 4000}, simulation{seed: 2, iterations: 4000, all: 4})
	if r := rowNamed(t, c, "iteration_ms"); r.Against[0].Verdict != Slower || !c.Common[0].Judged || len(c.Over(1)) == 0 {
		t.Errorf("four times slower: %s, %+v", r.Words(0), c.Common[0])
	}
	side := func(seed uint64, all float64) (side []*Sample) {
		for i := range uint64(6) {
			m := simulation{seed: seed + 20*i, iterations: 3000, all: all, began: time.Duration(2*i+seed) * time.Hour}
			side = append(side, m.sample(t, "run", ""))
		}
		return side
	}
	c, err := Compare([]string{"A", "B"}, [][]*Sample{side(0, 1), side(1, 3)}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if r := rowNamed(t, c, "iteration_ms"); r.Against[0].Verdict != Slower || c.Design != Replicated || !c.Common[0].Judged {
		t.Errorf("six by turns: %s, %+v", r.Words(0), c.Common[0])
	}
	if c, err = Compare([]string{"A", "B"}, [][]*Sample{side(0, 1), side(1, 1)}, quiet); err != nil || len(signed(c)) > 0 {
		t.Errorf("six equal ones by turns: %q, %v", signed(c), err)
	}
}

// With fewer than three phases, the machine's speed cannot be told from the program's but by its size.
func TestFewPhasesAreJudgedBeyondTheSwing(t *testing.T) {
	two := func(seed uint64, all float64) [][][]float64 {
		r := rand.New(rand.NewPCG(seed, 1))
		var blocks [][]float64
		for range 40 {
			a, b := all+0.02*r.NormFloat64(), all+0.02*r.NormFloat64()
			blocks = append(blocks, []float64{a + math.Ln2, a, b})
		}
		return [][][]float64{blocks}
	}
	columns := []column{{group: Speed, name: "iteration_ms"}, {group: Phases, name: "a_ms", yields: true}, {group: Phases, name: "b_ms", yields: true}}
	for _, c := range []struct {
		slower float64
		want   Verdict
	}{{1.3, InNoise}, {2, Slower}} {
		of := contest{columns: columns, base: two(1, 0), other: two(2, math.Log(c.slower)), miss: 0.01}
		all, common := of.verdicts()
		for i, d := range all {
			if d.Verdict != c.want || !common.Moved || d.Beside {
				t.Errorf("%g times slower: %s is %d, %+v, %+v", c.slower, columns[i].name, d.Verdict, d, common)
			}
		}
	}
}

func TestReasonsWhyTimesAreNotComparable(t *testing.T) {
	alone := simulation{seed: 1, iterations: 4000}
	for name, c := range map[string]struct {
		other simulation
		brief string
	}{
		"too short": {simulation{seed: 2, iterations: 300}, "too short"},
		"disturbed": {simulation{seed: 2, iterations: 4000, foreign: 0.3}, "others took 30 %"},
	} {
		got := compared(t, alone, c.other)
		r := rowNamed(t, got, "iteration_ms")
		if d := r.Against[0]; d.Verdict != NotComparable || d.Briefly != c.brief || d.Reason == "" || math.IsNaN(d.Raw) {
			t.Errorf("%s: %s, %q, %q, raw %g", name, r.Words(0), d.Briefly, d.Reason, d.Raw)
		}
		if got.Undecided(0.1) == "" {
			t.Errorf("%s: a build passes", name)
		}
	}
}

// An iteration that takes 5 % longer in one of its phases is over a limit of 5 %, because the phase is, and equal programs hardly ever
// are: on a machine whose speed swings by 15 % between two runs.
func TestAnIterationThatIsSlowerByOnePhaseIsOverTheLimit(t *testing.T) {
	whole := 0.0
	for _, p := range simulatedPhases {
		whole += p.ms
	}
	const pairs, limit, share = 20, 0.05, 0.05
	over := map[string]int{}
	undecided := 0
	for pair := range uint64(pairs) {
		base := simulation{seed: 1000 + 2*pair, iterations: 2000}
		same := compared(t, base, simulation{seed: 1001 + 2*pair, iterations: 2000})
		if len(same.Slowed(limit, share)) > 0 {
			over["equal"]++
		} else if same.Undecided(limit) != "" {
			undecided++
		}
		for _, p := range simulatedPhases {
			planted := compared(t, base, simulation{seed: 1001 + 2*pair, iterations: 2000, slower: map[string]float64{p.name: 1 + limit*whole/p.ms}})
			if len(planted.Slowed(limit, share)) > 0 {
				over[p.name]++
			}
		}
	}
	t.Logf("over the limit in %d pairs: %v; %d equal ones undecided", pairs, over, undecided)
	if over["equal"] > 1 {
		t.Errorf("%d of %d equal pairs are over", over["equal"], pairs)
	}
	for _, p := range simulatedPhases {
		if over[p.name] < pairs*7/10 { // 16 of 20 for the longest, of which it is the smallest share
			t.Errorf("%s: %d of %d are over", p.name, over[p.name], pairs)
		}
	}
}
