package outside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/cache"
	"prismtop/sim/workload"
)

// refusedWatch is the key under which a loop refuses to watch boundaries alone, while a knob works by its patches: its
// steps say what was watched, and values are in force all the same.
const refusedWatch = "watch"

const (
	beatEvery = 500 * time.Millisecond
	lease     = 5 * time.Second // after which the loop takes back what an experiment switched, if nobody is there

	restingPause = 10 * time.Millisecond // between two looks at the ring, whose 4096 records wait for it
	leastPause   = 200 * time.Microsecond

	endsWithin = 10 * time.Second // a program whose loop is over
)

// task follows a loop.
type task struct {
	*Loop
	name     string
	schema   profiles.Schema
	settings settings.Values // in force
	asked    loop.Settings   // as sent last
	trying   bool            // the settings in force are those of an experiment

	held    bool            // it waits at a boundary, except while an iteration of a pause or of a fork is awaited
	paused  bool            // it was told to, and does so after a fork, too
	granted int             // steps that it takes before it waits again
	marked  bool            // its state is kept
	base    settings.Values // then: those to which it goes back if this process dies
	outcome loop.Outcome    // of its state, as answered last
	before  []loop.Record   // steps until it was marked, which were not yet read
	markNot time.Time       // until then, it is not asked again

	queue    []loop.Record // steps that were read while an answer was awaited
	rec      loop.Record   // the newest
	began    int64         // the monotonic time before which no step began that is read; 0 if it is not known
	origin   int64         // when the run began
	known    bool          // base is
	pace     time.Duration // of a step
	lost     int64         // records of which the log knows
	ranks    ranks
	waiting  *settings.Values // wanted, and not in force on all ranks so far; nil for none
	tried    time.Time        // when they were proposed last; zero if the run takes them for in force
	why      error            // then: why they are not
	proposed int              // proposals to the ranks so far
	sent     uint32           // generation of the settings sent last
	residue  residue          // of a trace
	plan     *plan            // blocks that the loop runs by itself; nil for none

	caches  [loop.MaxCaches]loop.CacheCounters
	costs   [loop.MaxCaches]loop.Record
	memory  profiles.Memory
	changed bool // memory, since the last step

	ended        bool          // a unit, since the last step
	ending       loop.Record   // then: its end
	late         []loop.Record // what was measured after a step that is over
	newest       int64         // the loop's number of its last step
	unitOfNewest int32
	unitBegan    int64
	last         profiles.Values
	said         []profiles.LogEntry
	layers       []profiles.Layer // that arrive
	deaf         time.Time        // until then, no greeting is waited for
	pictures     map[int]loop.Record

	stopBeating func()
	vacancy     // the process of the loop has ended, and its launcher has not
}

// beat tells the loop that somebody is there, until the function that it returns is called.
func (t *task) beat() (stop func()) {
	done, over := make(chan struct{}), make(chan struct{})
	rings := t.rings()
	go func() {
		defer close(over)
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			for _, r := range rings {
				r.Beat()
			}
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	}()
	return func() { close(done); <-over }
}

// rings are those of all ranks.
func (t *task) rings() []*loop.Ring {
	all := []*loop.Ring{t.Ring}
	for _, p := range t.Peers {
		all = append(all, p.Ring)
	}
	return all
}

// Info describes the run.
func (t *task) Info() profiles.RunInfo {
	g := t.Greeting
	info := profiles.RunInfo{Schema: t.schema, Object: visible.Text(t.name), Parameters: g.Parameters,
		Units: g.Unit.Total, Prints: !g.Attached, GoesOn: g.Attached, Notes: t.Notes}
	var models []string
	for _, m := range g.Models {
		models = append(models, visible.Text(m.Class))
	}
	about := []string{"Python " + visible.Text(g.Python)}
	if g.Torch != "" {
		about = append(about, "PyTorch "+visible.Text(g.Torch))
	}
	if len(models) > 0 {
		about = append(about, "trains "+strings.Join(models, ", ")+" by "+
			visible.Text(strings.Join(g.Optimizers, ", ")))
	}
	info.Notes = append(slices.Clone(info.Notes), strings.Join(about, ", "))
	if info.Ranks = t.Ring.World; t.Ring.World > 1 {
		info.Notes = append(info.Notes, fmt.Sprintf("%d ranks train together; rank %d is shown", t.Ring.World,
			t.Ring.Rank))
	}
	if g.Device == "cpu" || g.Device == "" {
		info.GPUReason = "the program trains on the CPU"
	}
	return info
}

