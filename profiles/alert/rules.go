// Package alert detects problems of a run: rules over its facts, each with a sentence about
// the problem and one on what may help. They name actions; the screen maps these to keys.
package alert

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// The rules: what each looks at, and its sentence.

// Facts are the input of the rules at one moment of a run.
type Facts struct {
	Schema    *profiles.Schema
	Passes    int // over the units
	State     profiles.State
	Settings  settings.Values
	Iteration int64         // so far
	Longest   time.Duration // running time between the ends of two iterations since the last call
	Usual     float64       // median time of an iteration in the recent window, ns; 0 if unknown
	Mean      float64       // and its mean

	Caches    [profiles.MaxCaches]profiles.CacheView
	Trend     profiles.MemoryTrend
	RSS       int64
	Scale     float64 // of the gradients, NaN if there is none
	NonFinite int64   // losses that were not finite, over the run
	Results   []profiles.UnitResult
	Recording profiles.RecordingState
	Failed    string        // the failure of the device before; empty for none
	Needs     int64         // bytes by the plans; 0 if unknown
	Available int64         // bytes of memory at the start; 0 if unknown
	Initial   int64         // RSS of the first reading; 0 if unknown
	Remaining time.Duration // running time until the end at the present pace; 0 if unknown
	AtMost    bool          // Remaining is an upper bound, as before the first units are done

	quiet          time.Duration // longest running time without the end of an iteration, since the last call
	waited         time.Duration // the longest before the newest iteration
	skipped, steps int           // of the newest iterations, at most recentSteps
	nonFiniteAt    int64         // Index of the newest loss that was not finite
	pace           *throughput
	quality        quality
}

// rule is one kind of alert. A rule raised for hold becomes an alert, and an alert
// not kept for release is cleared: kept is weaker than raised, so that values
// around the bound do not flicker. Both times are running time.
type rule struct {
	id            string
	hold, release time.Duration
	judge         func(f *Facts) finding
}

// finding is the result of a rule.
type finding struct {
	raised, kept bool
	of           string // subject of the rule, the prefix of its id; empty for the run
	severity     profiles.Severity
	tell         func() (what string, try profiles.Advice) // called only if raised or kept
}

// rules returns all rules: those of the run, then those of each cache.
var rules = slices.Concat(runRules, cacheRules())

// Rules for which a workload can have its own tips.
const (
	notFinite = "not-finite"
	overflow  = "amp-overflow"
	unitLimit = "sample-limit"
	plateau   = "plateau"
)

var runRules = []rule{
	{notFinite, 0, 10 * time.Second, judgeNonFinite},
	{profiles.StallAlert, 0, 2 * time.Second, judgeStall},
	{overflow, 0, 3 * time.Second, judgeOverflow},
	{unitLimit, 0, time.Second, judgeLimit},
	{profiles.LeakAlert, 10 * time.Second, 20 * time.Second, judgeMemory},
	{"slowdown", 0, 2 * time.Second, judgeSlowdown},
	{"recording", 0, 0, judgeRecording},
	{"memory-short", 0, 0, judgeNeeds},
	{"long-run", 5 * time.Second, 5 * time.Second, judgeLength},
	{"device-failed", 0, 0, judgeDevice},
	{plateau, 0, 0, judgePlateau},
}

// cacheRules are the rules for every possible cache of a schema.
func cacheRules() (all []rule) {
	for id := range profiles.CacheID(profiles.MaxCaches) {
		all = append(all, rule{"thrash", time.Second, 5 * time.Second, thrash(id)})
	}
	for id := range profiles.CacheID(profiles.MaxCaches) {
		all = append(all, rule{"cost", 3 * time.Second, 5 * time.Second, costly(id)})
	}
	return all
}

// nonFiniteKept is the number of iterations for which a non-finite loss is
// reported.
const nonFiniteKept = 200

func judgeNonFinite(f *Facts) finding {
	bad := f.NonFinite > 0 && f.Iteration-f.nonFiniteAt <= nonFiniteKept
	return finding{bad, bad, "", profiles.Critical, func() (string, profiles.Advice) {
		what := fmt.Sprintf("The loss of iteration %d was not a finite number.", f.nonFiniteAt)
		return what, f.tipFor(notFinite, otherSettings)
	}}
}

func judgeRecording(f *Facts) finding {
	r := &f.Recording
	bad := r.Err != "" || r.Dropped > 0
	return finding{bad, bad, "", profiles.Warning, func() (string, profiles.Advice) {
		if r.Err != "" {
			return "Nothing more is recorded: " + r.Err + ".", recordAgain.of()
		}
		return fmt.Sprintf("The recording lacks %d iterations: its disk was too slow.", r.Dropped), recordElsewhere.of()
	}}
}

