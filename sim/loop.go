package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/experiment"
	"prismtop/sim/workload"
)

// The loop of a run: its state, beginning it with a workload, an iteration, the boundary between two, and the end.

// loop is the state owned by the run's goroutine.
type loop struct {
	run      *Run
	settings settings.Values // in force
	reads    readSettings    // those that the loop itself reads
	work     workload.Task
	info     profiles.RunInfo

	paused   bool
	finished bool             // finished until a restart
	waits    bool             // the task had no iteration yet, and is asked again
	next     *settings.Values // of the restart; nil for the user's own
	failure  error            // why the reconstruction diverged, or left nothing although it is complete
	endedBy  string           // the limit reached by the last iteration; empty for none
	restarts int
	index    int64 // of the next iteration
	recorded int64 // iterations that were published

	began   time.Time // origin of Iteration.Start
	running stopwatch
	ran     time.Duration // of all parts, until the newest iteration was over

	units       units
	complete    bool // the task has nothing left to do
	checkpoints checkpointClock

	rec       profiles.Iteration
	changes   changeLog
	view      view
	layers    layerProfile
	pace      pace
	typical   typical
	comparing comparing
	pressure  pressure
	fork      *experiment.Fork // nil where none is under way
	declined  string           // why the command being carried out was refused, empty if it was not
}

// candidate is a workload that is ready for its first iteration.
type candidate struct {
	settings settings.Values
	inputs   workload.Inputs
	work     workload.Task
	said     []string // about the file of its first weights

	needs, available int64 // bytes
}

// prepare makes the workload of the settings and announces the run.
func (l *loop) prepare(ctx context.Context, r *Run, v settings.Values) error {
	if r.options.Resume != nil {
		return l.resume(ctx, r, v)
	}
	c, err := r.build(ctx, v, r.inputs)
	if err != nil {
		return err
	}
	l.begin(r, c, nil)
	return nil
}

// foreseen returns a candidate of which only the settings and the memory are known.
func (r *Run) foreseen(ctx context.Context, v settings.Values) candidate {
	c := candidate{settings: v}
	if r.options.Needs != nil {
		c.needs, c.available = r.options.Needs(ctx, v)
	}
	return c
}

// build makes a workload from inputs.
func (r *Run) build(ctx context.Context, v settings.Values, inputs workload.Inputs) (candidate, error) {
	c := r.foreseen(ctx, v)
	c.inputs = inputs
	maker := r.options.Maker
	if m, ok := maker.(workload.Unweighted); ok && r.options.Weights != "" {
		maker = m.WithoutWeights()
	}
	work, err := maker.New(ctx, v, inputs)
	if err == nil && r.options.Weights != "" {
		if c.said, err = r.startFrom(ctx, work); err != nil {
			work.Close()
			work = nil
		}
	}
	c.work = work
	return c, err
}

// startFrom gives a new task the weights of the run's file, and returns lines for the log about it.
func (r *Run) startFrom(ctx context.Context, work workload.Task) (said []string, err error) {
	s, ok := work.(workload.Starter)
	if !ok {
		return nil, &WeightsError{errors.New(work.Info().Schema.Workload + " has no weights to start from")}
	}
	said, err = s.StartFrom(ctx, r.options.Weights)
	if err != nil && ctx.Err() == nil {
		err = &WeightsError{err}
	}
	return said, err
}

