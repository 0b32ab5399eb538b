package attach

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// A request that the operator does not answer is granted when it is made again, and one of a screen
// that leaves is forgotten.
func TestAskingForTheLease(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	first, second, third := s.attach(t, ClientOptions{Who: "pts/1"}), s.attach(t, ClientOptions{Who: "pts/2"}), s.attach(t, ClientOptions{Who: "pts/3"})
	_ = second.Do(ask(profiles.OperateCommand))
	eventually(t, "the request", func() bool { return first.Control().Asks == "pts/2" })
	_ = third.Do(ask(profiles.OperateCommand))
	eventually(t, "the newer request", func() bool { return first.Control().Asks == "pts/3" })
	_ = third.net.Close()
	eventually(t, "the request to be forgotten", func() bool { return first.Control().Asks == "" })
	if !first.operates() {
		t.Error("a request took the lease")
	}
	_ = second.Do(ask(profiles.OperateCommand))
	_ = second.Do(ask(profiles.OperateCommand))
	eventually(t, "the lease to be taken", func() bool { return second.operates() && !first.operates() && second.Control().Asks == "" })
	_ = first.Do(ask(profiles.OperateCommand))
	eventually(t, "the request to the new operator", func() bool { return second.Control().Asks == "pts/1" })
	_ = second.net.Close() // as kill -9
	eventually(t, "the lease of who is gone", func() bool { return first.operates() && first.Control().Asks == "" })
	want := []string{"pts/1 has control", "pts/2 wants control; pts/1 has it", "pts/3 wants control; pts/1 has it",
		"pts/2 wants control; pts/1 has it", "pts/2 took control from pts/1",
		"pts/1 wants control; pts/2 has it", "pts/2 handed control to pts/1"}
	if got := s.logged(); !slices.Equal(got, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A screen may do what its role includes, whatever it asks for, and a session may allow less than
// was asked for.
func TestRoles(t *testing.T) {
	sets := []settings.Assignment{{Key: "amp", Value: "bf16"}}
	for _, c := range []struct {
		asked, allowed, granted Role
	}{
		{0, 0, Operator}, {Viewer, 0, Viewer}, {Annotator, 0, Annotator}, {Operator, 0, Operator},
		{Operator, Viewer, Viewer}, {Operator, Annotator, Annotator}, {Viewer, Operator, Viewer},
	} {
		s := serve(t, journalLimit)
		s.server.session.Allowed = c.allowed
		s.begin()
		s.iterate(50)
		x := s.attach(t, ClientOptions{Who: "pts/1", Role: c.asked, Take: true})
		if x.Role() != c.granted || x.Able(nil).Has(profiles.SetCommand) != (c.granted == Operator) || x.Able(nil).Has(profiles.NoteCommand) != (c.granted >= Annotator) {
			t.Errorf("asked for %v of %v: granted %v", c.asked, c.allowed, x.Role())
		}
		changed, noted := x.Do(set(sets...)), x.Do(noted("looks converged"))
		_ = x.Do(ask(profiles.OperateCommand))
		_ = x.Do(ask(profiles.OperateCommand))
		again := x.Do(set(sets...))
		var want []string
		if c.granted == Operator {
			want = append(want, "set [{amp bf16}]")
		}
		if c.granted >= Annotator {
			want = append(want, "note pts/1: looks converged")
		}
		if c.granted == Operator {
			want = append(want, "set [{amp bf16}]")
		}
		if asked := s.run.list(); !slices.Equal(asked, want) {
			t.Errorf("%v caused %q, want %q", c.granted, asked, want)
		}
		for err, needs := range map[error]Role{changed: Operator, again: Operator, noted: Annotator} {
			if err == nil && c.granted < needs || err != nil && (c.granted >= needs || !strings.Contains(err.Error(), needs.String())) {
				t.Errorf("%v is told %v", c.granted, err)
			}
		}
		if x.operates() != (c.granted == Operator) {
			t.Errorf("%v: operates %v", c.granted, x.operates())
		}
		if c.granted < Operator {
			raw := s.dialRaw(t)
			hello, _ := message(helloFrame, clientHello{Protocol: Protocol, Want: WantStop, Role: c.asked})
			if _, err := raw.Write(hello); err != nil {
				t.Fatal(err)
			}
			if _, err := readHello(raw, "x"); err == nil || !strings.Contains(err.Error(), "must be operator") {
				t.Errorf("a stop of %v: %v", c.granted, err)
			}
		}
	}
}

// A connection that names no role is a viewer's, and one that names another than these is refused.
func TestAConnectionWithoutARole(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	c := s.dialRaw(t)
	if _, err := c.Write(frame(helloFrame, []byte(`{"protocol":3,"want":"watch","take":true}`))); err != nil {
		t.Fatal(err)
	}
	answer, err := readHello(c, "x")
	if err != nil || answer.Role != Viewer || answer.Operates {
		t.Errorf("granted %v, operates %v, %v", answer.Role, answer.Operates, err)
	}
	c = s.dialRaw(t)
	if _, err := c.Write(frame(helloFrame, []byte(`{"protocol":3,"want":"watch","role":"root"}`))); err != nil {
		t.Fatal(err)
	}
	if k, _, err := readFrame(c, largestCommand); err != nil || k != byeFrame {
		t.Errorf("a role that there is not: %q, %v", byte(k), err)
	}
}

// A screen writes no more notes than its share, nor such as are no text.
func TestNotesAreBounded(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	x, y := s.attach(t, ClientOptions{Who: "pts/1", Role: Annotator}), s.attach(t, ClientOptions{Who: "pts/2", Role: Annotator})
	for range notesAtOnce {
		if err := x.Do(noted("a")); err != nil {
			t.Error(err)
		}
	}
	if err := x.Do(noted("a")); err == nil || !strings.Contains(err.Error(), "at most 5") {
		t.Errorf("one note too many: %v", err)
	}
	if err := y.Do(noted("b")); err != nil {
		t.Errorf("of another screen: %v", err)
	}
	if asked := s.run.list(); len(asked) != notesAtOnce+1 {
		t.Errorf("%d notes were taken", len(asked))
	}
}

// A note is on every screen, in the log, and counted for who was away; what was dropped of a journal
// keeps its notes.
func TestNotesAreOnEveryScreen(t *testing.T) {
	s := serve(t, 20<<10)
	s.begin()
	s.iterate(500)
	s.journal.Enter()
	s.journal.Leave()
	n, err := profiles.NewNote("pts/7", "looks converged")
	if err != nil {
		t.Fatal(err)
	}
	n.Iteration, n.Written = s.it.Index, s.now.Sub(s.began)
	s.Stream.Note(n)
	s.iterate(30_000)
	eventually(t, "parts to be dropped", func() bool {
		s.journal.mu.Lock()
		defer s.journal.mu.Unlock()
		return len(s.journal.parts) > 0 && s.journal.parts[0].first > 500
	})
	want := s.tick()
	if !slices.Equal(want.Notes, []profiles.Note{n}) || want.Log[len(want.Log)-1].Text != "pts/7: looks converged" {
		t.Fatalf("the run has %+v, %+v", want.Notes, want.Log)
	}
	x := s.attach(t, ClientOptions{})
	if away := x.Away(); away.Notes != 1 {
		t.Errorf("since then: %+v", away)
	}
	got := x.until("the present", func(got *profiles.Snapshot) bool { return got.Index == want.Index })
	if !slices.Equal(got.Notes, want.Notes) {
		t.Errorf("the screen has %+v", got.Notes)
	}
}

// The processor time of a client is at most that of the machine meanwhile.
func TestAClientCannotClaimTheTimeOfOthers(t *testing.T) {
	c := &conn{server: &Server{}, reported: time.Now()}
	for _, claimed := range []float64{1e9, math.Inf(1), math.NaN(), -5, 2e9} {
		c.takeUsed(claimed)
	}
	if used := c.server.ProcessorTime(); used < 0 || used > time.Minute.Seconds() {
		t.Errorf("%g s are counted", used)
	}
}

// The share of notes is a name's, on however many screens, and an operator's notes are not counted.
func TestNotesAreCountedByName(t *testing.T) {
	l, now := NewLease(func(string) {}), time.Now()
	for i := range notesAtOnce + 1 {
		if got, want := l.note("ann from 10.0.0.7", now), i < notesAtOnce; got != want {
			t.Errorf("note %d: %v", i+1, got)
		}
	}
	if !l.note("ben from 10.0.0.8", now) || l.note("ann from 10.0.0.7", now.Add(profiles.NoteSpan-1)) || !l.note("ann from 10.0.0.7", now.Add(profiles.NoteSpan)) {
		t.Error("another name, or the same later")
	}
	for i := range 2 * mostNoters {
		l.note(fmt.Sprint(i), now.Add(profiles.NoteSpan))
	}
	if len(l.noters) > mostNoters {
		t.Errorf("%d names are kept", len(l.noters))
	}
}

// The name of a screen is shortened by characters.
func TestNamesAreShortenedByCharacters(t *testing.T) {
	if got := nameOf(strings.Repeat("顕", 3*longWho)); got != strings.Repeat("顕", longWho) {
		t.Errorf("%q", got)
	}
}

// Only the input of a screen that may operate the run counts as watching it, and only such a screen keeps a run that
// is over.
func TestViewersTakeNoPartInTheRun(t *testing.T) {
	run := &fakeRun{}
	l := NewLease(func(string) {})
	for _, role := range []Role{Viewer, Annotator} {
		if err := l.Seat(run, "a", role).Do(ask(profiles.AttendCommand)); err == nil || len(run.list()) != 0 {
			t.Errorf("of the role %v: %v, %q", role, err, run.list())
		}
	}
	if err := l.Seat(run, "a", Operator).Do(ask(profiles.AttendCommand)); err != nil || !slices.Equal(run.list(), []string{"attend"}) {
		t.Errorf("%v, %q", err, run.list())
	}
	s := serve(t, journalLimit)
	s.begin()
	s.attach(t, ClientOptions{Who: "pts/1", Role: Viewer})
	if s.server.Operable() {
		t.Error("a viewer keeps the run")
	}
	s.attach(t, ClientOptions{Who: "pts/2", Role: Operator})
	if !s.server.Operable() {
		t.Error("an operator does not keep it")
	}
}

// Where as many screens show a session as can, it says so, and can still be listed and stopped.
func TestTooManyScreensAreToldSo(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.server.mu.Lock()
	s.server.screens = mostScreens
	s.server.mu.Unlock()
	if _, err := Attach(t.Context(), s.server.path, ClientOptions{Who: "pts/65", Table: tableOf}); err == nil || !strings.Contains(err.Error(), "64 screens show the session") {
		t.Errorf("%v", err)
	}
	if found := List(t.Context(), []string{s.folder}, "1.2.3"); len(found) != 1 || found[0].Err != nil {
		t.Errorf("%+v", found)
	}
	if why, err := Stop(t.Context(), s.server.path, "1.2.3"); err != nil || why != "stopped" {
		t.Errorf("%q, %v", why, err)
	}
}
