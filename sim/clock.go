package sim

import (
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stream"
	"prismtop/sim/checkpoint"
)

// checkpointClock says when the state of a run is due to be written, and writes it. At the boundary it reads the time
// and the state that it is given; it changes nothing but its files, which another goroutine writes, one at a time, and
// that adds a line to the log.
type checkpointClock struct {
	options *Checkpoints
	log     *stream.Stream
	files   family           // of the start
	writing chan writeResult // of one file; nil for none
	copied  time.Time        // when the newest copy was made, or the start began

	written   Written // the newest file
	start     int     // the start that it is of
	concluded bool    // the start has ended and its last state was dealt with
	missing   error   // why that state was not written, nil if it was or none was wanted
	lost      error   // the newest reason why another than the newest was not kept; nil if all were
}

// writeResult is how the writing of a file ended.
type writeResult struct {
	written Written
	files   family
	start   int
	err     error
	lost    error
}

// began begins the first interval of a start, whose checkpoints are named for it. from is the checkpoint that it goes
// on from, nil for none.
func (c *checkpointClock) began(o *Checkpoints, log *stream.Stream, start int, from *Resumed) {
	c.options, c.log = o, log
	c.copied, c.concluded, c.missing = time.Now(), false, nil
	switch {
	case o.Path == "":
	case from != nil:
		c.files = resumedFamily(o.Path, from)
	case start == 0:
		c.files = family{path: o.Path, newest: -1}
	default:
		_ = c.wait() // or its file would seem to be free
		c.files = family{path: c.files.next(o), newest: -1}
	}
}

// wanted reports whether the run leaves a checkpoint at its end.
func (c *checkpointClock) wanted() bool { return c.options != nil && c.options.Path != "" }

// due reports whether the interval is over and no file is being written.
func (c *checkpointClock) due() bool {
	return c.wanted() && c.options.Every > 0 && time.Since(c.copied) >= c.options.Every && c.idle()
}

// has reports whether the newest file has an iteration of a start.
func (c *checkpointClock) has(iteration int64, start int) bool {
	return c.written.Path != "" && c.written.Iteration == iteration && c.start == start
}

// path returns the path of the newest checkpoint of the start; empty for none.
func (c *checkpointClock) path() string { return c.files.path }

// instead says which checkpoint there is where the present state of a start is not written.
func (c *checkpointClock) instead(start int) string {
	switch {
	case c.written.Path == "":
		return ""
	case c.start != start:
		return fmt.Sprintf("; %s has iteration %d of the run before the restart", c.written.Path, c.written.Iteration)
	}
	return fmt.Sprintf("; %s has iteration %d", c.written.Path, c.written.Iteration)
}

// conclude ends a start whose last state is not written, for a reason.
func (c *checkpointClock) conclude(missing error) { c.concluded, c.missing = true, missing }

// wait waits until no file is being written and returns the error of the one that was.
func (c *checkpointClock) wait() error {
	if c.writing == nil {
		return nil
	}
	return c.take(<-c.writing)
}

// idle reports whether no file is being written.
func (c *checkpointClock) idle() bool {
	if c.writing == nil {
		return true
	}
	select {
	case result := <-c.writing:
		_ = c.take(result) // the log has it
		return true
	default:
		return false
	}
}

func (c *checkpointClock) take(result writeResult) error {
	c.writing = nil
	if result.err == nil {
		c.written, c.start = result.written, result.start
	}
	c.files = result.files
	if result.lost != nil {
		c.lost = result.lost
	}
	return result.err
}

// toWrite is a state of a run.
type toWrite struct {
	run     *checkpoint.Run
	state   *checkpoint.State
	best    *checkpoint.Best   // it is the best so far; nil if not
	reached []string           // as in Written
	start   int                // that it is of
	names   func(n int) string // of files, for a run that has no path
}

// keepsBest reports whether the best checkpoint is kept beside the newest, and which it is so far.
func (c *checkpointClock) keepsBest() (best *checkpoint.Best, keeps bool) {
	return c.files.best, c.files.path != "" && c.options.Keep.Best
}

// write starts writing a state; no file is being written.
func (c *checkpointClock) write(w toWrite) {
	before, files := c.files, c.files
	if w.best != nil {
		files.best = w.best
	}
	written := Written{Path: files.path, Iteration: w.run.Iteration, Finished: w.run.Finished, Reached: w.reached}
	log, last, done := c.log, c.options.Keep.Last, make(chan writeResult, 1)
	c.writing = done
	go func() {
		var err, lost error
		after := files
		if files.path != "" {
			after, lost, err = files.write(last, w.best != nil, w.run, w.state)
		} else {
			written.Path, err = checkpoint.WriteNew(w.names, w.run, w.state)
		}
		if err != nil {
			log.Refuse("no checkpoint: " + err.Error())
			after = before
		} else {
			log.Keep(profiles.Kept{Path: written.Path, Iterations: w.run.Iteration},
				fmt.Sprintf("checkpoint of iteration %d in %s", w.run.Iteration, written.Path))
		}
		if lost != nil {
			lost = fmt.Errorf("an older or the best checkpoint was not kept: %w", lost)
			log.Refuse(lost.Error())
		}
		done <- writeResult{written, after, w.start, err, lost}
	}()
}
