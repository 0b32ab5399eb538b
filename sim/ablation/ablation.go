// Package ablation schedules the switching of an ablation and evaluates its times.
// It has no loop and no clock: the caller runs iterations, asks for the settings of
// the next one, and reports the measurements of each.
//
// A Schedule compares each setting in groups of four blocks, off on on off or its
// mirror, one group per round, in a random order for each round. Within a group a
// steady drift of the machine or of the training cancels. The first block of a group
// sets the number of iterations of all four. A group yields one value, the logarithm
// of on over off; stats.SignedRank computes the rows' intervals.
//
// Which of the two orders a group has is decided by a coin. What the machine does
// meanwhile adds to a group's value or subtracts from it as the coin falls, whatever
// it is and however groups resemble each other. The signs are therefore independent
// and the intervals as sure as they say: a randomisation test (Fisher 1935, The
// Design of Experiments). Orders that alternate lack this: a machine whose mood
// changes in the same rhythm would look like an effect.
//
// A Factorial runs every combination of several settings instead, once per round.
package ablation

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Options configure the thoroughness of an ablation. The first four default to
// constants of package profiles, from which a screen estimates the duration
// beforehand.
type Options struct {
	Rounds int           // groups per setting
	Warmup int           // warm-up iterations after a switch
	Least  int           // minimum iterations of a block
	Time   time.Duration // minimum duration of a block's iterations
	Seed   uint64        // of the order; a run draws one if it is 0
	Only   []string      // keys to compare; empty means all
	Within time.Duration // the longest a replication may take, unless it is extended; 0 means no limit

	// Factors are the factors of a factorial ablation; empty for one that compares each setting by
	// itself.
	Factors []settings.Factor

	// Items returns the number of items in a batch, whose times are compared by the item; nil where
	// iterations are not batches.
	Items func(settings.Values) int

	Kinds   []profiles.KindInfo // of the workload
	Caches  []profiles.CacheInfo
	Quality profiles.SeriesInfo // of the workload, without a name if it has none
}

func (o Options) withDefaults() Options {
	if o.Rounds <= 0 && len(o.Factors) > 0 {
		o.Rounds = profiles.FactorialRounds
	}
	if o.Rounds <= 0 {
		o.Rounds = profiles.AblationRounds
	}
	if o.Warmup <= 0 {
		o.Warmup = profiles.AblationWarmup
	}
	if o.Least <= 0 {
		o.Least = profiles.AblationLeast
	}
	if o.Time <= 0 {
		o.Time = profiles.AblationBlock
	}
	return o
}

// Looks are the numbers of groups after which a replication is judged: a group-sequential design
// (Jennison and Turnbull 2000, Group Sequential Methods). Its 5 % error probability is divided
// equally among the looks, so that it holds for all of them together. The last look ends the
// replication.
var Looks = []int{9, 12, 16, 21, 28, 38, 50, 68, 90, 120, 160}

// DecisionLooks are those of a decision on a press of a key, besides the one at its end: when its time is over, it
// is judged once more, with the part of the 5 % that the looks before have left.
var DecisionLooks = []int{9, 13, 19, 28, 40, 60}

// Schedule is an ablation under way. It is not safe for concurrent use.
type Schedule struct {
	timing
	base        settings.Values
	replication bool // of the change at iteration of
	of          int64
	rows        []row
	random      *rand.Rand

	order []int // rows of the current round
	round int
	at    int // index in order

	group  group
	groups int // complete
	lead   int // iterations under base that are left before the first group: the change takes force with them

	since int64 // when it began, in nanoseconds of the run; −1 before
}

// Pairing is two values of a setting, or of several settings changed together, and the settings
// with each in force.
type Pairing struct {
	Key, Off, On  string // names in the table
	Before, After settings.Values
	Note          string // why it cannot have an effect; empty if it can
	Refused       bool   // left out, for the reason in Note
}

// New plans an ablation of every setting that the workload allows to be compared. All other
// settings stay as in base.
func New(base settings.Values, o Options) *Schedule {
	var pairings []Pairing
	for _, k := range base.Table().Compares() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, k.Name) {
			continue
		}
		for _, p := range k.Compared.Pairs {
			pairings = append(pairings, pairingOf(base, &k, p))
		}
	}
	return Compare(base, pairings, o)
}