// device is the loop's, which it chose itself.
type device struct{ g *loop.Greeting }

func (d device) Device() string { return cmp.Or(visible.Text(d.g.Device), "cpu") }
func (d device) Card() string   { return visible.Text(d.g.Card) }
func (d device) Threads() int   { return max(d.g.Threads, 1) }
func (d device) SetThreads(int) {}
func (d device) Kernels() string {
	if d.g.Torch == "" {
		return "Python " + visible.Text(d.g.Python)
	}
	return "PyTorch " + visible.Text(d.g.Torch)
}

// Device returns the loop's device.
func (t *task) Device() workload.Device { return device{t.Greeting} }

// Memory returns the memory that the loop reported last.
func (t *task) Memory() profiles.Memory { return t.memory }

// Began returns when the first step that is shown began, which was over when the loop was found, or under way.
func (t *task) Began() time.Time {
	if t.began == 0 {
		return time.Now()
	}
	return time.Now().Add(time.Duration(min(0, t.began-loop.Now())))
}

// Unable are what no run of a program can do: it goes on by itself.
func (t *task) Unable() []profiles.CommandKind {
	unable := []profiles.CommandKind{profiles.RestartCommand}
	if t.Greeting.Able["trace"] != "" || t.Greeting.Torch == "" {
		unable = append(unable, profiles.TraceCommand)
	}
	if t.Greeting.Able["pause"] != "" {
		unable = append(unable, profiles.PauseCommand, profiles.ResumeCommand, profiles.StepCommand)
	}
	if !t.Ring.Operates() {
		unable = append(unable, profiles.SetCommand, profiles.DecideCommand, profiles.AblateCommand,
			profiles.ReplicateCommand, profiles.PauseCommand, profiles.StepCommand, profiles.ForkCommand,
			profiles.TraceCommand)
	}
	return unable
}

// Close lets the loop go on alone.
func (t *task) Close() {
	if t.Ring == nil {
		return
	}
	t.stopBeating()
	over := t.over()
	for _, r := range t.rings() {
		if over && !r.GoesOn() {
			r.Remove()
		}
		r.Close()
	}
	t.Ring = nil
}

// over reports whether the loop has ended, or is not watched any more.
func (t *task) over() bool {
	return t.programOver() || t.Ring.State() > loop.Training || t.Over == nil && !t.Ring.Alive() || t.killed()
}

// programOver reports whether the program has ended that this process has started.
func (t *task) programOver() bool {
	select {
	case <-t.Over: // nil for one that another has started
		return true
	default:
		return false
	}
}

// next returns the next record; ok is false once there will be none.
func (t *task) next(ctx context.Context) (ok bool, err error) {
	for {
		t.ranks.drain(false)
		t.say(t.ranks.lost())
		if got, over, err := t.look(ctx); got || over || err != nil {
			return got, err
		}
	}
}

// look looks for the next record, and waits a moment if there is none.
func (t *task) look(ctx context.Context) (got, over bool, err error) {
	over = t.over()
	if t.Ring.Next(&t.rec) {
		if len(t.ranks.members) > 0 {
			t.ranks.members[0].take(&t.rec)
		}
		return true, false, nil
	}
	if over {
		return false, true, nil
	}
	pause := restingPause
	if t.trying {
		pause = min(max(t.pace/8, leastPause), restingPause)
	}
	select {
	case <-ctx.Done():
		return false, false, ctx.Err()
	case <-time.After(pause):
		return false, false, nil
	}
}

