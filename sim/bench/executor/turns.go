package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/compare"
	"prismtop/profiles/compare/recorded"
	"prismtop/profiles/sweep"
)

// Runs by turns: all of a task at once, of which all but one are stopped. A round gives each two turns, in an order by
// chance and then backwards, A B C C B A, so that a drift of the machine touches all alike; of any two of them it has a
// balanced quartet, which profiles/compare judges.

// round is a round: two turns of each run.
type round []turn

// turn is the time for which one run ran.
type turn struct {
	Arm  int       `json:"arm"`
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// turning is a task by turns under way.
type turning struct {
	*Options
	task   int
	order  *rand.Rand
	runs   []*running // that go on
	rounds []round    // of all attempts
	saved  time.Time
}

// begunWithin is how long a process has until its first iteration is recorded, before it takes its turns all the same.
const begunWithin = time.Minute

// byTurns runs a task by turns.
func (o *Options) byTurns(ctx context.Context, task int, pin []int) error {
	t := &turning{Options: o, task: task, order: rand.New(rand.NewPCG(rand.Uint64(), uint64(task)))}
	if err := t.load(); err != nil {
		return err
	}
	cells := o.Folder.Tasks[task].Cells
	defer func() {
		for _, r := range t.runs {
			r.close()
		}
	}()
	for _, c := range cells {
		r, err := o.open(ctx, c)
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		if r.finished(ctx) {
			err = r.conclude(ctx, nil)
		} else if err = r.start(ctx, pin, len(cells), true); err != nil {
			err = r.fail(err)
		} else {
			t.runs = append(t.runs, r)
			err = t.begin(ctx, r)
			if err == nil {
				continue
			}
			return errors.Join(t.interrupt(), err)
		}
		r.close()
		if err != nil {
			return errors.Join(t.interrupt(), err)
		}
	}
	whole := len(t.runs) == len(cells)
	for len(t.runs) > 1 {
		complete, err := t.round(ctx, whole)
		if err != nil {
			return err
		}
		whole = whole && complete
	}
	if err := t.last(ctx); err != nil {
		return err
	}
	return t.judge(ctx)
}

// begin lets a process run until it iterates, and stops it.
func (t *turning) begin(ctx context.Context, r *running) error {
	for began := time.Now(); time.Since(began) < begunWithin; {
		ended, err := t.wait(ctx, r, 50*time.Millisecond)
		if ended || err != nil {
			return err
		}
		if s, err := statusOf(ctx, newest(r.local)); err == nil && s.State == 0 && s.Iterations > r.status.Iterations {
			break
		}
	}
	return r.pause()
}

// newest returns the path of the newest recording in a folder, empty for none.
func newest(folder string) string {
	all := recordings(folder)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// wait waits for a time while a process runs. ended reports whether it has, and was concluded.
func (t *turning) wait(ctx context.Context, r *running, d time.Duration) (ended bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return false, nil
	case <-ctx.Done():
		return false, ErrInterrupted
	case end := <-r.ended:
		t.runs = slices.DeleteFunc(t.runs, func(o *running) bool { return o == r })
		defer r.close()
		return true, r.conclude(ctx, end)
	}
}

// round gives each run two turns. complete reports whether each had them; whole, whether the round is one of all runs
// of the task, which alone compare.
func (t *turning) round(ctx context.Context, whole bool) (complete bool, err error) {
	order := slices.Clone(t.runs)
	t.order.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	back := slices.Clone(order)
	slices.Reverse(back)
	var now round
	for _, r := range append(order, back...) {
		if r.over {
			continue
		}
		if err := r.goOn(); err != nil {
			return false, errors.Join(t.interrupt(), err)
		}
		from := time.Now()
		ended, err := t.wait(ctx, r, t.Folder.Turn)
		to := time.Now()
		r.slices += to.Sub(from)
		switch {
		case err != nil:
			return false, errors.Join(t.interrupt(), err)
		case ended:
			whole = false
			continue
		}
		if err := r.pause(); err != nil {
			return false, errors.Join(t.interrupt(), err)
		}
		now = append(now, turn{r.cell.Arm, from, to})
		r.look(ctx)
	}
	if whole {
		t.rounds = append(t.rounds, now)
		if time.Since(t.saved) >= reportEvery {
			return true, t.save()
		}
	}
	return whole, nil
}

// last lets the last run go on alone.
func (t *turning) last(ctx context.Context) error {
	if err := t.save(); err != nil {
		return errors.Join(t.interrupt(), err)
	}
	for len(t.runs) > 0 {
		r := t.runs[0]
		if err := r.goOn(); err != nil {
			return errors.Join(t.interrupt(), err)
		}
		from := time.Now()
		ended, err := t.wait(ctx, r, lookEvery)
		r.slices += time.Since(from)
		if err != nil {
			return errors.Join(t.interrupt(), err)
		}
		if !ended {
			r.look(ctx)
		}
	}
	return nil
}

// interrupt ends all runs, which leave their checkpoints.
func (t *turning) interrupt() error {
	err := t.save()
	for _, r := range t.runs {
		if stopped := r.interrupt(); !errors.Is(stopped, ErrInterrupted) {
			err = errors.Join(err, stopped)
		}
	}
	return err
}

// path returns the file of the rounds.
func (t *turning) path() string {
	return t.Folder.At("effects", fmt.Sprintf("%d.turns.json", t.task))
}

// load reads the rounds of earlier attempts.
func (t *turning) load() error {
	data, err := os.ReadFile(t.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(data, &t.rounds)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", t.path(), err)
	}
	return nil
}

// save writes the rounds.
func (t *turning) save() error {
	t.saved = time.Now()
	text, err := json.Marshal(t.rounds)
	if err != nil {
		return err
	}
	return atomicfile.Write(t.path(), text, 0o644)
}

// judge compares the runs of the task with the reference among them, or with the first, once all are done.
func (t *turning) judge(ctx context.Context) error {
	cells := t.Folder.Tasks[t.task].Cells
	base := 0
	for i, c := range cells {
		s, err := t.Folder.Read(ctx, c)
		if err != nil || s.State != sweep.Done {
			return err
		}
		if t.Folder.Arms[c.Arm].Name == t.Folder.Reference {
			base = i
		}
	}
	effects := []sweep.Effect{}
	for i, c := range cells {
		if i == base {
			continue
		}
		e, err := t.compare(ctx, cells[base], c)
		if err != nil {
			if ctx.Err() != nil {
				return ErrInterrupted
			}
			continue // too few rounds or iterations: the table has the difference of the medians
		}
		effects = append(effects, e)
	}
	return t.Folder.WriteEffects(t.task, effects)
}

// compare compares two runs by the rounds that they had together.
func (t *turning) compare(ctx context.Context, base, other sweep.Cell) (e sweep.Effect, err error) {
	var schedule []compare.Quartet
	for _, r := range t.rounds {
		var q compare.Quartet
		n := 0
		for _, u := range r {
			if (u.Arm == base.Arm || u.Arm == other.Arm) && n < len(q) {
				q[n] = compare.Slice{From: u.From, To: u.To}
				if u.Arm == other.Arm {
					q[n].Side = 1
				}
				n++
			}
		}
		if n == len(q) {
			schedule = append(schedule, q)
		}
	}
	var turns compare.Turns
	take := turns.Start(schedule)
	var samples [2][]*compare.Sample
	for side, c := range []sweep.Cell{base, other} {
		var last *compare.Sample
		for _, path := range recordings(t.Folder.RunFolder(c)) {
			sample, err := recorded.Read(ctx, recorded.Recording{Path: path, Name: filepath.Base(path)}, t.Tables,
				func(e *profiles.Event) { take(side, e) })
			if err != nil {
				return e, err
			}
			last = sample
		}
		if last == nil {
			return e, fmt.Errorf("%s has no recording", t.Folder.Name(c))
		}
		samples[side] = []*compare.Sample{last}
	}
	names := [2]string{t.Folder.Arms[base.Arm].Name, t.Folder.Arms[other.Arm].Name}
	c, err := turns.Compare(names, samples)
	if err != nil {
		return e, err
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		if r.Name == "iteration_ms" && r.Against[0].Verdict != compare.NotComparable {
			d := &r.Against[0]
			return sweep.Effect{Arm: names[1], Against: names[0], Value: d.Value, Low: d.Low, High: d.High,
				Rounds: r.Values[0].Blocks / 2, Start: other.Replicate}, nil
		}
	}
	return e, errors.New("the rounds do not compare")
}
