package sim

import (
	"context"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stream"
	"prismtop/sim/workload"
)

// view is what a run shows of its result: its quality, as often as comparing it with the truth is cheap, and its
// pictures, as often as they are wanted. At the boundary it reads the task and adds the time that this takes to the
// record of the iteration.
type view struct {
	stream  *stream.Stream
	schema  *profiles.Schema
	every   time.Duration // between two comparisons at least; 0 for none but those that are needed
	quality int           // the series of the quality, −1 for none
	phase   int           // for comparing and picturing, −1 for none

	compared time.Time     // the last time
	took     time.Duration // that it took
}

func newView(s *stream.Stream, schema *profiles.Schema, every time.Duration, now time.Time) view {
	v := view{stream: s, schema: schema, every: every, compared: now}
	v.find()
	return v
}

// find finds the series and the phase in the schema, which may have grown.
func (v *view) find() {
	v.quality, v.phase = v.schema.SeriesNamed(v.schema.Quality), v.schema.Looking()
}

// look compares the reconstruction with the truth and publishes its picture, if
// due. Its time counts as metrics; other iterations have none. The error is that of the device.
func (v *view) look(cut context.Context, work workload.Task, rec *profiles.Iteration, outcome *workload.Outcome, last,
	sound bool) (values profiles.Values, has bool, err error) {
	start := time.Now()
	values, has = outcome.Measured, outcome.UnitEnded || outcome.Measures
	due := last || outcome.StageEnded || v.due(start)
	watched, _ := v.stream.Watched()
	pictured := last || watched && v.stream.PictureWanted()
	if c, ok := work.(workload.Comparer); ok && !has && sound && due {
		began := time.Now()
		values, err = c.Quality(cut)
		if has = err == nil; !has && cut.Err() == nil {
			return values, false, err
		}
		v.took = time.Since(began)
	}
	if pictured {
		v.publish(work, true, rec.Index)
		v.stream.Answered()
	}
	now := time.Now()
	if has {
		v.compared = now
	}
	if (pictured || due) && v.phase >= 0 {
		rec.Phases[v.phase] += int64(now.Sub(start))
	}
	return values, has, nil
}

// due reports whether another comparison with the truth is due while the run is watched.
func (v *view) due(now time.Time) bool {
	watched, sparse := v.stream.Watched()
	every := v.every * time.Duration(sparse)
	return watched && every > 0 && now.Sub(v.compared) >= max(every, comparisonShare*v.took)
}

// comparisonShare bounds what comparing costs: the time between two comparisons is so many
// times as long as the last one took.
const comparisonShare = 10

// publish publishes either the pictures that change during the run or those that do
// not, at an iteration.
func (v *view) publish(work workload.Task, live bool, iteration int64) {
	imager, ok := work.(workload.Imager)
	if !ok {
		return
	}
	for id, info := range v.schema.Pictures {
		if info.Live == live {
			p := imager.Picture(id)
			if p == nil {
				continue
			}
			if p.ID = id; live {
				p.Iteration = iteration
			}
			v.stream.Picture(p)
		}
	}
}
