package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/cyto/tasks/branches"
	"prismtop/sim/workload"
)

// Maker makes runs of lists of tasks: it implements the workload "cyto-tasks".
type Maker struct {
	// Experiments makes the experiments of tasks.
	Experiments im2im.Maker

	// Report, unless it is nil, gets the results so far after every round.
	Report func([]tasks.Result)

	// Lost, unless it is nil, gets why the results of the task under way at the end of a run were not written.
	Lost func(error)
}

// Load reads and checks the list of tasks.
func (m Maker) Load(ctx context.Context, v settings.Values) (workload.Inputs, error) {
	in, err := readList(ctx, v)
	if err != nil {
		return nil, err
	}
	if err := checkOutput(v.Text(outputKey), v.Text(listKey)); err != nil {
		return nil, &settings.KeyError{Key: outputKey, Err: err}
	}
	if folder := v.Text(weightsKey); folder != "" {
		if err := checkFolder(weightsKey, folder, folder); err != nil {
			return nil, &settings.KeyError{Key: weightsKey, Err: err}
		}
	}
	return in, nil
}

// checkOutput makes the folder of the results and returns why they cannot be written there; nothing is wrong without
// a path.
func checkOutput(path, list string) error {
	if path == "" {
		return nil
	}
	if there, err := os.Stat(path); err == nil {
		if there.IsDir() {
			return fmt.Errorf("output = %s: is a folder: must be a file", path)
		}
		if of, err := os.Stat(list); err == nil && os.SameFile(there, of) {
			return fmt.Errorf("output = %s: is the list of tasks: must be another file", path)
		}
	}
	return checkFolder(outputKey, path, filepath.Dir(path))
}