func judgeNeeds(f *Facts) finding {
	short := f.Available > 0 && f.Needs > f.Available
	return finding{short, short, "", profiles.Warning, func() (string, profiles.Advice) {
		size := func(bytes int64) string { return unit.Size(bytes) }
		return fmt.Sprintf("The run comes to hold %s with full caches, and %s were available when it began: the "+
			"system may end it.",
			size(f.Needs), size(f.Available)), needsLess.of()
	}}
}

// A run is long if it takes longRun more; it stays long until longKept are left.
const (
	longRun  = 2 * time.Hour
	longKept = longRun - 10*time.Minute
)

func judgeLength(f *Facts) finding {
	unbounded := f.State == profiles.Running && f.Settings.Number(settings.MaxSeconds) <= 0
	return finding{unbounded && f.Remaining > longRun, unbounded && f.Remaining > longKept, "", profiles.Notice,
		func() (string, profiles.Advice) {
			if f.AtMost {
				return fmt.Sprintf("At this pace, all iterations that the settings allow take more than %s.",
					hours(f.Remaining)), soonerDone.of()
			}
			return fmt.Sprintf("At this pace the run takes more than %s longer.", hours(f.Remaining)), soonerDone.of()
		}}
}

// hours returns the highest of some round times that d has reached, so that a sentence changes rarely.
func hours(d time.Duration) string {
	for _, h := range []int{24 * 100, 24 * 50, 24 * 20, 24 * 10, 24 * 5, 24 * 2} {
		if d >= time.Duration(h)*time.Hour {
			return fmt.Sprintf("%d days", h/24)
		}
	}
	for _, h := range []int{24, 12, 8, 5, 3, 2} {
		if d >= time.Duration(h)*time.Hour {
			return fmt.Sprintf("%d hours", h)
		}
	}
	return "an hour and a half"
}

// A loop stalls if an iteration takes stallFactor times as long as usual, and at
// least stallLeast.
const (
	stallFactor = 20
	stallLeast  = 2 * time.Second
	// Between the iterations of a loop with others aside, such as those with an evaluation, it does what no record
	// says before it is over, and so does a program that ends: there, stallOutside is the least, and stallLonger times
	// the longest wait so far.
	stallOutside = time.Minute
	stallLonger  = 2
)

func judgeStall(f *Facts) finding {
	bound := max(stallLeast, time.Duration(stallFactor*f.Usual))
	if slices.ContainsFunc(f.Schema.Kinds, func(k profiles.KindInfo) bool { return k.Aside }) {
		bound = max(bound, stallOutside, stallLonger*f.waited)
	}
	bad := f.State == profiles.Running && f.Usual > 0 && f.quiet > bound
	return finding{bad, bad, "", profiles.Critical, func() (string, profiles.Advice) {
		return fmt.Sprintf("No iteration ended for more than %v; usually one takes %s.", atLeast(f.quiet),
				unit.Duration(f.Usual)),
			lookAtTheMachine.of()
	}}
}

// atLeast returns the highest of some round times that d has reached, so that a
// sentence changes rarely.
func atLeast(d time.Duration) time.Duration {
	best := time.Second
	for _, unit := range []time.Duration{time.Second, time.Minute, time.Hour} {
		for _, n := range []time.Duration{1, 2, 5, 10, 20, 30} {
			if n*unit <= d {
				best = n * unit
			}
		}
	}
	return best
}

// Of the newest recentSteps iterations, overflowRaise skipped ones raise the alert
// and overflowKeep keep it: a scale that grows occasionally skips one step each
// time, which is by design. The scale does not count: if every step is skipped, it is halved until it is 0.
const (
	recentSteps   = 200
	overflowRaise = 6
	overflowKeep  = 2
)

func judgeOverflow(f *Facts) finding {
	scaled, format := !math.IsNaN(f.Scale), "%.0f"
	if f.Scale < 1 {
		format = "%.3g"
	}
	return finding{scaled && f.skipped >= overflowRaise, scaled && f.skipped >= overflowKeep, "", profiles.Warning,
		func() (string, profiles.Advice) {
			return fmt.Sprintf("%d of the last %d optimizer steps were skipped: gradients overflow at scale "+
					format+".",
					f.skipped, f.steps, f.Scale),
				f.tipFor(overflow, otherSettings)
		}}
}

// A sample ended far from the threshold if a loss is limitFactor times as high; a sample
// under another loss does not count. The alert is cleared after limitClear converged
// samples.
const (
	limitFactor = 2
	limitClear  = 3
	limitRecent = 10
)

