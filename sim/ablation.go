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

// mayAblate returns an error if the run, or this machine, cannot take an ablation: a factorial one if it has factors.
// An ablation ends by itself, by a command, or with anything that changes what is compared: a setting, a restart, the
// end of the run. The settings are then restored. The caller holds mu.
func (r *Run) mayAblate(o *ablation.Options) error {
	if err := r.mayCompare(errAblateOver); err != nil {
		return err
	}
	return r.accepts(r.started.WithLive(r.wanted), o.Factors)
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

// mayReplicate returns an error if the run, or this machine, cannot switch a change back and forth: before has the
// changed settings with their previous values. It ends in the same ways as an ablation. The caller holds mu.
func (r *Run) mayReplicate(before []settings.Assignment) error {
	if err := r.mayCompare(errAblateOver); err != nil {
		return err
	}
	on := experiment.EverythingOn(r.wanted.Table(), before)
	if base, err := r.started.WithLive(r.wanted).With(on...); err == nil {
		for _, a := range on {
			if err := r.options.Maker.Check(base, a.Key); err != nil {
				return fmt.Errorf("not everything can be on: %w", err)
			}
		}
	}
	return nil
}

var errAblateOver = errors.New("an ablation needs iterations, and the run is over; restart it first")

// Ablation returns the newest table, nil before the first. Only the goroutine that calls
// Next may call it.
func (r *Run) Ablation() *profiles.Ablation { return r.loop.comparing.table }