// begin adopts a workload, whose first iteration is next, and announces it. from is the
// checkpoint that it goes on from, nil for none.
func (l *loop) begin(r *Run, c candidate, from *Resumed) {
	if k, ok := c.work.(workload.Keeper); ok && r.options.KeepOutput {
		k.KeepOutput()
	}
	l.close()
	l.run, l.settings, l.work = r, c.settings, c.work
	r.inputs = c.inputs
	r.begun(c.settings)
	l.index, l.recorded, l.finished, l.failure, l.next = 0, 0, false, nil, nil
	l.units, l.complete, l.pace, l.typical = units{}, false, pace{}, typical{}
	l.comparing.begun(l, r)
	r.over.Store(false)
	l.began = time.Now()
	if t, keeps := l.work.(workload.Timekeeper); keeps {
		l.began = t.Began()
	}
	l.running = stopwatch{since: l.began}
	if l.paused {
		l.running.stopped = l.began
	}
	l.checkpoints.began(&r.options.Checkpoints, r.stream, l.restarts, from)

	info := l.work.Info()
	if device := l.work.Device(); device != nil {
		info.Device, info.Kernels, info.Card = device.Device(), device.Kernels(), cardOf(device)
	}
	info.Needs, info.Available = c.needs, c.available
	if r.options.GPUReason != nil {
		info.GPUReason = cmp.Or(r.options.GPUReason(), info.GPUReason)
	}
	info.Able = able(l.work)
	r.once.Store(!info.Able.Has(profiles.RestartCommand))
	if b, ok := r.options.Maker.(workload.Bounded); ok && r.options.Needs != nil {
		info.Most, _ = b.Most(c.settings)
	}
	if o := &r.options.Checkpoints; o.Path != "" {
		info.Checkpoint, info.NextCheckpoint = l.checkpoints.path(), l.checkpoints.files.foretold(o)
	}
	info.PriorStarts = l.restarts
	info.Notes = append(info.Notes, r.options.Notes...)
	if l.ran = 0; from != nil {
		l.index, info.Resumed = from.Iteration, from.Iteration
		info.Ran = time.Duration(from.Ran * float64(time.Second))
		l.ran = info.Ran
		info.Notes = append(info.Notes, from.notes(&info)...)
	} else if r.options.Weights != "" && l.restarts == 0 {
		info.Notes = append(info.Notes, "started from "+r.firstWeights())
		info.Notes = append(info.Notes, c.said...)
	}
	l.info = info
	l.changes = changeLog{stream: r.stream, schema: &l.info.Schema, began: l.began, asked: l.changes.asked}
	l.view = newView(r.stream, &l.info.Schema, r.options.Metrics, l.began)
	l.read()
	l.judgeLayers()
	r.stream.Put(profiles.Event{At: l.began, Body: &profiles.Begin{Info: info, Settings: l.settings}})
	for _, note := range info.Notes {
		if l.restarts == 0 {
			r.stream.Log(note)
		}
	}
	if from != nil {
		l.resumeUnits(from)
	}
	l.view.publish(l.work, false, l.index)
	r.stream.Memory(l.memory())
	l.list()
}

// memory returns the memory of the run, with what its device holds if that has memory of its own.
func (l *loop) memory() profiles.Memory {
	m := l.work.Memory()
	if d, ok := l.work.Device().(workload.DeviceHolder); ok && m.Device == (profiles.DeviceMemory{}) {
		m.Device = d.DeviceMemory()
	}
	return m
}

// list publishes the state of a list of tasks.
func (l *loop) list() {
	if t, ok := l.work.(workload.Lister); ok {
		l.run.stream.Tasks(t.Tasks())
	}
}

// resumeUnits publishes the units that ended before a checkpoint.
func (l *loop) resumeUnits(from *Resumed) {
	newest := l.units.resume(from.Checkpoint)
	if earlier := l.units.before(); earlier != nil {
		l.run.stream.Ended(earlier)
	}
	for i := range newest {
		l.unitDone(newest[i].UnitResult())
	}
}

// unitDone keeps and publishes the result of a unit of work.
func (l *loop) unitDone(result profiles.UnitResult) {
	l.units.add(&result)
	l.run.stream.UnitDone(result)
}

// unitEnded is unitDone of one that has just ended. The task does not know of the pauses within it.
func (l *loop) unitEnded(result profiles.UnitResult) {
	result.Elapsed = max(0, result.Elapsed-l.running.idled())
	l.unitDone(result)
}

func (l *loop) close() {
	if l.work != nil {
		l.work.Close()
		l.work = nil
	}
}

// iterateUntilDone iterates until there is nothing more to do. The end of ctx stops
// it between two iterations, that of cut within one.
func (l *loop) iterateUntilDone(ctx, cut context.Context) error {
	stream := l.run.stream
	stream.State(profiles.Running, "")
	for {
		stop, err := l.obey(ctx, cut)
		if err = l.mend(cut, err); stop || err != nil {
			return l.end(cut, err)
		}
		if l.paused || l.finished {
			continue
		}
		if err := l.mend(cut, l.iterate(cut)); err != nil {
			return l.end(cut, err)
		}
		if l.finished {
			l.announceEnd()
			if !l.run.options.Linger {
				return l.failure
			}
		}
	}
}

