package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/loop"
	"prismtop/profiles/machine"
	"prismtop/profiles/stream"
	"prismtop/profiles/visible"
	"prismtop/sim"
	"prismtop/sim/bench/apart"
	"prismtop/sim/outside"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/terminal"
)

// guest is a program that prismtop started to watch its training loop. It writes into a file and not into a pipe, and
// has a session of its own, so that it goes on if prismtop is killed.
type guest struct {
	name   string // "train.py"
	pid    int
	rings  string // folder
	leave  bool   // at a limit, it goes on
	goesOn bool   // it is not prismtop's to end: it is left as it was
	found  bool   // it ran before this prismtop
	remote *pythonProcess
	screen bool // the run is on a screen, where what it prints has a pane

	limited, finished bool // the run ended at a limit, or because the loop ended
	lost              bool // the loop could not be watched any more, whatever the program does

	tree   *machine.Tree
	loop   *outside.Loop
	trains atomic.Int64 // the process whose loop is shown
	nodes  nodes        // other machines with ranks
	others time.Time    // when other ranks than the first were seen first

	over    chan struct{} // closed once it has ended
	failure error         // then: how; nil if it ended well or was told to
	status  int           // likewise: its exit status

	ending sync.Once // see end
	mu     sync.Mutex
	ended  bool // it was told to end

	tied    bool  // it is killed with this process
	unshown error // why a loop of it cannot be shown

	file    *os.File // what it prints
	room    *sessions.Room
	crowded string // what is to be said of a full disk
	told    string // the last of it that was said
	printed *loop.Printed
	written time.Time // when it printed first
	echo    io.Writer // where what it prints is passed on to; nil for nowhere
	held    []byte    // of what it printed after it was told to end: see farewell
	drained chan struct{}
}

const (
	lookAtOutput  = 50 * time.Millisecond
	showOutput    = 500 * time.Millisecond
	startingFor   = time.Second // without output, after which a line says that it is starting
	silentFor     = time.Minute // after its first output, a program that does not greet is probably not watched
	interruptedIn = 10 * time.Second
	terminatedIn  = 5 * time.Second
)

// startProgram starts a command line with the module in front of its PYTHONPATH, and with other variables. echo takes
// what it prints until it is replaced. A tied program is killed with this process.
func startProgram(name string, argv, also []string, stdin *os.File, echo io.Writer, tied bool) (*guest, error) {
	rings, err := loop.MakeFolder()
	if err != nil {
		return nil, err
	}
	module, err := loop.Install(filepath.Dir(rings))
	if err != nil {
		return nil, err
	}
	p := newGuest(name, rings)
	p.echo, p.tied = echo, tied
	if p.file, err = sessions.NewOutput(name); err != nil {
		return nil, err
	}
	p.room = sessions.NewRoom(p.file)
	if _, err := p.room.Keep(0); err != nil {
		loop.RemoveFolder(rings)
		_, _ = p.file.Close(), os.Remove(p.file.Name())
		return nil, fmt.Errorf("what %s prints has no room in %s: %w (XDG_STATE_HOME can name another folder)", name,
			filepath.Dir(p.file.Name()), cli.Bare(err))
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = p.file, p.file
	if stdin != nil { // without it, the program's is empty; a nil file would be none at all
		cmd.Stdin = stdin
	}
	path := module
	if already := os.Getenv("PYTHONPATH"); already != "" {
		path += string(os.PathListSeparator) + already
	}
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+path, loop.EnvFolder+"="+rings), also...)
	if os.Getenv("PYTHONUNBUFFERED") == "" {
		cmd.Env = append(cmd.Env, "PYTHONUNBUFFERED=1") // a file, and yet somebody reads along
	}
	if terminal.NewSession(cmd); tied {
		cmd.SysProcAttr = apart.Attributes()
	}
	if err := cmd.Start(); err != nil {
		loop.RemoveFolder(rings)
		return nil, fmt.Errorf("%s: %w", argv[0], cli.Bare(err))
	}
	_ = loop.Announce(rings, name, cmd.Process.Pid) // it is only for those who look for it
	p.pid, p.tree = cmd.Process.Pid, machine.NewTree(cmd.Process.Pid)
	go p.await(cmd)
	go p.pump()
	return p, nil
}

