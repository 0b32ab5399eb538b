package attach

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

// same compares a snapshot with the run's own, but for what its aggregator cost.
func same(t *testing.T, when string, want, got *profiles.Snapshot) {
	t.Helper()
	x, y := *want, *got
	x.Own, y.Own = profiles.OwnCost{}, profiles.OwnCost{}
	if d := profilestest.Differ(x, y); d != "" {
		t.Errorf("%s: the run's own snapshot and the attached: %s", when, d)
	}
}

// A screen that attaches late, and follows, has the run's own snapshots: of what was packed long
// ago, of what was not, and of what comes.
func TestAnAttachedScreenHasTheRunsOwnSnapshots(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, n := range []int{100, 3000, 10_000} { // nothing sealed, one part, several
		s := serve(t, journalLimit)
		s.begin()
		s.iterate(n)
		s.set("off", "bf16")
		s.unit(0)
		s.iterate(500)
		s.a.Drain(s.now) // as between two ticks that are far apart
		s.iterate(100)
		want := s.tick()
		x := s.attach(t, ClientOptions{Who: "pts/1"})
		same(t, "attached", want, x.until("the present", func(got *profiles.Snapshot) bool {
			return !got.CatchingUp && got.Index == want.Index && got.Elapsed == want.Elapsed
		}))
		for range 20 {
			s.iterate(150)
		}
		s.Log("news")
		s.State(profiles.Finished, "max_iterations = 300")
		want = s.tick()
		same(t, "later", want, x.until("the end", func(got *profiles.Snapshot) bool { return got.State == profiles.Finished }))
		s.server.Close("finished")
		<-x.ended
		if x.err != nil || x.why != "finished" {
			t.Errorf("the session ended with %q, %v", x.why, x.err)
		}
	}
}

// A journal that has dropped its beginning gives the state of the run, and the curves since.
func TestAJournalIsBounded(t *testing.T) {
	s := serve(t, 100<<10)
	s.begin()
	for unit := range int32(3) {
		s.iterate(8000)
		s.unit(unit)
	}
	s.set("off", "bf16")
	s.iterate(9000)
	eventually(t, "parts to be dropped", func() bool {
		s.journal.mu.Lock()
		defer s.journal.mu.Unlock()
		return len(s.journal.parts) > 0 && s.journal.parts[0].first > 0 && s.journal.bytes <= 100<<10
	})
	var kept aggregate.Keeper = s.journal
	if n := kept.Kept(); n < 10<<10 || n > 100<<10 {
		t.Errorf("%d bytes are kept", n)
	}
	want := s.tick()
	x := s.attach(t, ClientOptions{})
	got := x.until("the present", func(got *profiles.Snapshot) bool { return !got.CatchingUp && got.Index == want.Index })
	if len(got.Results) != 3 || got.Settings.Get("amp") != "bf16" || got.State != profiles.Running || got.Run.Object != want.Run.Object {
		t.Errorf("%d results, amp %s, %v, %q", len(got.Results), got.Settings.Get("amp"), got.State, got.Run.Object)
	}
	if d := got.Elapsed - want.Elapsed; d > time.Millisecond || d < -time.Millisecond {
		t.Errorf("running for %v, want %v", got.Elapsed, want.Elapsed)
	}
	if first := got.IterationTime[0].First; first == 0 || first >= want.Index {
		t.Errorf("the curve begins at iteration %d of %d", first, want.Index)
	}
	if got.Pictures[prism.PictureTruth] == nil || got.Pictures[prism.PictureReconstruction] == nil {
		t.Error("pictures are missing")
	}
}

