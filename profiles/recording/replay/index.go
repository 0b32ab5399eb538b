package replay

import (
	"context"
	"errors"
	"sync"
	"time"

	"prismtop/profiles/recording"
)

// The index holds the aggregator's state at moments spread over a recording, so that a replay can go
// anywhere by consuming a short piece. A goroutine consumes the recording once, from the beginning, to
// make it.
const (
	// mostKeys bounds the moments held: a few hundred kilobytes each.
	mostKeys = 96
	// leastWork is the least work between two of them, in iterations; a tick counts as tickWork.
	leastWork = 8192
	tickWork  = 100
)

type index struct {
	reader *recording.Reader
	wake   chan struct{}

	mu        sync.Mutex
	stretches []recording.Stretch
	whole     bool // no more stretches follow
	keys      []key
	every     int // work between two keys
}

// key is a place in the recording, and the time of the moment after it.
type key struct {
	head
	next time.Duration
}

func newIndex(r *recording.Reader) *index {
	return &index{reader: r, wake: make(chan struct{}, 1), every: leastWork}
}

// extend sets the stretches to be consumed, which must not be modified.
func (x *index) extend(all []recording.Stretch, whole bool) {
	x.mu.Lock()
	x.stretches, x.whole = all, whole
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// before returns the last key from which a moment leads towards a time, nil if there is none yet. It
// must not be modified.
func (x *index) before(to time.Duration) *key {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := len(x.keys) - 1; i >= 0; i-- {
		if x.keys[i].next <= to {
			return &x.keys[i]
		}
	}
	return nil
}

// fill consumes the recording until ctx ends, or until no more of it follows.
func (x *index) fill(ctx context.Context) {
	h := newHead(x.reader)
	work := 0
	for {
		x.mu.Lock()
		stretches, whole, every := x.stretches, x.whole, x.every
		x.mu.Unlock()
		m, err := h.upcoming(ctx, stretches) // the replay itself reports errors
		if m == nil {
			if whole && !errors.Is(err, recording.ErrReplaced) || ctx.Err() != nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-x.wake:
			}
			continue
		}
		if work >= every && !m.Drain && !m.Bridge { // what cannot be read would be missing twice from there
			k := key{h.clone(), m.Since}
			k.moments = nil // they are large, and are read again
			x.keep(k)
			work = 0
		}
		work += tickWork + m.Iterations()
		h.skip()
	}
}

// keep adds a key. A full index is thinned to every other one.
func (x *index) keep(k key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.keys) == mostKeys {
		kept := make([]key, 0, mostKeys)
		for i := 1; i < mostKeys; i += 2 {
			kept = append(kept, x.keys[i])
		}
		x.keys = kept
		x.every *= 2
	}
	x.keys = append(x.keys, k)
}