// adopt takes over a loop that goes on without a prismtop. Its exit status is its parent's to know.
func adopt(left *loop.Left) (*guest, error) {
	r, err := loop.Open(left.Path)
	if err != nil {
		return nil, err
	}
	g, err := r.Greeting()
	if err == nil && (g == nil || !r.Operates()) {
		err = fmt.Errorf("process %d: another prismtop has it", left.PID)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	if asked := r.Asked(); asked != nil {
		g.Under(asked)
	}
	r.Skip()
	p := newGuest(filepath.Base(g.Script), left.Folder)
	p.pid, p.tree, p.goesOn = machine.GroupOf(left.PID), machine.NewTree(left.PID), g.Attached
	p.found = true
	p.file, err = sessions.OutputOf(left.PID)
	if err != nil {
		p.file, _ = os.Open(os.DevNull)
	}
	p.room = sessions.NewRoom(p.file)
	p.loop = &outside.Loop{Ring: r, Greeting: g,
		Notes: []string{fmt.Sprintf("process %d trains since before; its earlier steps are not shown", left.PID)}}
	p.trains.Store(int64(r.PID))
	p.gather(context.Background(), p.loop)
	for _, peer := range p.loop.Peers {
		peer.Ring.Skip()
	}
	go p.awaitOther(left.PID)
	go p.pump()
	return p, nil
}

// awaitOther waits for the end of a program that this process did not start.
func (p *guest) awaitOther(pid int) {
	for machine.Runs(pid) {
		time.Sleep(lookAtOutput)
	}
	close(p.over)
}

func newGuest(name, rings string) *guest {
	return &guest{name: name, rings: rings, over: make(chan struct{}), drained: make(chan struct{}),
		printed: loop.NewPrinted(profiles.OutputLines, profiles.OutputWidth/4)}
}

// await waits for the end of the program.
func (p *guest) await(cmd *exec.Cmd) {
	err := cmd.Wait()
	p.status = cmd.ProcessState.ExitCode()
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		p.status = 128 + int(s.Signal())
		err = fmt.Errorf("%s was ended by a signal: %s", p.name, s.Signal())
	} else if err != nil {
		err = fmt.Errorf("%s ended with exit status %d", p.name, p.status)
	}
	<-p.drainedAfter()
	p.mu.Lock()
	if err != nil && !p.ended {
		if last := p.exception(); last != "" {
			err = fmt.Errorf("%w: %s", err, last)
		}
		p.failure = cli.WithStatus(err, p.status)
	}
	p.mu.Unlock()
	close(p.over)
}

// drainedAfter gives what the program printed last the time to be read.
func (p *guest) drainedAfter() <-chan time.Time { return time.After(2 * lookAtOutput) }

// exception returns the last line of a traceback that the program ended with, "" if it did not.
func (p *guest) exception() string {
	lines, _ := p.printed.Lines()
	if len(lines) == 0 || !slices.ContainsFunc(lines, func(s string) bool {
		return strings.HasPrefix(s, tracebackBegins)
	}) {
		return ""
	}
	return lines[len(lines)-1]
}

// pump reads what the program prints, until some time after its end.
func (p *guest) pump() {
	defer close(p.drained)
	defer p.release()
	b := make([]byte, 1<<16)
	at := int64(0)
	for {
		over := false
		select {
		case <-p.over:
			over = true
		default:
		}
		n, _ := p.file.ReadAt(b, at)
		if at += int64(n); n > 0 {
			p.take(b[:n])
			continue
		}
		if over {
			p.room.Release(at)
			return
		}
		p.keepRoom(at)
		time.Sleep(lookAtOutput)
	}
}

// keepRoom has the program print on where the disk is full.
func (p *guest) keepRoom(printed int64) {
	forgot, err := p.room.Keep(printed)
	if !forgot && err == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	then := "of what " + p.name + " printed, the beginning is no longer kept"
	if err != nil {
		then = "what " + p.name + " prints may soon be an error in it"
	}
	p.crowded = fmt.Sprintf("the disk of %s is full: %s", p.file.Name(), then)
}

// ofTheDisk returns what is to be said of a full disk, each thing once.
func (p *guest) ofTheDisk() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.crowded == p.told {
		return ""
	}
	p.told = p.crowded
	return p.told
}

func (p *guest) take(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.written.IsZero() {
		p.written = time.Now()
	}
	_, _ = p.printed.Write(b)
	if p.ended {
		b = p.farewell(b)
	}
	if p.echo != nil {
		_, _ = p.echo.Write(b)
	}
}

