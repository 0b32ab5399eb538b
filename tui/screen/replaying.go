package screen

import (
	"time"

	"prismtop/profiles"
	"prismtop/tui/control"
	"prismtop/tui/transport"
)

// playback plays a recording by its keys: forwards and backwards, faster and slower, from mark to mark. The keys are
// bound only if the source is a replay.
type playback struct {
	*seat
	replay control.Replay // nil if the source is none
	ascii  bool
}

// play asks the replay for a command about a number.
func (p *playback) play(kind profiles.CommandKind, at int64) {
	p.do(profiles.Command{Kind: kind, At: at})
}

// position returns where the replay is, nil if the source is none.
func (p *playback) position() *profiles.Position {
	if p.replay == nil {
		return nil
	}
	now := p.replay.Position()
	return &now
}

// skipped is how far a key goes in a replay.
const skipped = 10 * time.Second

// seek goes to a moment of the recording.
func (p *playback) seek(to time.Duration) { p.play(profiles.SeekCommand, int64(to)) }

func (p *playback) faster(doublings int) {
	p.play(profiles.SpeedCommand, int64(doublings))
	p.say("speed " + transport.Speed(p.replay.Position().Speed, p.ascii))
}

// jump goes to the next mark of a kind, or to the one before, and says what it is.
func (p *playback) jump(direction int, kind profiles.MarkKind) {
	now := p.replay.Position()
	to := now.Next(direction, kind)
	switch {
	case to != nil:
		p.seek(to.At)
		p.say(to.Text)
	case kind == profiles.AlertMark:
		p.say(noMark("alert", direction))
	case kind == profiles.NoteMark:
		p.say(noMark("note", direction))
	default:
		p.say(noMark("change of a setting", direction))
	}
}

// seekShare goes to a share of the recording, 0 to 1; at 1 it follows a run that goes on.
func (p *playback) seekShare(share float64) {
	now := p.replay.Position()
	p.seek(now.Moment(time.Duration(share * float64(now.Recorded(now.To)))))
}

// skip goes on by a recorded time, or back.
func (p *playback) skip(by time.Duration) {
	now := p.replay.Position()
	p.seek(now.Moment(now.Recorded(now.At) + by))
}

// rewound reports whether a snapshot is of an earlier moment than the one before, nil for none.
func rewound(before, s *profiles.Snapshot) bool {
	return before != nil && (s.Run.PriorStarts < before.Run.PriorStarts ||
		s.Run.PriorStarts == before.Run.PriorStarts && s.Index < before.Index)
}