func judgeLimit(f *Facts) finding {
	if f.Schema.Threshold == "" {
		return finding{}
	}
	threshold, loss := f.Settings.InForce(f.Schema.Threshold), f.Settings.Of(f.Schema.Threshold)
	far := func(r profiles.UnitResult) bool {
		return !r.Converged && (r.Loss == "" || r.Loss == loss) && threshold > 0 && r.Reached > limitFactor*threshold
	}
	n := len(f.Results)
	recent := f.Results[max(0, n-limitRecent):]
	kept := slices.ContainsFunc(f.Results[max(0, n-limitClear):], far)
	raised := n > 0 && far(f.Results[n-1])
	return finding{raised, kept, "", profiles.Warning, func() (string, profiles.Advice) {
		count, newest := 0, profiles.UnitResult{}
		for _, r := range recent {
			if far(r) {
				count, newest = count+1, r
			}
		}
		worst, unit := newest.Reached, fmt.Sprintf("%s %d", f.Schema.Unit.One, newest.Unit+1)
		text := fmt.Sprintf("%d of the last %d %s ended at their limit far from the threshold: %s",
			count, len(recent), f.Schema.Unit.Many, unit)
		if len(recent) == 1 {
			text = strings.ToUpper(unit[:1]) + unit[1:] + " ended at its limit far from the threshold:"
		}
		return fmt.Sprintf("%s at %.2g, %.1f times %.2g.", text, worst, worst/threshold, threshold),
			f.tipFor(unitLimit, allowMore)
	}}
}

// The process leaks if it grows beyond its caches by at least slopeShare of
// itself per minute, and by significantly more than 0. In the first minutes it grows in any case:
// screen and recording fill buffers, and the heap touches pages for the first time. Within slopeSpan
// that is less than the slope's estimator ignores, 29 %. The newest quarter of the readings must show
// half of the growth at least. Growth matters if it would take what is left of the memory available
// at the start within slopeWithin, or if that memory is not known.
const (
	slopeShare = 0.005
	slopeLeast = 1e6 // bytes per minute
	slopeSpan  = 5 * time.Minute

	slopeWithin = 12 * time.Hour
	slopeMost   = 1000 * time.Hour // beyond that, the time left is not told apart
)

func judgeMemory(f *Facts) finding {
	t := f.Trend
	bound := max(slopeLeast, slopeShare*float64(f.RSS))
	grows := t.BeyondCaches() == stats.Above
	left := time.Duration(math.MaxInt64)
	if f.Available > 0 && t.Beyond > 0 {
		minutes := float64(max(0, f.Available-max(0, f.RSS-f.Initial))) / t.Beyond
		left = time.Duration(min(minutes, slopeMost.Minutes()) * float64(time.Minute))
	}
	known := f.Available > 0
	raised := grows && t.Beyond > bound && t.Lately > bound/2 && t.Span >= slopeSpan && (!known || left < slopeWithin)
	kept := grows && t.Beyond > bound/2 && (!known || left < 2*slopeWithin)
	return finding{raised, kept, "", profiles.Warning, func() (string, profiles.Advice) {
		what := fmt.Sprintf("The process grows by %.2g MB a minute [%.2g, %.2g] beyond what its caches hold",
			t.Beyond/1e6, t.BeyondLow/1e6, t.BeyondHi/1e6)
		if known {
			what += fmt.Sprintf("; at this pace memory lasts %s", unit.Estimate(left))
		}
		return what + ".", saveBeforeTheEnd.of()
	}}
}

func judgeSlowdown(f *Facts) finding {
	p := f.pace
	raised := f.State == profiles.Running && p.slow(slowRatio)
	kept := f.State == profiles.Running && !p.recovered()
	return finding{raised, kept, "", profiles.Warning, func() (string, profiles.Advice) {
		what := fmt.Sprintf("Slowdown to %.3g it/s, %.0f %% of the usual %.3g", p.slowest(),
			100*p.slowest()/p.median(), p.median())
		switch others, usual := p.others(); {
		case others > machine.Quiet && others-usual >= machine.Noticeable:
			return fmt.Sprintf("%s; other programs took %.0f %% of the processors, usually %.0f %%.", what,
					100*others, 100*usual),
				endOthers.of()
		case others <= machine.Quiet:
			return what + ".", seeHeat.of(100 * others)
		}
		return what + ".", seeOthersAndHeat.of()
	}}
}

