package watching

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
)

// machine simulates a run that is watched as a Schedule asks for. Times are nanoseconds.
type machine struct {
	s      *Schedule
	random *rand.Rand
	speed  func(r *rand.Rand) float64 // drift: the logarithm of an iteration's time, less that of usual
	usual  float64
	noise  float64

	frame   float64 // work of a frame
	quality float64 // work of everything that is done twice a second
	rare    float64 // work done every two seconds on average, while watched

	allowed func() bool

	now     float64
	index   int64
	dark    bool
	step    Step
	at      float64 // of the step
	looked  float64
	records []profiles.Iteration // not yet taken

	darkTime, darkest, began float64
	frames                   int
}

func newMachine(seed uint64, o Options) *machine {
	o.Seed = seed
	return &machine{
		s: New(o), random: rand.New(rand.NewPCG(seed, 1)), speed: func(*rand.Rand) float64 { return 0 }, usual: 5e6, noise: 0.03,
		allowed: func() bool { return true },
	}
}

// cost is the share of the time that watching takes at full density.
func (m *machine) cost() float64 { return m.frame/1e8 + m.quality/5e8 + m.rare/2e9 }

// iterate runs one iteration and the steps that fall into it.
func (m *machine) iterate() {
	it := profiles.Iteration{Index: m.index, Start: int64(m.now)}
	if m.dark {
		it.Flags |= profiles.Unwatched
	}
	took := m.usual * math.Exp(m.speed(m.random)+m.noise*m.random.NormFloat64())
	if !m.dark && m.now-m.looked >= 5e8*float64(m.s.Density().Sparse) {
		took += m.quality
		m.looked = m.now
	}
	if !m.dark {
		if m.random.Float64() < took/2e9 {
			took += m.rare
		}
	}
	for m.at <= m.now+took {
		took += m.carryOut()
	}
	m.now += took
	it.Total = int64(took)
	m.records = append(m.records, it)
	m.index++
}

// carryOut does the planned step, plans the next one and returns the work.
func (m *machine) carryOut() (work float64) {
	switch m.step {
	case Dark:
		m.dark, m.began = true, m.at
	case Light:
		m.light()
		fallthrough
	case Frame:
		work = m.frame
		m.frames++
		for i := range m.records {
			m.s.Iteration(&m.records[i])
		}
		m.records = m.records[:0]
	}
	step, wait := m.s.Next(m.allowed())
	m.step, m.at = step, m.at+float64(wait)
	return work
}

func (m *machine) light() {
	if m.dark {
		m.darkTime += m.at - m.began
		m.darkest = max(m.darkest, m.at-m.began)
		m.dark = false
	}
}

func (m *machine) run(d time.Duration) {
	for end := m.now + float64(d); m.now < end; {
		m.iterate()
	}
}

// runs have a drift each.
var runs = map[string]func() func(r *rand.Rand) float64{
	"steady": func() func(r *rand.Rand) float64 { return func(*rand.Rand) float64 { return 0 } },
	"drifting": func() func(r *rand.Rand) float64 {
		at := 0.0
		return func(r *rand.Rand) float64 { at += 0.0006 * r.NormFloat64(); return at }
	},
	"moody": func() func(r *rand.Rand) float64 {
		at := 0.0
		return func(r *rand.Rand) float64 { at = 0.98*at + 0.006*r.NormFloat64(); return at }
	},
	"switching": func() func(r *rand.Rand) float64 {
		fast := false
		return func(r *rand.Rand) float64 {
			if r.Float64() < 0.001 {
				fast = !fast
			}
			if fast {
				return -0.08
			}
			return 0
		}
	},
	"disturbed": func() func(r *rand.Rand) float64 { // by other programs, for a third of a second every three
		left := 0
		return func(r *rand.Rand) float64 {
			if left--; r.Float64() < 0.0016 {
				left = 60
			}
			if left > 0 {
				return 0.5
			}
			return 0
		}
	},
}

