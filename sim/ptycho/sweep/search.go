package sweep

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"prismtop/profiles/stats"
	"prismtop/sim/ablation"
)

// search looks for the fastest batch size up to MostAdaptive, as the auto-tuner of a run does but by a trial of each
// size. It returns those to be measured: the fastest and the sizes around it.
func (s *Sweep) search(ctx context.Context) (found []int, err error) {
	const least = 0.8 // of the fastest, below which throughput has fallen
	rates := map[int]float64{}
	probe := func(b int) error {
		if _, known := rates[b]; known {
			return nil
		}
		s.progress(fmt.Sprintf("search, batch size %d", b))
		out, err := s.try(ctx, b, "search", -1)
		rates[b] = 0
		if err == nil && out.Status == Success {
			run := &out.Result.Runs[0]
			rates[b] = float64(run.Images) / run.Seconds.Predict
		}
		return err
	}
	of := ablation.NewSearch(ablation.Ladder(MostAdaptive), 1)
	for b, more := of.Best(), true; more; b, more = of.Next() {
		if err := probe(b); err != nil {
			return nil, err
		}
		switch best := rates[of.Best()]; {
		case b == of.Best():
		case rates[b] > best:
			of.Learn(ablation.Ahead)
		case rates[b] == 0 || rates[b] < least*best:
			of.Learn(ablation.Slower)
		default:
			of.Learn(ablation.Equal)
		}
	}
	for _, b := range of.Near(2) {
		if err := probe(b); err != nil {
			return nil, err
		}
		if rates[b] > 0 {
			found = append(found, b)
		} else if b > of.Best() { // larger ones need more memory still
			break
		}
	}
	return found, nil
}

// Edge is where memory ends.
type Edge struct {
	// Predicted is the largest size whose memory, by the line through the measurements, is
	// within the limit; Target the one within the limit less the margin.
	Predicted int `json:"predicted"`
	Target    int `json:"target"`
	// Verified is the largest size that ran within the limit, Failed the smallest that did
	// not; null if none was tried.
	Verified *int `json:"verified"`
	Failed   *int `json:"failed"`
	// Sentence says what was found.
	Sentence string `json:"sentence"`
}

// mostEdgeTrials bounds the trials of a search for the edge.
const mostEdgeTrials = 12

// findEdge finds the largest batch size within the memory limit: predicted by a line through
// the memory of the sizes measured, tried a margin below, and one beyond tried, too. Where
// the prediction fails, the sizes between are bisected.
func (s *Sweep) findEdge(ctx context.Context) error {
	fit := s.memoryFit()
	if fit == nil {
		s.edge = &Edge{Sentence: "the edge cannot be predicted: the memory of fewer than two batch sizes " +
			"is known, or it does not grow"}
		return nil
	}
	limit := float64(s.o.Limit)
	e := &Edge{Predicted: fit.within(limit), Target: fit.within(limit * (1 - s.o.Margin))}
	s.edge = e
	tries, stopped := 0, ""
	try := func(b int) error {
		if v := s.sizes[b]; v != nil && v.status != "" || tries >= mostEdgeTrials {
			return nil
		}
		tries++
		s.all = max(s.all, s.done+s.cost(b))
		s.progress(fmt.Sprintf("edge of memory, batch size %d", b))
		_, err := s.try(ctx, b, "edge", -1)
		return err
	}
	for _, b := range []int{e.Target, fit.within(limit*(1+s.o.Margin)) + 1} {
		if b < 1 || b > MaxBatch {
			continue
		}
		if err := try(b); err != nil {
			return err
		}
	}
	for {
		e.Verified, e.Failed = s.edges()
		low, high := 0, MaxBatch+1
		if e.Verified != nil {
			low = *e.Verified
		}
		if e.Failed != nil {
			high = *e.Failed
		}
		between := (low + high) / 2
		if e.Failed == nil { // beyond the prediction
			between = min(2*low, MaxBatch)
		}
		settled := e.Verified != nil && e.Failed != nil && float64(high-low) <= max(1, s.o.Margin*float64(low))
		if settled || high-low <= 1 || between <= low || between >= high || tries >= mostEdgeTrials {
			break
		}
		// it failed for another reason, which says nothing about memory
		if v := s.sizes[between]; v != nil && v.status != "" {
			stopped = fmt.Sprintf("; the search ended at %d, which failed: %s", between, v.reason)
			break
		}
		if err := try(between); err != nil {
			return err
		}
	}
	e.Sentence = e.sentence(s.o.Limit, s.o.Margin, stopped)
	return nil
}

