package ptx

import "sync"

// Pool keeps the memory of finished launches for later ones. The zero value is ready; a nil Pool keeps nothing.
type Pool struct {
	mu    sync.Mutex
	warps []*warp
	kept  []*races
}

// put takes back what a block used.
func (p *Pool) put(b *block) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.warps = append(p.warps, b.warps...)
	if b.races != nil {
		b.races.block = nil
		p.kept = append(p.kept, b.races)
	}
}

// races returns a detector of races whose epoch no word of it has.
func (p *Pool) races() *races {
	if p == nil {
		return newRaces()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.kept); n > 0 {
		r := p.kept[n-1]
		p.kept = p.kept[:n-1]
		return r
	}
	return newRaces()
}

// warp returns a warp with the registers and the local memory of a kernel, with values left from an earlier one.
func (p *Pool) warp(k *Kernel) *warp {
	var w *warp
	if p != nil {
		p.mu.Lock()
		if n := len(p.warps); n > 0 {
			w = p.warps[n-1]
			p.warps = p.warps[:n-1]
		}
		p.mu.Unlock()
	}
	if w == nil {
		w = &warp{}
	}
	w.narrow = resize(w.narrow, k.counts[narrow])
	w.wide = resize(w.wide, k.counts[wide])
	w.predicates = resize(w.predicates, k.counts[predicate])
	w.local = resize(w.local, 32*k.LocalBytes)
	return w
}

// resize returns a slice of n elements in the memory of another one if that is enough.
func resize[T any](x []T, n int) []T {
	if n <= cap(x) {
		return x[:n]
	}
	return make([]T, n)
}
