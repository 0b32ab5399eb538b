// Package replay plays recordings: a Player delivers the snapshots that the screen had live, at any
// speed and from any moment. It reads events from package recording, in blocks around the moment that is asked for, and
// hands them to the same aggregator as a live run does.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/recording"
)

// The player: the commands to a replay, its clock, and the snapshots that it offers.

const (
	// frame is the time between two snapshots of a replay that plays.
	frame = 100 * time.Millisecond
	// longestWait bounds how long a replay shows the same snapshot where the run itself waited.
	longestWait = time.Second
	// slice is how long a replay on its way to a distant moment runs before it shows where it is.
	slice = 80 * time.Millisecond
)

// The speeds of a replay, relative to the run.
const (
	slowest = 1.0 / 8
	fastest = 1024
)

// Player plays a recording. Its methods may be called by any goroutine.
type Player struct {
	offers   chan *profiles.Snapshot
	asked    chan func(*playback)
	playback *playback // owned by Run once it is called

	mu       sync.Mutex
	position profiles.Position
}

// New returns a player at the beginning of a recording; Run plays it.
func New(ctx context.Context, r *recording.Reader) *Player {
	p := &Player{offers: make(chan *profiles.Snapshot, 1), asked: make(chan func(*playback), 16)}
	p.playback = newPlayback(ctx, p, r)
	p.playback.tell()
	return p
}

// Snapshots delivers the newest snapshot; the channel is closed when Run returns.
func (p *Player) Snapshots() <-chan *profiles.Snapshot { return p.offers }

// Position returns where the replay is.
func (p *Player) Position() profiles.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.position
}

// ask passes a request to the playing goroutine. One that cannot be taken now is dropped: the
// goroutine is busy with many others.
func (p *Player) ask(do func(*playback)) {
	select {
	case p.asked <- do:
	default:
	}
}

// Able returns the commands that a replay carries out, whatever the recorded run was able to do.
func (p *Player) Able(*profiles.Snapshot) profiles.Kinds {
	return profiles.Kinds{profiles.PlayCommand, profiles.SpeedCommand, profiles.SkipCommand, profiles.SeekCommand}
}

// Do carries out a command. At the end of a recording that does not grow, a replay plays from the beginning.
func (p *Player) Do(c profiles.Command) error {
	switch c.Kind {
	case profiles.PlayCommand:
		playing := false
		p.change(func(at *profiles.Position) {
			playing = !at.Playing
			at.Playing = playing
		})
		p.ask(func(b *playback) {
			b.following = b.following && playing
			if b.playing = playing; playing && b.atEnd() && !b.growing {
				b.seek(b.first())
			}
		})
	case profiles.SpeedCommand:
		speed := 1.0
		p.change(func(at *profiles.Position) {
			at.Speed = min(max(math.Ldexp(at.Speed, int(c.At)), slowest), fastest)
			speed = at.Speed
		})
		p.ask(func(b *playback) {
			b.speed = speed
			b.following = b.following && speed >= 1
		})
	case profiles.SkipCommand:
		p.ask(func(b *playback) {
			b.playing, b.following = false, false
			b.step(int(c.At))
		})
	case profiles.SeekCommand:
		to := time.Duration(c.At)
		p.ask(func(b *playback) {
			b.seek(to)
			b.following = b.growing && to >= b.last()
			b.playing = b.playing || b.following
		})
	case profiles.AttendCommand:
	default:
		return errNothingChanges
	}
	return nil
}

// errNothingChanges refuses the commands that would change a run.
var errNothingChanges = errors.New("this is a recording: nothing in it changes")

// change changes the position at once, so that whoever asked sees it before it is carried out.
func (p *Player) change(how func(*profiles.Position)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	how(&p.position)
}

// Run plays until ctx ends, then closes the channel of snapshots. Playing begins once the first of them
// was taken: a screen may need a while until it shows anything. The error reports a recording whose
// contents make no sense.
func (p *Player) Run(ctx context.Context) (err error) {
	defer close(p.offers)
	defer senseless(&err)
	ctx, stop := context.WithCancel(ctx)
	b := p.playback
	b.ctx = ctx
	indexing := make(chan struct{})
	go func() {
		defer close(indexing)
		var ignored error // the replay comes there, too
		defer senseless(&ignored)
		b.index.fill(ctx)
	}()
	defer func() {
		stop()
		<-indexing
	}()
	ticker := time.NewTicker(frame)
	defer ticker.Stop()
	b.seek(b.first())
	before := time.Now()
	watched := false // the first snapshot was taken
	for {
		b.work()
		b.show()
		if b.target != nil { // on the way: no need to wait
			select {
			case <-ctx.Done():
				return nil
			case do := <-p.asked:
				do(b)
			default:
			}
			before = time.Now()
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case do := <-p.asked:
			do(b)
			for len(p.asked) > 0 { // several presses of a key are one move
				(<-p.asked)(b)
			}
		case <-ticker.C:
			now := time.Now()
			b.refresh(now)
			watched = watched || b.offered != nil && len(p.offers) == 0
			if watched || b.offered == nil {
				b.advance(now.Sub(before))
			}
			before = now
		}
	}
}

// senseless turns a panic into an error: a file that was damaged in a way that no checksum shows may
// hold anything.
func senseless(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("the recording is damaged: %v", v)
	}
}

// show publishes the position and offers the newest snapshot.
func (b *playback) show() {
	b.tell()
	if s := b.shown; s != nil && s != b.offered {
		b.offered = s
		offers := b.player.offers
		select {
		case <-offers:
		default:
		}
		offers <- s
	}
}

// tell publishes the position.
func (b *playback) tell() {
	b.player.mu.Lock()
	defer b.player.mu.Unlock()
	b.player.position = profiles.Position{
		At: b.at, From: b.first(), To: b.last(), Playing: b.playing, Speed: b.speed, Seeking: b.target != nil,
		Growing: b.growing, Following: b.following, Marks: b.marks, Gaps: b.gaps,
		Err: cmp.Or(b.err, b.missing.String()), Ending: b.ending,
	}
}