// A viewer that stops reading waits by itself, and has everything once it reads again.
func TestAScreenThatStopsReadingDelaysNothing(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	c := s.dialRaw(t)
	hello, _ := message(helloFrame, clientHello{Protocol: Protocol, Want: WantWatch})
	if _, err := c.Write(hello); err != nil {
		t.Fatal(err)
	}
	answer, err := readHello(c, "x")
	if err != nil {
		t.Fatal(err)
	}
	s.iterate(60_000) // far more than a socket holds
	want := s.tick()
	other := s.attach(t, ClientOptions{})
	other.until("the present on another screen", func(got *profiles.Snapshot) bool { return got.Index == want.Index })
	slow := follow(t, newClient(c, answer, tableOf))
	same(t, "after the pause", want, slow.until("the present", func(got *profiles.Snapshot) bool {
		return !got.CatchingUp && got.Index == want.Index && got.Elapsed == want.Elapsed
	}))
}

// The operator's requests are carried out, with their answers; a viewer's are not.
func TestOnlyTheOperatorChangesTheRun(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.iterate(50)
	first, second := s.attach(t, ClientOptions{Who: "pts/1"}), s.attach(t, ClientOptions{Who: "pts/2"})
	if !first.operates() || second.operates() || second.Control().Operator != "pts/1" {
		t.Fatalf("first %v, second %v under %q", first.operates(), second.operates(), second.Control().Operator)
	}
	sets := []settings.Assignment{{Key: "amp", Value: "bf16"}}
	everything := func(c *Client) (errs []error) {
		for _, asked := range []profiles.Command{
			set(sets...), {Kind: profiles.DecideCommand, Settings: sets}, {Kind: profiles.SetCommand, Settings: sets, Try: true},
			ask(profiles.RestartCommand), {Kind: profiles.RestartCommand, Try: true}, ask(profiles.AblateCommand),
			{Kind: profiles.AblateCommand, Factors: []settings.Factor{{Name: "amp"}}}, {Kind: profiles.ReplicateCommand, Settings: sets, At: 7},
			{Kind: profiles.ForkCommand, Settings: sets, At: 8}, ask(profiles.SaveCommand), ask(profiles.CheckpointCommand), ask(profiles.ClearCommand),
		} {
			errs = append(errs, c.Do(asked))
		}
		for _, k := range []profiles.CommandKind{profiles.PauseCommand, profiles.ResumeCommand, profiles.StepCommand, profiles.StopAblationCommand} {
			if err := c.Do(ask(k)); err != nil {
				t.Errorf("%s: %v", k, err)
			}
		}
		return append(errs, c.Do(profiles.Command{Kind: profiles.RestartCommand, Try: true})) // everything before has been carried out
	}
	for _, err := range everything(second.Client) {
		if err == nil || !strings.Contains(err.Error(), "pts/1") {
			t.Errorf("the viewer was told %v", err)
		}
	}
	if asked := s.run.list(); len(asked) != 0 {
		t.Fatalf("a viewer caused %q", asked)
	}
	if err := errors.Join(everything(first.Client)...); err != nil {
		t.Fatal(err)
	}
	want := []string{"set [{amp bf16}]", "decide", "try set [{amp bf16}]", "restart", "try restart", "ablate 0", "ablate 1", "replicate [{amp bf16}] 7",
		"fork [{amp bf16}] 8", "save", "checkpoint", "clear", "pause", "go", "step", "stop ablation", "try restart"}
	if asked := s.run.list(); !slices.Equal(asked, want) {
		t.Errorf("asked for %q", asked)
	}
	if err := first.Do(set(settings.Assignment{Key: "amp", Value: "wrong"})); err == nil || err.Error() != errFake.Error() {
		t.Errorf("the answer is %v", err)
	}
	if err := first.Do(set(settings.Assignment{Key: "amp", Value: "panic"})); err == nil || !strings.Contains(err.Error(), "panicked") {
		t.Errorf("the answer to a panic is %v", err)
	}
	// The lease is asked for and handed over, both screens know, and the log has it.
	_ = second.Do(ask(profiles.OperateCommand))
	eventually(t, "the operator to be asked", func() bool {
		return first.Control().Asks == "pts/2" && second.Control().Asks == "pts/2" && first.operates()
	})
	_ = first.Do(ask(profiles.HandOverCommand))
	eventually(t, "the lease to change hands", func() bool {
		return second.operates() && !first.operates() && first.Control().Operator == "pts/2" && first.Control().Asks == ""
	})
	if err := first.Do(set(sets...)); err == nil {
		t.Error("the first screen still operates the run")
	}
	if err := second.Do(set(sets...)); err != nil {
		t.Error(err)
	}
	_ = second.Do(ask(profiles.HandOverCommand))
	eventually(t, "the lease to be free", func() bool { return first.Control().Operator == "" })
	if err := first.Do(set(sets...)); err == nil {
		t.Error("a screen without the lease operates the run")
	}
	log := strings.Join(s.logged(), "\n")
	for _, line := range []string{"pts/1 has control", "pts/2 wants control; pts/1 has it", "pts/1 handed control to pts/2", "pts/2 gave up control"} {
		if !strings.Contains(log, line) {
			t.Errorf("the log lacks %q:\n%s", line, log)
		}
	}
}

