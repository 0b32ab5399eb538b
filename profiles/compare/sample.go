package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
)

// A sample: what a comparison keeps of one recording, gathered from its events.

const (
	// BlockLength is the shortest block of iterations whose medians are compared: other programs are
	// known as finely as that.
	BlockLength = 500 * time.Millisecond
	// mostBlocks is how many blocks of a long recording there are about.
	mostBlocks = 4000
	// blockLeast is the least number of iterations of a block.
	blockLeast = 8
	// warmUp is the number of iterations left out where the settings or the kind of iterations change,
	// or the run goes on after a pause.
	warmUp = 5
)

// Sample is a recording, or a stretch of it, as far as it is compared. Take gathers it from the
// recording's events.
type Sample struct {
	stretch Stretch
	length  int64 // of a block, ns
	run     Run

	starts int       // so far
	began  time.Time // of the start that is gathered
	schema profiles.Schema
	info   profiles.RunInfo
	place  place
	groups []settings.Values // the different settings that iterations ran under, without limits
	ran    []int64           // iterations of the stretch under each group
	under  int               // the group in force
	ending settings.Values   // in force at the newest iteration of the stretch, limits included
	next   settings.Values   // in force since the newest change

	entered bool               // an iteration was in the stretch
	first   time.Duration      // running time before the first of them; of a whole start, none
	newest  profiles.Iteration // the newest of the start: its index, when it started, and the caches after it
	last    int64              // index of the newest in the stretch
	skip    int                // iterations of the warm-up that are still to come
	kind    profiles.Kind
	fresh   bool          // no iteration of the start was yet
	since   time.Time     // since when the run runs, zero if it does not
	running time.Duration // before since

	blocks []block
	open   openBlock
	layers layerNames
	grid   grid
	loads  []loadMark
	memory []memoryMark
	peaks  []residentMark
	noPeak string                      // why the memory of the process is not known
	before [profiles.MaxCaches]counted // of the caches, at the beginning of the stretch
}

// block is a series of iterations of one kind under one set of settings. Times are natural logarithms
// of medians in nanoseconds, NaN if a phase did not run.
type block struct {
	kind     profiles.Kind
	under    int
	from, to int64 // ns since the start
	n        int
	total    float64
	phases   [profiles.MaxPhases]float64
	rate     float64   // ln of iterations a second, or of items where iterations are batches
	layers   []float64 // ln of the mean time of each layer, shorter than the list where they came later
	foreign  float64   // share of the processors that other programs took, NaN if not known
}

// openBlock gathers a block.
type openBlock struct {
	from, to int64
	total    []int64
	phases   [profiles.MaxPhases][]int64
	layers   []extent
}

// layerNames numbers the layers of a run by their names; of those that are alike, the name has the
// number.
type layerNames struct {
	names []string
	fresh bool // the next profile also covers iterations before a change
}

// loadMark is a reading of the machine.
type loadMark struct {
	at int64 // ns since the start
	machine.Load
}

// memoryMark is a state of the memory from a time on, in ns since the start, and residentMark a reading
// of the largest memory of the process so far, in bytes.
type memoryMark struct {
	at int64
	profiles.Memory
}

type residentMark struct{ at, peak int64 }

// NewSample returns an empty sample of a recording. run says what is known of it besides its events,
// and length is how long the whole recording is, as far as that is known.
func NewSample(run Run, s Stretch, length time.Duration) *Sample {
	run.Stretch, run.Foreign = s.String(), math.NaN()
	return &Sample{stretch: s, length: int64(max(BlockLength, length/mostBlocks)), run: run}
}

