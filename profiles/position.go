package profiles

import "time"

// Where a replay is: its position, gaps in the recording, and marks to go to.

// Position is where a replay is. Times are since the recording began.
type Position struct {
	At, From, To time.Duration // now; the first and the last moment of the recording
	Playing      bool
	Speed        float64 // relative to the run
	Seeking      bool    // on the way to a distant moment
	Growing      bool    // the run still goes on
	Following    bool    // every new snapshot is shown as it comes
	Marks        []Mark  // oldest first
	Gaps         []Gap   // times of which nothing is recorded, oldest first
	Err          string  // why a part of the recording cannot be read; empty if all can
	Ending       string  // why the recording ends before its run; empty if it does not
}

// Gap is a time of which nothing is recorded: the run stood still, or was interrupted and resumed.
type Gap struct{ From, To time.Duration }

// Share returns the place of a moment among all that is recorded, 0 for the first and 1 for the last.
func (p *Position) Share(at time.Duration) float64 {
	if all := p.Recorded(p.To); all > 0 {
		return min(max(float64(p.Recorded(at))/float64(all), 0), 1)
	}
	return 0
}

// Moment returns the moment before which a time is recorded.
func (p *Position) Moment(recorded time.Duration) time.Duration {
	at := p.From + recorded
	for _, g := range p.Gaps {
		if at > g.From {
			at += g.To - g.From
		}
	}
	return at
}

// Recorded returns how much is recorded before a moment: the clock of a replay.
func (p *Position) Recorded(at time.Duration) time.Duration {
	sum := at - p.From
	for _, g := range p.Gaps {
		if at > g.From {
			sum -= min(at, g.To) - g.From
		}
	}
	return sum
}

// markSlack is how far behind a mark the one before is meant by going back.
const markSlack = 300 * time.Millisecond

// Next returns the next mark of a kind, or the one before for a negative direction; nil if there is
// none.
func (p *Position) Next(direction int, kind MarkKind) (next *Mark) {
	for i := range p.Marks {
		m := &p.Marks[i]
		switch {
		case m.Kind != kind:
		case direction > 0 && m.At > p.At:
			return m
		case direction < 0 && m.At < p.At-markSlack:
			next = m
		}
	}
	return next
}

// Mark is a moment of a recording worth going to.
type Mark struct {
	At   time.Duration // since the recording began
	Kind MarkKind
	Text string
}

// MarkKind is the kind of a Mark.
type MarkKind uint8

// The kinds of marks.
const (
	ChangeMark MarkKind = iota // the user changed a setting, or started the run again
	AlertMark                  // an alert was raised
	NoteMark                   // somebody wrote a note
)
