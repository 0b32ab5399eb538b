package attach

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// tableOf knows the settings of one workload.
func tableOf(workload string) *settings.Table {
	if workload == prism.Table.Workload {
		return prism.Table
	}
	return nil
}

// source is a run on a clock of its own whose aggregator has a journal.
type source struct {
	*stream.Stream
	journal *Journal
	a       *aggregate.Aggregator
	now     time.Time
	began   time.Time
	it      profiles.Iteration
	noise   *rand.Rand
	values  settings.Values
}

func newSource(limit int) *source {
	s := &source{now: time.Now(), noise: rand.New(rand.NewPCG(3, 4))}
	s.Stream = stream.WithClock(8192, func() time.Time { return s.now })
	s.journal = newJournal(s.now, limit)
	load := machine.Load{}
	s.a = aggregate.New(s.Follow(), aggregate.Options{Pictures: time.Second, Tape: s.journal, Load: func() machine.Load {
		load.Add(machine.Load{Busy: 1, Own: 0.9, Passed: 1})
		return load
	}})
	return s
}

func (s *source) begin() {
	v := prism.Settings{Seed: 7, Threshold: 1e-3, Loss: "l1", MeasurementCache: true, Channels: []int{64, 1}, AMP: "off", LearningRate: 1e-3}
	s.values = v.Values().Settled()
	s.Begin(prismtest.Info(4), s.values)
	s.began = s.now
	s.Picture(&profiles.Picture{ID: prism.PictureTruth, Width: 2, Height: 1, Pixels: []float32{0, 1}})
	s.Memory(profiles.Memory{Parts: [profiles.MaxMemory]int64{prism.MemoryWeights: 12}})
	s.State(profiles.Running, "")
	s.it = prismtest.Progressive()
}

// iterate runs n iterations of a millisecond, with a tick after every fifty.
func (s *source) iterate(n int) {
	for i := range n {
		it := &s.it
		it.Start, it.Total = int64(s.now.Sub(s.began)), 0
		for p := range 5 {
			it.Phases[p] = 2e5 + int64(1e4*s.noise.Float64())
			it.Total += it.Phases[p]
		}
		it.Series[prism.SeriesLossNew] = s.noise.Float64()
		s.Stream.Iteration(it)
		it.Index++
		it.InUnit++
		s.now = s.now.Add(time.Duration(it.Total))
		if i%50 == 49 {
			s.tick()
		}
	}
}

func (s *source) tick() *profiles.Snapshot {
	shot := s.a.Tick(s.now)
	if s.PictureWanted() {
		p := &profiles.Picture{ID: prism.PictureReconstruction, Iteration: s.it.Index, Width: 16, Height: 12, Pixels: make([]float32, 16*12)}
		for i := range p.Pixels {
			p.Pixels[i] = float32(s.noise.IntN(256)) / 255 // exact in 256 levels
		}
		p.Pixels[0], p.Pixels[1] = 0, 1
		s.Picture(p)
		s.Answered()
	}
	return shot
}

// set changes mixed precision.
func (s *source) set(before, after string) { s.change("amp", before, after) }

// change changes a setting.
func (s *source) change(key, before, after string) {
	next, err := s.values.Set(key, after)
	if err != nil {
		panic(err)
	}
	s.values = next
	s.Change(profiles.Change{Key: key, Before: before, After: after, Iteration: s.it.Index, At: s.now.Sub(s.began)}, next)
	s.it.Changes++
}

// unit ends a unit of work.
func (s *source) unit(n int32) {
	s.Measure(prismtest.ComparedAll(s.it.Index-1, 20+float64(n), 0.5, 4))
	s.UnitDone(profiles.UnitResult{Unit: n, Iterations: 100, Converged: true, Elapsed: time.Second})
	s.it.Unit, s.it.InUnit = n+1, 0
}

// fakeRun notes what it was asked for.
type fakeRun struct {
	mu    sync.Mutex
	asked []string
	stop  func()
	block chan struct{} // a try waits for it; nil for not
}