// Take takes the next event of the recording, which it does not keep.
func (s *Sample) Take(e *profiles.Event) {
	if b, ok := e.Body.(*profiles.Begin); ok {
		s.starts++
		if s.stretch.start == 0 || s.stretch.start == s.starts {
			s.begin(b, e.At)
		}
		return
	}
	if s.began.IsZero() || s.stretch.start != 0 && s.stretch.start != s.starts {
		return
	}
	at := int64(e.At.Sub(s.began))
	switch b := e.Body.(type) {
	case *profiles.Grown:
		s.measures(b.Schema)
	case *profiles.Iteration:
		s.iteration(b)
	case *profiles.Changed:
		s.changed(b)
	case *profiles.StateChange:
		s.state(b.State, e.At)
	case *profiles.Measurement:
		if s.entered && s.grid.first <= b.Iteration && !s.left() {
			s.grid.measured(b, &s.schema)
		}
	case *profiles.Memory:
		s.memory = append(s.memory, memoryMark{at, *b})
	case *profiles.Resident:
		if s.noPeak = b.Reason; b.Reason == "" {
			s.peaks = append(s.peaks, residentMark{at, b.Peak})
		}
	case *profiles.LayerTimes:
		s.layerTimes(b)
	case *profiles.Load:
		if b.Reason == "" {
			s.loads = append(s.loads, loadMark{at, b.Load})
		}
	}
}

// begin forgets an earlier start.
func (s *Sample) begin(b *profiles.Begin, at time.Time) {
	*s = Sample{stretch: s.stretch, length: s.length, run: s.run, starts: s.starts, began: at, schema: b.Info.Schema,
		info: b.Info, since: at, fresh: true}
	r := &s.run
	r.Iterations, r.Seconds, r.LeftOut = 0, 0, LeftOut{}
	r.Workload, r.Object, r.Device, r.Kernels, r.Seed = s.schema.Workload, b.Info.Object, b.Info.Device,
		b.Info.Kernels, b.Info.Seed
	if n := b.Settings.Int(settings.Threads); n > 0 {
		r.Threads = n
	}
	s.next, s.ending = b.Settings, b.Settings
	if s.under, s.skip = s.group(b.Settings), warmUp; b.Info.Traced {
		s.skip = 0
	}
	s.measures(b.Info.Schema)
}

// measures takes a schema as far as records have room for it.
func (s *Sample) measures(schema profiles.Schema) {
	s.schema = schema
	c := &s.schema // a file that was damaged may have any numbers of them
	c.Phases, c.Series = c.Phases[:min(len(c.Phases), profiles.MaxPhases)],
		c.Series[:min(len(c.Series), profiles.MaxSeries)]
	c.Caches, c.Memory = c.Caches[:min(len(c.Caches), profiles.MaxCaches)],
		c.Memory[:min(len(c.Memory), profiles.MaxMemory)]
}

// group returns the number of a set of settings. Those that only end something make no difference.
func (s *Sample) group(v settings.Values) int {
	for i, g := range s.groups {
		if !slices.ContainsFunc(v.Differing(g), func(key string) bool { k, _ := v.Lookup(key); return !k.Limit }) {
			return i
		}
	}
	s.groups, s.ran = append(s.groups, v), append(s.ran, 0)
	return len(s.groups) - 1
}

func (s *Sample) changed(b *profiles.Changed) {
	if !b.Ablation {
		s.place.change(&b.Change)
	}
	s.next = b.Settings
	if to := s.group(b.Settings); to != s.under {
		s.close()
		s.under, s.skip, s.layers.fresh = to, warmUp, true
	}
}

func (s *Sample) state(state profiles.State, at time.Time) {
	switch runs := state == profiles.Running; {
	case runs && (s.fresh || s.since.IsZero()): // before the first iteration it had only been prepared
		s.since = at
	case s.fresh: // paused from the start
		s.since = time.Time{}
	case !runs && !s.since.IsZero():
		s.close()
		s.running, s.since, s.skip = s.elapsed(at), time.Time{}, max(s.skip, warmUp)
		if s.entered && s.stretch.to.kind == anywhere { // the end of the run takes time, too
			s.run.Seconds = (s.running - s.first).Seconds()
		}
	}
}

// elapsed returns the running time of the start until now, without pauses.
func (s *Sample) elapsed(now time.Time) time.Duration {
	if s.since.IsZero() {
		return s.running
	}
	return s.running + max(0, now.Sub(s.since))
}

// left reports whether the newest iteration was after the stretch.
func (s *Sample) left() bool { return s.place.reached(s.stretch.to, &s.newest) }

