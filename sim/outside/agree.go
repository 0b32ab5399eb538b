package outside

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/sim/workload"
)

// How settings come into force at one step on all ranks of a machine: each gets the same document with a step that none
// has reached, and says whether it is ready. At that step they find the decision in the folder of their rings: prismtop
// has made a link "yes" after all were ready, or the first rank to come there has made a link "no". Only one of the two
// can be made, so all find the same, even if prismtop is killed in between. No rank waits, and none sends a message to
// another.

const (
	firstMargin   = 250 * time.Millisecond // between a proposal and its step; a loop looks every 100 ms
	marginSteps   = 3
	proposals     = 5 // each with twice the margin of the one before
	laggingAtMost = 200 * time.Millisecond
	firstStepIn   = 10 * time.Second
)

// proposal is what a rank has answered to a proposal.
type proposal struct {
	asked   uint32 // its generation; 0 for none
	ready   bool
	over    bool // it is in force, or was cancelled
	refused map[string]string
	forced  bool // it is in force
	late    bool // its step was over
}

// hear takes an answer.
func (p *proposal) hear(rec *loop.Record) {
	if p.asked == 0 || rec.Generation != p.asked {
		return
	}
	switch rec.Outcome {
	case loop.Ready:
		p.refused = rec.Refusals()
		p.ready, p.late = len(p.refused) == 0, p.refused[""] != ""
		p.over = p.over || !p.ready
	case loop.NotUnderstood:
		p.refused, p.over = rec.Refusals(), true
	case loop.Cancelled:
		p.over = true
	case loop.Done, loop.Partly:
		if rec.Block == loop.NoBlock || rec.Block == 0 {
			p.refused, p.over, p.forced = rec.Refusals(), true, true
		}
	}
}

// ahead returns a step that no rank will have reached after a time.
func (t *task) ahead(margin time.Duration) int64 {
	pace, newest, now := max(float64(t.pace), 1e3), int64(0), loop.Now()
	for _, m := range t.ranks.members {
		unseen := float64(min(now-m.at, int64(laggingAtMost)+int64(pace)))
		newest = max(newest, m.last+int64(unseen/pace)+1)
	}
	return newest + marginSteps + int64(float64(margin)/pace)
}

// until reads all rings until a condition holds; false once the loop is over.
func (t *task) until(ctx context.Context, holds func() bool) (ok bool, err error) {
	pace := t.trying
	t.trying = true
	defer func() { t.trying = pace }()
	for {
		t.ranks.drain(true)
		t.say(t.ranks.lost())
		if holds() {
			return true, nil
		}
		got, over, err := t.look(ctx)
		switch {
		case err != nil || over:
			return false, err
		case !got:
		case t.comes():
		default:
			t.take()
		}
	}
}

// each reports whether something holds for every rank that is there.
func (r *ranks) each(holds func(*member) bool) bool {
	for _, m := range r.members {
		if m.gone == "" && !holds(m) {
			return false
		}
	}
	return true
}

// apartError is the reason why ranks have not agreed on settings that each of them might take.
type apartError struct{ why string }

func (e *apartError) Error() string { return e.why }

// apart refuses settings because the ranks have not agreed.
func apart(why string) error { return &workload.RefusedError{Err: &apartError{why}} }

const notInTime = "the ranks did not come to an agreement in time: press again when the machine is less busy"

const againEvery = 5 * time.Second // that settings which wait for the ranks are proposed again

// settle puts settings in force that wait for the ranks, and returns what the run is to know: which settings are in
// force instead, and once they are. nil is nothing.
func (t *task) settle(ctx context.Context) (*workload.Outcome, error) {
	out := workload.Outcome{NoIteration: true, Measured: profiles.NoValues()}
	switch {
	case t.waiting == nil || t.vacant():
		return nil, nil
	case t.tried.IsZero(): // what the run was started with
		t.postpone(*t.waiting, t.why, &out)
		return &out, nil
	case time.Since(t.tried) < againEvery || t.ranks.locked != "" || t.trying || t.plan != nil || t.marked:
		return nil, nil
	}
	t.tried = time.Now()
	v := *t.waiting
	err := t.apply(ctx, v, v)
	switch {
	case errors.As(err, new(*apartError)):
		return nil, nil
	case workload.Refused(err):
		t.waiting = nil
		t.say([]string{err.Error()})
		return nil, nil
	case err != nil:
		return nil, err
	}
	t.waiting, out.Forced = nil, &v
	return &out, nil
}

