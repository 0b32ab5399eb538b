// Package sessions makes a run go on without its screen: Host serves it on a socket to the screens that attach, the
// run's own included, and detach.go leaves its terminal. It also is the commands that list such runs and end them. The
// protocol and who may do what are in profiles/attach.
package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/attach"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/profiles/stream"
	"prismtop/tui/command/cli"
	"prismtop/tui/terminal"
	"prismtop/tui/words"
)

// Folder returns the folder of what sessions leave: their logs, and their sockets where there is no
// folder for files of running programs.
func Folder() (string, error) {
	runs, err := recording.Folder()
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(runs), "sessions"), nil
}

// Folders returns the folders of sockets.
func Folders() []string {
	folder, _ := Folder() // without a home there may still be a folder for running programs
	return attach.Folders(folder)
}

// Host makes a run a session: screens in other processes can attach to it.
type Host struct {
	journal *attach.Journal
	lease   *attach.Lease
	events  *stream.Stream
	server  atomic.Pointer[attach.Server]
	stop    sync.Once
	stopped chan struct{} // closed by prismtop stop

	// Of the screen in this process, while there is one.
	seat    *attach.Seat
	entered bool

	folder string
	log    string      // file to which this process prints once it has no terminal
	shut   atomic.Bool // it has none
}

// NewHost returns a host for the run that writes to events. It serves nothing yet.
func NewHost(events *stream.Stream) *Host {
	return &Host{journal: attach.NewJournal(), lease: attach.NewLease(events.Log), events: events,
		stopped: make(chan struct{})}
}

// Stopped returns a channel that is closed when prismtop stop ends the session.
func (h *Host) Stopped() <-chan struct{} { return h.stopped }

// Observe returns the options of the run's aggregator with what a session adds: a journal of what
// it consumes, and the processor time of attached screens.
func (h *Host) Observe(o aggregate.Options) aggregate.Options {
	tapes := aggregate.Tapes{h.journal}
	if o.Tape != nil {
		tapes = append(tapes, o.Tape)
	}
	o.Tape = tapes
	read := o.Load
	if read == nil {
		read = machine.ReadLoad
	}
	o.Load = func() machine.Load {
		l := read()
		if s := h.server.Load(); s != nil && l.Reason == "" {
			l.Own += s.ProcessorTime()
		}
		return l
	}
	return o
}

// Source returns the source of the run's aggregator. Pictures are made only while a screen shows
// them.
func (h *Host) Source(r *stream.Reader) profiles.Source { return source{r, h.journal} }

type source struct {
	*stream.Reader
	journal *attach.Journal
}

// WantPicture requests a picture if there is a screen to show it.
func (s source) WantPicture() {
	if s.journal.Watched() > 0 {
		s.Reader.WantPicture()
	}
}

// Serve begins to serve the run. recorded is the path of its recording, empty for none. An error
// means that no screen can attach.
func (h *Host) Serve(run cli.Live, recorded string) error {
	server, err := attach.Serve(attach.Session{
		Run: run, Journal: h.journal, Lease: h.lease, Version: cli.Version,
		Info: func() attach.Info { return h.info(run.Aggregator.Last(), recorded) },
		Stop: func() {
			run.Stop()
			h.stop.Do(func() { close(h.stopped) })
		},
	}, Folders(), h.events.Refuse)
	if err != nil {
		return fmt.Errorf("no session: %w", err)
	}
	h.server.Store(server)
	if h.folder, err = Folder(); err == nil {
		h.log = filepath.Join(h.folder, server.ID()+logEnding)
	}
	return nil
}

// Serves reports whether screens can attach.
func (h *Host) Serves() bool { return h != nil && h.server.Load() != nil }

// ID returns the name of the session; empty if there is none.
func (h *Host) ID() string {
	if !h.Serves() {
		return ""
	}
	return h.server.Load().ID()
}

// info describes the run.
func (h *Host) info(s *profiles.Snapshot, recorded string) attach.Info {
	i := attach.Info{State: profiles.Preparing.String(), Began: h.journal.Began(), Recording: recorded}
	if h.shut.Load() {
		i.Log = h.log
	}
	if s == nil {
		return i
	}
	i.State, i.Workload, i.Object, i.Unit = s.State.String(), s.Run.Schema.Workload, s.Run.Object, s.Run.Schema.Unit.One
	i.UnitMany = s.Run.Schema.Unit.Many
	i.Done, i.Units, i.Iterations = s.UnitsEnded(), s.Run.AllUnits(), s.Index
	if !s.InUnits() {
		i.Stage = s.Stage()
	}
	i.Seconds = max(s.Elapsed, s.InAll()).Seconds()
	return i
}

