package cuda

import "prismtop/gpu/driver"

// update is one parameter array that Adam updates at the end of a segment.
type update struct {
	Gradient, Value, Moment, Second, Most driver.Pointer
	N                                     int64
}

// flushUpdates launches the collected updates.
func (b *builder) flushUpdates() error { return nil }