// edges returns the largest size below every one that ended for memory, and the smallest of
// those.
func (s *Sweep) edges() (verified, failed *int) {
	for b, v := range s.sizes {
		if v.status == OutOfMemory && (failed == nil || b < *failed) {
			failed = &b
		}
	}
	for b, v := range s.sizes {
		if v.status == Success && (failed == nil || b < *failed) && (verified == nil || b > *verified) {
			verified = &b
		}
	}
	return verified, failed
}

func (e *Edge) sentence(limit int64, margin float64, stopped string) string {
	text := fmt.Sprintf("Of %s, the line through the measurements predicts batch size %d", megabytes(limit),
		e.Predicted)
	if e.Predicted >= MaxBatch {
		text = fmt.Sprintf("Up to batch size %d, the largest that is tried, the line through the measurements "+
			"stays below %s", MaxBatch, megabytes(limit))
	}
	switch {
	case e.Verified != nil && e.Failed != nil:
		text += fmt.Sprintf("; %d ran within it, %d did not", *e.Verified, *e.Failed)
	case e.Verified != nil:
		text += fmt.Sprintf("; %d ran within it, and no size failed", *e.Verified)
	case e.Failed != nil:
		text += fmt.Sprintf("; %d did not run, and no smaller one was found that does", *e.Failed)
	}
	return text + stopped + fmt.Sprintf(". By the line, a margin of %.0f %% below the limit is batch size %d.",
		100*margin, e.Target)
}

// MemoryFit is a line through the peak memory of processes, or on a GPU of its memory, over batch sizes. Activations
// grow with the batch up to a microbatch and not beyond, so it runs through the sizes on one side of that where there
// are two of them: the side on which the memory limit lies.
type MemoryFit struct {
	FixedBytes    float64 `json:"fixed_bytes"`     // of a process without a batch
	BytesPerGroup float64 `json:"bytes_per_group"` // of the batch
	R2            float64 `json:"r2"`              // share of the variance that the line explains
	Sizes         int     `json:"sizes"`           // batch sizes that it runs through
	Smallest      int     `json:"smallest"`        // of these
	Largest       int     `json:"largest"`
}

// within returns the largest batch size whose memory is within a limit, 0 for none.
func (f *MemoryFit) within(limit float64) int {
	return int(min(max(math.Floor((limit-f.FixedBytes)/f.BytesPerGroup), 0), MaxBatch))
}

// memoryFit fits a line by least squares; nil for fewer than two sizes, or memory that does
// not grow.
func (s *Sweep) memoryFit() *MemoryFit {
	microbatch := 0
	for _, v := range s.sizes {
		microbatch = max(microbatch, v.microbatch)
	}
	beyond := s.fitOf(func(b int) bool { return b >= microbatch })
	if beyond != nil && (s.o.Limit == 0 || beyond.within(float64(s.o.Limit)) >= microbatch) {
		return beyond
	}
	if below := s.fitOf(func(b int) bool { return b <= microbatch }); below != nil {
		return below
	}
	return s.fitOf(func(int) bool { return true })
}

// fitOf fits a line through the chosen sizes.
func (s *Sweep) fitOf(chosen func(b int) bool) *MemoryFit {
	var x, y []float64
	for _, b := range slices.Sorted(maps.Keys(s.sizes)) { // so that sums are the same in every run
		if v := s.sizes[b]; v.status == Success && len(v.held()) > 0 && chosen(b) {
			x, y = append(x, float64(b)), append(y, stats.Median(v.held()))
		}
	}
	fixed, slope, r2 := stats.Line(x, y, nil)
	if !(slope > 0) {
		return nil
	}
	return &MemoryFit{fixed, slope, r2, len(x), int(slices.Min(x)), int(slices.Max(x))}
}