// The lease of a screen that is gone is free, and one that is taken over is another's.
func TestTheLeaseOfAScreenThatIsGone(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	first := s.attach(t, ClientOptions{Who: "pts/1"})
	taker := s.attach(t, ClientOptions{Who: "pts/2", Take: true})
	eventually(t, "the lease to be taken", func() bool { return !first.operates() && taker.operates() })
	_ = taker.net.Close() // as kill -9
	eventually(t, "the lease to be free", func() bool { return first.Control().Operator == "" })
	if x := s.attach(t, ClientOptions{Watch: true}); x.operates() {
		t.Error("a screen that only watches has the lease")
	}
	if x := s.attach(t, ClientOptions{}); !x.operates() {
		t.Error("the next screen does not operate the run")
	}
}

// What a screen, or prismtop stop, asked for before it left is carried out, as by a process that was stopped meanwhile.
func TestWhatWasAskedBeforeLeavingIsCarriedOut(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	c := s.dialRaw(t)
	hello, _ := message(helloFrame, clientHello{Protocol: Protocol, Want: WantWatch, Role: Operator})
	if _, err := c.Write(hello); err != nil {
		t.Fatal(err)
	}
	if _, err := readHello(c, "x"); err != nil {
		t.Fatal(err)
	}
	lease := s.server.session.Lease
	lease.mu.Lock() // nothing is carried out
	for _, asked := range []profiles.Command{ask(profiles.PauseCommand), ask(profiles.ResumeCommand)} {
		f, _ := message(commandFrame, &asked)
		if _, err := c.Write(f); err != nil {
			t.Fatal(err)
		}
	}
	_ = c.Close()
	lease.mu.Unlock()
	eventually(t, "what the screen asked for", func() bool { return slices.Equal(s.run.list(), []string{"pause", "go"}) })

	c = s.dialRaw(t)
	s.server.mu.Lock() // no connection is served
	hello, _ = message(helloFrame, clientHello{Protocol: Protocol, Want: WantStop, Role: Operator})
	if _, err := c.Write(hello); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	s.server.mu.Unlock()
	eventually(t, "the stop", func() bool { return slices.Contains(s.run.list(), "stop") })
}

// A session that does not answer in time was told to stop, and whoever told it hears that it will.
func TestAStopOfASessionThatDoesNotAnswer(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.server.mu.Lock()
	_, err := Stop(t.Context(), s.server.path, "1.2.3")
	s.server.mu.Unlock()
	if err == nil || !strings.HasSuffix(err.Error(), "it ends once it goes on") {
		t.Errorf("%v", err)
	}
	eventually(t, "the stop", func() bool { return slices.Contains(s.run.list(), "stop") })
}

// A check that takes long delays nothing else.
func TestACheckDelaysNothing(t *testing.T) {
	s := serve(t, journalLimit)
	s.run.block = make(chan struct{})
	s.begin()
	x := s.attach(t, ClientOptions{})
	checked := make(chan error, 1)
	go func() { checked <- x.Do(profiles.Command{Kind: profiles.SetCommand, Try: true}) }()
	if err := x.Do(ask(profiles.SaveCommand)); err != nil {
		t.Error(err)
	}
	close(s.run.block)
	if err := <-checked; err != nil {
		t.Error(err)
	}
}