// wholeLines passes on lines once they are whole, those that are written over, as progress bars are, in their last
// state: so that prismtop's own lines come between them.
type wholeLines struct {
	to   io.Writer
	line []byte
}

// Write takes what was printed next.
func (w *wholeLines) Write(b []byte) (int, error) {
	w.line = append(w.line, b...)
	end := bytes.LastIndexByte(w.line, '\n') + 1
	for line := range bytes.Lines(w.line[:end]) {
		if at := bytes.LastIndexByte(bytes.TrimRight(line, "\r\n"), '\r'); at >= 0 {
			line = line[at+1:]
		}
		_, _ = w.to.Write(line)
	}
	w.line = append(w.line[:0], w.line[end:]...)
	if at := bytes.LastIndexByte(bytes.TrimRight(w.line, "\r"), '\r'); at > longestLine {
		w.line = append(w.line[:0], w.line[at+1:]...)
	}
	return len(b), nil
}

// longestLine bounds what is kept of a line that is written over again and again, in bytes.
const longestLine = 1 << 16

// flush passes on a line that is not whole.
func (w *wholeLines) flush() {
	if len(w.line) > 0 {
		_, _ = w.Write([]byte("\n"))
	}
}

// tracebackBegins begins the traceback of an exception.
const tracebackBegins = "Traceback (most recent call last):"

// farewell returns what is passed on of what a program prints that was told to end: a traceback is held back until it
// is known to say more than that it was interrupted.
func (p *guest) farewell(b []byte) []byte {
	if p.held == nil {
		at := bytes.Index(b, []byte(tracebackBegins))
		if at < 0 {
			return b
		}
		at = bytes.LastIndexByte(b[:at], '\n') + 1 // with the rank in front of it
		p.held = bytes.Clone(b[at:])
		return b[:at]
	}
	p.held = append(p.held, b...)
	return nil
}

// release passes on what was held back, without the tracebacks that only say that the program was interrupted.
func (p *guest) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.echo != nil {
		_, _ = p.echo.Write(withoutInterrupts(p.held))
	}
	p.held = nil
}

// passOn passes what the program prints from now on to another writer, nil for none.
func (p *guest) passOn(to io.Writer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.echo = to
}

// output returns the end of what it printed.
func (p *guest) output() *profiles.Output {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &profiles.Output{Path: p.file.Name()}
	o.Lines, o.Printed = p.printed.Lines()
	return o
}

// silent reports whether it has printed for a while.
func (p *guest) silent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.written.IsZero() && time.Since(p.written) > silentFor
}

// unwatched is told of a program that prints and does not greet.
const unwatched = "prismtop: no training loop was found in %s within %v of its first output. It is watched after its " +
	"second optimizer step, unless Python was started with -I, -S or -E or the environment was cleared: then " +
	"`import prismtop` in the program helps (prismtop docs python)\n"

// greeted waits for the loop of the program; false if it ended without one. notes takes what is to be said meanwhile.
func (p *guest) greeted(ctx context.Context, notes io.Writer) (found bool, err error) {
	refused, told, begun, starting := map[string]bool{}, false, time.Now(), false
	err = loop.Wait(ctx.Done(), func() (bool, error) {
		over := p.hasEnded()
		if p.loop = p.find(ctx, notes, refused, nil); p.loop != nil {
			return true, nil
		}
		if p.tied && p.unshown != nil {
			return true, p.unshown
		}
		if !starting && time.Since(begun) > startingFor {
			starting = true
			fmt.Fprintf(notes, "prismtop: %s is starting (process %d); its loop is watched after its second step\n",
				p.name, p.pid)
		}
		if !told && p.silent() {
			told = true
			fmt.Fprintf(notes, unwatched, p.name, silentFor)
		}
		return over, nil
	})
	return p.loop != nil, errors.Join(err, ctx.Err())
}

