package attach

import (
	"fmt"
	"io"
	"testing"
)

// BenchmarkTick is a tick of an aggregator after ten iterations, with its journal, while screens are
// attached. The time is that of all processors together only if the machine is quiet.
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
			for b.Loop() {
				s.iterate(10)
				s.tick()
			}
		})
	}
}