func (s *Sample) iteration(it *profiles.Iteration) {
	before := s.newest.Caches
	started := s.elapsed(s.began.Add(time.Duration(it.Start)))
	if s.since.IsZero() { // a single step of a paused run
		s.running += time.Duration(it.Total)
	}
	s.fresh = false
	s.newest.Index, s.newest.Start, s.newest.Caches = it.Index, it.Start, it.Caches
	if !s.place.within(&s.stretch, it) || int(it.Kind) >= len(s.schema.Kinds) {
		s.close()
		return
	}
	if !s.entered {
		s.enter(it, &before)
		if s.stretch.from.kind != anywhere {
			s.first = started
		}
	}
	s.run.Iterations++
	s.ran[s.under]++
	s.ending = s.next
	s.last = it.Index
	end := it.Start + it.Total + it.Retimed
	s.run.Seconds = (s.elapsed(s.began.Add(time.Duration(end))) - s.first).Seconds()
	s.grid.iteration(it, &s.schema, s.run.Seconds)
	if it.Kind != s.kind {
		s.close()
		s.kind, s.skip, s.layers.fresh = it.Kind, warmUp, true
	}
	if s.skip > 0 || it.Flags&(profiles.Warmup|profiles.Converged|profiles.Unwatched) != 0 || it.Total <= 0 {
		s.skip = max(s.skip-1, 0)
		s.run.LeftOut.WarmUp++
		return
	}
	o := &s.open
	if len(o.total) == 0 {
		o.from = it.Start
	}
	o.to = end
	least := blockLeast
	if s.info.Traced { // it has few steps, each of which is a block
		least = 1
	}
	o.total = append(o.total, it.Total)
	for p := range s.schema.Phases {
		if ns := it.Phases[p]; ns > 0 {
			o.phases[p] = append(o.phases[p], ns)
		}
	}
	if len(o.total) >= least && (o.to-o.from >= s.length || s.info.Traced) {
		s.close()
	}
}

// enter begins the stretch with an iteration. before are the caches after the one before it.
func (s *Sample) enter(it *profiles.Iteration, before *[profiles.MaxCaches]profiles.CacheCounters) {
	s.entered, s.kind = true, it.Kind
	s.grid.first = it.Index
	if s.stretch.from.kind == anywhere { // iterations count from the run's first, even of a resumed run
		s.grid.first = 0
	} else {
		for i := range s.before {
			s.before[i] = counted{hits: before[i].Hits, misses: before[i].Misses}
		}
	}
}

// reached returns after how many iterations the stretch ends: those of a resumed run count from its first start.
func (s *Sample) reached() int64 {
	if !s.entered {
		return 0
	}
	return s.last - s.grid.first + 1
}

// layerTimes adds a profile to the open block, or to the one before it if that is where most of the
// time lies that it covers.
func (s *Sample) layerTimes(b *profiles.LayerTimes) {
	if len(b.Layers) == 0 || s.layers.fresh || s.skip > 0 {
		s.layers.fresh = false
		return
	}
	if n := len(s.blocks); n > 0 && s.open.to-s.open.from < s.length/2 {
		if last := &s.blocks[n-1]; last.layers == nil && last.kind == s.kind && last.under == s.under {
			s.profile(b)
			last.layers = s.open.logLayers()
			s.open.layers = s.open.layers[:0]
			return
		}
	}
	s.profile(b)
}

// profile adds a profile to the layers of the open block.
func (s *Sample) profile(b *profiles.LayerTimes) {
	seen := map[string]int{}
	for i := range b.Layers {
		name := b.Layers[i].Name
		if seen[name]++; seen[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, seen[name])
		}
		at := slices.Index(s.layers.names, name)
		if at < 0 {
			at = len(s.layers.names)
			s.layers.names = append(s.layers.names, name)
		}
		for len(s.open.layers) <= at {
			s.open.layers = append(s.open.layers, extent{})
		}
		if ns := b.Layers[i].Nanos; ns > 0 {
			s.open.layers[at].add(ns)
		}
	}
}