// The interval holds the true cost in at least 93 % of looks, on runs that drift, keep their mood,
// switch their speed and are disturbed, whatever watching costs.
func TestTheCostIsCalibrated(t *testing.T) {
	for name, speed := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all looks
			for _, percent := range []float64{0, 0.8, 3} {
				var l looks
				for seed := range uint64(50) {
					m := newMachine(seed, Options{})
					m.speed = speed()
					m.frame, m.quality, m.rare = percent*6e5, percent*1.5e6, percent*2e6
					l.follow(t, m, percent/100)
				}
				t.Logf("%.1f %%: %3d looks, %.1f %% hold the truth, mean width %.2f %%, bias %+.3f %%, known after %.0f s",
					percent, l.n, 100*l.share(), 100*l.widths/float64(l.n), 100*l.bias/float64(l.n), l.first/50)
				all.n, all.held = all.n+l.n, all.held+l.held
			}
			if all.share() < 0.93 {
				t.Errorf("only %.1f %% of intervals hold the truth", 100*all.share())
			}
		})
	}
}

// looks counts the intervals that hold the truth.
type looks struct {
	n, held             int
	widths, bias, first float64
}

func (l *looks) share() float64 { return float64(l.held) / float64(l.n) }

// follow looks at a run's cost after every six groups, up to maxGroups.
func (l *looks) follow(t *testing.T, m *machine, truth float64) {
	if math.Abs(truth-m.cost()) > 1e-12 {
		t.Fatalf("the cost is %g, want %g", m.cost(), truth)
	}
	for seen := 0; seen < maxGroups; {
		m.iterate()
		if n := len(m.s.groups); n == seen || n < 6 || n%6 != 0 {
			continue
		}
		if seen == 0 {
			l.first += m.now / 1e9
		}
		seen = len(m.s.groups)
		c := m.s.Cost()
		if !c.Known {
			t.Fatalf("nothing is known after %d groups", seen)
		}
		l.n++
		l.widths += c.High - c.Low
		l.bias += c.Value - truth
		if c.Low <= truth && truth <= c.High {
			l.held++
		}
	}
}

// Blocks are short and rare enough not to be noticed, and rarer once the cost is known.
func TestDarkBlocksAreShortAndRare(t *testing.T) {
	m := newMachine(3, Options{})
	m.frame = 1e6
	m.run(time.Minute)
	if m.darkest > 300e6 || m.darkTime < 1e9 || m.darkTime > 0.2*m.now {
		t.Errorf("longest block %.0f ms, %.1f %% of the time", m.darkest/1e6, 100*m.darkTime/m.now)
	}
	from, before := m.now, m.darkTime
	m.run(time.Minute)
	if share := (m.darkTime - before) / (m.now - from); share > 0.06 {
		t.Errorf("%.1f %% of the time is dark although the cost is known: %+v", 100*share, m.s.Cost())
	}
}

// Nothing is measured while it would disturb something, and what was begun is dropped.
func TestNoBlockWhereItIsNotAllowed(t *testing.T) {
	m := newMachine(4, Options{})
	m.frame = 1e6
	m.allowed = func() bool { return false }
	m.run(20 * time.Second)
	if m.darkTime > 0 || m.dark {
		t.Error("there was a dark block")
	}
	if got := float64(m.frames) / 20; math.Abs(got-10) > 0.2 {
		t.Errorf("%.1f frames a second", got)
	}
}

// A user's input ends a block at once and keeps others away for two seconds.
func TestInputEndsABlock(t *testing.T) {
	m := newMachine(5, Options{})
	for !m.dark {
		m.iterate()
	}
	if !m.s.Attend() {
		t.Fatal("watching does not go on at once")
	}
	m.step, m.at = Light, m.now
	from := m.now
	m.run(1900 * time.Millisecond)
	if m.dark || m.darkTime > m.darkest {
		t.Error("another block followed within two seconds")
	}
	if m.s.Attend() {
		t.Error("watching was to go on although it had")
	}
	for !m.dark {
		m.iterate()
	}
	if wait := m.now - from; wait < 3.5e9 {
		t.Errorf("the next block came %.1f s after the first input, 2 s after the second", wait/1e9)
	}
	groups, open := len(m.s.groups), m.s.open
	if groups+open != 0 {
		t.Errorf("%d groups and %d comparisons from interrupted blocks", groups, open)
	}
}