// What happens while no screen shows the run is counted for the next one.
func TestSinceYouLeft(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.iterate(100)
	s.journal.Enter() // the run's own screen
	s.set("off", "bf16")
	s.iterate(50)
	s.journal.Leave()
	s.set("bf16", "off")
	s.unit(0)
	s.iterate(100)
	s.it.Flags, s.it.Series[prism.SeriesLossNew] = profiles.NonFinite, math.NaN()
	s.iterate(50)
	s.now = s.now.Add(10 * time.Second)
	s.tick()
	x := s.attach(t, ClientOptions{})
	a := x.Away()
	if a.Since.IsZero() || a.Changes != 1 || a.Units != 1 || a.Alerts < 1 {
		t.Errorf("since then: %+v", a)
	}
	if again := s.attach(t, ClientOptions{}).Away(); !again.Since.IsZero() {
		t.Errorf("a second screen is told %+v", again)
	}
}

// A stall counts as missed even if it is over by the time a screen attaches.
func TestAStallWhileNobodyWatched(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.iterate(300)
	s.journal.Enter()
	s.journal.Leave()
	for range 10 {
		s.now = s.now.Add(time.Second)
		s.tick()
	}
	s.iterate(300)
	if a := s.attach(t, ClientOptions{}).Away(); a.Stalls != 1 {
		t.Errorf("since then: %+v", a)
	}
}

// Sessions are found, described, stopped, and what is left of killed ones is removed.
func TestFolders(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	folders := []string{s.folder, filepath.Join(s.folder, "none")}
	dead, err := net.Listen("unix", filepath.Join(s.folder, "dead.sock"))
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	found := List(t.Context(), folders, "1")
	if len(found) != 1 || found[0].ID != s.server.ID() || found[0].Info.ID != s.server.ID() || found[0].Info.Object != "moon" || found[0].Info.Process != os.Getpid() {
		t.Fatalf("found %+v", found)
	}
	if _, err := os.Lstat(filepath.Join(s.folder, "dead.sock")); err == nil {
		t.Error("the socket of a killed process is left")
	}
	for path, mode := range map[string]os.FileMode{s.folder: 0o700, s.server.path: 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, mode)
		}
	}
	why, err := Stop(t.Context(), found[0].Path, "1")
	if err != nil || why != "stopped" || !slices.Equal(s.run.list(), []string{"stop"}) {
		t.Errorf("stopped: %q, %v, after %q", why, err, s.run.list())
	}
	if found := List(t.Context(), folders, "1"); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
}

