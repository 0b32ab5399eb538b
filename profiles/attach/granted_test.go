package attach

import (
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/settings"
)

// A connection has at most the role that its hello asks for: whatever it asks for later, the process of
// the run refuses what the role lacks.
func TestARoleIsBoundToItsConnection(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.iterate(50)
	sets := []settings.Assignment{{Key: "amp", Value: "bf16"}}
	viewer := s.attach(t, ClientOptions{Who: "pts/1", Role: Viewer, Take: true})
	if viewer.Role() != Viewer || viewer.MayOperate() || viewer.Operates() {
		t.Fatalf("granted %v, may operate %v, operates %v", viewer.Role(), viewer.MayOperate(), viewer.Operates())
	}
	refused := func(when string) {
		t.Helper()
		for _, err := range []error{viewer.SetMany(sets), viewer.Decide(sets), viewer.Restart(), viewer.StartAblation(), viewer.Save(), viewer.Checkpoint(), viewer.Clear(), viewer.Replicate(sets, 1), viewer.Fork(sets, 1)} {
			if err == nil || !strings.Contains(err.Error(), "role viewer") {
				t.Errorf("%s: the viewer was told %v", when, err)
			}
		}
		viewer.Pause(true)
		viewer.Step()
		viewer.StopAblation()
		viewer.Stop()
		viewer.Operate(true)
		if err := viewer.ask(command{Do: "operate", On: true}, answerLimit); err == nil || viewer.Operates() {
			t.Errorf("%s: the viewer operates the run: %v", when, err)
		}
		if asked := s.run.list(); len(asked) != 0 {
			t.Fatalf("%s: a viewer caused %q", when, asked)
		}
	}
	refused("with a free lease")
	operator := s.attach(t, ClientOptions{Who: "pts/2"})
	if operator.Role() != Operator || !operator.Operates() {
		t.Fatalf("a screen of the user has the role %v, operates %v", operator.Role(), operator.Operates())
	}
	refused("under an operator")
	if err := operator.SetMany(sets); err != nil || !slices.Equal(s.run.list(), []string{"set [{amp bf16}]"}) {
		t.Errorf("the operator: %v, %q", err, s.run.list())
	}
}

// A second hello, with a higher role, ends the connection.
func TestARoleCannotBeRaised(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	c := s.dialRaw(t)
	first, _ := message(helloFrame, clientHello{Protocol: Protocol, Want: WantWatch, Role: Viewer})
	second, _ := message(helloFrame, clientHello{Protocol: Protocol, Want: WantWatch, Role: Operator, Take: true})
	stop, _ := message(commandFrame, command{Do: "stop"})
	if _, err := c.Write(slices.Concat(first, second, stop)); err != nil {
		t.Fatal(err)
	}
	for {
		k, body, err := readFrame(c, largestData)
		if err != nil {
			t.Fatalf("the connection ended without a word: %v", err)
		}
		if k == byeFrame {
			if !strings.Contains(string(body), "must be") {
				t.Errorf("it was told %s", body)
			}
			break
		}
	}
	if asked := s.run.list(); len(asked) != 0 || s.server.info().Operator != "" {
		t.Errorf("it caused %q, and %q operates the run", asked, s.server.info().Operator)
	}
}

// The end of a run is an operator's, too, and a hello without a role is a viewer's.
func TestOnlyAnOperatorStopsTheRun(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	for _, hello := range []string{`{"protocol":2,"want":"stop"}`, `{"protocol":2,"want":"stop","role":"viewer"}`} {
		c := s.dialRaw(t)
		if _, err := c.Write(frame(helloFrame, []byte(hello))); err != nil {
			t.Fatal(err)
		}
		if _, err := readHello(c, "x"); err == nil || !strings.Contains(err.Error(), "must be operator") {
			t.Errorf("%s: %v", hello, err)
		}
	}
	if asked := s.run.list(); len(asked) != 0 {
		t.Errorf("a viewer caused %q", asked)
	}
}

// The run's own screen takes a free lease at first without a word; the log has each time that it returns the lease and takes it back.
func TestTheOwnScreenTakingTheLeaseBackIsLogged(t *testing.T) {
	var log []string
	own := NewLease(func(line string) { log = append(log, line) }).Seat(&fakeRun{}, "pts/0", Operator, func(string) {}).Own()
	own.Request(false)
	own.Operate(false)
	own.Operate(true)
	own.Release()
	want := []string{"pts/0 no longer operates the run", "pts/0 operates the run", "pts/0 no longer operates the run"}
	if !slices.Equal(log, want) {
		t.Errorf("the log has %q, want %q", log, want)
	}
}