// say adds warnings to the log.
func (t *task) say(texts []string) {
	for _, text := range texts {
		t.said = append(t.said, profiles.LogEntry{Text: text, Refused: true})
	}
}

// Apply sends changed settings and waits until the loop has them in force.
func (t *task) Apply(ctx context.Context, v settings.Values) error {
	t.overrule(v)
	if t.marked {
		return t.apply(ctx, v, t.base)
	}
	return t.apply(ctx, v, v)
}

// Try is Apply for an experiment: the loop puts base in force if this process dies.
func (t *task) Try(ctx context.Context, v, base settings.Values) error {
	if t.plan.covers(v) {
		t.plan.wanted = v
		return nil
	}
	return t.apply(ctx, v, base)
}

func (t *task) apply(ctx context.Context, v, base settings.Values) error {
	ends := t.plan.leave(t)
	next := t.asked
	next.Set, next.After, next.LeaseMS, next.Warm = maps.Clone(t.asked.Set), nil, 0, nil
	if next.Set == nil {
		next.Set = map[string]string{}
	}
	sends := ends || v.On(settings.LayerProfile) != next.Layers
	next.Layers = v.On(settings.LayerProfile)
	for _, k := range t.Greeting.Knobs {
		value := loopValue(&k, v)
		if value != loopValue(&k, t.settings) {
			next.Set[k.Key], sends = value, true
		}
		if before := loopValue(&k, base); before != value {
			if next.After == nil {
				next.After = map[string]string{}
			}
			next.After[k.Key], next.LeaseMS = before, int(lease.Milliseconds())
		}
	}
	if t.marked {
		next.LeaseMS = int(lease.Milliseconds())
	}
	if t.vacant() {
		t.settings = v // the next loop will have them
		return nil
	}
	if next.After != nil && t.ranks.several() {
		return &workload.RefusedError{
			Err: errors.New("several ranks train together, and this comparison does not know its next blocks")}
	}
	t.trying = next.After != nil
	if !sends && (next.LeaseMS == 0) == (t.asked.LeaseMS == 0) {
		t.settings = v
		return nil
	}
	before := t.asked
	why, err := t.send(ctx, next)
	delete(why, refusedWatch)
	if workload.Refused(err) {
		t.asked, t.trying = before, false
		return err
	}
	if err != nil || len(why) == 0 {
		t.settings = v
		return err
	}
	before = t.asked
	for key := range why {
		delete(before.Set, key)
	}
	for _, k := range t.Greeting.Knobs { // all is as it was
		if value := loopValue(&k, t.settings); value != loopValue(&k, v) {
			before.Set[k.Key] = value
		}
	}
	t.trying = false
	if _, err := t.send(ctx, before); err != nil {
		return err
	}
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(why)) {
		texts = append(texts, visible.Text(why[key]))
	}
	return &workload.RefusedError{Err: errors.New(strings.Join(texts, "; "))}
}

// send writes settings and waits for their answer, which says what was refused. Steps in between are kept.
func (t *task) send(ctx context.Context, s loop.Settings) (why map[string]string, err error) {
	s.Pause = t.held && s.PauseAfter == 0
	t.asked = s
	t.asked.State, t.asked.Steps, t.asked.PauseAfter, t.asked.Trace = "", 0, 0, ""
	if s.Schedule != nil { // which ends by itself, or by the next settings
		t.asked.Schedule, t.asked.After, t.asked.LeaseMS, t.asked.Warm = nil, nil, 0, nil
	}
	if t.ranks.several() {
		why, err := t.agree(ctx, s)
		t.sent = t.ranks.members[0].proposal.asked
		return why, err
	}
	generation, err := t.Ring.Send(&s)
	if err != nil {
		return nil, &workload.RefusedError{Err: err}
	}
	t.sent = generation
	pace := t.trying
	t.trying = true
	defer func() { t.trying = pace }()
	for {
		ok, err := t.next(ctx)
		switch {
		case err != nil || !ok:
			return nil, err
		case t.comes():
		case t.rec.Kind == loop.Answer && t.rec.Generation == generation && t.rec.Outcome >= loop.Kept:
			t.outcome = t.rec.Outcome
		case t.rec.Kind == loop.Answer && t.rec.Generation == generation:
			if t.rec.Outcome == loop.NotUnderstood {
				return map[string]string{"": cmp.Or(t.rec.Refusals()[""], "the loop did not understand it")}, nil
			}
			return t.rec.Refusals(), nil
		default:
			t.take()
		}
	}
}