// close ends the open block; one that is too short is left out.
func (s *Sample) close() {
	o := &s.open
	n := len(o.total)
	if n >= blockLeast && o.to-o.from >= s.length/2 || n > 0 && s.info.Traced {
		b := block{kind: s.kind, under: s.under, from: o.from, to: o.to, n: n, total: logMedian(o.total),
			rate: math.Log(float64(n) / (float64(o.to-o.from) / 1e9))}
		for p := range b.phases {
			b.phases[p] = math.NaN()
			if 2*len(o.phases[p]) > n { // that ran in most iterations
				b.phases[p] = logMedian(o.phases[p])
			}
		}
		b.layers = o.logLayers()
		b.divide(s.schema.Items(s.groups[s.under]))
		s.blocks = append(s.blocks, b)
	} else {
		s.run.LeftOut.WarmUp += int64(n)
	}
	o.total, o.layers = o.total[:0], o.layers[:0]
	for p := range o.phases {
		o.phases[p] = o.phases[p][:0]
	}
	o.from, o.to = 0, 0
}

// divide makes the times those of an item, of which a batch has a number, and the rate that of items.
func (b *block) divide(items int) {
	log := math.Log(float64(items))
	b.total, b.rate = b.total-log, b.rate+log
	for p := range b.phases {
		b.phases[p] -= log
	}
	for i := range b.layers {
		b.layers[i] -= log
	}
}

// logLayers returns the logarithms of the layers' mean times; nil if no profile was taken.
func (o *openBlock) logLayers() (all []float64) {
	for i := range o.layers {
		all = append(all, math.Log(o.layers[i].mean()))
	}
	return all
}

// logMedian returns the logarithm of the median of times, which it sorts.
func logMedian(ns []int64) float64 {
	slices.Sort(ns)
	n := len(ns)
	return math.Log((float64(ns[(n-1)/2]) + float64(ns[n/2])) / 2)
}

// End completes the sample. An error says why there is nothing to compare.
func (s *Sample) End() error {
	if !s.began.IsZero() {
		s.close()
	}
	switch {
	case s.starts == 0:
		return errors.New("no run began in it")
	case s.stretch.start > s.starts:
		return fmt.Errorf("the stretch %q: the run has %s", s.stretch.text, unit.Plural(s.starts, "start", "starts"))
	case !s.entered && s.stretch.text != "" && s.starts > 1 && s.stretch.start == 0:
		return fmt.Errorf("the stretch %q has no iteration in the newest start, which took %s: @start1/… is "+
			"of the first", s.stretch.text,
			unit.Clock(time.Duration(s.newest.Start)))
	case !s.entered && s.stretch.text != "":
		return fmt.Errorf("the stretch %q has no iteration: the run has %s in %s, and %s by the user", s.stretch.text,
			unit.Plural(int(s.newest.Index+1), "iteration", "iterations"), unit.Clock(time.Duration(s.newest.Start)),
			unit.Plural(len(s.place.changes), "change", "changes"))
	case !s.entered:
		return errors.New("it has no iteration yet")
	}
	all, known := 0.0, 0.0
	for i := range s.blocks {
		b := &s.blocks[i]
		if b.foreign = s.foreign(b.from, b.to); !math.IsNaN(b.foreign) {
			span := float64(b.to - b.from)
			all, known = all+b.foreign*span, known+span
		}
	}
	if known > 0 {
		s.run.Foreign = all / known
	}
	return nil
}

// Start returns the start of the run that is compared, counted from 0.
func (s *Sample) Start() int {
	if s.stretch.start > 0 {
		return s.stretch.start - 1
	}
	return s.starts - 1
}

// Identify says which picture the run reconstructs.
func (s *Sample) Identify(hash string) { s.run.Picture = hash }

// foreign returns the share of the processors that other programs took from one time to another, NaN
// if that is not known. Each interval between two readings counts by its overlap.
func (s *Sample) foreign(from, to int64) float64 {
	i, _ := slices.BinarySearchFunc(s.loads, from, func(m loadMark, at int64) int {
		return int(min(max(m.at-at, -1), 1))
	})
	sum, weight := 0.0, 0.0
	for i = max(i, 1); i < len(s.loads) && s.loads[i-1].at < to; i++ {
		a, b := &s.loads[i-1], &s.loads[i]
		if within := float64(min(b.at, to) - max(a.at, from)); within > 0 {
			sum += within * b.Since(a.Load).Foreign()
			weight += within
		}
	}
	if weight < 0.5*float64(to-from) {
		return math.NaN()
	}
	return sum / weight
}