// find returns the loop of the first rank that has greeted, nil if there is none yet: the one that came after another,
// if that is not nil. Rings that cannot be shown are said once.
//
// Where the first rank is on another machine, the first of this one is shown after some seconds.
func (p *guest) find(ctx context.Context, notes io.Writer, refused map[string]bool, after *loop.Ring) *outside.Loop {
	first := p.firstRank()
	for _, path := range loop.In(p.rings) {
		if refused[path] || after != nil && path == after.Path {
			continue
		}
		r, err := loop.Open(path)
		if err != nil {
			continue // still being made
		}
		if r.Rank != first || r.Mirrors() || after != nil && !r.GoesOn() {
			r.Release()
			continue
		}
		g, err := r.Greeting()
		if err != nil {
			refused[path] = true
			p.unshown = fmt.Errorf("the loop cannot be shown: %s", visible.Text(err.Error()))
			fmt.Fprintf(notes, "prismtop: %v\n", p.unshown)
		}
		if g == nil {
			r.Close()
			continue
		}
		l := &outside.Loop{Ring: r, Greeting: g, Over: p.over, Failure: func() error { return p.failure }}
		if r.PID != p.pid { // a program whose own process trains has no launcher
			l.Again = func(ctx context.Context, after *loop.Ring) *outside.Loop {
				return p.find(ctx, io.Discard, refused, after)
			}
		}
		p.trains.Store(int64(r.PID))
		p.others = time.Time{}
		p.gather(ctx, l)
		return l
	}
	return nil
}

// firstRank returns the rank that is shown: that of this machine which comes first, once
// others have had the time to come.
func (p *guest) firstRank() int {
	first := -1
	for _, path := range loop.In(p.rings) {
		if r, err := loop.Watch(path); err == nil {
			if !r.Mirrors() && r.GoesOn() && (first < 0 || r.Rank < first) {
				first = r.Rank
			}
			r.Release()
		}
	}
	switch {
	case first <= 0:
		return 0
	case p.others.IsZero():
		p.others = time.Now()
	}
	if time.Since(p.others) < ranksWithin {
		return 0
	}
	return first
}

// ranksWithin is how long the rings of other ranks are waited for: all take the same step.
const ranksWithin = 5 * time.Second

// gather finds the other ranks of a training.
func (p *guest) gather(ctx context.Context, l *outside.Loop) {
	if l.Ring.World < 2 {
		return
	}
	found, begun := map[int]outside.Peer{}, time.Now()
	p.nodes.leave()
	_ = loop.Wait(ctx.Done(), func() (bool, error) {
		l.Ring.Beat()
		for _, path := range loop.In(p.rings) {
			r, err := loop.Open(path)
			if err != nil {
				continue // still being made
			}
			_, has := found[r.Rank]
			if !has && r.Rank != l.Ring.Rank && r.World == l.Ring.World && r.Operates() && r.Alive() {
				if g, err := r.Greeting(); err == nil && g != nil {
					found[r.Rank] = outside.Peer{Ring: r, Greeting: g}
					continue
				}
			}
			r.Release()
		}
		took := time.Since(begun)
		if took > nodesAfter && !p.nodes.reached && len(found) < l.Ring.World-1 {
			p.nodes.reach(ctx, p.rings, l.Ring.World, func(rank int) bool {
				_, has := found[rank]
				return !has && rank != l.Ring.Rank
			})
		}
		return len(found) == l.Ring.World-1 || p.hasEnded() || took > ranksWithin && !p.nodes.awaited(took), nil
	})
	var missing, remote []string
	for rank := range l.Ring.World {
		peer, has := found[rank]
		switch {
		case has && peer.Ring.Mirrors():
			remote = append(remote, strconv.Itoa(rank))
			fallthrough
		case has:
			l.Peers = append(l.Peers, peer)
		case rank != l.Ring.Rank:
			missing = append(missing, strconv.Itoa(rank))
		}
	}
	l.Notes = append(l.Notes, p.nodes.complaints()...)
	switch {
	case len(missing) > 0:
		l.Locked = fmt.Sprintf("of %d ranks, this machine does not have %s: they are only watched", l.Ring.World,
			strings.Join(missing, ", "))
	case len(remote) > 0:
		l.Locked = fmt.Sprintf("of %d ranks, another machine has %s: they are only watched", l.Ring.World,
			strings.Join(remote, ", "))
	}
	if l.Locked != "" {
		for i := range l.Greeting.Knobs {
			l.Greeting.Knobs[i].Why = cmp.Or(l.Greeting.Knobs[i].Why, l.Locked)
		}
		l.Notes = append(l.Notes, l.Locked)
	}
}

func (p *guest) hasEnded() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// endsWithin waits for its end, and reports whether it came in time.
func (p *guest) endsWithin(limit time.Duration) bool {
	select {
	case <-p.over:
		return true
	case <-time.After(limit):
		return false
	}
}