// comes puts a step that is read while an answer is waited for, or an epoch's end, in the queue: it has its place among
// the steps before.
func (t *task) comes() bool {
	if t.rec.Kind != loop.Step && t.rec.Kind != loop.EpochEnd {
		return false
	}
	t.queue = append(t.queue, t.rec)
	t.queue[len(t.queue)-1].Flags |= loop.Settling
	return true
}

// tell sends settings whose answer does not matter.
func (t *task) tell(s loop.Settings) {
	zero := 0
	s.Warm = &zero
	if _, err := t.Ring.Send(&s); err == nil {
		t.asked = s
	}
}

var errHold = errors.New("several ranks train together: they would wait for each other")

// Pause makes the loop wait at its next boundary, or go on.
func (t *task) Pause(ctx context.Context, paused bool) error {
	if paused && t.ranks.several() {
		return errHold
	}
	t.plan.leave(t)
	t.held, t.paused, t.granted = paused, paused, 0
	_, err := t.send(ctx, t.asked)
	return err
}

// Behind reports whether steps wait that were read while an answer was awaited.
func (t *task) Behind() bool {
	return slices.ContainsFunc(t.queue, func(r loop.Record) bool { return r.Kind == loop.Step })
}

// grant lets a loop that waits take the next step, of a fork those of an arm.
func (t *task) grant(ctx context.Context) error {
	if !t.held || t.Behind() {
		return nil
	}
	if t.granted--; t.granted >= 0 {
		return nil
	}
	s, zero := t.asked, 0
	s.PauseAfter, s.Warm = 1, &zero
	if t.marked {
		s.PauseAfter = profiles.ForkArm
	}
	_, err := t.send(ctx, s)
	t.granted = s.PauseAfter - 1
	return err
}

// take takes a record that is no step.
func (t *task) take() {
	switch r := &t.rec; r.Kind {
	case loop.Caches:
		t.caches = r.CacheCounters
	case loop.Costs:
		if r.Index < len(t.costs) {
			t.costs[r.Index] = *r
		}
	case loop.Memory:
		t.takeMemory(r)
	case loop.Line:
		t.said = append(t.said, profiles.LogEntry{Text: visible.Text(r.Text), Refused: r.Severity >= 2})
	case loop.Answer:
		t.plan.hear(t, r)
		if r.Outcome == loop.LeaseOver {
			t.said = append(t.said, profiles.LogEntry{
				Text: "the loop missed prismtop and took back what an experiment had switched", Refused: true})
		}
	case loop.EpochEnd:
		if r.Unit < 0 {
			t.late = append(t.late, *r)
			break
		}
		t.ended, t.ending = true, *r
	case loop.LayerTimes:
		t.takeLayer(r)
	case loop.Picture:
		if t.pictures == nil {
			t.pictures = map[int]loop.Record{}
		}
		t.pictures[r.Index] = *r
	}
}

// takeMemory takes the memory of the loop: that of tensors is the device's, where there is one.
func (t *task) takeMemory(r *loop.Record) {
	var m profiles.Memory
	d := &r.DeviceMemory
	for i, part := range t.schema.Memory {
		bytes := max(0, r.Memory[i])
		if d.Reserved < 0 {
			m.Parts[i] = bytes
			continue
		}
		switch part.Name {
		case "parameters":
			m.Device.Weights = bytes
		case "gradients":
			m.Device.Gradients = bytes
		case "optimizer state":
			m.Device.Moments = bytes
		case "activations":
			m.Device.Activations = bytes
		}
	}
	if d.Reserved >= 0 {
		m.Device.Device, m.Device.Allocated = cmp.Or(visible.Text(t.Greeting.UUID), visible.Text(t.Greeting.Card),
			t.Greeting.Device), d.Reserved
	}
	t.changed = t.changed || m != t.memory
	t.memory = m
}

