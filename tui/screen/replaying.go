package screen

import (
	"time"

	"prismtop/profiles"
	"prismtop/tui/transport"
)

// This file asks a replay; its keys are bound only if the source is one.

// play asks the replay for a command about a number.
func (m *Model) play(kind profiles.CommandKind, at int64) {
	m.do(profiles.Command{Kind: kind, At: at})
}

// skipped is how far a key goes in a replay.
const skipped = 10 * time.Second

// seek goes to a moment of the recording.
func (m *Model) seek(to time.Duration) { m.play(profiles.SeekCommand, int64(to)) }

func (m *Model) faster(doublings int) {
	m.play(profiles.SpeedCommand, int64(doublings))
	m.say("speed " + transport.Speed(m.replay.Position().Speed, m.options.ASCII))
}

// jump goes to the next mark of a kind, or to the one before, and says what it is.
func (m *Model) jump(direction int, kind profiles.MarkKind) {
	now := m.replay.Position()
	to := now.Next(direction, kind)
	switch {
	case to != nil:
		m.seek(to.At)
		m.say(to.Text)
	case kind == profiles.AlertMark:
		m.say(noMark("alert", direction))
	case kind == profiles.NoteMark:
		m.say(noMark("note", direction))
	default:
		m.say(noMark("change of a setting", direction))
	}
}

// seekShare goes to a share of the recording, 0 to 1; at 1 it follows a run that goes on.
func (m *Model) seekShare(share float64) {
	p := m.replay.Position()
	m.seek(p.Moment(share))
}

// skip goes on by a time, or back.
func (m *Model) skip(by time.Duration) {
	m.seek(m.replay.Position().At + by)
}

// rewound reports whether a snapshot is of an earlier moment than the one on screen.
func (m *Model) rewound(s *profiles.Snapshot) bool {
	return m.snap != nil && (s.Run.PriorStarts < m.snap.Run.PriorStarts || s.Run.PriorStarts == m.snap.Run.PriorStarts && s.Index < m.snap.Index)
}
