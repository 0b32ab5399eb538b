package replay

import (
	"context"

	"prismtop/profiles"
	"prismtop/profiles/recording"
)

// Whole consumes a recording to its end, calls tell with each line of the log, and returns the last
// snapshot, nil if there is none. An error about a part that cannot be read comes with the snapshot of
// the rest.
func Whole(ctx context.Context, r *recording.Reader, tell func(profiles.LogLine)) (last *profiles.Snapshot, err error) {
	defer senseless(&err)
	stretches, err := r.Stretches(ctx, 0)
	if err != nil {
		return nil, err
	}
	h := newHead(r)
	var log []profiles.LogLine
	for {
		m, failed := h.upcoming(ctx, stretches)
		if failed != nil && err == nil {
			err = failed
		}
		if m == nil {
			return last, err
		}
		last = h.consume()
		for _, line := range profiles.NewLines(log, last.Log) {
			tell(line)
		}
		log = last.Log
	}
}
