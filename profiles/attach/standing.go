package attach

import (
	"math"
	"sort"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/recording"
)

// This file sends the run as it stands ahead of its past, so that a screen that attaches to a long run never shows a
// setting of long ago as if it were in force.

const (
	// standEvery is the time between two accounts of how the run stands, while a screen catches up.
	standEvery = 500 * time.Millisecond
	// behindBy is how long before the present what a screen gets next must be for it to catch up; what is newer it
	// has at once.
	behindBy = 2 * time.Second
)

// behind reports whether a screen at a place has to catch up.
func (j *Journal) behind(at *place) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.newest == nil || j.begun.IsZero() || at.next >= j.tailed || len(j.parts) == 0 {
		return false
	}
	i := sort.Search(len(j.parts)-1, func(i int) bool { return j.parts[i].first+j.parts[i].count > at.next })
	return j.sealed.Sub(j.parts[i].end) > behindBy
}

// stands returns the frame of the run as it stands. Its number is that of the moments so far.
func (j *Journal) stands() ([]byte, error) {
	j.mu.Lock()
	s, last, begun := j.newest, j.last, j.begun
	f := fetched{reset: true, extra: true, first: j.tailed + j.tail.Ticks()}
	j.mu.Unlock()
	var err error
	if f.data, err = pack(standing(j.began, begun, s, &last), 0, false); err != nil {
		return nil, err
	}
	return frame(stateFrame, bodyOf(&f)), nil
}

// standing returns what an aggregator needs for the state in a snapshot: events of a run that has had only its newest
// iteration. Curves, windows of times and what was measured of changes need the past.
func standing(origin, begun time.Time, s *profiles.Snapshot, last *profiles.Iteration) *recording.Piece {
	p := &recording.Piece{Began: origin}
	now := begun.Add(max(s.Elapsed, time.Duration(last.Start+last.Total)))
	put := func(at time.Time, b profiles.Body) { p.Event(&profiles.Event{At: at, Body: b}) }
	put(begun, &profiles.Begin{Info: s.Run, Settings: s.Settings})
	for i := range s.Changes {
		put(begun.Add(s.Changes[i].At), &profiles.Changed{Change: s.Changes[i], Settings: s.Settings})
	}
	for i := range s.Log {
		entry := profiles.LogEntry{Text: s.Log[i].Text, Refused: s.Log[i].Refused}
		if s.Log[i].Kept == s.Kept { // and not of a start before
			entry.Kept = s.Kept
		}
		put(begun.Add(s.Log[i].At), &entry)
	}
	if s.Earlier.Units > 0 {
		put(begun, &s.Earlier)
	}
	for i := range s.Results {
		put(now, &s.Results[i])
	}
	if s.Index > 0 {
		put(now, last)
	}
	m := profiles.Measurement{Iteration: last.Index, Unit: last.Unit, Values: profiles.NoValues()}
	for i := range s.Run.Schema.Series {
		if v := &s.Series[i]; !s.Run.Schema.Series[i].Each && v.Has && !math.IsNaN(v.Latest) {
			m.Iteration, m.Values[i] = v.Iteration, v.Latest
		}
	}
	put(now, &m)
	put(now, &s.Memory.Memory)
	put(now, &profiles.Resident{RSS: s.Memory.RSS, Peak: s.Memory.PeakRSS, Reason: s.Memory.Reason})
	for _, picture := range s.Pictures {
		if picture != nil {
			put(now, picture)
		}
	}
	if len(s.Layers) > 0 {
		put(now, &profiles.LayerTimes{Layers: s.Layers, Roofs: s.Roofs})
	}
	if s.Compared != nil && s.Compared != s.Ablation {
		put(now, s.Compared)
	}
	if s.Ablation != nil {
		put(now, s.Ablation)
	}
	if s.Tasks != nil {
		put(now, s.Tasks)
	}
	if s.Ranks != nil {
		put(now, s.Ranks)
	}
	if s.Next != nil {
		put(now, &profiles.Next{Settings: *s.Next})
	}
	put(now, &s.Recording)
	why := s.Err
	if s.State == profiles.Finished {
		why = s.EndedBy
	}
	put(now, &profiles.StateChange{State: s.State, Why: why, Ran: s.Elapsed})
	p.Tick(now, s.Own)
	return p
}
