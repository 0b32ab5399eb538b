package compare

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
)

// byTurns simulates two programs that run by turns on one machine, whose speed wanders and jumps. Two
// processes of one program differ by half a percent in each phase; of the second program, every time is
// longer by all, and that of backward by slower besides.
func byTurns(seed uint64, starts, rounds int, all, slower float64) *Turns {
	r := rand.New(rand.NewPCG(seed, 3))
	t := &Turns{}
	walk, fast := 0.0, 0.0
	for range starts {
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		began := now
		var schedule []Quartet
		type run struct {
			side     int
			from, to time.Duration
		}
		var runs []run
		for range rounds {
			first := r.IntN(2)
			var q Quartet
			for i, side := range []int{first, 1 - first, 1 - first, first} {
				q[i] = Slice{Side: side, From: now, To: now.Add(250 * time.Millisecond)}
				runs = append(runs, run{side, now.Sub(began), now.Sub(began) + 250*time.Millisecond})
				now = now.Add(251 * time.Millisecond)
			}
			schedule = append(schedule, q)
		}
		take := t.Start(schedule)
		schema := simulatedSchema()
		var process [2][5]float64
		var index [2]int64
		for side := range process {
			for p := range process[side] {
				process[side][p] = 0.005 * r.NormFloat64()
			}
			take(side, &profiles.Event{At: began, Body: &profiles.Begin{Info: profiles.RunInfo{Schema: schema}}})
		}
		for _, run := range runs {
			// An iteration was stopped at the end of the last turn: it is not of this one.
			take(run.side, &profiles.Event{Body: &profiles.Iteration{Index: index[run.side], Kind: 1, Start: int64(run.from) - 300e6, Total: 301e6, Phases: [profiles.MaxPhases]int64{301e6}}})
			for at := run.from + time.Millisecond; ; {
				walk += 0.004 * r.NormFloat64()
				if r.Float64() < 0.002 {
					fast = 0.1 - fast
				}
				it := profiles.Iteration{Index: index[run.side], Kind: 1, Start: int64(at), Series: profiles.NoValues()}
				for p, phase := range simulatedPhases {
					l := walk + fast + process[run.side][p] + 0.03*r.NormFloat64()
					if run.side == 1 {
						l += math.Log1p(all)
						if phase.name == "backward" {
							l += math.Log1p(slower)
						}
					}
					it.Phases[p] = int64(phase.ms * 1e6 * math.Exp(l))
					it.Total += it.Phases[p]
				}
				if at += time.Duration(it.Total); at > run.to {
					break
				}
				index[run.side]++
				take(run.side, &profiles.Event{Body: &it})
			}
		}
	}
	return t
}

// judged returns the differences of the times by the names of their rows.
func judged(t *Turns) map[string]Difference {
	t.choose()
	columns := []column{{group: Speed, name: "iteration_ms"}, {group: Speed, name: "iterations_per_second", rate: true}}
	for _, p := range simulatedPhases {
		columns = append(columns, column{group: Phases, name: p.name + "_ms", title: p.name})
	}
	rows := make([]Row, len(columns))
	for i := range rows {
		rows[i] = columns[i].row()
		rows[i].Against = make([]Difference, 1)
	}
	t.judge(columns, rows, 0.05/float64(len(columns)))
	all := map[string]Difference{}
	for _, r := range rows {
		all[r.Name] = r.Against[0]
	}
	return all
}

// By turns, equal programs are not told apart, and a change of everything is found like one of a phase.
func TestProgramsByTurns(t *testing.T) {
	for _, c := range []struct {
		name        string
		all, slower float64
		want        map[string]float64 // the differences that must be found
	}{
		{"equal", 0, 0, nil},
		{"backward 5 % slower", 0, 0.05, map[string]float64{"backward_ms": 0.05}},
		{"all 4 % slower", 0.04, 0, map[string]float64{"iteration_ms": 0.04, "backward_ms": 0.04, "iterations_per_second": 1/1.04 - 1}},
	} {
		found, called, rows := 0, 0, 0
		const repetitions = 20
		for seed := range uint64(repetitions) {
			for name, d := range judged(byTurns(seed, 8, 64/8, c.all, c.slower)) {
				signed := d.Verdict == Slower || d.Verdict == Faster
				if truth, ok := c.want[name]; ok {
					if signed && d.Low <= truth && truth <= d.High {
						found++
					}
				} else if c.all == 0 && name != "iteration_ms" && name != "iterations_per_second" {
					if rows++; signed {
						called++
						t.Logf("%s: %s, %.3f [%.3f, %.3f]", c.name, name, d.Value, d.Low, d.High)
					}
				}
			}
		}
		t.Logf("%s: found %d of %d, falsely called %d of %d", c.name, found, repetitions*len(c.want), called, rows)
		if float64(called) > 0.05*float64(rows) || float64(found) < 0.9*repetitions*float64(len(c.want)) {
			t.Errorf("%s: found %d of %d, falsely called %d of %d", c.name, found, repetitions*len(c.want), called, rows)
		}
	}
}

// An interval that would not have shown twice the limit says that it cannot be told; one that shows more than the limit
// tells.
func TestATooWideIntervalTellsNothing(t *testing.T) {
	for _, tt := range []struct {
		design    Design
		low, high float64
		said      bool
	}{
		{Alternating, -0.54, 4.49, true}, {Alternating, -0.03, 0.04, false}, {Alternating, -0.02, 0.09, false}, {Alternating, 0.06, 0.5, false},
		{Alternating, -0.01, 0.12, true}, {Separate, -0.54, 4.49, false},
	} {
		c := &Comparison{Design: tt.design, Sides: make([]Side, 2), Rows: []Row{{Group: Speed, Title: "iteration", Better: profiles.LessIsBetter,
			Against: []Difference{{Verdict: InNoise, Low: tt.low, High: tt.high}}}}}
		if said := c.Undecided(0.05); (said != "") != tt.said {
			t.Errorf("%v [%v, %v]: %q", tt.design, tt.low, tt.high, said)
		}
	}
}

// docs/compare.md describes every field of the JSON.
func TestTheDocumentDescribesTheJSON(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "compare.md"))
	if err != nil {
		t.Fatal(err)
	}
	var check func(reflect.Type)
	check = func(of reflect.Type) {
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("docs/compare.md lacks %s.%s", of.Name(), name)
			}
			check(of.Field(i).Type)
		}
	}
	check(reflect.TypeFor[comparisonJSON]())
}
