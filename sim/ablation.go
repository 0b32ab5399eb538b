package sim

import (
	"errors"

	"prismtop/sim/ablation"
)

// This file is the ablation of a run: it switches what the schedule wants between
// iterations and returns to the settings as they were whichever way it ends.

// StartAblation begins to compare every switchable optimisation on and off, from
// the next iteration boundary on. It ends by itself, by StopAblation, and with
// anything that changes what is compared: a setting, a restart, the run's end. The
// settings then are what they were.
func (r *Run) StartAblation() error { return r.ablate(ablation.Options{}) }

// ablate is StartAblation with options.
func (r *Run) ablate(o ablation.Options) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended():
		return errEnded
	case r.over.Load():
		return errAblateOver
	}
	r.queue(command{kind: ablateCommand, ablation: o})
	return nil
}

// StopAblation ends an ablation; its table stays.
func (r *Run) StopAblation() { r.send(command{kind: stopAblationCommand}) }

var errAblateOver = errors.New("an ablation needs iterations, and the run is over; restart it first")

// startAblation begins an ablation unless one is under way.
func (l *loop) startAblation(o ablation.Options) {
	if l.ablation != nil || l.finished {
		return
	}
	l.ablation = ablation.New(l.settings, o)
	l.run.stream.Log("ablation began")
	l.run.stream.Ablation(l.ablation.View())
}

// stopAblation ends an ablation, if one is under way, and returns to the settings
// as they were.
func (l *loop) stopAblation(why string) error {
	s := l.ablation
	if s == nil {
		return nil
	}
	l.ablation = nil
	s.End(why)
	v := s.View()
	l.run.stream.Ablation(v)
	l.run.stream.Log("ablation ended: " + v.Ended + "; the settings are as before")
	return l.change(s.Base(), true)
}

// switchAblation brings the settings to what the next iteration is to run under.
func (l *loop) switchAblation() error {
	if l.ablation == nil {
		return nil
	}
	if l.ablation.Done() {
		return l.stopAblation("")
	}
	return l.change(l.ablation.Wanted(), true)
}

// observeAblation shows an iteration to the ablation.
func (l *loop) observeAblation() {
	if l.ablation == nil || !l.ablation.Add(&l.rec) {
		return
	}
	l.ablation.Look(l.task.Quality().PSNR, l.task.Memory())
	l.run.stream.Ablation(l.ablation.View())
}
