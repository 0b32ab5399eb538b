package attach

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"prismtop/profiles"
)

// At the end of a session, a frame goes to a client as long as that takes some of it now and then.
func TestAFrameForASlowClient(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration // between two reads
		taken bool
	}{
		"slow": {byeLimit / 2, true}, "stopped": {time.Hour, false}, "too slow altogether": {byeLimit * 9 / 10, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				over := make(chan struct{})
				go func() {
					defer close(over)
					for {
						time.Sleep(c.every)
						if _, err := there.Read(make([]byte, 10)); err != nil {
							return
						}
					}
				}()
				each := conn{server: &Server{ended: make(chan struct{}), until: time.Now().Add(byesLimit)}, net: here}
				close(each.server.ended)
				began := time.Now()
				if taken := each.put(make([]byte, 150)); taken != c.taken || time.Since(began) > byesLimit {
					t.Errorf("taken: %v, within %v", taken, time.Since(began))
				}
				here.Close()
				<-over
			})
		})
	}
}

// A connection that ends without a farewell ends a run that is over like any other, and means that the process was
// killed if it is not.
func TestAConnectionEndsWithoutAFarewell(t *testing.T) {
	for _, over := range []bool{false, true} {
		s := serve(t, journalLimit)
		s.begin()
		s.iterate(100)
		x := s.attach(t, ClientOptions{})
		x.until("iterations", func(s *profiles.Snapshot) bool { return s.Index == 100 })
		if over {
			s.State(profiles.Finished, "max_iterations = 100")
			s.tick()
			x.until("the end", func(s *profiles.Snapshot) bool { return s.State == profiles.Finished })
		}
		s.server.mu.Lock()
		for c := range s.server.conns {
			_ = c.net.Close()
		}
		s.server.mu.Unlock()
		<-x.ended
		if killed := x.err != nil && strings.Contains(x.err.Error(), "was killed"); killed == over {
			t.Errorf("over %v: %v", over, x.err)
		}
		if want := map[bool]string{true: "finished by max_iterations = 100"}[over]; x.why != want {
			t.Errorf("over %v: ended %q, want %q", over, x.why, want)
		}
	}
}