func (r *fakeRun) note(format string, args ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, fmt.Sprintf(format, args...))
	return nil
}

func (r *fakeRun) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// forget drops what it was asked for.
func (r *fakeRun) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = nil
}

var errFake = errors.New("amp: must be off or bf16")

// Do notes a command, with what it is about.
func (r *fakeRun) Do(c profiles.Command) error {
	what := string(c.Kind)
	switch c.Kind {
	case profiles.SetCommand:
		if len(c.Settings) > 0 && c.Settings[0].Value == "wrong" {
			return errFake
		}
		if len(c.Settings) > 0 && c.Settings[0].Value == "panic" {
			panic("set")
		}
		what += fmt.Sprintf(" %v", c.Settings)
	case profiles.ReplicateCommand, profiles.ForkCommand:
		what += fmt.Sprintf(" %v %d", c.Settings, c.At)
	case profiles.AblateCommand:
		what += fmt.Sprintf(" %d", len(c.Factors))
	case profiles.NoteCommand:
		what += fmt.Sprintf(" %s: %s", c.By, c.Text)
	case profiles.StopCommand:
		if r.stop != nil {
			defer func() { go r.stop() }()
		}
	}
	if c.Try {
		what = "try " + what
		if r.block != nil {
			<-r.block
		}
	}
	return r.note("%s", what)
}

// ask returns a command without more than its kind.
func ask(k profiles.CommandKind) profiles.Command { return profiles.Command{Kind: k} }

// set returns a command that changes settings.
func set(sets ...settings.Assignment) profiles.Command {
	return profiles.Command{Kind: profiles.SetCommand, Settings: sets}
}

// noted returns a command that writes a note.
func noted(text string) profiles.Command {
	return profiles.Command{Kind: profiles.NoteCommand, Text: text}
}

// operates reports whether a screen has the lease.
func (x *attached) operates() bool { return x.Control().Operates }

// served is a session with a socket.
type served struct {
	*source
	run    *fakeRun
	server *Server
	folder string

	mu  sync.Mutex
	log []string
}

func (s *served) add(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, line)
}

func (s *served) logged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// serve begins a session in a folder of its own.
func serve(t testing.TB, limit int) *served {
	t.Helper()
	folder, err := os.MkdirTemp("", "attach-") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := &served{source: newSource(limit), run: &fakeRun{}, folder: filepath.Join(folder, "prismtop")}
	s.server, err = Serve(Session{
		Run: s.run, Journal: s.journal, Lease: NewLease(s.add), Version: "1.2.3",
		Info: func() Info { return Info{State: "running", Object: "moon"} }, Stop: func() { _ = s.run.Do(ask(profiles.StopCommand)) },
	}, []string{s.folder}, s.add)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close("over") })
	s.run.stop = func() { s.server.Close("stopped") }
	return s
}

// attached is a client that keeps its newest snapshot.
type attached struct {
	*Client
	t     testing.TB
	ended chan struct{}
	why   string
	err   error

	mu   sync.Mutex
	last *profiles.Snapshot
}

func (s *served) attach(t testing.TB, o ClientOptions) *attached {
	t.Helper()
	o.Table = tableOf
	c, err := Attach(t.Context(), s.server.path, o)
	if err != nil {
		t.Fatal(err)
	}
	return follow(t, c)
}

func follow(t testing.TB, c *Client) *attached {
	x := &attached{Client: c, t: t, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		x.why, x.err = c.Run(ctx)
		close(ran)
	}()
	go func() {
		for s := range c.Snapshots() {
			x.mu.Lock()
			x.last = s
			x.mu.Unlock()
		}
		<-ran
		close(x.ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-x.ended
	})
	return x
}

// until waits for a snapshot.
func (x *attached) until(what string, ok func(s *profiles.Snapshot) bool) *profiles.Snapshot {
	x.t.Helper()
	var s *profiles.Snapshot
	eventually(x.t, what, func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		s = x.last
		return s != nil && ok(s)
	})
	return s
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// dialRaw connects without saying anything.
func (s *served) dialRaw(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", s.server.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