// observe lets a run and its aggregator know whose processor time and memory it is.
func (p *guest) observe(o *sim.Options, a *aggregate.Options) {
	o.Roofs = nil // of prismtop's own kernels
	a.Load = func() machine.Load {
		l := machine.ReadLoad()
		if l.Reason == "" {
			l.Own += p.tree.Seconds()
		}
		return l
	}
	a.Resident = remembered(func() (int64, int64, string) { return machine.ReadResidentOf(int(p.trains.Load())) })
}

// remembered returns what read returned last of the memory of a process: of one that ends, or has ended, it returns
// nothing any more.
func remembered(read func() (int64, int64, string)) func() (rss, peak int64, reason string) {
	var rss, peak int64
	return func() (int64, int64, string) {
		now, most, reason := read()
		if reason == "" {
			rss, peak = now, most
		} else if peak > 0 {
			return rss, peak, ""
		}
		return now, most, reason
	}
}

// follow publishes what the program prints, and ends it when the run has reached a limit, until the function that it
// returns is called.
func (p *guest) follow(events *stream.Stream, last func() *profiles.Snapshot, host *sessions.Host) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	lines := wholeLines{to: os.Stderr}
	go func() {
		defer close(ended)
		var shown int64
		newest := ""
		for tick := time.NewTicker(showOutput); ; {
			if p.screen && !host.Detached() {
				p.passOn(nil)
			} else {
				p.passOn(&lines)
			}
			if said := p.ofTheDisk(); said != "" {
				events.Log(said)
			}
			o := p.output()
			end := ""
			if n := len(o.Lines); n > 0 {
				end = o.Lines[n-1]
			}
			if o.Printed != shown || end != newest {
				events.Output(o)
				shown, newest = o.Printed, end
			}
			if s := last(); s != nil && s.EndedBy != "" && !p.leave && !p.goesOn {
				go p.end()
			}
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		p.passOn(nil)
		lines.flush()
		if s := last(); s != nil {
			p.limited = s.EndedBy != ""
			p.finished = s.State == profiles.Finished && !p.limited || p.loop.Unwatched
			p.lost = s.State == profiles.Failed
		}
	}
}

// end ends the program as ctrl+c would, or, if it does not end, as kill does. It returns
// whether it ended, which a call during another waits for, too. One that is not prismtop's to end is left.
func (p *guest) end() bool {
	if p.goesOn {
		return p.leaveIt()
	}
	p.ending.Do(p.signalUntilOver)
	return p.hasEnded()
}

// refuse ends the program when its run cannot begin, unless it was already running before prismtop came.
func (p *guest) refuse() {
	if p.goesOn || !p.found {
		p.end()
	}
}

// signalUntilOver ends the program by signals, or gives up.
func (p *guest) signalUntilOver() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	if p.hasEnded() {
		return
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt)
	defer signal.Stop(again)
	machine.Interrupt(p.pid)
	terminate := time.After(interruptedIn)
	var giveUp <-chan time.Time
	for {
		select {
		case <-p.over:
			return
		case <-again: // as a shell would
			machine.Interrupt(p.pid)
		case <-terminate:
			machine.Terminate(p.pid)
			giveUp = time.After(terminatedIn)
		case <-giveUp:
			return
		}
	}
}

// farewellStatus is the end of a program that was told to end by a key: that of an interrupt, or what it made of it. A
// shell's && must not take it for a training that was completed.
func (p *guest) farewellStatus() error {
	switch {
	case p.status == 0 || !p.ended:
		return nil
	case p.status == 128+int(syscall.SIGINT):
		return cli.ErrInterrupted
	}
	return cli.WithStatus(fmt.Errorf("%s ended with exit status %d after ctrl+c", p.name, p.status), p.status)
}

// close ends what is left of the program: its rings, and the file of what it printed if that was passed on.
func (p *guest) close() {
	p.nodes.leave()
	if p.hasEnded() {
		<-p.drained
		for _, path := range loop.In(p.rings) {
			if r, err := loop.Open(path); err == nil {
				if !r.GoesOn() { // a launcher that was killed may leave its processes behind
					r.Remove()
				}
				r.Close()
			}
		}
		loop.RemoveFolder(p.rings)
	}
	_ = p.file.Close()
}
