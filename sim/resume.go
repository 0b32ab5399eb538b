package sim

import (
	"context"
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/checkpoint"
	"prismtop/sim/workload"
)

// Opening a checkpoint, and going on from it.

// Resumed is a checkpoint from which a run goes on.
type Resumed struct {
	*checkpoint.Checkpoint
	Path     string          // of the file
	Settings settings.Values // in force at the checkpoint

	limit string // the setting that limits the units of work
}

// Kind is a workload that a checkpoint may be of.
type Kind struct {
	Table  *settings.Table
	Schema profiles.Schema
}

// OpenCheckpoint reads the checkpoint of a file, which is of one of the workloads.
func OpenCheckpoint(ctx context.Context, path string, workloads []Kind) (*Resumed, error) {
	c, err := checkpoint.Read(ctx, path)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, w := range workloads {
		if known = append(known, w.Table.Workload); w.Table.Workload != c.Workload {
			continue
		}
		v, err := c.Values(w.Table)
		if err != nil {
			return nil, fmt.Errorf("checkpoint %s: %w", path, err)
		}
		return &Resumed{c, path, v, settings.MaxUnits(w.Schema.Unit.Many)}, nil
	}
	return nil, fmt.Errorf("checkpoint %s: the workload %q is unknown: must be %s", path, c.Workload,
		strings.Join(known, " or "))
}

// Check returns an error if the run cannot go on under the settings.
func (c *Resumed) Check(v settings.Values) error {
	for _, key := range v.Differing(c.Settings) {
		if k, _ := v.Lookup(key); !k.Live {
			want := "must be " + c.Settings.Quoted(key) + ", as in the checkpoint " + c.Path
			if k.Fixed != "" {
				want += ": " + k.Fixed
			}
			return v.Wrong(key, want)
		}
	}
	switch iterations, units := int64(v.Int(settings.MaxIterations)), v.Int(c.limit); {
	case c.Finished:
		return fmt.Errorf("checkpoint %s: the run is complete: there is nothing to go on with", c.Path)
	case iterations > 0 && iterations <= c.Iteration:
		return v.Wrong(settings.MaxIterations,
			fmt.Sprintf("must be above %d, the iterations of the checkpoint %s, or 0 for no limit", c.Iteration,
				c.Path))
	case units > 0 && units <= c.Ended():
		return v.Wrong(c.limit, fmt.Sprintf("must be above %d, as far as the checkpoint %s is, or 0 for all",
			c.Ended(), c.Path))
	}
	return nil
}

// notes returns the first lines of the log of a resumed run.
func (c *Resumed) notes(info *profiles.RunInfo) []string {
	notes := []string{fmt.Sprintf("goes on after iteration %d of the checkpoint %s", c.Iteration, c.Path)}
	if info.Kernels != c.Kernels {
		notes = append(notes, fmt.Sprintf("the checkpoint was written with %s kernels, from whose results those of %s "+
			"differ in rounding", c.Kernels, info.Kernels))
	}
	return notes
}

// resume makes the task of the checkpoint, which begins with the checkpoint's settings, and
// changes to those requested.
func (l *loop) resume(ctx context.Context, r *Run, v settings.Values) error {
	from := r.options.Resume
	begin, err := r.resumedOn(from.Settings, v)
	if err != nil {
		return err
	}
	c := r.foreseen(ctx, begin)
	work, err := r.options.Maker.New(ctx, begin, r.inputs)
	if err != nil {
		return err
	}
	task, ok := work.(workload.Checkpointer)
	if !ok {
		work.Close()
		return fmt.Errorf("checkpoint %s: %s cannot go on from one", from.Path, from.Workload)
	}
	if err := task.Resume(ctx, from.Checkpoint); err != nil {
		work.Close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("checkpoint %s: %w", from.Path, err)
	}
	c.inputs, c.work = r.inputs, work
	l.begin(r, c, from)
	from.Arrays = nil // copied
	err = l.change(ctx, v, false)
	if err != nil {
		l.close()
	}
	return err
}

// resumedOn returns the settings with which a checkpoint is resumed: its own on the requested device, or the requested
// ones if that device does not support its own.
func (r *Run) resumedOn(from, v settings.Values) (settings.Values, error) {
	k, ok := from.Lookup(settings.Device)
	if !ok || !k.Live {
		return from, nil
	}
	begin, err := from.Set(settings.Device, v.Text(settings.Device))
	if err == nil && r.options.Maker.Check(begin, settings.Device) != nil {
		begin = v
	}
	return begin, err
}