// A folder that others can enter, or with too long a path, is not used; the next one is.
func TestFoldersThatCannotBeUsed(t *testing.T) {
	base, err := os.MkdirTemp("", "attach-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	open := filepath.Join(base, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(base, strings.Repeat("x", 90))
	if _, _, err := listen([]string{open}, "abc"); err == nil || !strings.Contains(err.Error(), "700") {
		t.Errorf("a folder that others can enter: %v", err)
	}
	if _, _, err := listen([]string{long}, "abc"); err == nil || !strings.Contains(err.Error(), "XDG_RUNTIME_DIR") {
		t.Errorf("a path that is too long: %v", err)
	}
	l, path, err := listen([]string{open, long, filepath.Join(base, "good")}, "abc")
	if err != nil || filepath.Dir(path) != filepath.Join(base, "good") {
		t.Fatalf("%s, %v", path, err)
	}
	defer l.Close()
	if _, _, err := listen([]string{filepath.Join(base, "good")}, "abc"); !errors.Is(err, errTaken) {
		t.Errorf("an ID that is taken: %v", err)
	}
}

// A socket that loses its name gets it again: the folder of run-time files goes with the last login.
func TestTheSocketIsMadeAgain(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	if err := os.RemoveAll(s.folder); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session to be found again", func() bool { return len(List(t.Context(), []string{s.folder}, "1")) == 1 })
	if x := s.attach(t, ClientOptions{}); !x.operates() {
		t.Error("the screen does not operate the run")
	}
}

// What a screen of an older version meets: one sentence, and nothing else. It does nothing to the run, whatever it
// says next.
func TestAScreenOfAnOlderVersion(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.iterate(100)
	c := s.dialRaw(t)
	hello := frame(helloFrame, []byte(`{"protocol":2,"version":"1.0","want":"watch","take":true,"who":"pts/9","role":"operator"}`))
	pause := frame(commandFrame, []byte(`{"n":1,"do":"pause","on":true}`))
	if _, err := c.Write(slices.Concat(hello, pause)); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	k, body, err := readFrame(c, largestCommand)
	if err != nil || k != helloFrame {
		t.Fatalf("it got a frame %q, %v", byte(k), err)
	}
	var answer struct { // what each version reads
		Protocol       int
		Version, Error string
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatal(err)
	}
	const says = "this screen speaks version 2 of the protocol, and the session version 3: attach with prismtop 1.2.3, which began it"
	if answer.Protocol != Protocol || answer.Version != "1.2.3" || answer.Error != says {
		t.Errorf("it was told %+v", answer)
	}
	if k, _, err := readFrame(c, largestData); err == nil {
		t.Errorf("a frame %q followed", byte(k))
	}
	if asked := s.run.list(); len(asked) != 0 || s.server.info().Operator != "" {
		t.Errorf("it caused %q, and %q operates the run", asked, s.server.info().Operator)
	}
}

// A screen that meets a session of another version says in one sentence what helps.
func TestASessionOfAnotherVersion(t *testing.T) {
	here, there := net.Pipe()
	go func() {
		answer, _ := message(helloFrame, serverHello{Protocol: Protocol + 1, Version: "9.9"})
		_, _ = there.Write(answer)
	}()
	_, err := readHello(here, "k3f9w")
	const says = "session k3f9w belongs to prismtop 9.9, which speaks version 4 of the protocol, and this one version 3: attach with the program that began it"
	var other *OtherVersionError
	if !errors.As(err, &other) || err.Error() != says {
		t.Errorf("it says %v", err)
	}
}

// What makes no sense ends its own connection, says why, and costs nobody else anything.
func TestNonsenseEndsItsConnectionOnly(t *testing.T) {
	s := serve(t, journalLimit)
	s.begin()
	s.iterate(100)
	good := s.attach(t, ClientOptions{})
	huge := make([]byte, 5)
	binary.BigEndian.PutUint32(huge, math.MaxUint32)
	hello, _ := message(helloFrame, clientHello{Protocol: Protocol, Want: WantWatch})
	for name, bytes := range map[string][]byte{
		"noise":           []byte("GET / HTTP/1.1\r\n\r\n"),
		"no hello":        frame(commandFrame, []byte("{}")),
		"wrong JSON":      frame(helloFrame, []byte("{")),
		"wants nothing":   frame(helloFrame, []byte(`{"protocol":3,"want":"all"}`)),
		"huge frame":      append(slices.Clone(hello), huge...),
		"an empty frame":  append(slices.Clone(hello), 0, 0, 0, 0, 'C'),
		"unknown kind":    append(slices.Clone(hello), frame('X', nil)...),
		"wrong command":   append(slices.Clone(hello), frame(commandFrame, []byte("[]"))...),
		"too many values": append(slices.Clone(hello), frame(commandFrame, []byte(`{"settings":[`+strings.Repeat("{},", mostSets)+`{}]}`))...),
		"odd factors":     append(slices.Clone(hello), frame(commandFrame, []byte(`{"do":"ablate","factors":[{"On":[{}]}]}`))...),
	} {
		c := s.dialRaw(t)
		if _, err := c.Write(bytes); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil && !errors.Is(err, io.EOF) && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: the connection stays: %v", name, err)
		}
	}
	if err := good.Do(set()); err != nil || !good.operates() {
		t.Errorf("the good screen: %v", err)
	}
	if asked := s.run.list(); !slices.Equal(asked, []string{"set []"}) {
		t.Errorf("asked for %q", asked)
	}
}
