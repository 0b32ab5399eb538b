package attach

import (
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
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
	if viewer.Role() != Viewer || viewer.Able(nil).Has(profiles.OperateCommand) || viewer.operates() {
		t.Fatalf("granted %v, able to %v, operates %v", viewer.Role(), viewer.Able(nil), viewer.operates())
	}
	refused := func(when string) {
		t.Helper()
		for _, k := range append(profiles.Every(), profiles.AttendCommand, profiles.OperateCommand, profiles.HandOverCommand) {
			c := profiles.Command{Kind: k, Settings: sets, At: 1, Text: "flat"}
			if err := viewer.ask(&c, answerLimit); err == nil || !strings.Contains(err.Error(), "role viewer") || viewer.operates() {
				t.Errorf("%s: %s: the viewer was told %v, and operates the run: %v", when, k, err, viewer.operates())
			}
			_ = viewer.Do(c)
		}
		if asked := s.run.list(); len(asked) != 0 {
			t.Fatalf("%s: a viewer caused %q", when, asked)
		}
	}
	refused("with a free lease")
	operator := s.attach(t, ClientOptions{Who: "pts/2"})
	if operator.Role() != Operator || !operator.operates() {
		t.Fatalf("a screen of the user has the role %v, operates %v", operator.Role(), operator.operates())
	}
	refused("under an operator")
	if err := operator.Do(set(sets...)); err != nil || !slices.Equal(s.run.list(), []string{"set [{amp bf16}]"}) {
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
	stop, _ := message(commandFrame, ask(profiles.StopCommand))
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
	for _, hello := range []string{`{"protocol":3,"want":"stop"}`, `{"protocol":3,"want":"stop","role":"viewer"}`} {
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

// The run's own screen takes a free lease at first without a word; the log has each time that it returns the lease
// and takes it back.
func TestTheOwnScreenTakingTheLeaseBackIsLogged(t *testing.T) {
	var log []string
	own := NewLease(func(line string) { log = append(log, line) }).Seat(&fakeRun{}, "pts/0", Operator).Own()
	own.Request(false)
	_ = own.Do(ask(profiles.HandOverCommand))
	_ = own.Do(ask(profiles.OperateCommand))
	own.Release()
	want := []string{"pts/0 gave up control", "pts/0 has control", "pts/0 gave up control"}
	if !slices.Equal(log, want) {
		t.Errorf("the log has %q, want %q", log, want)
	}
}
