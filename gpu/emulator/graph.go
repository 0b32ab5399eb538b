package emulator

import (
	"slices"

	"prismtop/gpu/driver"
)

// Capture of streams as graphs, what a capture forbids, and graphs that are launched.

// capture is a graph while it is recorded from the streams of a thread.
type capture struct {
	origin  *stream
	thread  int
	nodes   []*node
	streams []*stream
	invalid bool
}

// graph is a recorded graph.
type graph struct {
	context *context
	nodes   []*node
}

func (g *graph) owner() *context { return g.context }

// graphExec is an instantiated graph.
type graphExec struct {
	context *context
	nodes   []*node
}

func (g *graphExec) owner() *context { return g.context }

// invalidate makes the capture end without a graph.
func (c *capture) invalidate() { c.invalid = true }

// state returns the error of a call on an invalidated capture.
func (c *capture) state(call string) error {
	if c.invalid {
		return fail(call, 901, "")
	}
	return nil
}

// add appends a node that follows the stream's last one.
func (c *capture) add(call string, s *stream, n *node) error {
	if c.invalid {
		return fail(call, 901, "")
	}
	n.after = s.tail
	c.nodes = append(c.nodes, n)
	s.tail = []int{len(c.nodes) - 1}
	return nil
}

// join makes a stream follow an event of the capture; a stream that is not captured yet becomes part of it.
func (c *capture) join(call string, s *stream, e *event) error {
	switch {
	case c.invalid:
		return fail(call, 901, "")
	case s.capture == nil:
		s.capture, s.tail = c, nil
		c.streams = append(c.streams, s)
	case s.capture != c:
		c.invalidate()
		s.capture.invalidate()
		return fail(call, 903, "two captures would merge")
	}
	for _, n := range e.tail {
		if !slices.Contains(s.tail, n) {
			s.tail = append(slices.Clone(s.tail), n)
		}
	}
	return nil
}

// captures returns the captures of a context that the calling thread began.
func (d *Driver) captures(c *context) []*capture {
	var list []*capture
	for _, s := range c.streams {
		if s.capture != nil && s.capture.origin == s && s.capture.thread == thread() {
			list = append(list, s.capture)
		}
	}
	return list
}

// unsafe returns the error of a call that a thread must not make while it captures, and invalidates the capture.
func (d *Driver) unsafe(call string) error {
	c := d.current[thread()]
	list := d.captures(c)
	for _, x := range list {
		x.invalidate()
	}
	if len(list) > 0 {
		return fail(call, driver.CaptureUnsupported, "the thread is capturing a stream")
	}
	return nil
}

// uncaptured begins a call that a thread must not make while it captures; the caller releases the lock.
func (d *Driver) uncaptured(call string) (*context, error) {
	c, err := d.with(call)
	if err == nil {
		err = d.unsafe(call)
	}
	return c, err
}

// forbidden returns the error of a call that waits for the whole context while any of its streams is captured.
func (d *Driver) forbidden(call string, c *context) error {
	found := false
	for _, s := range c.streams {
		if s.capture != nil {
			s.capture.invalidate()
			found = true
		}
	}
	if found {
		return fail(call, driver.CaptureUnsupported, "a stream of the context is being captured")
	}
	return nil
}

// StreamBeginCapture starts recording a stream as a graph.
func (d *Driver) StreamBeginCapture(x driver.Stream) error {
	const call = "cuStreamBeginCapture"
	s, err := d.on(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	switch {
	case x == 0:
		return fail(call, driver.CaptureUnsupported, "the default stream cannot be captured")
	case s.capture != nil:
		s.capture.invalidate()
		return fail(call, 401, "the stream is already being captured")
	}
	s.capture, s.tail = &capture{origin: s, thread: thread(), streams: []*stream{s}}, nil
	return nil
}

// StreamEndCapture ends the recording and returns the graph.
func (d *Driver) StreamEndCapture(x driver.Stream) (driver.Graph, error) {
	const call = "cuStreamEndCapture"
	s, err := d.on(call, x)
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	k := s.capture
	switch {
	case k == nil:
		return 0, fail(call, 401, "the stream is not being captured")
	case k.thread != thread():
		k.invalidate()
		return 0, fail(call, 908, "another thread began the capture")
	case k.origin != s:
		k.invalidate()
		return 0, fail(call, 904, "the capture began on another stream")
	}
	joined := k.reached(s.tail)
	for _, s := range k.streams {
		s.capture, s.tail = nil, nil
	}
	switch {
	case k.invalid:
		return 0, fail(call, 901, "")
	case joined < len(k.nodes):
		return 0, fail(call, 904, "%d of %d nodes on other streams were not joined", len(k.nodes)-joined, len(k.nodes))
	}
	return driver.Graph(d.handle(&graph{s.context, k.nodes})), nil
}

// reached counts the nodes from which a path leads to one of the given ones.
func (c *capture) reached(from []int) int {
	seen := make([]bool, len(c.nodes))
	n := 0
	for stack := slices.Clone(from); len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !seen[i] {
			seen[i] = true
			n++
			stack = append(stack, c.nodes[i].after...)
		}
	}
	return n
}

// GraphDestroy frees a graph; what was instantiated from it stays.
func (d *Driver) GraphDestroy(g driver.Graph) error {
	_, err := object[*graph](d, "cuGraphDestroy", uintptr(g))
	defer d.mu.Unlock()
	if err == nil {
		delete(d.handles, uintptr(g))
	}
	return err
}

// GraphInstantiate makes a graph ready to launch.
func (d *Driver) GraphInstantiate(g driver.Graph) (driver.GraphExec, error) {
	x, err := object[*graph](d, "cuGraphInstantiate", uintptr(g))
	defer d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return driver.GraphExec(d.handle(&graphExec{x.context, x.nodes})), nil
}

// GraphUpload does nothing but check its arguments.
func (d *Driver) GraphUpload(x driver.GraphExec, s driver.Stream) error {
	const call = "cuGraphUpload"
	g, err := object[*graphExec](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	_, err = d.stream(g.context, call, s)
	return err
}

// GraphLaunch runs the nodes of a graph in the order of their recording.
func (d *Driver) GraphLaunch(x driver.GraphExec, y driver.Stream) error {
	const call = "cuGraphLaunch"
	g, err := object[*graphExec](d, call, uintptr(x))
	defer d.mu.Unlock()
	if err != nil {
		return err
	}
	s, err := d.stream(g.context, call, y)
	if err != nil {
		return err
	}
	if s.capture != nil {
		s.capture.invalidate()
		return fail(call, driver.CaptureUnsupported, "the stream is being captured")
	}
	d.push(s, &node{run: func() error {
		for _, n := range g.nodes {
			if err := n.run(); err != nil {
				return err
			}
		}
		return nil
	}})
	return nil
}

// GraphExecDestroy frees an instantiated graph.
func (d *Driver) GraphExecDestroy(x driver.GraphExec) error {
	_, err := object[*graphExec](d, "cuGraphExecDestroy", uintptr(x))
	defer d.mu.Unlock()
	if err == nil {
		delete(d.handles, uintptr(x))
	}
	return err
}
