package nn

import (
	"context"
	"sort"
)

// alignment of buffers in the arena, in bytes: a cache line, and the widest
// vector register.
const alignment = 64

// lifetime is a buffer between its first and its last step, both inclusive.
type lifetime struct {
	buffer      BufferID
	bytes       int64 // rounded up to the alignment
	first, last int
}

// overlaps reports whether two buffers hold values at the same step.
func (l lifetime) overlaps(m lifetime) bool { return l.first <= m.last && m.first <= l.last }

// planMemory assigns every arena buffer its offset. The largest buffers are
// placed first, each in the smallest gap that fits between those alive at the
// same time. The cost is quadratic in the number of buffers.
func (p *Plan) planMemory(ctx context.Context) error {
	lives := p.lifetimes()
	sort.SliceStable(lives, func(i, j int) bool {
		if lives[i].bytes != lives[j].bytes {
			return lives[i].bytes > lives[j].bytes
		}
		return lives[i].first < lives[j].first
	})
	var placed []lifetime // ordered by offset
	for _, l := range lives {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := p.gap(placed, l)
		p.Buffers[l.buffer].Offset = at
		p.ArenaBytes = max(p.ArenaBytes, at+l.bytes)
		i := sort.Search(len(placed), func(i int) bool { return p.Buffers[placed[i].buffer].Offset > at })
		placed = append(placed, lifetime{})
		copy(placed[i+1:], placed[i:])
		placed[i] = l
	}
	return nil
}

// gap returns the offset of the smallest gap that fits l between the buffers
// alive with it, or the end of the last one.
func (p *Plan) gap(placed []lifetime, l lifetime) int64 {
	best, bestSize := int64(-1), int64(0)
	end := int64(0)
	for _, other := range placed {
		if !other.overlaps(l) {
			continue
		}
		start := p.Buffers[other.buffer].Offset
		if size := start - end; size >= l.bytes && (best < 0 || size < bestSize) {
			best, bestSize = end, size
		}
		end = max(end, start+other.bytes)
	}
	if best < 0 {
		return end
	}
	return best
}

// lifetimes lists the arena buffers that are used by steps or pinned.
func (p *Plan) lifetimes() []lifetime {
	first, last := make([]int, len(p.Buffers)), make([]int, len(p.Buffers))
	for i := range first {
		first[i], last[i] = len(p.Steps), -1
		if p.Buffers[i].Pinned {
			first[i], last[i] = 0, len(p.Steps)
		}
	}
	for s, step := range p.Steps {
		for _, ids := range [][]BufferID{step.In, step.Out} {
			for _, id := range ids {
				first[id], last[id] = min(first[id], s), max(last[id], s)
			}
		}
	}
	var lives []lifetime
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.Variable < 0 && last[i] >= 0 {
			lives = append(lives, lifetime{BufferID(i), aligned(b.Bytes()), first[i], last[i]})
		}
	}
	return lives
}

func aligned(n int64) int64 { return (n + alignment - 1) / alignment * alignment }