// announceEnd publishes that the reconstruction is complete or has failed.
func (l *loop) announceEnd() {
	if l.failure != nil {
		l.run.stream.State(profiles.Failed, l.failure.Error())
		return
	}
	if !l.complete && l.endedBy == "" { // what it watched goes on without it
		l.run.stream.State(profiles.Stopped, "")
		return
	}
	l.run.stream.State(profiles.Finished, l.endedBy)
}

// end publishes how the loop ended and returns the run's error. A run that was cut
// short counts as stopped.
func (l *loop) end(cut context.Context, err error) error {
	why, unsound := "the run failed", err
	if cut.Err() != nil && errors.Is(err, cut.Err()) {
		err = nil
	}
	if err == nil {
		why = "the run was stopped"
	}
	l.publishLayers(l.layers.last())
	l.endFork(why)
	if l.checkpoints.wanted() && unsound == nil { // with the settings of the user in force
		unsound = l.comparing.conclude(cut, why)
	}
	l.comparing.abandon(why)
	l.lastCheckpoint(cut, unsound)
	switch {
	case err != nil:
		l.run.stream.State(profiles.Failed, err.Error())
		return err
	case !l.finished:
		l.run.stream.State(profiles.Stopped, "")
	}
	return l.failure
}

// iterate runs one iteration and publishes it.
func (l *loop) iterate(cut context.Context) error {
	if err := l.comparing.tune(cut); err != nil {
		return err
	}
	if err := l.comparing.switchSettings(cut); err != nil {
		return err
	}
	if err := l.relieve(cut); err != nil {
		return err
	}
	if err := l.forkHere(cut); err != nil {
		return fmt.Errorf("iteration %d: fork: %w", l.index, err)
	}
	stream, rec := l.run.stream, &l.rec
	start := time.Now()
	*rec = profiles.Iteration{Index: l.index, Changes: l.changes.count, Start: int64(start.Sub(l.began))}
	if watched, _ := stream.Watched(); !watched {
		rec.Flags |= profiles.Unwatched
	}
	outcome, overdue, err := l.within(cut)
	if overdue {
		outcome.Unwatched = true
		limit := l.reads.limit(l.index-1, l.running.elapsed(time.Now()), &outcome)
		stream.Log("ended by " + limit)
		return l.over(cut, &outcome, limit)
	}
	l.waits = err == nil && outcome.NoIteration && !outcome.Finished
	if err != nil && !errors.Is(err, workload.ErrDiverged) {
		if l.measureLate(&outcome); outcome.UnitEnded { // before what failed
			l.unitEnded(outcome.Result)
		}
		return fmt.Errorf("iteration %d: %w", l.index, err)
	}
	switch {
	case outcome.NoIteration && outcome.Finished:
		return l.over(cut, &outcome, "")
	case l.waits:
		l.measureLate(&outcome)
		l.pass(&outcome)
		return l.forced(cut, outcome.Forced)
	}
	l.measureLate(&outcome)
	l.profileLayers(rec)
	elapsed := l.running.elapsed(time.Now())
	limit := l.reads.limit(l.index, elapsed, &outcome)
	if l.comparing.tuned != "" && l.run.options.EndTuned {
		limit = l.comparing.tuned
	}
	last := err != nil || outcome.Finished || limit != ""
	measured, hasMeasured, failed := l.view.look(cut, l.work, rec, &outcome, last, err == nil)
	if failed != nil {
		return fmt.Errorf("iteration %d: %w", l.index, failed)
	}
	if _, keeps := l.work.(workload.Timekeeper); !keeps {
		rec.Total = int64(time.Since(start)) - rec.Retimed
	}
	stream.Iteration(rec)
	l.typical.take(rec)
	l.recorded = l.index + 1
	if l.info.Resumed == 0 || l.info.Ran > 0 {
		l.ran = l.info.Ran + elapsed
	}
	if last {
		l.publishLayers(l.layers.last())
	}

	if hasMeasured && slices.ContainsFunc(measured[:], func(v float64) bool { return !math.IsNaN(v) }) {
		stream.Measure(profiles.Measurement{Iteration: l.index, Unit: rec.Unit, Values: measured})
	}
	if outcome.UnitEnded {
		l.unitEnded(outcome.Result)
	}
	if outcome.MemoryChanged {
		stream.Memory(l.memory())
	}
	if outcome.TasksChanged {
		l.list()
	}
	l.pass(&outcome)
	l.endedBy = ""
	if limit != "" && !outcome.Finished {
		l.endedBy = limit
		stream.Log("ended by " + limit)
	}
	if outcome.Finished && err == nil && !l.run.options.Trial {
		err = l.finish(cut)
	}
	if err := l.comparing.observe(cut); err != nil {
		return err
	}
	l.index++
	if err := l.forced(cut, outcome.Forced); err != nil {
		return err
	}
	l.failure, l.finished, l.complete = err, last, outcome.Finished
	l.run.over.Store(last)
	if last {
		l.endFork("the run is over")
		err := l.comparing.conclude(cut, "the run is over")
		l.lastCheckpoint(cut, err)
		return err
	}
	l.foretell()
	l.regularCheckpoint(cut)
	return nil
}

