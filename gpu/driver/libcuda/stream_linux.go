//go:build !nogpu

package libcuda

import "prismtop/gpu/driver"

// Calls that make and destroy streams, events and graphs, and capture these.

// Flags of streams and events, and the mode of a capture.
const (
	streamNonBlocking      = 1
	eventWithoutTiming     = 2
	captureModeThreadLocal = 1
)

func (d *cuda) StreamCreate() (driver.Stream, error) {
	var s driver.Stream
	err := check("cuStreamCreate", d.cuStreamCreate(&s, streamNonBlocking))
	return s, err
}

func (d *cuda) StreamDestroy(s driver.Stream) error {
	return check("cuStreamDestroy", d.cuStreamDestroy(s))
}

func (d *cuda) EventCreate(timed bool) (driver.Event, error) {
	var e driver.Event
	flags := uint32(eventWithoutTiming)
	if timed {
		flags = 0
	}
	err := check("cuEventCreate", d.cuEventCreate(&e, flags))
	return e, err
}

func (d *cuda) EventDestroy(e driver.Event) error {
	return check("cuEventDestroy", d.cuEventDestroy(e))
}

func (d *cuda) EventElapsed(start, end driver.Event) (float32, error) {
	var milliseconds float32
	err := check("cuEventElapsedTime", d.cuEventElapsedTime(&milliseconds, start, end))
	return milliseconds, err
}

func (d *cuda) StreamBeginCapture(s driver.Stream) error {
	if d.cuStreamBeginCapture == nil {
		return missing("cuStreamBeginCapture")
	}
	return check("cuStreamBeginCapture", d.cuStreamBeginCapture(s, captureModeThreadLocal))
}

func (d *cuda) StreamEndCapture(s driver.Stream) (driver.Graph, error) {
	if d.cuStreamEndCapture == nil {
		return 0, missing("cuStreamEndCapture")
	}
	var g driver.Graph
	err := check("cuStreamEndCapture", d.cuStreamEndCapture(s, &g))
	return g, err
}

func (d *cuda) GraphDestroy(g driver.Graph) error {
	if d.cuGraphDestroy == nil {
		return missing("cuGraphDestroy")
	}
	return check("cuGraphDestroy", d.cuGraphDestroy(g))
}

func (d *cuda) GraphInstantiate(g driver.Graph) (driver.GraphExec, error) {
	if d.cuGraphInstantiate == nil {
		return 0, missing("cuGraphInstantiateWithFlags")
	}
	var x driver.GraphExec
	err := check("cuGraphInstantiateWithFlags", d.cuGraphInstantiate(&x, g, 0))
	return x, err
}

func (d *cuda) GraphUpload(x driver.GraphExec, s driver.Stream) error {
	if d.cuGraphUpload == nil {
		return missing("cuGraphUpload")
	}
	return check("cuGraphUpload", d.cuGraphUpload(x, s))
}

func (d *cuda) GraphExecDestroy(x driver.GraphExec) error {
	if d.cuGraphExecDestroy == nil {
		return missing("cuGraphExecDestroy")
	}
	return check("cuGraphExecDestroy", d.cuGraphExecDestroy(x))
}
