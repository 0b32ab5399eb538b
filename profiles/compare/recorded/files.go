// Package recorded reads recordings for a comparison.
package recorded

import (
	"context"
	"errors"
	"fmt"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

// Recording is a recording to be compared, or a part of it.
type Recording struct {
	Path    string
	Name    string // in the comparison
	Stretch compare.Stretch
}

// Read reads what a comparison needs of a recording, which may still grow, and calls also with each of
// its events. tables is as for recording.Open. An error about a part that is damaged comes with the
// sample of the rest.
func Read(ctx context.Context, from Recording, tables func(workload string) *settings.Table,
	also ...func(*profiles.Event)) (sample *compare.Sample, err error) {
	defer func() { // a file that was damaged in a way that no checksum shows may hold anything
		if v := recover(); v != nil {
			sample, err = nil, fmt.Errorf("%s: the recording is damaged: %v", from.Path, v)
		}
	}()
	r, err := recording.Open(ctx, from.Path, tables)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	run, unknown, err := describe(ctx, r, from.Name)
	if err != nil {
		return nil, err
	}
	stretches, err := r.Stretches(ctx, 0)
	if err != nil {
		return nil, err
	}
	if len(stretches) == 0 {
		return nil, fmt.Errorf("%s: nothing was recorded", from.Path)
	}
	sample = compare.NewSample(run, from.Stretch, stretches[len(stretches)-1].To-stretches[0].From)
	damaged := errors.Join(unknown, each(ctx, r, stretches, func(e *profiles.Event) {
		sample.Take(e)
		for _, take := range also {
			take(e)
		}
	}))
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := sample.End(); err != nil {
		return nil, errors.Join(damaged, fmt.Errorf("%s: %w", from.Path, err))
	}
	hash, err := r.PictureHash(ctx, sample.Start())
	sample.Identify(hash)
	return sample, errors.Join(damaged, err)
}

// describe returns what is known of a recording besides its events; unknown is why its state is not.
func describe(ctx context.Context, r *recording.Reader, name string) (run compare.Run, unknown, err error) {
	print, err := r.Fingerprint(ctx)
	if err != nil {
		return run, nil, err
	}
	status, unknown := r.Status(ctx)
	return compare.Run{
		Path: r.Path(), Name: name, Began: status.Began, Growing: unknown == nil && status.GoesOn(),
		Dropped: status.Dropped, Program: print.Version, Preset: print.Preset, Processor: print.CPU.Model,
		Threads: print.Threads,
	}, unknown, nil
}

// each calls take with every event of the stretches. Where a recording grows, they may be replaced by
// longer ones meanwhile, which are then read from the same place on. Of a stretch that cannot be read
// only what leads over it is there, and its error is returned.
func each(ctx context.Context, r *recording.Reader, stretches []recording.Stretch, take func(*profiles.Event)) error {
	cursor := r.Cursor()
	var damages recording.Damages
	done := int64(0) // ticks
	for len(stretches) > 0 && ctx.Err() == nil {
		s := stretches[0]
		moments, err := cursor.Read(ctx, s)
		switch {
		case errors.Is(err, recording.ErrReplaced):
			if stretches, err = r.Stretches(ctx, done); err != nil {
				return errors.Join(damages.Err(), err)
			}
			continue
		case err != nil:
			damages.Add(err)
			if m := cursor.Bridge(ctx, s); m != nil {
				m.Each(take)
			}
		}
		for i := max(0, min(done-s.Tick, int64(len(moments)))); i < int64(len(moments)); i++ {
			moments[i].Each(take)
		}
		done = max(done, s.Tick+s.Ticks)
		stretches = stretches[1:]
	}
	return damages.Err()
}
