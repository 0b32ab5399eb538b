package cuda

import (
	"prismtop/gpu/driver"
	"prismtop/sim/nn"
)

// lanes enqueues launches on two streams: what nothing in the segment waits for, such as gradients of weights, runs on
// the second while the first computes the gradients that the next layer needs.
type lanes struct {
	b      *Backend
	forked bool // the second lane waits for everything enqueued on the first
	busy   bool // the second lane has work that the first has not waited for
}

// of returns the stream of a launch, after what it must wait for.
func (n *lanes) of(l *launch) (driver.Stream, error) {
	d := n.b.driver
	if !l.aside {
		n.forked = false
		if l.joins {
			return n.b.stream, n.join()
		}
		return n.b.stream, nil
	}
	if !n.forked {
		if err := d.EventRecord(n.b.fork, n.b.stream); err != nil {
			return 0, n.b.check("an event", err)
		}
		if err := d.StreamWaitEvent(n.b.second, n.b.fork); err != nil {
			return 0, n.b.check("an event", err)
		}
		n.forked = true
	}
	n.busy = true
	return n.b.second, nil
}

// join makes the first lane wait for the second.
func (n *lanes) join() error {
	if !n.busy {
		return nil
	}
	n.busy = false
	if err := n.b.driver.EventRecord(n.b.joined, n.b.second); err != nil {
		return n.b.check("an event", err)
	}
	return n.b.check("an event", n.b.driver.StreamWaitEvent(n.b.stream, n.b.joined))
}

// extent is memory of the device that a step reads or writes.
type extent struct{ from, to driver.Pointer }

// overlaps reports whether an extent shares bytes with one of a list.
func (e extent) overlaps(list []extent) bool {
	for _, o := range list {
		if e.from < o.to && o.from < e.to {
			return true
		}
	}
	return false
}

// extents returns the memory of buffers.
func (x *executable) extents(ids []nn.BufferID) []extent {
	list := make([]extent, len(ids))
	for i, id := range ids {
		list[i] = extent{x.at[id], x.at[id] + driver.Pointer(x.plan.Buffers[id].Bytes())}
	}
	return list
}

// order marks the launches of a segment that must wait for the second lane: those of steps that read what it writes, or
// write what it reads or writes.
func (x *executable) order(launches []launch) {
	var reads, writes []extent
	for i := range launches {
		l := &launches[i]
		var in, out []extent
		for _, step := range x.plan.Steps[l.first : l.step+1] {
			in, out = append(in, x.extents(step.In)...), append(out, x.extents(step.Out)...)
		}
		if l.aside {
			reads, writes = append(reads, in...), append(writes, out...)
			continue
		}
		for _, e := range in {
			l.joins = l.joins || e.overlaps(writes)
		}
		for _, e := range out {
			l.joins = l.joins || e.overlaps(writes) || e.overlaps(reads)
		}
		if l.joins {
			reads, writes = nil, nil
		}
	}
}
