//go:build unix

package attach

import (
	"fmt"
	"io"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns the processor time that this process has used.
func processorTime(b *testing.B) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkTick is a tick of an aggregator after ten iterations, with its journal, while screens are
// attached. What matters is its processor time, which other programs hardly change; that of the readers
// is part of it.
func BenchmarkTick(b *testing.B) {
	for _, screens := range []int{0, 1, 20} {
		b.Run(fmt.Sprint(screens, " screens"), func(b *testing.B) {
			s := serve(b, journalLimit)
			s.begin()
			hello, err := message(helloFrame, clientHello{Protocol: Protocol, Want: WantWatch, Watch: true})
			if err != nil {
				b.Fatal(err)
			}
			for range screens {
				c := s.dialRaw(b)
				if _, err := c.Write(hello); err != nil {
					b.Fatal(err)
				}
				if _, err := readHello(c, ""); err != nil {
					b.Fatal(err)
				}
				go func() { _, _ = io.Copy(io.Discard, c) }()
			}
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				s.iterate(10)
				s.tick()
			}
			b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "processor-µs/op")
		})
	}
}
