package cuda

import (
	"reflect"
	"slices"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
)

// A closed executable is kept with its graphs for a plan that equals its own: a setting that is switched back and forth
// captures the graphs of both modes once, or twice where the second needs a larger arena. What is kept shares one
// arena, which serves others meanwhile. It is freed with its state, where the device runs short of memory, and the
// oldest where there is too much.

// mostKept is the number of executables that a backend keeps.
const mostKept = 8

// keep keeps the contents of an executable whose runs have ended, and leaves it closed.
func (b *Backend) keep(x *executable) {
	// it was in use when x was loaded
	b.forget(x.state, func(k *executable) bool { return reflect.DeepEqual(k.plan, x.plan) })
	k := new(executable)
	*k = *x
	*x = executable{backend: b, plan: x.plan, state: x.state, nanos: x.nanos, closed: true}
	k.arena.keepers++
	k.arena.leave()
	if g := &k.state.gradients; k.stores {
		g.keepers++
		g.leave()
	}
	b.kept = append(b.kept, k)
	if len(b.kept) > mostKept {
		b.drop(b.kept[0])
	}
}

// again returns a kept executable of a plan and a state, with its buffers undefined; nil if there is none. Its arena is
// that of the plan beside which it is loaded, or in no other's use.
func (b *Backend) again(plan *nn.Plan, s *state, beside *slab) (*executable, error) {
	for _, k := range b.kept {
		if k.state != s || k.arena != beside && k.arena.users > 0 || !reflect.DeepEqual(k.plan, plan) {
			continue
		}
		if err := b.wake(k); err != nil {
			b.drop(k)
			return nil, err
		}
		if k.own = 0; beside.at != 0 && k.arena != beside {
			k.own = k.arena.need
		}
		return k, nil
	}
	return nil, nil
}

// wake makes a kept executable as it was when it was loaded.
func (b *Backend) wake(k *executable) error {
	if k.stores {
		if err := k.state.useGradients(); err != nil {
			return err
		}
		k.state.gradients.keepers--
	}
	b.kept = slices.DeleteFunc(b.kept, func(other *executable) bool { return other == k })
	k.arena.use(roundUp(k.plan.ArenaBytes))
	k.arena.keepers--
	k.detailed = false
	k.nanos = make([]int64, len(k.plan.Steps))
	clear(k.scalars.of)
	for s := range k.segments {
		seg := &k.segments[s]
		seg.outputs, seg.detail = k.outputsOf(nn.Segment(s)), false
		for i := range seg.instances {
			seg.instances[i].running, seg.instances[i].unread = false, false
		}
	}
	return nil
}

// drop frees a kept executable.
func (b *Backend) drop(k *executable) {
	b.kept = slices.DeleteFunc(b.kept, func(other *executable) bool { return other == k })
	b.dropped++
	k.arena.use(0)
	k.arena.keepers--
	if k.stores {
		k.state.gradients.use(0)
		k.state.gradients.keepers--
	}
	b.remember(b.released(k.close))
}

// forget frees the kept executables of a state, or of all for nil, of which something is true.
func (b *Backend) forget(of *state, what func(*executable) bool) {
	for _, k := range slices.Clone(b.kept) {
		if (of == nil || k.state == of) && what(k) {
			b.drop(k)
		}
	}
}

// freeing calls do, once more with the memory of all kept executables if the device had too little.
func (b *Backend) freeing(do func() error) error {
	err := do()
	if len(b.kept) == 0 || driver.As(err).Class() != driver.Memory {
		return err
	}
	b.forget(nil, func(*executable) bool { return true })
	return do()
}

// idle returns an arena of at least the given bytes that only kept executables of a state hold; nil if there is none.
// Those whose arena is too small are freed: they are captured again in the larger one.
func (b *Backend) idle(s *state, bytes int64) *slab {
	for _, k := range b.kept {
		if k.state == s && k.arena.users == 0 && k.arena.bytes >= bytes {
			return k.arena
		}
	}
	b.forget(s, func(k *executable) bool { return k.arena.users == 0 })
	return nil
}

// keptBytes returns the memory on the device that only kept executables need.
func (b *Backend) keptBytes() (bytes int64) {
	var slabs []*slab
	for _, k := range b.kept {
		bytes += k.private.bytes
		if b.counts.context > 0 { // else the driver's part is not known
			bytes += k.graphs
		}
		slabs = append(slabs, k.arena)
		if k.stores {
			slabs = append(slabs, &k.state.gradients)
		}
	}
	slices.SortFunc(slabs, func(x, y *slab) int { return int(int64(x.at) - int64(y.at)) })
	for _, s := range slices.Compact(slabs) {
		bytes += s.bytes - s.need
	}
	return bytes
}