// grow takes over the schema of a task that measures more than before.
func (l *loop) grow(schema *profiles.Schema) {
	if schema == nil {
		return
	}
	l.info.Schema = *schema
	l.view.find()
	l.run.stream.Grown(*schema)
}

// measureLate takes over a schema that has grown, and what was measured of earlier iterations.
func (l *loop) measureLate(outcome *workload.Outcome) {
	l.grow(outcome.Grown)
	for _, m := range outcome.Late {
		if m.Iteration += l.index; m.Iteration >= 0 {
			l.run.stream.Measure(m)
		}
	}
}

// pass publishes what a task says besides an iteration.
func (l *loop) pass(outcome *workload.Outcome) {
	for _, said := range outcome.Said {
		if said.Refused {
			l.run.stream.Refuse(said.Text)
		} else {
			l.run.stream.Log(said.Text)
		}
	}
	if outcome.Ranks != nil {
		l.run.stream.Ranks(outcome.Ranks)
	}
	if outcome.Layers != nil && l.reads.layers {
		l.run.stream.Layers(outcome.Layers, nil)
	}
}

// late is how long an iteration of a Timekeeper may go on once the running time is over.
const late = time.Second

// within has the task iterate. What a Timekeeper waits for is not awaited much longer than the run may take: then
// overdue is true, and there was no iteration.
func (l *loop) within(cut context.Context) (outcome workload.Outcome, overdue bool, err error) {
	if _, keeps := l.work.(workload.Timekeeper); !keeps || l.reads.maxSeconds <= 0 {
		outcome, err = l.work.Iterate(cut, &l.rec)
		return outcome, false, err
	}
	most := time.Duration(l.reads.maxSeconds*float64(time.Second)) - l.running.elapsed(time.Now()) + late
	timed, end := context.WithTimeout(cut, most)
	defer end()
	outcome, err = l.work.Iterate(timed, &l.rec)
	return outcome, err != nil && timed.Err() != nil && cut.Err() == nil, err
}

// over ends a run without another iteration, because its task found that it is finished or because of a limit.
func (l *loop) over(cut context.Context, outcome *workload.Outcome, limit string) error {
	l.measureLate(outcome)
	if outcome.Measures && l.index > 0 {
		l.run.stream.Measure(profiles.Measurement{Iteration: l.index - 1, Unit: outcome.Result.Unit,
			Values: outcome.Measured})
	}
	if outcome.UnitEnded {
		l.unitEnded(outcome.Result)
	}
	l.pass(outcome)
	l.publishLayers(l.layers.last())
	l.endedBy, l.failure, l.finished, l.complete = limit, nil, true, !outcome.Unwatched
	l.run.over.Store(true)
	l.endFork("the run is over")
	err := l.comparing.conclude(cut, "the run is over")
	l.lastCheckpoint(cut, err)
	return err
}

// finish has a complete task leave what others need of it.
func (l *loop) finish(cut context.Context) error {
	f, ok := l.work.(workload.Finisher)
	if !ok {
		return nil
	}
	said, err := f.Finish(cut)
	if err == nil && said != "" {
		l.run.stream.Log(said)
	}
	return err
}