// A cache is thrashing if a share thrashRaise of its recent lookups, and at least
// thrashLeast of them, missed entries it had evicted. Misses of entries it never
// held do not depend on its size.
const (
	thrashLeast = 16
	thrashRaise = 0.2
	thrashKeep  = 0.1
)

// subject returns a cache's prefix for the id of a rule: "fft-cache-".
func subject(c *profiles.CacheInfo) string { return strings.ReplaceAll(c.Setting, "_", "-") + "-" }

func thrash(id profiles.CacheID) func(f *Facts) finding {
	return func(f *Facts) finding {
		if int(id) >= len(f.Schema.Caches) {
			return finding{}
		}
		info, v := &f.Schema.Caches[id], &f.Caches[id]
		share := 0.0
		if v.Enabled && v.RecentN > 0 {
			share = float64(v.RecentCapacity) / float64(v.RecentN)
		}
		return finding{
			v.RecentCapacity >= thrashLeast && share > thrashRaise, share > thrashKeep, subject(info),
			profiles.Warning, func() (string, profiles.Advice) {
				what := fmt.Sprintf("The %s drops what is asked for again: %.0f %% of the last %d lookups missed what "+
					"it had held, of which %.3g MB has room for %d.",
					info.Long, 100*share, v.RecentN, float64(v.Bytes)/1e6, v.Entries)
				if info.Limit != "" {
					return what, enlargeOrSwitchOff.of(f.Settings.Int(info.Limit), info.Limit, info.Setting)
				}
				return what, switchOff.of(info.Setting)
			}}
	}
}

// From a cost of costWarn of an iteration the alert is more than a notice.
const (
	costWarn  = 0.01
	costLeast = 100 // iterations of the recent window
)

// costly finds a cache that costs more than it saves: by a non-negligible amount in
// the recent window, and since the run began. It is kept above half of that.
func costly(id profiles.CacheID) func(f *Facts) finding {
	return func(f *Facts) finding {
		if int(id) >= len(f.Schema.Caches) {
			return finding{}
		}
		info, v := &f.Schema.Caches[id], &f.Caches[id]
		each, ok := v.PerIteration()
		costs := ok && v.Enabled && v.Saved < 0
		bad := costs && v.RecentIterations >= costLeast && each.Value < 0 && !each.Nothing(f.Mean)
		severity := profiles.Notice
		if -each.Value > costWarn*f.Mean {
			severity = profiles.Warning
		}
		// Between two lookups far apart, nothing is lost or gained.
		kept := costs && (v.RecentN == 0 || each.Value <= -profiles.SavingLeast/2*f.Mean)
		return finding{bad, kept, subject(info), severity, func() (string, profiles.Advice) {
			what := fmt.Sprintf("The %s costs more than it saves: %d of %d lookups hit, %s lost since the run began.",
				info.Long, v.Hits, v.Hits+v.Misses, unit.Duration(-float64(v.Saved)))
			if use := info.Use(f.Settings); use != nil && use.Once {
				return what, once(f.Schema, info, use, f.Passes)
			}
			return what, switchOffAndCompare.of(info.Setting)
		}}
	}
}

// judgeDevice finds a device that failed while the run computed on it.
func judgeDevice(f *Facts) finding {
	failed := f.Failed != ""
	return finding{failed, failed, "", profiles.Warning, func() (string, profiles.Advice) {
		return f.Failed + ".",
			checkDevice.of()
	}}
}

// plateauLeast is the number of iterations without a better result from which a notice is raised.
const plateauLeast = 10_000

// judgePlateau finds a quality that rose and then stood still. One that never changed is of work that does not
// improve its result, as a prediction with fixed weights.
func judgePlateau(f *Facts) finding {
	q := &f.quality
	since := q.newestAt - q.bestAt
	still := f.State == profiles.Running && q.better && since >= plateauLeast
	return finding{still, still, "", profiles.Notice, func() (string, profiles.Advice) {
		info := f.Schema.QualityInfo()
		return fmt.Sprintf("%s has not improved for at least %s iterations: %.4g since iteration %d.", info.Title,
				thousands(since), q.best, q.bestAt),
			f.tipFor(plateau, saveOrEnd)
	}}
}

// thousands returns the highest of some round numbers of iterations that n has reached, so that a sentence changes
// rarely.
func thousands(n int64) string {
	best := int64(plateauLeast)
	for unit := int64(plateauLeast); unit <= n; unit *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			if factor*unit <= n {
				best = factor * unit
			}
		}
	}
	if best >= 1_000_000 {
		return fmt.Sprintf("%d,000,000", best/1_000_000)
	}
	return fmt.Sprintf("%d,000", best/1000)
}
