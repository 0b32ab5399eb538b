package cuda

import (
	"context"
	"maps"
	"time"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
)

// A segment of an executable: its graphs, its runs, waiting for them and the times of its steps.

// segment is a segment of an executable: its launches in groups of one phase, and the graphs of them. There are two
// graphs with events of their own, used alternately, so that the times of one run are read while the next computes.
type segment struct {
	launches []launch
	groups   []group
	eager    bool                 // no graph could be captured
	outputs  map[nn.BufferID]bool // that only this segment writes
	gathers  bool                 // it writes scalars for the host:
	scalars  [maxScalars]driver.Pointer

	instances [2]instance
	next      int            // the instance of the next run
	steps     []driver.Event // before and after each launch, for Detail
	detail    bool           // steps were recorded, and not read
}

// instance is one of the two graphs of a segment.
type instance struct {
	graph   driver.GraphExec
	marks   []driver.Event // before each group, and after the last
	done    driver.Event   // after the last run
	running bool           // done has not been seen
	unread  bool           // marks were recorded, and not read
}

// group is consecutive launches of one phase, with those of the second lane that run beside them.
type group struct {
	first, end int // in launches
	step       int // the first step
}

// split divides the launches among the segments and captures these.
func (x *executable) split() error {
	for s := range x.segments {
		seg := &x.segments[s]
		first, end := x.plan.Segments[s][0], x.plan.Segments[s][1]
		for _, l := range x.launches {
			if l.step >= first && l.step < end {
				seg.launches = append(seg.launches, l)
			}
		}
		x.order(seg.launches)
		seg.outputs = x.outputsOf(nn.Segment(s))
		for i, l := range seg.launches {
			last := len(seg.groups) - 1
			if last >= 0 && (l.aside || x.plan.Steps[l.step].Phase == x.plan.Steps[seg.groups[last].step].Phase) {
				seg.groups[last].end = i + 1
				continue
			}
			seg.groups = append(seg.groups, group{i, i + 1, l.step})
		}
		seg.scalars, seg.gathers = x.scalars.writtenIn(x, first, end)
		if len(seg.launches) == 0 {
			continue
		}
		for i := range seg.instances {
			if err := seg.instances[i].prepare(x, seg); err != nil {
				return err
			}
		}
	}
	return nil
}

// prepare makes an instance's events and captures its graph.
func (t *instance) prepare(x *executable, s *segment) error {
	b := x.backend
	for range len(s.groups) + 1 {
		e, err := b.driver.EventCreate(true)
		if err != nil {
			return b.check("an event", err)
		}
		t.marks = append(t.marks, e)
	}
	var err error
	if t.done, err = b.driver.EventCreate(false); err != nil {
		return b.check("an event", err)
	}
	return t.capture(x, s)
}

// outputsOf lists the plan's outputs in the arena that a segment writes and no other.
func (x *executable) outputsOf(of nn.Segment) map[nn.BufferID]bool {
	outputs, others := map[nn.BufferID]bool{}, map[nn.BufferID]bool{}
	for s := range nn.NumSegments {
		for _, step := range x.plan.Steps[x.plan.Segments[s][0]:x.plan.Segments[s][1]] {
			for _, id := range step.Out {
				if buffer := &x.plan.Buffers[id]; s != of {
					others[id] = true
				} else if buffer.Pinned && buffer.Variable < 0 {
					outputs[id] = true
				}
			}
		}
	}
	maps.DeleteFunc(outputs, func(id nn.BufferID, _ bool) bool { return others[id] })
	return outputs
}

// capture records the launches as a graph. Without graphs in the driver the segment is eager.
func (t *instance) capture(x *executable, s *segment) error {
	b := x.backend
	if b.options.Eager || s.eager {
		s.eager = true
		return nil
	}
	err := b.driver.StreamBeginCapture(b.stream)
	if err == nil {
		err = s.enqueue(x, t, b.driver.EventRecordExternal)
		var graph driver.Graph
		var ended error
		if graph, ended = b.driver.StreamEndCapture(b.stream); err == nil {
			err = ended
		}
		if err == nil {
			t.graph, err = b.driver.GraphInstantiate(graph)
		}
		if graph != 0 {
			_ = b.driver.GraphDestroy(graph) // the executable graph does not need it
		}
		if err == nil {
			err = b.driver.GraphUpload(t.graph, b.stream)
		}
	}
	if err == nil {
		return nil
	}
	if !driver.NoGraphs(err) {
		return b.check("capturing a graph", err)
	}
	s.eager = true
	if !b.eager {
		b.eager = true
		b.Notes = append(b.Notes, "the GPU's kernels are enqueued one by one, since no graph could be captured: "+
			err.Error())
	}
	return nil
}

// enqueue enqueues the launches, with an instance's marks between the groups.
func (s *segment) enqueue(x *executable, t *instance, record func(driver.Event, driver.Stream) error) error {
	b := x.backend
	lanes := lanes{b: b}
	for g, group := range s.groups {
		if err := lanes.join(); err != nil {
			return err
		}
		if err := record(t.marks[g], b.stream); err != nil {
			return err
		}
		for i := group.first; i < group.end; i++ {
			l := &s.launches[i]
			stream, err := lanes.of(l)
			if err != nil {
				return err
			}
			if err := s.launch(b, l, stream); err != nil {
				return err
			}
		}
	}
	if err := lanes.join(); err != nil {
		return err
	}
	if s.gathers {
		if err := x.scalars.gather(b, s); err != nil {
			return err
		}
	}
	return record(t.marks[len(s.groups)], b.stream)
}