// Compare plans an ablation of pairs of settings, starting from and returning to base.
func Compare(base settings.Values, pairings []Pairing, o Options) *Schedule {
	return plan(base, pairings, false, 0, o)
}

// Replicate plans to switch one change back and forth, between the settings before it and after it, until a look
// decides it or the time of the options is over. of is the iteration of the change. It ends with base.
func Replicate(base settings.Values, change Pairing, of int64, o Options) *Schedule {
	o.Rounds = Looks[len(Looks)-1]
	if o.Within > 0 {
		o.Rounds = math.MaxInt32
		o.Warmup, o.Least, o.Time = cmp.Or(o.Warmup, profiles.DecisionWarmup),
			cmp.Or(o.Least, profiles.DecisionLeast), cmp.Or(o.Time, profiles.DecisionBlock)
	}
	if o.Time <= 0 {
		o.Time = profiles.ReplicationBlock
	}
	return plan(base, []Pairing{change}, true, of, o)
}

func plan(base settings.Values, pairings []Pairing, replication bool, of int64, o Options) *Schedule {
	o = o.withDefaults()
	s := &Schedule{timing: newTiming(o), base: base, replication: replication, of: of,
		random: rand.New(rand.NewPCG(o.Seed, 0x5eed))}
	for _, p := range pairings {
		r := row{
			AblationRow: profiles.AblationRow{Key: p.Key, Off: p.Off, On: p.On, Note: p.Note, Sequential: replication},
			switched:    [2]settings.Values{p.Before, p.After}, skip: p.Refused,
		}
		if replication {
			r.looks = looksOf(o)
		}
		r.judge()
		s.rows = append(s.rows, r)
	}
	s.since = -1
	if o.Within > 0 {
		s.lead = o.Warmup
	}
	s.beginRound()
	return s
}

// On reports whether the next iteration uses the second values of the present pair.
func (s *Schedule) On() bool { return !s.Done() && (s.lead > 0 || s.group.isOn(s.group.block)) }

// Wanted returns the settings for the next iteration.
func (s *Schedule) Wanted() settings.Values {
	if s.Done() || s.lead > 0 {
		return s.base
	}
	r := &s.rows[s.order[s.at]]
	if s.On() {
		return r.switched[1]
	}
	return r.switched[0]
}

// Ahead returns what is left of the group under way, given the time of an iteration before, and fixes its lengths.
func (s *Schedule) Ahead(each time.Duration) (blocks []profiles.Block) {
	if s.Done() || s.lead > 0 {
		return nil
	}
	length := s.length(each)
	r := &s.rows[s.order[s.at]]
	for i := s.group.block; i < len(s.group.medians); i++ {
		v := r.switched[0]
		if s.group.isOn(i) {
			v = r.switched[1]
		}
		blocks = append(blocks, profiles.Block{Settings: v, Warm: s.options.Warmup, Length: length})
		length = s.block.want
	}
	return blocks
}

// Add adds the measurements of an iteration under Wanted. It returns true if the
// caller must call Look before the next.
func (s *Schedule) Add(it *profiles.Iteration) (look bool) {
	if s.Done() {
		return false
	}
	if s.since < 0 {
		s.since = it.Start
	}
	if s.lead > 0 {
		s.lead--
		return false
	}
	did := s.count(it)
	if s.timeLeft() < 0 {
		s.giveUp()
		return false
	}
	switch did {
	case warm, full:
		return true
	case otherKind:
		s.again()
	}
	return false
}

// again starts over with another kind of iteration, to which earlier measurements are not
// comparable.
func (s *Schedule) again() {
	for i := range s.rows {
		s.rows[i].clear()
	}
	s.round, s.groups = 0, 0
	s.group = group{}
	s.beginRound()
}

// Look takes a comparison with the truth and the memory after an iteration for
// which Add returned true.
func (s *Schedule) Look(quality float64, memory profiles.Memory) {
	if s.Done() {
		return
	}
	if s.block.seen == s.options.Warmup {
		s.block.quality = quality
		return
	}
	s.endBlock(quality, memory.Total()-memory.Caches+s.cached())
}

