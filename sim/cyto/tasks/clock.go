package tasks

import (
	"errors"
	"time"

	"prismtop/profiles/machine"
)

// Meter reads memory, of a device or of this process.
type Meter interface {
	// Memory returns the memory in use and the largest use since the last ResetPeak, in bytes;
	// reason says why they cannot be read.
	Memory() (used, peak int64, reason string)
	// ResetPeak makes the use of now the largest one. reason says why it cannot.
	ResetPeak() (reason string)
}

// NoMeter is a Meter of memory that cannot be read, for a reason such as "no CUDA device".
type NoMeter string

// Memory returns the reason.
func (m NoMeter) Memory() (used, peak int64, reason string) { return 0, 0, string(m) }

// ResetPeak returns the reason.
func (m NoMeter) ResetPeak() string { return string(m) }

// HostMeter reads the resident memory of this process. Its resets make the process's own peak,
// which the system keeps, that since the last section of a Clock.
type HostMeter struct{}

// Memory reads the resident memory.
func (HostMeter) Memory() (used, peak int64, reason string) { return machine.ReadResident() }

// ResetPeak has the system begin a new peak.
func (HostMeter) ResetPeak() string { return machine.ResetPeak() }

// ClockOptions are what a Clock reads.
type ClockOptions struct {
	// Await waits until the device has completed all work. nil is for work that is complete when
	// its call returns, as on the CPU.
	Await func() error
	// Device is the memory of the trainer's device, Host that of the process. nil is unknown.
	Device, Host Meter
	// Now is the time; nil is time.Now.
	Now func() time.Time
}

// Clock times sections, which may enclose others. A section begins and ends with all work
// complete; its peak of memory is that of everything in it; one that ends with an error, or
// with a panic, is recorded as partial. A Clock belongs to one goroutine.
type Clock struct {
	o    ClockOptions
	open []*section // the outermost first
}

// section is a section that has begun.
type section struct {
	began  time.Time
	meters [2]metered
}

// metered is a meter's part of a section.
type metered struct {
	begin, peak int64
	reason      string
}

// NewClock returns a clock with no open section.
func NewClock(o ClockOptions) *Clock {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Await == nil {
		o.Await = func() error { return nil }
	}
	for _, m := range []*Meter{&o.Device, &o.Host} {
		if *m == nil {
			*m = NoMeter("it is not read")
		}
	}
	return &Clock{o: o}
}

// Time runs work as a section and records it to into, however it ends. It returns the error of
// the work, or of the device.
func (c *Clock) Time(into **Timer, work func() error) (err error) {
	if err := c.o.Await(); err != nil {
		return err
	}
	s := c.begin()
	ended := false
	defer func() {
		failed := c.o.Await()
		t := c.end(s)
		t.Awaited = failed == nil
		err = errors.Join(err, failed)
		t.Partial = err != nil || !ended
		*into = t
	}()
	err = work()
	ended = true
	return err
}

func (c *Clock) begin() *section {
	used, reasons := c.sample()
	s := &section{}
	for i := range s.meters {
		s.meters[i] = metered{begin: used[i], peak: used[i], reason: reasons[i]}
	}
	c.open = append(c.open, s)
	s.began = c.o.Now() // last: reading memory is not part of it
	return s
}

func (c *Clock) end(s *section) *Timer {
	elapsed := c.o.Now().Sub(s.began)
	used, _ := c.sample()
	for len(c.open) > 0 { // those inside that a panic left open end, too
		last := c.open[len(c.open)-1]
		c.open = c.open[:len(c.open)-1]
		if last == s {
			break
		}
	}
	t := &Timer{ElapsedSeconds: elapsed.Seconds()}
	t.MemoryDeltaMB, t.PeakMemoryMB, t.MemoryReason = s.meters[0].numbers(used[0])
	t.HostDeltaMB, t.HostPeakMB, t.HostReason = s.meters[1].numbers(used[1])
	return t
}

// sample reads both meters, gives every open section the peak since the last sample, and
// begins a new one. So an inner section's reset takes nothing from those around it.
func (c *Clock) sample() (used [2]int64, reasons [2]string) {
	for i, m := range []Meter{c.o.Device, c.o.Host} {
		var peak int64
		used[i], peak, reasons[i] = m.Memory()
		if reasons[i] == "" {
			reasons[i] = m.ResetPeak()
		}
		for _, s := range c.open {
			s.meters[i].peak = max(s.meters[i].peak, peak)
			if s.meters[i].reason == "" {
				s.meters[i].reason = reasons[i]
			}
		}
	}
	return used, reasons
}

// numbers returns the change and the peak in megabytes; both are nil if there is a reason.
func (m metered) numbers(end int64) (delta, peak *float64, reason string) {
	if m.reason != "" {
		return nil, nil, m.reason
	}
	d, p := float64(end-m.begin)/(1<<20), float64(m.peak)/(1<<20)
	return &d, &p, ""
}
