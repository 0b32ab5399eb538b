package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/sweep"
	"prismtop/sim/ablation"
)

// A search over the values of a setting: tries that lead to the fastest, the rounds of replicates that compare it with
// the values around it, and the edge of memory. What has run is read from the folder, so that a search which was
// interrupted goes the same way again and runs what is missing.

// Search runs what is left of a sweep with a search, several replicates of a round at a time. The error is as of Local.
func (o *Options) Search(ctx context.Context, parallel int) (err error) {
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = ErrInterrupted
		}
	}()
	f, s := o.Folder, o.Folder.Search
	lock, err := atomicfile.LockPath(f.At("search"), o.Owner)
	if err != nil {
		return err
	}
	defer lock.Release()
	values := slices.Clone(s.Values)
	if s.To > 0 {
		near, err := fastest(ladder(s.From, s.To), func(v int) (*sweep.Tried, error) { return o.try(ctx, v) })
		if err != nil {
			return err
		}
		values = append(values, near...)
	}
	slices.Sort(values)
	if err := o.rounds(ctx, slices.Compact(values), parallel); err != nil {
		return err
	}
	all, err := f.Tried(ctx)
	if err != nil {
		return err
	}
	if s.Most > 0 && f.Bound() > 0 && s.Edge == nil {
		if s.Edge, err = edge(all, f.Bound(), s, func(v int) (err error) {
			all[v], err = o.try(ctx, v)
			return err
		}); err != nil {
			return err
		}
	}
	s.Over = true
	return f.Save()
}

// ladder returns the values of a search.
func ladder(from, to int) []int {
	all := slices.DeleteFunc(ablation.Ladder(to), func(v int) bool { return v < from })
	all = append(all, from, to)
	slices.Sort(all)
	return slices.Compact(all)
}

// try runs a value once, unless it has run, and returns what is known of it.
func (o *Options) try(ctx context.Context, v int) (*sweep.Tried, error) {
	round := o.Folder.Rounds([]int{o.Folder.Value(v, true)}, 1)[0]
	if err := o.Folder.Save(); err != nil {
		return nil, err
	}
	if err := o.Local(ctx, round, 1); err != nil {
		return nil, err
	}
	all, err := o.Folder.Tried(ctx)
	if err == nil && all[v] == nil {
		err = errors.New("another process works on it")
	}
	return all[v], err
}

// rounds runs every replicate of some values. One that has failed is left out of later rounds.
func (o *Options) rounds(ctx context.Context, values []int, parallel int) error {
	f := o.Folder
	var arms []int
	for _, v := range values {
		arms = append(arms, f.Value(v, false))
	}
	rounds := f.Rounds(arms, f.Replicates)
	if err := f.Save(); err != nil {
		return err
	}
	for _, round := range rounds {
		all, err := f.Tried(ctx)
		if err != nil {
			return err
		}
		round = slices.DeleteFunc(round, func(t int) bool {
			known := all[f.Arms[f.Tasks[t].Cells[0].Arm].Value]
			return known != nil && known.Failed && !(o.Retry && !known.OutOfMemory)
		})
		if err := o.Local(ctx, round, parallel); err != nil {
			return err
		}
	}
	return nil
}

// slowed is the share of the greatest speed below which a search upwards ends.
const slowed = 0.8

// fastest looks for the fastest value of a ladder, as the auto-tuner of a run does but by a try of each. It returns the
// values to be measured: the fastest and the ones around it that run.
func fastest(ladder []int, try func(v int) (*sweep.Tried, error)) (found []int, err error) {
	rates := map[int]float64{}
	probe := func(v int) error {
		if _, known := rates[v]; known {
			return nil
		}
		t, err := try(v)
		if err == nil && !t.Failed {
			rates[v] = t.Rate
		} else {
			rates[v] = 0
		}
		return err
	}
	of := ablation.NewSearch(ladder, ladder[0])
	for v, more := of.Best(), true; more; v, more = of.Next() {
		if err := probe(v); err != nil {
			return nil, err
		}
		switch best := rates[of.Best()]; {
		case v == of.Best():
		case rates[v] > best:
			of.Learn(ablation.Ahead)
		case rates[v] == 0 || rates[v] < slowed*best:
			of.Learn(ablation.Slower)
		default:
			of.Learn(ablation.Equal)
		}
	}
	for _, v := range of.Near(2) {
		if err := probe(v); err != nil {
			return nil, err
		}
		if rates[v] > 0 {
			found = append(found, v)
		} else if v > of.Best() { // larger ones need more memory still
			break
		}
	}
	return found, nil
}