// Watching that costs more than its budget is thinned until it does not, and comes back when it is
// cheap again; the log says so each time.
func TestABudgetThinsAndReturns(t *testing.T) {
	m := newMachine(6, Options{Budget: 0.01})
	m.frame, m.quality = 4e6, 1e6 // 4.2 % at full density
	var news []string
	run := func(d time.Duration) {
		for range int(d / time.Second) {
			m.run(time.Second)
			if line := m.s.News(); line != "" {
				news = append(news, line)
			}
		}
	}
	run(6 * time.Minute)
	c := m.s.Cost()
	if !c.Thinned || c.Period != 500*time.Millisecond || c.Sparse != 1 || !(c.Low <= 0.01) {
		t.Errorf("a frame every %v, cost %+v", c.Period, c)
	}
	if len(news) != 2 || !strings.Contains(news[0], "5 frames a second") || !strings.Contains(news[1], "budget 1.0 %: 2 frames a second") {
		t.Errorf("news %q", news)
	}
	m.frame, m.quality, news = 3e5, 0, nil // 0.3 %
	run(8 * time.Minute)
	if c := m.s.Cost(); c.Thinned || len(news) != 2 || !strings.Contains(news[1], "10 frames a second") {
		t.Errorf("cost %+v, news %q", c, news)
	}
	m.quality, m.frame = 3e7, 0 // 6 % by what is done twice a second
	run(40 * time.Minute)
	if c := m.s.Cost(); c.Sparse != 4 || c.Period != time.Second {
		t.Errorf("the least density is not reached: %+v", c)
	}
}

// Without a budget nothing is thinned, however much it costs.
func TestNoBudgetThinsNothing(t *testing.T) {
	m := newMachine(7, Options{})
	m.frame = 2e7
	m.run(2 * time.Minute)
	if c := m.s.Cost(); c.Thinned || !c.Known || c.Low < 0.1 {
		t.Errorf("%+v", c)
	}
}

// Blocks have at least three iterations; runs too slow for that are not measured, which is said.
func TestLongIterations(t *testing.T) {
	m := newMachine(8, Options{})
	m.usual, m.frame, m.noise = 1.5e8, 1e6, 0.01
	m.run(4 * time.Minute)
	if c := m.s.Cost(); !c.Known || c.Reason != "" || c.Low > 0.01 || c.High < 0.01 || m.darkest > 1e9 {
		t.Errorf("%+v, longest block %.0f ms", c, m.darkest/1e6)
	}
	m = newMachine(9, Options{})
	m.usual = 1e9
	m.run(time.Minute)
	if c := m.s.Cost(); c.Known || !strings.Contains(c.Reason, "too long") || m.darkTime > 0 {
		t.Errorf("%+v, dark for %.0f ms", c, m.darkTime/1e6)
	}
}

// A change of settings or of the kind of iterations, a lost record and a restart spoil a
// comparison.
func TestAChangeSpoilsAComparison(t *testing.T) {
	for name, spoil := range map[string]func(it *profiles.Iteration){
		"setting": func(it *profiles.Iteration) { it.Changes++ },
		"kind":    func(it *profiles.Iteration) { it.Kind++ },
		"lost":    func(it *profiles.Iteration) { it.Index++ },
		"restart": func(it *profiles.Iteration) { it.Index, it.Start = 0, 0 },
		"nothing": nil,
	} {
		var tr trial
		done := false
		for i := range int64(400) {
			it := profiles.Iteration{Index: i, Start: i * 5e6}
			if i >= 150 && i < 200 {
				it.Flags = profiles.Unwatched
			}
			if i == 180 && spoil != nil {
				spoil(&it)
			}
			_, ended := tr.add(&it, int64(litLeast))
			done = done || ended
		}
		if done != (spoil == nil) {
			t.Errorf("%s: a comparison was completed: %v", name, done)
		}
	}
}

func TestAnIterationAllocatesNothing(t *testing.T) {
	s := New(Options{})
	it := profiles.Iteration{}
	if n := testing.AllocsPerRun(1000, func() {
		s.Iteration(&it)
		it.Index++
		it.Start += 5e6
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkIteration(b *testing.B) {
	s := New(Options{})
	it := profiles.Iteration{}
	for b.Loop() {
		s.Iteration(&it)
		it.Index++
		it.Start += 5e6
	}
}
