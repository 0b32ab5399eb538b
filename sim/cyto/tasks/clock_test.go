package tasks

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// device is a device with memory of its own and work that is complete a while after its call
// returned.
type device struct {
	now        time.Time
	busy       time.Duration // that the work left takes
	used, peak int64
	fails      error
	reason     string
}

func (d *device) await() error {
	d.now = d.now.Add(d.busy)
	d.busy = 0
	return d.fails
}

func (d *device) Memory() (used, peak int64, reason string) { return d.used, d.peak, d.reason }

func (d *device) ResetPeak() string {
	d.peak = d.used
	return d.reason
}

// allocate uses memory, less if it is negative.
func (d *device) allocate(megabytes int64) {
	d.used += megabytes << 20
	d.peak = max(d.peak, d.used)
}

func (d *device) clock() *Clock {
	return NewClock(ClockOptions{Await: d.await, Device: d, Now: func() time.Time { return d.now }})
}

// Sections end when the device has completed their work, not when the call returns, and begin
// when it has completed that before.
func TestSectionsAwaitTheDevice(t *testing.T) {
	d := &device{busy: time.Hour}
	var timer *Timer
	if err := d.clock().Time(&timer, func() error {
		d.busy = 3 * time.Second
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if timer.ElapsedSeconds != 3 || !timer.Awaited || timer.Partial {
		t.Errorf("%+v", timer)
	}
}

// An inner section's peak is one of those around it, however often it is reset.
func TestPeaksOfMemoryAreNested(t *testing.T) {
	d := &device{}
	c := d.clock()
	d.allocate(10)
	var total, first, inner, second *Timer
	_ = c.Time(&total, func() error {
		_ = c.Time(&first, func() error {
			d.allocate(100)
			_ = c.Time(&inner, func() error {
				d.allocate(200)
				d.allocate(-200)
				return nil
			})
			d.allocate(-90)
			return nil
		})
		return c.Time(&second, func() error {
			d.allocate(5)
			return nil
		})
	})
	for _, s := range []struct {
		name        string
		timer       *Timer
		peak, delta float64
	}{{"total", total, 310, 15}, {"first", first, 310, 10}, {"inner", inner, 310, 0}, {"second", second, 25, 5}} {
		if *s.timer.PeakMemoryMB != s.peak || *s.timer.MemoryDeltaMB != s.delta {
			t.Errorf("%s: peak %g, delta %g, want %g and %g", s.name, *s.timer.PeakMemoryMB, *s.timer.MemoryDeltaMB, s.peak, s.delta)
		}
	}
	if total.HostPeakMB != nil || total.HostReason != "it is not read" {
		t.Errorf("%+v", total)
	}
}

// A section that fails or panics is recorded, and so are those around it.
func TestSectionsThatFailAreRecorded(t *testing.T) {
	for _, how := range []string{"error", "panic", "device"} {
		d := &device{}
		c := d.clock()
		var total, inner *Timer
		broken := errors.New("broken")
		err := func() (err error) {
			defer func() {
				if recover() != nil {
					err = broken
				}
			}()
			return c.Time(&total, func() error {
				d.now = d.now.Add(time.Second)
				return c.Time(&inner, func() error {
					d.now = d.now.Add(2 * time.Second)
					switch how {
					case "panic":
						panic("broken")
					case "device":
						d.fails = broken
						return nil
					}
					return broken
				})
			})
		}()
		if !errors.Is(err, broken) || inner == nil || !inner.Partial || inner.ElapsedSeconds != 2 || total == nil || !total.Partial || total.ElapsedSeconds != 3 {
			t.Errorf("%s: %v, %+v, %+v", how, err, inner, total)
		}
		if how == "device" && (inner.Awaited || total.Awaited) {
			t.Errorf("%+v: was not awaited", inner)
		}
		d.fails = nil
		var next *Timer
		if err := c.Time(&next, func() error { return nil }); err != nil || next.Partial || len(c.open) != 0 {
			t.Errorf("%s: %v, %+v, %d sections are open", how, err, next, len(c.open))
		}
	}
}

// Memory that cannot be read is null with its reason, not 0.
func TestUnknownMemoryHasAReason(t *testing.T) {
	d := &device{reason: "no CUDA device"}
	var timer *Timer
	if err := d.clock().Time(&timer, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	text := string(encoded(t, timer))
	if !strings.Contains(text, `"memory_delta_mb":null,"peak_memory_mb":null,"memory_reason":"no CUDA device"`) {
		t.Error(text)
	}
}

// The memory of this process has a peak that holds what was allocated in a section.
func TestHostMemoryIsRead(t *testing.T) {
	if _, _, reason := (HostMeter{}).Memory(); reason != "" {
		t.Skip("skipped: " + reason)
	}
	if reason := (HostMeter{}).ResetPeak(); reason != "" {
		t.Skip("skipped: " + reason)
	}
	c := NewClock(ClockOptions{Device: NoMeter("no CUDA device"), Host: HostMeter{}})
	var total, inner *Timer
	if err := c.Time(&total, func() error {
		return c.Time(&inner, func() error {
			block := make([]byte, 64<<20)
			for i := 0; i < len(block); i += 4096 {
				block[i] = 1
			}
			sink = block[len(block)-1]
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	// The block is part of both peaks.
	if inner.HostPeakMB == nil || *inner.HostPeakMB < 64 || *total.HostPeakMB < *inner.HostPeakMB || inner.MemoryReason != "no CUDA device" {
		t.Errorf("%+v in %+v", inner, total)
	}
}

var sink byte
