// Package replay plays recordings: a Player delivers the snapshots that the screen had live, at any
// speed and from any moment.
package replay

import (
	"context"
	"sync"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/recording"
)

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
	reader *recording.Reader
	offers chan *profiles.Snapshot
	asked  chan func(*playback)

	mu       sync.Mutex
	position profiles.Position
}

// New returns a player at the beginning of a recording; Run plays it.
func New(r *recording.Reader) *Player {
	return &Player{
		reader: r, offers: make(chan *profiles.Snapshot, 1), asked: make(chan func(*playback), 16),
		position: profiles.Position{Playing: true, Speed: 1},
	}
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

// Play plays or pauses. At the end of a recording that does not grow, it plays from the beginning.
func (p *Player) Play(playing bool) {
	p.ask(func(b *playback) {
		if b.playing = playing; playing && b.atEnd() && !b.growing {
			b.seek(b.first())
		}
	})
}

// Faster multiplies the speed by a power of two.
func (p *Player) Faster(doublings int) {
	p.ask(func(b *playback) {
		for ; doublings > 0; doublings-- {
			b.speed = min(2*b.speed, fastest)
		}
		for ; doublings < 0; doublings++ {
			b.speed = max(b.speed/2, slowest)
		}
		b.following = b.following && b.speed >= 1
	})
}

// Step pauses and goes to the next snapshot, or to the one before for a negative number.
func (p *Player) Step(by int) {
	p.ask(func(b *playback) {
		b.playing, b.following = false, false
		b.step(by)
	})
}

// Skip goes forward by a time, or back.
func (p *Player) Skip(by time.Duration) { p.ask(func(b *playback) { b.seek(b.at + by) }) }

// Seek goes to a share of the recording, 0 to 1. At 1 it follows a recording that grows.
func (p *Player) Seek(share float64) {
	p.ask(func(b *playback) {
		first, last := b.first(), b.last()
		b.seek(first + time.Duration(share*float64(last-first)))
		b.following = b.growing && share >= 1
		b.playing = b.playing || b.following
	})
}

// Jump goes to the next mark of a kind, or to the one before for a negative direction.
func (p *Player) Jump(direction int, kind profiles.MarkKind) {
	p.ask(func(b *playback) {
		// The mark at which the replay is counts as before.
		now := b.at
		var to *profiles.Mark
		for i := range b.marks {
			m := &b.marks[i]
			if m.Kind != kind {
				continue
			}
			if direction > 0 && m.At > now && to == nil || direction < 0 && m.At < now-jumpSlack {
				to = m
			}
		}
		if to != nil {
			b.seek(to.At)
		}
	})
}

// jumpSlack is how far behind a mark a jump back skips it.
const jumpSlack = 300 * time.Millisecond

// Run plays until ctx ends, then closes the channel of snapshots.
func (p *Player) Run(ctx context.Context) {
	defer close(p.offers)
	b := newPlayback(ctx, p)
	indexing := make(chan struct{})
	go func() {
		b.index.fill(ctx)
		close(indexing)
	}()
	defer func() { <-indexing }()
	ticker := time.NewTicker(frame)
	defer ticker.Stop()
	b.seek(b.first())
	before := time.Now()
	for {
		b.work()
		b.show()
		if b.target != nil { // on the way: no need to wait
			select {
			case <-ctx.Done():
				return
			case do := <-p.asked:
				do(b)
			default:
			}
			before = time.Now()
			continue
		}
		select {
		case <-ctx.Done():
			return
		case do := <-p.asked:
			do(b)
			for len(p.asked) > 0 { // several presses of a key are one move
				(<-p.asked)(b)
			}
		case <-ticker.C:
			now := time.Now()
			b.refresh(now)
			b.advance(now.Sub(before))
			before = now
		}
	}
}

// show publishes the position and offers the newest snapshot.
func (b *playback) show() {
	b.player.mu.Lock()
	b.player.position = profiles.Position{
		At: b.at, From: b.first(), To: b.last(), Playing: b.playing, Speed: b.speed, Seeking: b.target != nil,
		Growing: b.growing, Following: b.following, Marks: b.marks, Err: b.err,
	}
	b.player.mu.Unlock()
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