// cached returns the bytes of the caches that the present row's settings switch or bound. Others go on filling while
// blocks alternate, which is no effect.
func (s *Schedule) cached() (bytes int64) {
	r := &s.rows[s.order[s.at]]
	compared := r.switched[0].Differing(r.switched[1])
	for i, c := range s.options.Caches {
		if slices.Contains(compared, c.Setting) || slices.Contains(compared, c.Limit) {
			bytes += s.caches[i].Bytes
		}
	}
	return bytes
}

// beginRound draws the order of the next round.
func (s *Schedule) beginRound() {
	s.order, s.at = s.order[:0], 0
	for i := range s.rows {
		if !s.rows[i].skip {
			s.order = append(s.order, i)
		}
	}
	s.random.Shuffle(len(s.order), func(i, j int) { s.order[i], s.order[j] = s.order[j], s.order[i] })
	if len(s.order) == 0 {
		s.End("nothing can be compared under these settings")
		return
	}
	s.beginGroup()
}

func (s *Schedule) beginGroup() {
	s.group = group{mirrored: s.random.IntN(2) == 1}
	s.block.reset(0)
}

// timeLeft returns the nanoseconds that a replication may still take.
func (s *Schedule) timeLeft() int64 {
	if s.options.Within <= 0 {
		return math.MaxInt64
	}
	return s.since + int64(s.options.Within) - s.now
}

// fit returns the number of groups that fit into the time of a replication, at the pace so far.
func (s *Schedule) fit() int {
	if s.options.Within <= 0 {
		return s.options.Rounds
	}
	return int(float64(s.groups) * float64(s.options.Within) / float64(max(s.now-s.since, 1)))
}

// extend gives a decision the time that its first look needs, at the pace of its first group: iterations with the
// change may take several times as long as those before it, by which its time was chosen.
func (s *Schedule) extend() {
	needs := time.Duration(s.now-s.since) * time.Duration(DecisionLooks[0])
	if s.options.Within > 0 && needs <= profiles.DecisionLongest {
		s.options.Within = max(s.options.Within, needs)
	}
}

// End ends the ablation and records the reason; later reasons are ignored. A replication that was not judged yet is
// judged once, with the chance to miss that its looks would have had.
func (s *Schedule) End(why string) {
	if s.replication && !s.Done() && s.rows[0].Judge() == profiles.Unjudged {
		s.rows[0].lookLast()
		s.rows[0].unbias(s.rows[0].Groups)
	}
	s.timing.End(why)
}

// giveUp ends a replication whose time is over by its last look.
func (s *Schedule) giveUp() {
	r := &s.rows[s.order[s.at]]
	r.lookLast()
	r.unbias(r.Groups)
	if r.settled() {
		s.End(profiles.EndedDecided)
		return
	}
	s.End(profiles.EndedUndecided(s.options.Within))
}

func (s *Schedule) endBlock(quality float64, bytes int64) {
	r := &s.rows[s.order[s.at]]
	g := &s.group
	if g.isOn(g.block) {
		r.OnBytes = max(r.OnBytes, bytes) // a cache is filled in some blocks only
	} else {
		r.OffBytes = max(r.OffBytes, bytes)
	}
	n := len(s.block.nanos)
	g.medians[g.block] = s.endTimed()
	if s.options.Items != nil {
		g.medians[g.block] /= float64(s.options.Items(s.Wanted()))
	}
	g.gains[g.block] = (quality - s.block.quality) / float64(n) * 100
	r.Iterations += n
	if g.block++; g.block < len(g.medians) {
		s.block.reset(n)
		return
	}
	r.take(g)
	if s.groups++; s.groups == 1 {
		s.extend()
	}
	if r.Sequential && r.decided() {
		r.unbias(s.fit())
		s.End(profiles.EndedDecided)
		return
	}
	if s.at++; s.at < len(s.order) {
		s.beginGroup()
		return
	}
	if s.round++; s.round < s.options.Rounds {
		s.beginRound()
		return
	}
	s.End("complete")
}