// takeLayer takes the times of a module; the last of them makes the list whole.
func (t *task) takeLayer(r *loop.Record) {
	const most = 2000
	if r.Index == 0 {
		t.layers = nil
	}
	if len(t.layers) > most {
		return
	}
	for _, part := range []struct {
		phase string
		nanos int64
	}{{"forward", r.LayerForward}, {"backward", r.LayerBackward}} {
		if phase := slices.IndexFunc(t.schema.Phases,
			func(p profiles.PhaseInfo) bool { return p.Name == part.phase }); phase >= 0 && part.nanos >= 0 {
			t.layers = append(t.layers, profiles.Layer{Name: visible.Text(r.Text) + " " + part.phase,
				Phase: profiles.Phase(phase), Nanos: float64(part.nanos)})
		}
	}
}

// Iterate waits for the loop's next step.
func (t *task) Iterate(ctx context.Context, it *profiles.Iteration) (out workload.Outcome, err error) {
	if !t.known {
		t.origin, t.known = loop.Now()-it.Start, true
		t.unitBegan = t.origin
	}
	if settled, err := t.settle(ctx); settled != nil || err != nil {
		return *cmp.Or(settled, &out), err
	}
	t.watch(it.Flags&profiles.Unwatched != 0)
	if err := t.grant(ctx); err != nil {
		return out, err
	}
	step, ok, err := t.step(ctx)
	if err != nil {
		return out, err
	}
	if lost := t.Ring.Lost; ok && lost > t.lost {
		t.said = append(t.said, profiles.LogEntry{Text: unit.Plural(int(lost-t.lost), "record", "records") +
			" of the loop came faster than they were read, and are missing", Refused: true})
		t.lost = lost
	}
	out = workload.Outcome{UnitEnded: t.ended, Measured: profiles.NoValues(), MemoryChanged: t.changed}
	switch {
	case ok:
		out.Grown = t.grow(ctx, &step)
	case t.ended:
		out.Grown = t.grow(ctx, &t.ending) // which may have what no step had
	}
	if t.ended {
		t.late = append(t.late, t.ending)
		out.Result = t.unit()
	}
	t.measureLate(ctx, &out, !ok)
	out.Said, t.ended, t.changed, t.said = t.said, false, false, nil
	out.Layers, t.layers = t.layers, nil // a step comes after the last of them
	out.Ranks = t.ranks.state()
	if !ok {
		out.NoIteration = true
		if waits, err := t.succeed(ctx, &out); waits || err != nil {
			return out, err
		}
		out.Finished = true
		err := t.end(ctx, &out)
		if lost := t.ranks.gone(); lost != "" && err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%s: %w", lost, err)
		}
		return out, err
	}
	t.newest, t.unitOfNewest = step.Step, step.Unit
	t.fill(it, &step, &out)
	return out, nil
}

// unit returns the result of the unit that ended: the values of its last step, and those that were logged after it.
func (t *task) unit() profiles.UnitResult {
	r := &t.ending
	for i := range t.schema.Series {
		if v := r.Series[i]; !math.IsNaN(v) {
			t.last[i] = v
		}
	}
	began := t.unitBegan
	t.unitBegan = r.Start
	return profiles.UnitResult{Unit: r.Unit, Iterations: r.InUnit, Values: t.last,
		Elapsed: time.Duration(max(0, r.Start-began))}
}

const (
	greetsWithin = 200 * time.Millisecond // of a step that has what its greeting will say
	deafFor      = 10 * time.Second       // after one did not come
)