// launch enqueues one kernel.
func (s *segment) launch(b *Backend, l *launch, stream driver.Stream) error {
	err := b.driver.LaunchKernel(l.kernel.function, l.grid, l.block, l.shared, stream, l.parameter)
	if err == nil && b.options.Synchronous {
		err = b.driver.StreamSynchronize(stream)
	}
	if err != nil {
		return b.check("kernel "+l.kernel.name, err)
	}
	return nil
}

// run enqueues the segment.
func (s *segment) run(ctx context.Context, x *executable) error {
	if len(s.launches) == 0 {
		return nil
	}
	b, t := x.backend, &s.instances[s.next]
	if err := t.wait(ctx, b); err != nil { // the host is at most two runs ahead
		return err
	}
	if err := s.readInstance(x, t); err != nil { // before the next run overwrites them
		return err
	}
	var err error
	switch {
	case x.detailed:
		err = s.enqueueDetailed(x)
	case s.eager:
		err = s.enqueue(x, t, b.driver.EventRecord)
	default:
		err = b.freeing(func() error { return b.driver.GraphLaunch(t.graph, b.stream) })
	}
	if err == nil {
		err = b.driver.EventRecord(t.done, b.stream)
	}
	if err != nil {
		return b.check("a segment of the plan", err)
	}
	t.running, t.unread, s.detail = true, !x.detailed, x.detailed
	s.next = 1 - s.next
	x.scalars.gathered(s)
	return nil
}

// newest returns the instance of the newest run.
func (s *segment) newest() *instance { return &s.instances[1-s.next] }

// enqueueDetailed enqueues the launches with an event before and after each.
func (s *segment) enqueueDetailed(x *executable) error {
	b := x.backend
	for len(s.steps) < 2*len(s.launches) {
		e, err := b.driver.EventCreate(true)
		if err != nil {
			return err
		}
		s.steps = append(s.steps, e)
	}
	for i := range s.launches {
		if err := b.driver.EventRecord(s.steps[2*i], b.stream); err != nil {
			return err
		}
		if err := s.launch(b, &s.launches[i], b.stream); err != nil {
			return err
		}
		if err := b.driver.EventRecord(s.steps[2*i+1], b.stream); err != nil {
			return err
		}
	}
	if s.gathers {
		return x.scalars.gather(b, s)
	}
	return nil
}

// spin is how long wait polls without a pause: longer than a segment of small pictures takes.
const spin = 2 * time.Millisecond

// pause is the time between polls after that.
const pause = 50 * time.Microsecond

// wait waits until the instance's run has ended. Yielding a locked thread is slow, so wait polls first.
func (t *instance) wait(ctx context.Context, b *Backend) error {
	var began time.Time
	for t.running {
		done, err := b.driver.EventQuery(t.done)
		if err != nil {
			return b.check("a segment of the plan", err)
		}
		switch {
		case done:
			t.running = false
		case began.IsZero():
			began = time.Now()
		case time.Since(began) > spin:
			if err := ctx.Err(); err != nil {
				return err
			}
			time.Sleep(pause)
		}
	}
	return nil
}

// ended reports whether the instance's run has ended.
func (t *instance) ended(b *Backend) (bool, error) {
	if !t.running {
		return true, nil
	}
	done, err := b.driver.EventQuery(t.done)
	t.running = err == nil && !done
	return done, b.check("a segment of the plan", err)
}

// readTimes reads the times of the newest run that has ended.
func (s *segment) readTimes(x *executable) error {
	if len(s.launches) == 0 {
		return nil
	}
	b := x.backend
	for _, t := range []*instance{&s.instances[s.next], s.newest()} { // the older first
		done, err := t.ended(b)
		if err != nil || !done {
			return err
		}
		if err := s.readInstance(x, t); err != nil {
			return err
		}
	}
	if !s.detail {
		return nil
	}
	s.detail = false
	s.clear(x)
	for i, l := range s.launches {
		if err := s.elapsed(b, s.steps[2*i], s.steps[2*i+1], &x.nanos[l.step]); err != nil {
			return err
		}
	}
	return nil
}

// readInstance reads the times of an instance's run, which has ended.
func (s *segment) readInstance(x *executable, t *instance) error {
	if !t.unread {
		return nil
	}
	t.unread = false
	s.clear(x)
	for g, group := range s.groups {
		if err := s.elapsed(x.backend, t.marks[g], t.marks[g+1], &x.nanos[group.step]); err != nil {
			return err
		}
	}
	return nil
}

// clear forgets the times of the segment's steps.
func (s *segment) clear(x *executable) {
	for _, l := range s.launches {
		x.nanos[l.step] = 0
	}
}

// elapsed adds the time between two events.
func (s *segment) elapsed(b *Backend, from, to driver.Event, nanos *int64) error {
	ms, err := b.driver.EventElapsed(from, to)
	if err != nil {
		return b.check("the time of a phase", err)
	}
	*nanos += int64(float64(ms) * 1e6)
	return nil
}

// close frees the graphs and the events.
func (s *segment) close(b *Backend) {
	if b.dead == nil {
		events := s.steps
		for _, t := range s.instances {
			if t.graph != 0 {
				_ = b.driver.GraphExecDestroy(t.graph)
			}
			events = append(append(events, t.marks...), t.done)
		}
		for _, e := range events {
			if e != 0 {
				_ = b.driver.EventDestroy(e)
			}
		}
	}
	*s = segment{}
}