// checkFolder makes the folder that a setting names and returns why nothing can be written there.
func checkFolder(key, value, folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("%s = %s: %w", key, value, err)
	}
	f, err := os.CreateTemp(folder, ".written-*")
	if err != nil {
		return fmt.Errorf("%s = %s: the folder cannot be written: %w", key, value, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// SameInputs reports whether two settings name the same list, in the same experiments.
func (Maker) SameInputs(a, b settings.Values) bool {
	return a.Text(listKey) == b.Text(listKey) && a.Text(kindKey) == b.Text(kindKey) &&
		a.Text(repoKey) == b.Text(repoKey)
}

// Reads returns true: a list is checked before anything runs.
func (Maker) Reads(settings.Values) bool { return true }

// Check returns an error if this machine does not have the device or the kernels.
func (m Maker) Check(v settings.Values, key string) error { return m.Experiments.Check(v, key) }

// FitsBeside returns false: the tasks of a list end before those of another begin, so that
// times are of one at a time.
func (Maker) FitsBeside(settings.Values, int64) bool { return false }

// New prepares a list of tasks. Each task is prepared when its turn comes.
func (m Maker) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	list := in.(Inputs)
	m.Experiments.Since = time.Now()
	base, err := experiments(v)
	if err != nil {
		return nil, err
	}
	processor, err := base.Set(settings.Device, "cpu")
	if err != nil {
		return nil, err
	}
	on, err := m.Experiments.Open(processor)
	if err != nil {
		return nil, err
	}
	defer on.Close()
	b := &benchmark{
		maker: m, values: v, name: list.name, list: list.list,
		device: device{on.Backend.Kernels(), on.Backend.Threads()}, rounds: make([][]tasks.Round, len(list.list)),
		states: make([]profiles.TaskState, len(list.list)), ended: make([]*trial, len(list.list)),
	}
	for round, order := range tasks.Schedule(len(b.list), v.Int(roundsKey), uint64(v.Int(settings.Seed))) {
		for position, task := range order {
			b.schedule = append(b.schedule, turn{task, round, position})
		}
	}
	b.schema = schemaOf(kindOf(v), b.list, list.external)
	if first, err := of(base, &b.list[0], ""); err == nil { // a git branch may have another network
		if b.parameters, err = im2im.Parameters(first); err != nil {
			return nil, err
		}
	}
	if command := v.Text(commandKey); list.external && command != "" {
		if err := branches.CheckCommand(command); err != nil {
			return nil, &settings.KeyError{Key: commandKey, Err: err}
		}
	}
	if list.external {
		b.repository, err = branches.Open(ctx, branches.Options{
			Folder: v.Text(repoKey), Command: v.Text(commandKey), Fetch: v.On(fetchKey),
			Limit: time.Duration(v.Number(limitKey) * float64(time.Second)),
		})
	}
	if err != nil {
		return nil, &settings.KeyError{Key: repoKey, Err: err}
	}
	return b, nil
}

// device is the processor, on which the tasks are computed whose trainer is no GPU.
type device struct {
	kernels string
	threads int
}

func (d device) Device() string   { return "cpu" }
func (d device) Kernels() string  { return d.kernels }
func (d device) Threads() int     { return d.threads }
func (d device) SetThreads(n int) {}

// turn is the place of a task in the order of all rounds.
type turn struct{ task, round, position int }

// benchmark is a list of tasks under way.
type benchmark struct {
	maker    Maker
	values   settings.Values
	name     string
	list     []tasks.Task
	schedule []turn
	schema   profiles.Schema

	parameters int // of the first task's network

	device device

	repository *branches.Repository // nil without git branches

	next     int    // turn
	trial    *trial // under way; nil between two
	rounds   [][]tasks.Round
	states   []profiles.TaskState
	ended    []*trial // the newest of every task
	stopped  bool     // a task failed, and the others are not run
	memory   profiles.Memory
	pictures [profiles.MaxPictures]*profiles.Picture
}

// Info describes the run.
func (b *benchmark) Info() profiles.RunInfo {
	limits := "each task runs at most 10 training, 5 validation and 10 prediction batches, CytoDL's limits, unless " +
		"the list says otherwise"
	if b.values.Text(filesKey) != "" && kindOf(b.values) == tasks.Inference {
		limits = "each task predicts all of its images into files"
	}
	return profiles.RunInfo{
		Schema: b.schema, Object: b.name, Parameters: b.parameters, Seed: uint64(b.values.Int(settings.Seed)),
		Units: len(b.schedule),
		Notes: []string{fmt.Sprintf("%s in %s; %s", unit.Plural(len(b.list), "task", "tasks"),
			unit.Plural(b.values.Int(roundsKey), "round", "rounds"), limits)},
	}
}

// Device returns the device of the task under way, the processor between two.
func (b *benchmark) Device() workload.Device {
	if b.trial != nil && len(b.trial.cards) > 0 {
		return b.trial.cards[0]
	}
	return b.device
}

// Apply follows live settings.
func (b *benchmark) Apply(_ context.Context, v settings.Values) error {
	b.values = v
	return nil
}

// cancelled reports whether the user has cancelled a task.
func (b *benchmark) cancelled(task int) bool {
	list, _ := b.values.Value(cancelledKey).([]int64)
	return slices.Contains(list, int64(task+1))
}

// Iterate prepares a task or runs an iteration of it.
func (b *benchmark) Iterate(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	rec.Series = profiles.NoValues()
	if b.trial == nil && !b.begin() {
		rec.Unit = int32(max(b.next-1, 0))
		return workload.Outcome{Finished: true, TasksChanged: true}, nil
	}
	u := b.trial
	rec.Kind, rec.Unit, rec.InUnit = KindPreparation, int32(b.next-1), int32(u.count)
	if u.count == 0 {
		rec.Flags |= profiles.Warmup
	}
	began := u.count == 0
	ended := u.iterate(ctx, rec, b.cancelled(u.index))
	out := u.out
	out.TasksChanged = out.TasksChanged || ended || began
	if !ended {
		return out, nil
	}
	err := b.end(ctx, rec, &out)
	return out, err
}

// begin starts the next round of a task that can run; false if there is none.
func (b *benchmark) begin() bool {
	for ; b.next < len(b.schedule) && !b.stopped; b.next++ {
		t := b.schedule[b.next]
		if b.cancelled(t.task) {
			if b.states[t.task] != profiles.TaskFailed && b.states[t.task] != profiles.TaskUnavailable {
				b.states[t.task] = profiles.TaskCancelled
			}
			continue
		}
		if b.states[t.task] == profiles.TaskUnavailable { // nor would it be in another round
			continue
		}
		b.trial = newTrial(b, t.task, t.round, t.position)
		b.states[t.task] = profiles.TaskRunning
		b.next++
		return true
	}
	return false
}

// more reports whether the round of another task is to run.
func (b *benchmark) more() bool {
	for _, t := range b.schedule[b.next:] {
		if !b.stopped && !b.cancelled(t.task) && b.states[t.task] != profiles.TaskUnavailable {
			return true
		}
	}
	return false
}

// end records a round that has ended.
func (b *benchmark) end(ctx context.Context, rec *profiles.Iteration, out *workload.Outcome) error {
	u := b.trial
	interrupted := u.err != nil && ctx.Err() != nil
	if interrupted {
		u.err = errors.Join(errInterrupted)
	}
	if err := b.record(); err != nil {
		return err
	}
	if interrupted {
		return ctx.Err()
	}
	out.UnitEnded = true
	if !out.Measures {
		out.Measured = profiles.NoValues()
	}
	out.Result = profiles.UnitResult{Unit: rec.Unit, Iterations: int32(u.count), Values: u.newest,
		Elapsed: time.Since(u.began)}
	out.Finished = !b.more()
	return nil
}

// record keeps the round of the trial, which has ended, and writes the results.
func (b *benchmark) record() error {
	u := b.trial
	for id := range b.schema.Pictures { // of the newest task, until the next has its own
		b.pictures[id] = b.Picture(id)
	}
	b.trial, b.ended[u.index] = nil, u
	u.close()
	var unavailable unavailableError
	switch {
	case u.err == nil && slices.ContainsFunc(b.rounds[u.index], func(r tasks.Round) bool { return !r.Success }):
		b.states[u.index] = profiles.TaskFailed // in an earlier round
	case u.err == nil:
		b.states[u.index] = profiles.TaskDone
	case errors.Is(u.err, errCancelled):
		b.states[u.index] = profiles.TaskCancelled
	case errors.As(u.err, &unavailable):
		b.states[u.index] = profiles.TaskUnavailable
	default:
		b.states[u.index] = profiles.TaskFailed
	}
	round := u.round
	if u.err != nil {
		round = tasks.Failed(round, u.err)
		b.stopped = b.stopped || !errors.Is(u.err, errCancelled) && !b.values.On(skipKey)
	}
	b.rounds[u.index] = append(b.rounds[u.index], round)
	results := b.results()
	if b.maker.Report != nil {
		b.maker.Report(results)
	}
	if path := b.values.Text(outputKey); path != "" {
		return tasks.WriteResults(path, results)
	}
	return nil
}

// results are those of the tasks that were run, or begun, in the order of the list.
func (b *benchmark) results() (all []tasks.Result) {
	for i := range b.list {
		u := b.ended[i]
		if u == nil {
			continue
		}
		r := b.list[i].Result(b.rounds[i])
		r.Warning = u.warning
		if r.Success && b.cancelled(i) && len(b.rounds[i]) < b.values.Int(roundsKey) {
			why := errCancelled.Error()
			r.Success, r.Error = false, &why
		}
		if u.total > 0 {
			r.Device = u.on
		}
		if u.values.Table() != nil {
			r.Settings = map[string]string{}
			for _, key := range u.values.Table().Names() {
				r.Settings[key] = u.values.Get(key)
			}
		}
		if r.GitInfo = u.git; u.task.Variant != "" {
			r.GitInfo = program()
		}
		all = append(all, r)
	}
	return all
}

// Memory returns the memory of the newest task.
func (b *benchmark) Memory() profiles.Memory {
	if b.trial != nil && b.trial.work != nil {
		b.memory = b.trial.work.Memory()
	}
	return b.memory
}

// Picture returns a picture of the newest task.
func (b *benchmark) Picture(id int) *profiles.Picture {
	if b.trial != nil && b.trial.work != nil {
		return b.trial.work.(workload.Imager).Picture(id)
	}
	if p := b.pictures[id]; p != nil {
		return p
	}
	const blank = 8
	return &profiles.Picture{ID: id, Width: blank, Height: blank, Pixels: make([]float32, blank*blank)}
}

// Close ends the task under way, whose results so far are kept.
func (b *benchmark) Close() {
	if u := b.trial; u != nil {
		u.interrupt()
		if err := b.record(); err != nil && b.maker.Lost != nil {
			b.maker.Lost(err)
		}
	}
}

// Finish says how many tasks succeeded.
func (b *benchmark) Finish(context.Context) (string, error) {
	counts := map[profiles.TaskState]int{}
	for _, s := range b.states {
		counts[s]++
	}
	text := fmt.Sprintf("%d of %s done", counts[profiles.TaskDone], unit.Plural(len(b.list), "task", "tasks"))
	for _, s := range []profiles.TaskState{profiles.TaskFailed, profiles.TaskUnavailable, profiles.TaskCancelled} {
		if n := counts[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, s)
		}
	}
	if n := counts[profiles.TaskWaiting]; n > 0 {
		text += fmt.Sprintf(", %d not run", n)
		if b.stopped {
			text += " after a failed one: skip_failed runs them"
		}
	}
	if path := b.values.Text(outputKey); path != "" {
		text += "; results in " + path
	}
	return text, nil
}

