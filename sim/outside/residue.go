package outside

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// A trace of the loop's profiler on demand, and what it leaves behind in the time of a step.

const (
	residueBlocks = 8
	residueSteps  = 8 // of a block
)

// residue compares steps before a trace with steps after it.
type residue struct {
	before  [residueBlocks * residueSteps]float64 // the newest plain steps, logarithms of their times, by turns
	count   int
	after   []float64
	pending bool // a trace is under way, or steps after it are gathered
	traced  bool // a step of it was seen
	steps   int  // plain ones that are left out right after it
}

// begin waits for the steps of a trace.
func (r *residue) begin() { r.pending, r.traced, r.after, r.steps = true, false, nil, residueSteps }

// take takes a step.
func (r *residue) take(t *task, s *loop.Record) {
	if r.pending && s.Flags&loop.Measured != 0 {
		r.traced = true
		return
	}
	if s.StepKind != 0 || s.Total <= 0 ||
		s.Flags&(loop.Settling|loop.Compiled|loop.Measured|loop.Boundaries|loop.Skipped) != 0 {
		return
	}
	v := math.Log(float64(s.Total))
	switch {
	case !r.pending:
		r.before[r.count%len(r.before)] = v
		r.count++
	case !r.traced:
	case r.steps > 0:
		r.steps--
	default:
		if r.after = append(r.after, v); len(r.after) == len(r.before) {
			r.pending = false
			t.said = append(t.said, profiles.LogEntry{Text: r.verdict()})
			r.count = 0
		}
	}
}

// verdict says what steps after the trace take beside those before it: block by block, the
// newest before it with the first after it.
func (r *residue) verdict() string {
	if r.count < len(r.before) {
		return "there were too few steps before the trace to say what it leaves behind"
	}
	block := func(at func(i int) float64) float64 {
		var all []float64
		for i := range residueSteps {
			all = append(all, at(i))
		}
		return median(all)
	}
	var differences []float64
	for b := range residueBlocks {
		after := block(func(i int) float64 { return r.after[b*residueSteps+i] })
		before := block(func(i int) float64 { return r.before[(r.count-1-b*residueSteps-i)%len(r.before)] })
		differences = append(differences, after-before)
	}
	c := stats.SignedRank(differences)
	share := func(v float64) string { return unit.Signed(100*math.Expm1(v), 1) }
	text := fmt.Sprintf("a step after the trace takes %s %% [%s, %s] beside one before it", share(c.Value),
		share(c.Low), share(c.High))
	if !stats.Zero(0).Judge(c.Low, c.High).Excluded() {
		text += ": nothing is shown to be left behind"
	}
	return text
}

// Trace has the loop's profiler write a trace of a few steps, to a new file in the program's folder.
func (t *task) Trace(ctx context.Context) error {
	if t.residue.pending {
		return errors.New("one is under way")
	}
	folder := t.Greeting.Directory
	if info, err := os.Stat(folder); err != nil || !info.IsDir() || !filepath.IsAbs(folder) {
		folder = os.TempDir()
	}
	t.plan.leave(t)
	s := t.asked
	s.Trace = filepath.Join(folder, time.Now().Format("prismtop-2006-01-02T15-04-05")+".pt.trace.json")
	why, err := t.send(ctx, s)
	if err != nil {
		return err
	}
	if text := why["trace"] + why[""]; text != "" {
		return errors.New(visible.Text(text))
	}
	t.residue.begin()
	return nil
}