// grow returns the schema after a step that measured what the loop did not have before, nil if that is known: the loop
// greets again right after the step.
func (t *task) grow(ctx context.Context, step *loop.Record) *profiles.Schema {
	if !t.lacks(step) || time.Now().Before(t.deaf) {
		return nil
	}
	waiting, stop := context.WithTimeout(ctx, greetsWithin)
	defer stop()
	var schema profiles.Schema
	_ = loop.Wait(waiting.Done(), func() (bool, error) {
		g, err := t.Ring.Greeting()
		if g != nil {
			schema = Schema(g)
		}
		return g != nil && schema.Extends(&t.schema) && schema.Check() == nil, err
	})
	names := schema.Beyond(&t.schema)
	if len(names) == 0 || !schema.Extends(&t.schema) || schema.Check() != nil {
		t.deaf = time.Now().Add(deafFor)
		return nil
	}
	t.said = append(t.said, profiles.LogEntry{Text: "measured from here on: " + strings.Join(names, ", ")})
	// A cache has a knob, and knobs are what they were at the beginning.
	schema.Caches, schema.Memory = t.schema.Caches, t.schema.Memory
	t.schema = schema
	return &schema
}

// lacks reports whether a step, or a picture before it, has numbers that the schema does not name.
func (t *task) lacks(step *loop.Record) bool {
	for _, v := range step.Series[min(len(t.schema.Series), loop.MaxSeries):] {
		if !math.IsNaN(v) {
			return true
		}
	}
	for _, ns := range step.Host[min(len(t.schema.Phases), loop.MaxPhases):] {
		if ns > 0 {
			return true
		}
	}
	for index := range t.pictures {
		if index >= len(t.schema.Pictures) {
			return true
		}
	}
	return false
}

// step returns the next step; ok is false once there will be none.
func (t *task) step(ctx context.Context) (step loop.Record, ok bool, err error) {
	for len(t.queue) > 0 {
		t.rec, t.queue = t.queue[0], t.queue[1:]
		if t.rec.Kind == loop.Step {
			t.plan.mark(&t.rec)
			return t.rec, true, nil
		}
		t.take()
	}
	for {
		if ok, err := t.next(ctx); !ok || err != nil {
			return step, false, err
		}
		if t.rec.Kind == loop.Step {
			t.plan.mark(&t.rec)
			return t.rec, true, nil
		}
		t.take()
	}
}

// watch asks the loop to time phases, or only steps.
func (t *task) watch(dark bool) {
	want := ""
	if dark {
		want = loop.WatchLosses
	}
	if t.asked.Watch != want && t.Ring.Operates() && t.plan == nil && !t.ranks.several() {
		s := t.asked
		s.Watch = want
		t.tell(s)
	}
}

// flags are those of a step as a record of a run has them.
var flags = []struct {
	of loop.Flags
	is profiles.Flags
}{
	{loop.Skipped, profiles.SkippedStep}, {loop.NonFinite, profiles.NonFinite},
	{loop.Boundaries, profiles.Unwatched | profiles.Unphased},
	{loop.Settling | loop.Compiled | loop.Measured, profiles.Warmup},
}

// fill makes an iteration of a step.
func (t *task) fill(it *profiles.Iteration, s *loop.Record, out *workload.Outcome) {
	it.Flags &^= profiles.Unwatched // as the loop says
	for _, f := range flags {
		if s.Flags&f.of != 0 {
			it.Flags |= f.is
		}
	}
	if int(s.StepKind) < len(t.schema.Kinds) {
		it.Kind = profiles.Kind(s.StepKind)
	}
	it.Start, it.Total = max(0, s.Start-t.origin), s.Total
	times := &s.Host
	if t.Greeting.Clock == "device" {
		if s.Flags&loop.NoDevice != 0 {
			it.Flags |= profiles.Unphased
		} else {
			times = &s.Device
		}
	}
	for i := range t.schema.Phases {
		it.Phases[i] = max(0, times[i])
	}
	it.Unit, it.InUnit = s.Unit, s.InUnit
	if s.Unit < 0 {
		it.InUnit = int32(min(s.Step, math.MaxInt32))
	}
	it.Series = profiles.NoValues()
	copy(it.Series[:], s.Series[:len(t.schema.Series)])
	t.measure(s, out)
	for i := range t.schema.Caches {
		it.Caches[i] = counters(&t.caches[i], t.costs[i])
	}
	t.pace += (time.Duration(s.Total) - t.pace) / 8
	t.residue.take(t, s)
}

