package sim

import (
	"errors"
	"fmt"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/sim/experiment"
)

// What may be asked of a run about its ablations and replications.

// StartAblation starts comparing every switchable optimisation on and off at the
// next iteration boundary. The ablation ends by itself, by StopAblation, or with
// anything that changes what is compared: a setting, a restart, the end of the
// run. The settings are then restored.
func (r *Run) StartAblation() error { return r.Ablate(ablation.Options{}) }

// StartFactorial starts running every combination of factors, like StartAblation. It is an error if
// the settings or this machine cannot take one of them.
func (r *Run) StartFactorial(factors []settings.Factor) error {
	if len(factors) == 0 {
		return errNoFactors
	}
	return r.Ablate(ablation.Options{Factors: factors})
}

// Ablate is StartAblation with options, or StartFactorial if they have factors.
func (r *Run) Ablate(o ablation.Options) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended():
		return errEnded
	case r.over.Load():
		return errAblateOver
	}
	if err := r.accepts(r.started.WithLive(r.wanted), o.Factors); err != nil {
		return err
	}
	r.queue(command{kind: ablateCommand, ablation: o})
	return nil
}

// accepts returns an error if base or this machine cannot take a combination of factors.
func (r *Run) accepts(base settings.Values, factors []settings.Factor) error {
	if len(factors) == 0 {
		return nil
	}
	combinations, err := ablation.Combinations(base, factors)
	if err != nil {
		return err
	}
	for _, v := range combinations {
		for _, f := range factors {
			for _, a := range f.On {
				if err := r.options.Maker.Check(v, a.Key); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Replicate starts switching a change back and forth until its effect on iteration time is
// decided. before holds the changed settings with their previous values, and iteration is where
// the change took effect. It ends in the same ways as StartAblation. If before has every optimisation that
// saves time off, all of them are switched, from off to on, whatever the settings in force are.
func (r *Run) Replicate(before []settings.Assignment, iteration int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended():
		return errEnded
	case r.over.Load():
		return errAblateOver
	}
	if base, err := r.started.WithLive(r.wanted).With(experiment.EverythingOn(r.wanted.Table(), before)...); err == nil {
		for _, a := range experiment.EverythingOn(r.wanted.Table(), before) {
			if err := r.options.Maker.Check(base, a.Key); err != nil {
				return fmt.Errorf("not everything can be on: %w", err)
			}
		}
	}
	r.queue(command{kind: replicateCommand, before: before, iteration: iteration})
	return nil
}

// StopAblation ends an ablation, a replication or a fork and keeps its results.
func (r *Run) StopAblation() { r.send(command{kind: stopAblationCommand}) }

var (
	errAblateOver = errors.New("an ablation needs iterations, and the run is over; restart it first")
	errNoFactors  = fmt.Errorf("no settings: a factorial ablation needs %d to %d", settings.LeastFactors, settings.MostFactors)
)

// Ablation returns the newest table, nil before the first. Only the goroutine that calls
// Next may call it.
func (r *Run) Ablation() *profiles.Ablation { return r.loop.table }