// postpone has settings wait until the ranks agree, and the run know what is in force instead.
func (t *task) postpone(wanted settings.Values, why error, out *workload.Outcome) {
	t.waiting, t.tried = &wanted, time.Now()
	now := t.withKnobs(wanted, t.settings, func(*loop.Knob) bool { return true })
	out.Forced = &now
	var names []string
	for i := range t.Greeting.Knobs {
		if k := &t.Greeting.Knobs[i]; loopValue(k, wanted) != loopValue(k, now) {
			names = append(names, visible.Text(k.Key)+" = "+visible.Text(loopValue(k, wanted)))
		}
	}
	if len(names) > 0 {
		out.Said = append(out.Said, profiles.LogEntry{Text: strings.Join(names, ", ") +
			": not in force before all ranks agree: " + why.Error(), Refused: true})
	}
}

// withKnobs returns settings with those knobs of others that are chosen.
func (t *task) withKnobs(v, others settings.Values, chosen func(*loop.Knob) bool) settings.Values {
	for i := range t.Greeting.Knobs {
		k := &t.Greeting.Knobs[i]
		if next, err := v.Set(k.Key, others.Get(k.Key)); err == nil && chosen(k) {
			v = next
		}
	}
	return v
}

// overrule leaves of the settings that wait those that the user's newest do not change.
func (t *task) overrule(v settings.Values) {
	if t.waiting == nil {
		return
	}
	still := t.withKnobs(v, *t.waiting, func(k *loop.Knob) bool { return loopValue(k, v) == loopValue(k, t.settings) })
	if t.waiting = &still; sameOf(t.Greeting.Knobs, still, v) {
		t.waiting = nil
	}
}

// agree brings settings into force at one step on all ranks, and returns what a rank refused. It is an error that
// changes nothing if a rank is missing.
func (t *task) agree(ctx context.Context, s loop.Settings) (why map[string]string, err error) {
	deadline := time.Now().Add(firstStepIn)
	if _, err := t.until(ctx, func() bool {
		return t.ranks.each(func(m *member) bool { return m.last >= 0 }) || time.Now().After(deadline)
	}); err != nil {
		return nil, err
	}
	for margin, n := firstMargin, 0; n < proposals; margin, n = 2*margin, n+1 {
		if t.ranks.locked != "" {
			return nil, apart(t.ranks.locked)
		}
		forced, why, err := t.propose(ctx, s, t.ahead(margin))
		if err != nil || forced || len(why) > 0 {
			return why, err
		}
	}
	return nil, apart(notInTime)
}

// propose proposes settings for a step. They are in force everywhere or nowhere.
func (t *task) propose(ctx context.Context, s loop.Settings, step int64) (forced bool, why map[string]string,
	err error) {
	t.proposed++
	s.From, s.Agreement = step, fmt.Sprintf("%s.agreed-%d-%d", filepath.Base(t.Ring.Path), os.Getpid(), t.proposed)
	link := filepath.Join(filepath.Dir(t.Ring.Path), s.Agreement)
	for i, m := range t.ranks.members {
		of := s
		if i > 0 {
			of.Layers, of.Trace = false, "" // they would slow the step of all
		}
		m.proposal = proposal{}
		if m.proposal.asked, err = m.ring.Send(&of); err != nil {
			_ = os.Symlink("no", link)
			return false, nil, &workload.RefusedError{Err: err}
		}
	}
	if _, err := t.until(ctx, func() bool {
		return t.ranks.locked != "" || !t.ranks.each(func(m *member) bool { return !m.proposal.over }) ||
			t.ranks.each(func(m *member) bool { return m.proposal.ready })
	}); err != nil {
		_ = os.Symlink("no", link)
		return false, nil, err
	}
	decision := "no"
	if t.ranks.locked == "" && t.ranks.each(func(m *member) bool { return m.proposal.ready && !m.proposal.over }) {
		decision = "yes"
	}
	_ = os.Symlink(decision, link) // which fails if a rank was there before
	ok, err := t.until(ctx, func() bool { return t.ranks.each(func(m *member) bool { return m.proposal.over }) })
	if err != nil || !ok {
		return false, nil, err
	}
	_ = os.Remove(link)
	why = map[string]string{}
	for _, m := range t.ranks.members {
		forced = forced || m.proposal.forced
		if !m.proposal.late {
			maps.Copy(why, m.proposal.refused)
		}
	}
	if s := len(why); s > 0 && forced {
		t.say([]string{"a rank could not put in force what others did: " + visible.Text(fmt.Sprint(why))})
	}
	return forced, why, nil
}
