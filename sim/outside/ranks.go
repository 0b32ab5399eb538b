package outside

import (
	"fmt"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/profiles/stats"
	"prismtop/profiles/visible"
)

// The ranks of a training, as their rings show them: how far each is, which of them the
// others wait for, and how it ended.

const (
	rankWindow   = 2048 // steps of each rank that are compared
	rankBlocks   = 16   // of them, for the interval
	leastBlock   = 4    // steps
	ranksEvery   = time.Second
	aliveEvery   = 250 * time.Millisecond
	drainsEvery  = 5 * time.Millisecond
	slowMargin   = 0.02            // of a step: a rank that is slower by less is not named
	endsTogether = 2 * time.Second // ranks that end end within this time, or one was lost
)

// Peer is another rank of the training.
type Peer struct {
	Ring     *loop.Ring
	Greeting *loop.Greeting
}

// member is a rank of the training.
type member struct {
	ring     *loop.Ring
	phases   []loop.Phase
	device   bool // its times are the device's
	exchange int  // the phase, −1 for none

	rec   loop.Record
	steps [rankWindow]rankStep // by step
	last  int64                // newest step, −1 before
	at    int64                // when it ended, monotonic

	said  []string  // since the last look
	gone  string    // how it ended while the training went on
	ended time.Time // when it was found to be over

	proposal proposal
}

// rankStep is a step of a rank.
type rankStep struct {
	step   int64
	total  int64
	phases [loop.MaxPhases]int64
}

// ranks are those of a training; none for one process alone.
type ranks struct {
	members []*member // by rank, the first being the one that is shown; of one that trains alone now, that one
	locked  string    // why settings cannot change
	first   string    // the first rank that was lost, and how
	shown   time.Time // when the state was last published
	looked  time.Time // whether they are alive
	drained time.Time
}

// newRanks are the ranks of a loop. One that trains alone is listed if it did not before.
func newRanks(l *Loop, listed bool) (r ranks) {
	r.locked = l.Locked
	if l.Ring.World < 2 && !listed {
		return r
	}
	for _, p := range append([]Peer{{l.Ring, l.Greeting}}, l.Peers...) {
		m := &member{ring: p.Ring, phases: p.Greeting.Phases, device: p.Greeting.Clock == "device", last: -1}
		m.exchange = slices.IndexFunc(m.phases, func(p loop.Phase) bool { return p.Name == "exchange" })
		r.members = append(r.members, m)
	}
	return r
}

// several reports whether the training has several ranks.
func (r *ranks) several() bool {
	return len(r.members) > 1 || len(r.members) == 1 && r.members[0].ring.World > 1
}

// take takes a record of a rank.
func (m *member) take(rec *loop.Record) {
	switch rec.Kind {
	case loop.Step:
		if rec.Step < 0 || rec.Flags&loop.Boundaries != 0 || m.device && rec.Flags&loop.NoDevice != 0 {
			m.last, m.at = max(m.last, rec.Step), rec.Start+rec.Total
			return
		}
		times := &rec.Host
		if m.device {
			times = &rec.Device
		}
		m.steps[rec.Step%rankWindow] = rankStep{rec.Step, rec.Total, *times}
		if rec.StepKind != 0 || rec.Flags&(loop.Settling|loop.Compiled|loop.Measured) != 0 {
			m.steps[rec.Step%rankWindow].total = 0 // its time says nothing
		}
		m.last, m.at = max(m.last, rec.Step), rec.Start+rec.Total
	case loop.Answer:
		m.proposal.hear(rec)
	case loop.Line:
		if rec.Severity > 0 && m.ring.Rank > 0 {
			m.said = append(m.said, fmt.Sprintf("rank %d: %s", m.ring.Rank, visible.Text(rec.Text)))
		}
	}
}

// drain reads what the other ranks have written, now and then, or at once.
func (r *ranks) drain(atOnce bool) {
	if !r.several() || !atOnce && time.Since(r.drained) < drainsEvery {
		return
	}
	r.drained = time.Now()
	for _, m := range r.members[1:] {
		for m.ring.Next(&m.rec) {
			m.take(&m.rec)
		}
	}
}

// lost looks whether a rank ended while others train, and returns what is to be said of it.
func (r *ranks) lost() (said []string) {
	if !r.several() || time.Since(r.looked) < aliveEvery {
		return nil
	}
	r.looked = time.Now()
	training := 0
	for _, m := range r.members {
		if m.gone == "" && m.ring.State() <= loop.Training && m.ring.Alive() {
			training++
		}
	}
	for _, m := range r.members {
		said, m.said = append(said, m.said...), nil
		if m.gone != "" {
			continue
		}
		state := m.ring.State()
		how := ""
		switch {
		case state == loop.Failed:
			how = "failed with an exception"
		case state == loop.Unpatched:
			how = "is not watched any more"
		case state <= loop.Training && !m.ring.Alive() && m.ring.Mirrors():
			how = "was killed, or its machine is out of reach"
		case state <= loop.Training && !m.ring.Alive():
			how = fmt.Sprintf("was killed (process %d)", m.ring.PID)
		case state == loop.Over && training > 0:
			if m.ended.IsZero() {
				m.ended = time.Now()
			}
			if time.Since(m.ended) > endsTogether {
				how = "has ended"
			}
		}
		if how == "" {
			continue
		}
		m.gone = how
		text := fmt.Sprintf("rank %d %s", m.ring.Rank, how)
		said = append(said, text)
		if r.first == "" {
			r.first = text
		}
		if r.locked == "" {
			r.locked = text
		}
	}
	return said
}

