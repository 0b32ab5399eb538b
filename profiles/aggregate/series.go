package aggregate

import (
	"math"

	"prismtop/profiles"
)

// maxPoints bounds a curve, whatever the length of the run.
const maxPoints = 2000

// series builds a Curve of bounded length. Values fall into buckets of width
// iterations; when maxPoints is reached, neighbours are merged and, if that is
// not enough, the width doubles. Merging preserves extremes and means.
//
// Published points are never modified: publishing closes the open bucket early,
// so that the next publication shares the array and only appends. The pieces of a
// bucket are joined at the next merge, which makes a new array.
type series struct {
	points profiles.Curve
	counts []int64 // values in each point, for merging means
	binned bool    // points have quantiles
	width  int64   // iterations per bucket

	open   profiles.Point
	inOpen int64 // values in the open bucket
}

// add adds v at the iteration's index, which never decreases. A value that is not
// finite leaves a gap.
func (s *series) add(index int64, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	s.width = max(s.width, 1)
	if s.inOpen > 0 && s.open.First/s.width != index/s.width {
		s.seal()
	}
	if s.inOpen == 0 {
		s.open = profiles.Point{First: index, Min: v, Max: v}
	}
	s.inOpen++
	s.open.Last = index
	s.open.Min, s.open.Max = min(s.open.Min, v), max(s.open.Max, v)
	if s.binned {
		s.open.Bins = s.open.Bins.Add(v)
	}
	s.open.Mean += (v - s.open.Mean) / float64(s.inOpen)
}

// curve returns the series so far. The caller must not modify it.
func (s *series) curve() profiles.Curve {
	s.seal()
	return s.points[:len(s.points):len(s.points)]
}

// seal ends the open bucket.
func (s *series) seal() {
	if s.inOpen == 0 {
		return
	}
	if len(s.points) == maxPoints {
		s.compact()
	}
	s.points = append(s.points, s.open)
	s.counts = append(s.counts, s.inOpen)
	s.inOpen = 0
}

// compact merges the pieces of each bucket and doubles the width until a quarter
// of the room is free. It does not modify the published array.
func (s *series) compact() {
	s.merge()
	for len(s.points) > maxPoints*3/4 {
		s.width *= 2
		s.merge()
	}
}

// merge joins neighbours in the same bucket.
func (s *series) merge() {
	points, counts := make(profiles.Curve, 0, maxPoints), make([]int64, 0, maxPoints)
	for i, p := range s.points {
		last := len(points) - 1
		if last < 0 || points[last].First/s.width != p.First/s.width {
			points, counts = append(points, p), append(counts, s.counts[i])
			continue
		}
		q := &points[last]
		counts[last] += s.counts[i]
		q.Last = p.Last
		q.Min, q.Max = min(q.Min, p.Min), max(q.Max, p.Max)
		q.Bins = q.Bins.Join(p.Bins)
		q.Mean += (p.Mean - q.Mean) * float64(s.counts[i]) / float64(counts[last])
	}
	s.points, s.counts = points, counts
}
