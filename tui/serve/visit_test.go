package serve

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	gossh "golang.org/x/crypto/ssh"
)

// The end of a server leaves connections open until their clients have left: a client whose connection is closed
// earlier reports a failure in place of the exit status.
func TestCloseWaitsForClientsToLeave(t *testing.T) {
	r := serving(t, quick)
	r.farewell = time.Hour
	c := r.login("operator")
	x := r.session(c)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		r.Close()
	}()
	var exit *gossh.ExitError
	if err := x.Wait(); !errors.As(err, &exit) || exit.ExitStatus() != 1 {
		t.Errorf("it ended with %v", err)
	}
	for range 20 { // round trips
		if _, _, err := c.SendRequest("keepalive@openssh.com", true, nil); err != nil {
			t.Fatalf("the connection does not wait for the client: %v", err)
		}
	}
	c.Close()
	<-closed
}

// A screen gets the newest size of its terminal however late it asks for it.
func TestASlowScreenGetsTheNewestSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		v := &visit{sizes: make(chan [2]int, 1), seen: make(chan [2]int)}
		go v.relay(ctx, func(size [2]int) bool { return size[0] < 100 })
		for _, size := range [][2]int{{80, 24}, {90, 30}} {
			v.resize(size)
			time.Sleep(time.Hour)
			if got := v.now(); got != size {
				t.Errorf("the terminal has %v, want %v", got, size)
			}
		}
		v.resize([2]int{100, 30}) // does not fit
		time.Sleep(time.Hour)
		select {
		case got := <-v.seen:
			if got != [2]int{90, 30} {
				t.Errorf("the screen gets %v", got)
			}
		case <-time.After(time.Hour):
			t.Error("the screen gets no size")
		}
		stop()
		time.Sleep(time.Hour) // relay ends
	})
}
