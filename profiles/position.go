package profiles

import "time"

// Position is where a replay is. Times are since the recording began.
type Position struct {
	At, From, To time.Duration // now; the first and the last moment of the recording
	Playing      bool
	Speed        float64 // relative to the run
	Seeking      bool    // on the way to a distant moment
	Growing      bool    // the run still goes on
	Following    bool    // every new snapshot is shown as it comes
	Marks        []Mark  // oldest first
	Err          string  // why a part of the recording cannot be read; empty if all can
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
)
