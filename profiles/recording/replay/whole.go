package replay

import (
	"context"
	"errors"

	"prismtop/profiles"
	"prismtop/profiles/recording"
)

// Whole consumes a recording to its end, calls tell with each line of the log, and returns the last
// snapshot, nil if there is none. An error about a part that cannot be read comes with the snapshot of
// the rest.
func Whole(ctx context.Context, r *recording.Reader, tell func(profiles.LogLine)) (last *profiles.Snapshot, err error) {
	var log []profiles.LogLine
	return Events(ctx, r, func(*profiles.Event) {}, func(s *profiles.Snapshot) {
		for _, line := range profiles.NewLines(log, s.Log) {
			tell(line)
		}
		log = s.Log
	})
}

// Schema returns the schema that a recording ends with, which may have more than it began with; nil if it has none.
// What cannot be read is left out.
func Schema(ctx context.Context, r *recording.Reader) (last *profiles.Schema, err error) {
	defer senseless(&err)
	stretches, err := r.Stretches(ctx, 0)
	if err != nil {
		return nil, err
	}
	for h := newHead(r); ; h.pass() {
		m, _ := h.upcoming(ctx, stretches)
		if m == nil {
			return last, ctx.Err()
		}
		m.Each(func(e *profiles.Event) {
			switch b := e.Body.(type) {
			case *profiles.Begin:
				last = &b.Info.Schema
			case *profiles.Grown:
				last = &b.Schema
			}
		})
	}
}

// Events consumes a recording to its end: it calls take with each event, and after those of a
// moment seen with the snapshot that they gave. It returns as Whole does.
func Events(ctx context.Context, r *recording.Reader, take func(*profiles.Event),
	seen func(*profiles.Snapshot)) (last *profiles.Snapshot, err error) {
	defer senseless(&err)
	stretches, err := r.Stretches(ctx, 0)
	if err != nil {
		return nil, err
	}
	h := newHead(r)
	var damages recording.Damages
	for {
		m, failed := h.upcoming(ctx, stretches)
		if errors.Is(failed, recording.ErrReplaced) { // by the run, which goes on
			if stretches, failed = r.Stretches(ctx, 0); failed == nil {
				continue
			}
		}
		damages.Add(failed)
		if m == nil {
			return last, damages.Err()
		}
		m.Each(take)
		if s := h.consume(); s != nil {
			last = s
			seen(s)
		}
	}
}