// commandsFor bounds how long commands may be executed between two iterations of a task that goes on meanwhile.
const commandsFor = 100 * time.Millisecond

// obey executes the queued commands; a paused or finished loop waits for some. It
// returns true if the run must end.
func (l *loop) obey(ctx, cut context.Context) (stop bool, err error) {
	if ctx.Err() != nil {
		return true, nil
	}
	if l.paused || l.finished {
		select {
		case <-ctx.Done():
			return true, nil
		case <-l.run.wake:
		}
	}
	if !l.run.pending.Load() {
		return false, nil
	}
	_, goesOn := l.work.(workload.Timekeeper)
	for began := time.Now(); ; {
		// its iterations wait to be published
		if goesOn && !l.paused && !l.finished && time.Since(began) > commandsFor {
			return false, nil
		}
		c, ok := l.run.take()
		if !ok {
			return false, nil
		}
		stop, err = l.carryOut(cut, c)
		if err != nil && c.sets() {
			l.run.again(c)
		}
		if stop || err != nil {
			return stop, err
		}
	}
}

// pause stops or continues the run; of a task that went on meanwhile, after the iterations that it has made.
func (l *loop) pause(cut context.Context, paused bool) error {
	if paused == l.paused || l.finished {
		return nil
	}
	if p, ok := l.work.(workload.Pauser); ok {
		if err := p.Pause(cut, paused); err != nil && cut.Err() == nil {
			l.decline(err.Error())
			return nil
		}
		for paused && p.Behind() && !l.finished {
			if err := l.iterate(cut); err != nil {
				return err
			}
		}
		if l.finished {
			l.announceEnd()
			return nil
		}
	}
	l.paused = paused
	if paused {
		l.running.stop(time.Now())
		l.run.stream.State(profiles.Paused, "")
		return nil
	}
	l.running.start(time.Now())
	l.run.stream.State(profiles.Running, "")
	return nil
}

// step runs one iteration of a paused run.
func (l *loop) step(cut context.Context) error {
	if !l.paused || l.finished {
		return nil
	}
	l.running.start(time.Now())
	l.run.stream.WantPicture()
	err := l.iterate(cut)
	l.running.stop(time.Now())
	if l.finished {
		l.announceEnd()
	}
	return err
}

// Saved is what was saved.
type Saved struct {
	Paths   []string
	Quality string // of the saved picture itself, as "PSNR is 13.48 dB"; empty if it is not known
}

// Line says what was saved: the files by names, which are their paths with what is to be said of them. A PNG among them
// has not the values but what they are between the least and the greatest.
func (s *Saved) Line(names []string) string {
	text := "saved " + strings.Join(names, " and ")
	if s.Quality != "" {
		text += ", whose own " + s.Quality
	}
	if slices.ContainsFunc(s.Paths, func(path string) bool { return strings.HasSuffix(path, ".png") }) {
		text += "; black is the least value in a PNG, white the greatest"
	}
	return text
}

// save writes the current reconstruction.
func (l *loop) save(cut context.Context) {
	saved, err := l.write(cut, l.run.savePath(), true)
	var told []string
	if len(saved.Paths) > 0 {
		told = append(told, saved.Line(saved.Paths))
	}
	if err == nil {
		l.run.stream.Log(told[0])
		return
	}
	told = append(told, "not saved: "+strings.TrimPrefix(err.Error(), "saving "))
	l.decline(strings.Join(told, "; "))
}

// write writes the result to files named after base, to new ones if fresh is set.
func (l *loop) write(ctx context.Context, base string, fresh bool) (saved Saved, err error) {
	if l.work == nil {
		return saved, errors.New("nothing was reconstructed yet")
	}
	saver, ok := l.work.(workload.Saver)
	if !ok {
		return saved, errors.New(l.info.Schema.Workload + " has nothing to save")
	}
	saved.Paths, err = saver.Save(ctx, base, fresh)
	if c, ok := l.work.(workload.SavedComparer); ok && l.view.quality >= 0 && len(saved.Paths) > 0 {
		if q := c.SavedQuality()[l.view.quality]; !math.IsNaN(q) {
			info := l.info.Schema.QualityInfo()
			saved.Quality = strings.TrimSpace(fmt.Sprintf("%s is %.4g %s", info.Title, q, info.Unit))
		}
	}
	return saved, err
}