// mostTries bounds the tries of a search for the edge.
const mostTries = 12

// edge finds the largest value within a limit of memory: predicted by a line through the memory of the values that ran,
// tried a margin below, and one beyond tried, too. Where the prediction fails, the values between are bisected. try
// adds what it finds to all.
func edge(all map[int]*sweep.Tried, limit int64, s *sweep.Searched, try func(v int) error) (*sweep.Edge, error) {
	line := sweep.MemoryLine(all, limit)
	if line == nil {
		return &sweep.Edge{Sentence: "the edge cannot be predicted: the memory of fewer than two " +
			strings.TrimSuffix(named(s), "s") + "s is known, or it does not grow"}, nil
	}
	within := func(share float64) int { return min(line.Within(share*float64(limit)), s.Most) }
	e := &sweep.Edge{Predicted: within(1), Target: within(1 - s.Margin)}
	tries, stopped := 0, ""
	once := func(v int) error {
		if all[v] != nil || tries >= mostTries {
			return nil
		}
		tries++
		return try(v)
	}
	for _, v := range []int{e.Target, within(1+s.Margin) + 1} {
		if v < 1 || v > s.Most {
			continue
		}
		if err := once(v); err != nil {
			return nil, err
		}
	}
	for {
		e.Verified, e.Failed = edges(all)
		low, high := 0, s.Most+1
		if e.Verified != nil {
			low = *e.Verified
		}
		if e.Failed != nil {
			high = *e.Failed
		}
		between := (low + high) / 2
		if e.Failed == nil { // beyond the prediction
			between = min(2*low, s.Most)
		}
		settled := e.Verified != nil && e.Failed != nil && float64(high-low) <= max(1, s.Margin*float64(low))
		if settled || high-low <= 1 || between <= low || between >= high || tries >= mostTries {
			break
		}
		// it failed for another reason, which says nothing about memory
		if t := all[between]; t != nil {
			stopped = fmt.Sprintf("; the search ended at %d, which failed: %s", between, t.Reason)
			break
		}
		if err := once(between); err != nil {
			return nil, err
		}
	}
	e.Sentence = sentence(e, limit, s, stopped)
	return e, nil
}

// edges returns the largest value below every one that ended for memory, and the smallest of those.
func edges(all map[int]*sweep.Tried) (verified, failed *int) {
	for v, t := range all {
		if t.OutOfMemory && (failed == nil || v < *failed) {
			failed = &v
		}
	}
	for v, t := range all {
		if t.Done && !t.Failed && (failed == nil || v < *failed) && (verified == nil || v > *verified) {
			verified = &v
		}
	}
	return verified, failed
}

// sentence says what a search for the edge found.
func sentence(e *sweep.Edge, limit int64, s *sweep.Searched, stopped string) string {
	of := named(s)
	text := fmt.Sprintf("Of %s, the line through the measurements predicts %s %d", megabytes(limit), of, e.Predicted)
	if e.Predicted >= s.Most {
		text = fmt.Sprintf("Up to %s %d, the largest that is tried, the line through the measurements stays below %s",
			of, s.Most, megabytes(limit))
	}
	switch {
	case e.Verified != nil && e.Failed != nil:
		text += fmt.Sprintf("; %d ran within it, %d did not", *e.Verified, *e.Failed)
	case e.Verified != nil:
		text += fmt.Sprintf("; %d ran within it, and no size failed", *e.Verified)
	case e.Failed != nil:
		text += fmt.Sprintf("; %d did not run, and no smaller one was found that does", *e.Failed)
	}
	return text + stopped + fmt.Sprintf(". By the line, a margin of %.0f %% below the limit is %s %d.", 100*s.Margin,
		of, e.Target)
}

// named names the setting in a sentence.
func named(s *sweep.Searched) string { return strings.ReplaceAll(s.Key, "_", " ") }

// megabytes formats an amount of memory as reports of batch sizes do.
func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
