package nn

import (
	"context"
)

// Gradient checkpointing: the forward segment is cut into runs of layers, and only
// a run's results used outside it are kept for the backward pass. The memory of
// the others is released, and they are recomputed when a gradient first needs
// them, from the run's operands by the same operators, so that results are
// bit-identical.

// again is an operator with a side effect. A second run in the same iteration
// uses the Op returned by again, which has none.
type again interface{ again() Op }

// A momentum of 0 leaves the running statistics unchanged.
func (o BatchNorm) again() Op {
	o.Momentum = 0
	return o
}

// runs describes the layers of the forward segment to recompute: those from first
// on, cut into count runs of about equal size in bytes. The zero value keeps
// every result.
type runs struct{ first, count int }

// compileCheckpointed tries every choice of runs. Of the plans that save at least
// 98 % of the memory saved by the smallest arena, it takes the one that recomputes
// least: early layers hold little and cost much.
func (c *compiler) compileCheckpointed(ctx context.Context, loss Value) (*Plan, error) {
	plain := c.plan
	plans, smallest := []*Plan{plain}, plain.ArenaBytes
	layers := c.layers()
	for first := range layers {
		for count := 1; count <= layers-first; count++ {
			other, err := compileRuns(ctx, c.graph, loss, c.options, runs{first, count})
			if err != nil {
				return nil, err
			}
			plans, smallest = append(plans, other.plan), min(smallest, other.plan.ArenaBytes)
		}
	}
	limit := smallest + (plain.ArenaBytes-smallest)/50
	var best *Plan
	for _, p := range plans {
		if p.ArenaBytes <= limit && (best == nil || p.cost() < best.cost()) {
			best = p
		}
	}
	return best, nil
}

// flopsPerByte is the approximate number of operations that a processor does in
// the time it takes to move a byte.
const flopsPerByte = 8

// cost estimates the plan's time, in bytes moved.
func (p *Plan) cost() int64 {
	var n int64
	for i := range p.Steps {
		n += p.Steps[i].Bytes + p.Steps[i].FLOPs/flopsPerByte
	}
	return n
}

// checkpoints is the compiler's state about recomputed results.
type checkpoints struct {
	producer map[BufferID]int      // of dropped results: their tape entry
	repeated map[BufferID]BufferID // dropped results already recomputed
}

// checkpoint chooses the results of the forward segment to drop before the
// backward pass: those in the layers of r that no other run reads. Small second
// results (statistics saved for a gradient), outputs and converted weights are
// kept.
func (c *compiler) checkpoint(r runs) checkpoints {
	p := checkpoints{producer: map[BufferID]int{}, repeated: map[BufferID]BufferID{}}
	if r.count == 0 {
		return p
	}
	forward := c.tape[:c.plan.Segments[SegmentForward][1]]
	run := c.assign(forward, r)
	for i, t := range forward {
		b := &c.plan.Buffers[t.out[0]]
		if run[i] > 0 && b.Variable < 0 && !b.Pinned && b.Category == Activations {
			p.producer[t.out[0]] = i
		}
	}
	for i, t := range c.tape {
		for _, x := range t.in {
			if from, dropped := p.producer[x]; dropped && (i >= len(forward) || run[i] != run[from]) {
				delete(p.producer, x)
			}
		}
	}
	return p
}

// assign numbers the run of every tape entry: 0 for the layers before r.first,
// then 1, 2, … in order, each with about the same number of bytes.
func (c *compiler) assign(forward []taped, r runs) []int {
	var total int64
	bytes, layer := make([]int64, len(forward)), -1
	layers := make([]int, len(forward))
	for i, t := range forward {
		if i == 0 || t.layer != forward[i-1].layer {
			layer++
		}
		layers[i] = layer
		if layer >= r.first {
			bytes[layer] += c.plan.Buffers[t.out[0]].Bytes()
			total += c.plan.Buffers[t.out[0]].Bytes()
		}
	}
	run := make([]int, len(forward))
	current, sum := 1, int64(0)
	for l := r.first; l <= layer; l++ {
		// A layer belongs to the part that contains its middle.
		if at := int((2*sum + bytes[l]) * int64(r.count) / (2 * max(total, 1))); at >= current && l > r.first {
			current++
		}
		sum += bytes[l]
		for i := range forward {
			if layers[i] == l {
				run[i] = current
			}
		}
	}
	return run
}

// recallAll is recall for a list; it returns the list itself if nothing was
// dropped.
func (c *compiler) recallAll(ids []BufferID) []BufferID {
	if len(c.dropped.producer) == 0 {
		return ids
	}
	all := make([]BufferID, len(ids))
	for i, x := range ids {
		all[i] = c.recall(x)
	}
	return all
}

// layers counts the layers of the forward segment.
func (c *compiler) layers() int {
	n := 0
	for i, t := range c.tape[:c.plan.Segments[SegmentForward][1]] {
		if i == 0 || t.layer != c.tape[i-1].layer {
			n++
		}
	}
	return n
}

// recall returns a buffer with the value of x that the backward pass can read: x
// itself, or the buffer into which the first call recomputes it.
func (c *compiler) recall(x BufferID) BufferID {
	i, dropped := c.dropped.producer[x]
	if !dropped {
		return x
	}
	if y, done := c.dropped.repeated[x]; done {
		return y
	}
	t := &c.tape[i]
	in := c.recallAll(t.in)
	op := Op(t.op)
	if o, ok := op.(again); ok {
		op = o.again()
	}
	name := c.name(t.layer, t.op.opName()+" again")
	out := make([]BufferID, len(t.out))
	for k, y := range t.out {
		out[k] = y
		if b := c.plan.Buffers[y]; b.Variable < 0 {
			b.Name, b.Pinned = name, false
			out[k] = c.allocate(b)
		}
	}
	c.dropped.repeated[x] = out[0]
	c.step(name, op, PhaseBackward, in, out)
	return out[0]
}