// Screen returns the run as a screen in this process operates it, until Leave.
func (h *Host) Screen(run cli.Live) *Screen {
	h.seat = h.lease.Seat(run, Who(), attach.Operator).Own()
	h.seat.Request(false)
	h.journal.Enter()
	h.entered = true
	return &Screen{Seat: h.seat, run: run}
}

// Screen is a run as a screen in its process sees it.
type Screen struct {
	*attach.Seat
	run cli.Live
}

// Snapshots delivers the newest snapshot.
func (s *Screen) Snapshots() <-chan *profiles.Snapshot { return s.run.Snapshots() }

// Leave ends what Screen began: the run has no screen in this process any more.
func (h *Host) Leave() {
	if h.entered {
		h.entered = false
		h.journal.Leave()
		h.seat.Release()
	}
}

// Farewell is what is printed when a screen leaves the run going.
func (h *Host) Farewell() string { return Farewell(h.ID()) }

// Farewell is what is printed when a screen leaves a session; empty for none.
func Farewell(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf("prismtop: the run goes on as session %[1]s: prismtop attach %[1]s shows it, prismtop stop "+
		"%[1]s ends it\n", id)
}

// Begin counts what happens from now on for the first screen that attaches.
func (h *Host) Begin() { h.journal.Begin() }

// Shut makes this process print to the log of the session from now on, and read nothing. The run's
// log has what goes wrong.
func (h *Host) Shut() {
	if err := h.redirect(); err != nil {
		h.events.Refuse("the session has no log: " + err.Error())
	}
}

// Return gives this process, which Shut has left without one, a terminal again.
func (h *Host) Return(to *os.File) error {
	h.shut.Store(false)
	return terminal.Return(to)
}

// Detached reports whether this process has no terminal.
func (h *Host) Detached() bool { return h.shut.Load() }

func (h *Host) redirect() error {
	if h.log == "" {
		return errors.New("there is no folder for the log of the session")
	}
	if err := os.MkdirAll(h.folder, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := terminal.Redirect(f); err != nil {
		return err
	}
	h.shut.Store(true)
	pruneLogs(h.folder)
	return nil
}

// lookEvery is the time between two looks at whether a run that is over is still watched.
const lookEvery = 200 * time.Millisecond

// Over waits as long as a screen that can restart or save the finished run shows it, at most until ctx is done, and
// reports whether the run was restarted.
func (h *Host) Over(ctx context.Context, run cli.Live) (again bool) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if s := run.Aggregator.Last(); s != nil && !words.Ended(s.State) {
			return true
		}
		if v := h.server.Load(); v == nil || !v.Operable() {
			return false
		}
		select {
		case <-run.Done():
			return false
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}

// Close ends the session: attached screens show the end. It does nothing for a host that does not
// serve.
func (h *Host) Close(last *profiles.Snapshot) {
	if !h.Serves() {
		return
	}
	why := "stopped"
	if last != nil {
		why = cmp.Or(attach.Ending(last), why)
	}
	h.server.Load().Close(why)
}

// logEnding ends the names of logs, of which mostLogs are kept.
const (
	logEnding = ".log"
	mostLogs  = 50
)

// pruneLogs deletes the oldest logs beyond mostLogs. What cannot be deleted stays: another
// process may be doing the same, and no run fails for it.
func pruneLogs(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	type file struct {
		path string
		at   time.Time
	}
	var all []file
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), logEnding) {
			all = append(all, file{filepath.Join(folder, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b file) int { return b.at.Compare(a.at) })
	for _, f := range all[min(len(all), mostLogs):] {
		_ = os.Remove(f.path)
	}
}

// Who names the terminal that this process began on, and where its user is.
var Who = sync.OnceValue(func() string {
	name, err := os.Readlink("/proc/self/fd/0")
	if err != nil || !strings.HasPrefix(name, "/dev/") || name == os.DevNull {
		name = fmt.Sprintf("process %d", os.Getpid())
	}
	name = strings.TrimPrefix(name, "/dev/")
	if from, _, _ := strings.Cut(os.Getenv("SSH_CONNECTION"), " "); from != "" {
		name += " from " + from
	}
	return name
})