// counters are those of a cache as a record of a run has them: each hit is worth the median of the computations in
// costs.
func counters(c *loop.CacheCounters, costs loop.Record) profiles.CacheCounters {
	n := profiles.CacheCounters{Enabled: c.Enabled, Hits: c.Hits, Misses: c.Misses, Entries: c.Entries, Bytes: c.Bytes,
		Saved: c.Saved, Spent: c.Lookups, SpentSquares: costs.Squares, Priced: c.Hits, PricedBy: int64(costs.Count)}
	if costs.Count > 0 {
		n.Price, n.PriceLow, n.PriceHigh = cache.Price(costs.Costs[:costs.Count])
		n.Gross, n.GrossLow, n.GrossHigh = c.Hits*n.Price, c.Hits*n.PriceLow, c.Hits*n.PriceHigh
	}
	return n
}

// measure takes the values that came with a record.
func (t *task) measure(r *loop.Record, out *workload.Outcome) {
	for i, info := range t.schema.Series {
		if v := r.Series[i]; !math.IsNaN(v) {
			t.last[i] = v
			if !info.Each {
				out.Measured[i], out.Measures = v, true
			}
		}
	}
}

// measureLate takes what was measured after steps that are over. A device's times of a step may come later: it waits
// for those, unless there are no more.
func (t *task) measureLate(ctx context.Context, out *workload.Outcome, last bool) {
	waits := t.late[:0]
	for i := range t.late {
		r := &t.late[i]
		if r.Step > t.newest && !last {
			waits = append(waits, *r)
			continue
		}
		if r.Unit < 0 && r.Step == t.newest {
			r.Unit = t.unitOfNewest
		}
		out.Grown = cmp.Or(t.grow(ctx, r), out.Grown)
		of := workload.Outcome{Measured: profiles.NoValues()}
		if t.measure(r, &of); of.Measures {
			out.Late = append(out.Late, profiles.Measurement{Iteration: min(0, r.Step-t.newest) - 1, Unit: r.Unit,
				Values: of.Measured})
		}
	}
	t.late = waits
}

// end says how the loop ended.
func (t *task) end(ctx context.Context, out *workload.Outcome) error {
	say := func(text string) { out.Said = append(out.Said, profiles.LogEntry{Text: text}) }
	state := t.Ring.State()
	if state == loop.Unpatched {
		say("the module took its hooks back; the program goes on without being watched")
		t.Unwatched, out.Unwatched = true, true
		return nil
	}
	if t.Over != nil {
		var goesOn <-chan time.Time
		if state != loop.Failed { // or it is about to end
			goesOn = time.After(endsWithin)
		}
		select {
		case <-t.Over:
			if t.Failure != nil {
				return t.Failure()
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-goesOn:
			say("the loop is over; the program goes on")
		}
		return nil
	}
	switch state {
	case loop.Over:
		return nil
	case loop.Failed:
		return fmt.Errorf("%s failed with an exception", t.name)
	}
	return fmt.Errorf("%s was killed: its process %d has ended without saying so", t.name, t.Ring.PID)
}

// Picture returns the newest picture of an index, nil if there is none.
func (t *task) Picture(id int) *profiles.Picture {
	r, ok := t.pictures[id]
	if !ok {
		return nil
	}
	width, height, pixels, err := loop.ReadPicture(t.Ring.Path, id)
	if err != nil {
		return nil
	}
	return &profiles.Picture{ID: id, Iteration: r.Step, Width: width, Height: height, Pixels: pixels}
}