// gone says which rank was the first to end while others trained; empty for none.
func (r *ranks) gone() string { return r.first }

// state returns the state of the ranks, nil if it was published a moment ago.
func (r *ranks) state() *profiles.Ranks {
	if len(r.members) == 0 || time.Since(r.shown) < ranksEvery {
		return nil
	}
	r.shown = time.Now()
	return r.compare()
}

// compare compares the newest steps that all ranks have taken.
func (r *ranks) compare() *profiles.Ranks {
	v := &profiles.Ranks{World: r.members[0].ring.World, Slow: -1, Locked: r.locked}
	first := int64(-1)
	for _, m := range r.members {
		first = max(first, m.last)
	}
	common := r.common()
	v.Steps = len(common)
	local := make([][]float64, len(r.members)) // by rank and common step
	for i, m := range r.members {
		one := profiles.Rank{Rank: m.ring.Rank, PID: m.ring.PID, State: "training", Gone: m.gone != "", Step: m.last,
			Behind: first - m.last}
		switch {
		case m.gone != "":
			one.State = m.gone
		case m.ring.State() == loop.Over:
			one.State = "over"
		}
		var total, exchange, waits []float64
		for _, step := range common {
			s := &m.steps[step%rankWindow]
			took := s.of(m.exchange)
			total, exchange = append(total, float64(s.total)), append(exchange, took)
			local[i] = append(local[i], float64(s.total)-took)
			least := took
			for _, other := range r.members {
				if other.gone == "" {
					least = min(least, other.steps[step%rankWindow].of(other.exchange))
				}
			}
			waits = append(waits, took-least)
		}
		one.Time, one.Exchange, one.Wait = median(total), median(exchange), median(waits)
		one.Local = median(local[i])
		v.List = append(v.List, one)
	}
	r.blame(v, common, local)
	return v
}

// common returns the steps in the window that all ranks have taken and whose times can be compared, oldest first.
func (r *ranks) common() (steps []int64) {
	last := int64(math.MaxInt64)
	for _, m := range r.members {
		if m.gone == "" {
			last = min(last, m.last)
		}
	}
	if last == math.MaxInt64 {
		last = -1
	}
	for step := max(0, last-rankWindow+1); step <= last; step++ {
		if !slices.ContainsFunc(r.members, func(m *member) bool {
			s := &m.steps[step%rankWindow]
			return s.step != step || s.total <= 0
		}) {
			steps = append(steps, step)
		}
	}
	return steps
}

// of returns the time of a phase, 0 if there is none.
func (s *rankStep) of(phase int) float64 {
	if phase < 0 {
		return 0
	}
	return float64(max(0, s.phases[phase]))
}

// blame names the rank whose own part of the step takes longer than that of each other, if intervals show it. What a
// rank does not spend in the exchange is its own: the others' exchange includes waiting for the slowest. The difference
// is that to the rank that comes nearest.
func (r *ranks) blame(v *profiles.Ranks, common []int64, local [][]float64) {
	size := len(common) / rankBlocks
	if size < leastBlock || len(r.members) < 2 || r.locked != "" &&
		slices.ContainsFunc(r.members, func(m *member) bool { return m.gone != "" }) {
		return
	}
	for i := range r.members {
		if r.members[i].exchange < 0 {
			return
		}
	}
	slow := 0
	for i := range v.List {
		if v.List[i].Local > v.List[slow].Local {
			slow = i
		}
	}
	nearest := stats.Centre{Value: math.Inf(1)}
	for i := range local {
		if i == slow {
			continue
		}
		var blocks []float64
		for b := range rankBlocks {
			var longer []float64
			for k := b * size; k < (b+1)*size; k++ {
				longer = append(longer, local[slow][k]-local[i][k])
			}
			blocks = append(blocks, median(longer))
		}
		c := stats.SignedRank(blocks)
		if stats.AtMost(slowMargin*v.List[slow].Time).Judge(c.Low, c.High) != stats.Above {
			return
		}
		if c.Value < nearest.Value {
			nearest = c
		}
	}
	v.Slow, v.Excess, v.Low, v.High = v.List[slow].Rank, nearest.Value, nearest.Low, nearest.High
	most := 0.0
	for phase, p := range r.members[slow].phases {
		if phase == r.members[slow].exchange {
			continue
		}
		own := r.members[slow].phase(common, phase)
		others := 0.0
		for i, m := range r.members {
			if i != slow && phase < len(m.phases) && m.phases[phase].Name == p.Name {
				others = max(others, m.phase(common, phase))
			}
		}
		if own-others > most {
			most, v.Phase = own-others, visible.Text(p.Name)
		}
	}
}

// phase returns the median time of a phase.
func (m *member) phase(common []int64, phase int) float64 {
	times := make([]float64, len(common))
	for i, step := range common {
		times[i] = m.steps[step%rankWindow].of(phase)
	}
	return median(times)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return stats.Quantile(sorted, 0.5)
}