// Tasks returns the state of the list.
func (b *benchmark) Tasks() *profiles.Tasks {
	rule := tasks.Rule(b.values.Text(baselineKey))
	t := &profiles.Tasks{Rounds: b.values.Int(roundsKey), Cancel: cancelledKey,
		SpeedUps: "total time, against the first task of an experiment"}
	if rule == tasks.FastestTask {
		t.SpeedUps = "total time, against the fastest task of an experiment"
	}
	if kindOf(b.values) == tasks.Training {
		t.Loss = "loss"
	}
	for _, turn := range b.schedule {
		t.Order = append(t.Order, turn.task)
	}
	for i := range b.list {
		t.List = append(t.List, b.state(i))
	}
	b.compare(t, rule)
	return t
}

// state returns the state of a task, without its speed-up.
func (b *benchmark) state(i int) profiles.Task {
	task, nan := &b.list[i], math.NaN()
	about := fmt.Sprintf("%s, batch %d", task.Experiment, task.Batch)
	if task.Kind == tasks.Training {
		about += ", " + unit.Plural(task.Epochs, "epoch", "epochs")
	}
	s := profiles.Task{Name: task.Branch, About: about, Device: task.Trainer, State: b.states[i],
		Seconds: nan, Loss: nan, PerSecond: nan, SpeedUp: nan, Low: nan, High: nan}
	if task.Variant == "" {
		s.Device += ", git branch"
	}
	u := b.ended[i]
	if b.trial != nil && b.trial.index == i {
		u = b.trial
	}
	if s.State == profiles.TaskWaiting && b.cancelled(i) {
		s.State = profiles.TaskCancelled
	}
	if u == nil {
		return s
	}
	s.Iterations = u.total
	if u.err != nil {
		s.Why = u.err.Error()
	} else if u.warning != "" {
		s.Why = u.warning
	}
	if loss := b.schema.SeriesNamed("loss"); loss >= 0 {
		s.Loss = u.newest[loss]
	}
	for _, r := range b.rounds[i] {
		if r.Success {
			s.Done++
		}
	}
	if s.Done < b.values.Int(roundsKey) && s.State == profiles.TaskDone {
		s.State = profiles.TaskWaiting
	}
	return s
}

// compare adds the times and the speed-ups of the complete rounds.
func (b *benchmark) compare(t *profiles.Tasks, rule tasks.Rule) {
	var of []int // the task of each result
	var results []tasks.Result
	for i := range b.list {
		if len(b.rounds[i]) > 0 {
			of, results = append(of, i), append(results, b.list[i].Result(b.rounds[i]))
		}
	}
	for _, g := range tasks.Compare(results, rule).Groups {
		for _, c := range g.Tasks {
			s := &t.List[of[c.Task]]
			s.Baseline = c.Task == g.Baseline
			for k, m := range c.Measures {
				switch {
				case k == 0:
					s.Seconds = m.Value
					setAll(m.SpeedUp, &s.SpeedUp, m.Low, &s.Low, m.High, &s.High)
				case m.Name == "throughput_samples_per_sec":
					s.PerSecond = m.Value
				}
			}
		}
	}
}

// setAll sets each second number to the first before it, unless that is nil.
func setAll(pairs ...*float64) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] != nil {
			*pairs[i+1] = *pairs[i]
		}
	}
}
