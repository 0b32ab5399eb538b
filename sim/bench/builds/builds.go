// Package builds compares two builds of prismtop, or two programs that prismtop records, on this machine: both run at
// once, and by turns one of them is stopped, in balanced rounds. Their recordings are then cut by the turns.
package builds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/compare/recorded"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

// Program is one of the two that are compared: a prismtop that records what it runs.
type Program struct {
	Name      string // for the comparison and errors; empty for that of the path
	Path      string
	Folder    string   // that it runs in; empty for that of this process
	Arguments []string // before those of a recording: a command of prismtop, and its flags
	Then      []string // behind them: what the command runs
	Env       []string // in addition to that of this process
}

// Options of a comparison of builds.
type Options struct {
	Programs [2]Program    // the base first
	Rounds   int           // of all starts together; 0 for as many as fit into Time
	Time     time.Duration // of all rounds, where Rounds is 0
	Starts   int           // of both programs, among which the rounds are divided
	Turn     time.Duration // how long a program runs before the other; 0 for what suits the longer iteration
	Within   time.Duration // until the first iteration is recorded; 0 for a minute
	Seed     uint64        // of the order of the rounds
	// Tables is as for recording.Open.
	Tables func(workload string) *settings.Table
	// Progress is called after each round; nil for nobody.
	Progress func(done, all int)
	// Added is called where another start makes up for one whose turns were too short: all is then the number of
	// rounds, and turn the length of the longer turns. nil for nobody.
	Added func(all int, turn time.Duration)
}

// warmUp is the number of turns before the first round.
const warmUp = 4

// Compare runs both programs by turns and compares them. If ctx ends first, or one of the programs does,
// both are ended: none is left stopped behind. If ctx does, the comparison is that of the rounds so far, nil if they
// are too few, beside its error.
func Compare(ctx context.Context, o Options) (*compare.Comparison, error) {
	for i := range o.Programs {
		p := &o.Programs[i]
		var err error
		if p.Path, err = found(p.Path); err != nil {
			return nil, err
		}
		if err := check(ctx, p.Path); err != nil {
			return nil, err
		}
	}
	name(&o.Programs)
	o.Within = cmp.Or(o.Within, prepareWithin)
	folder, err := os.MkdirTemp("", "prismtop-builds-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	c := comparing{Options: o, order: rand.New(rand.NewPCG(o.Seed, 1))}
	if o.Turn == 0 { // its length may be chosen anew
		c.more = o.Starts
	}
	var cut error
	for n := 0; n < c.Starts && cut == nil; n++ {
		err := c.start(ctx, filepath.Join(folder, strconv.Itoa(n)), n)
		if err != nil && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
			return nil, err
		}
		cut = err
	}
	compared, err := c.turns.Compare([2]string{o.Programs[0].Name, o.Programs[1].Name}, c.samples)
	return compared, cmp.Or(cut, err)
}

// comparing is a comparison under way.
type comparing struct {
	Options
	order   *rand.Rand
	done    int // rounds
	more    int // starts that may be added
	turns   compare.Turns
	samples [2][]*compare.Sample
}

// start starts both programs for the n-th time, lets them run by turns for its share of the rounds, ends them, and
// reads what they recorded to a new folder. If ctx ends during a round, those before it are read, and the error is that
// of ctx.
func (c *comparing) start(ctx context.Context, folder string, n int) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var recordings [2]string
	var running [2]*process
	defer func() {
		for _, p := range running {
			p.kill()
		}
	}()
	first, longest := c.order.IntN(2), time.Duration(0)
	for _, side := range []int{first, 1 - first} {
		recordings[side] = filepath.Join(folder, fmt.Sprintf("%d.sqlite", side))
		var err error
		if running[side], err = start(&c.Programs[side], recordings[side]); err != nil {
			return err
		}
		median, err := c.prepare(ctx, running[side], recordings[side])
		if err != nil {
			return err
		}
		longest = max(longest, median)
	}
	c.settle(longest)
	rounds := (n+1)*c.Rounds/c.Starts - n*c.Rounds/c.Starts
	schedule, cut := c.alternate(ctx, running, rounds)
	switch {
	case cut == nil:
	case ctx.Err() == nil || len(schedule) == 0:
		return cut
	default:
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), endWithin)
		defer stop()
	}
	for _, p := range running {
		if err := p.finish(ctx); err != nil {
			return err
		}
	}
	if err := c.read(ctx, recordings, schedule); err != nil {
		return err
	}
	if cut == nil {
		c.makeUp(rounds)
	}
	return cut
}

// makeUp has another start make up for the newest one, with longer turns, if a quarter of its rounds or more are not
// whole: where many programs wait for the processors, one is left with few iterations in a turn.
func (c *comparing) makeUp(rounds int) {
	if c.more > 0 && 4*c.turns.Whole() < 3*rounds {
		c.more--
		c.Starts++
		c.Rounds += rounds
		c.Turn = min(2*c.Turn, longestTurn)
		if c.Added != nil {
			c.Added(c.Rounds, c.Turn)
		}
	}
}

// found returns the path of a program: of a file, or of a command that the shell would find.
func found(name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		return filepath.Abs(name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s: no such program: must be the path of a prismtop", name)
	}
	return filepath.Abs(path)
}

// prepare lets a program run until it iterates, stops it, and returns the median of its iterations.
func (c *comparing) prepare(ctx context.Context, p *process, recording string) (time.Duration, error) {
	for deadline := time.Now().Add(c.Within); ; {
		if err := p.wait(ctx, 50*time.Millisecond); err != nil {
			return 0, err
		}
		if median, ok := c.iterates(ctx, recording); ok {
			return median, p.stop()
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%s has not recorded an iteration after %s: it must be able to record runs (--record)",
				p.Name, c.Within)
		}
	}
}

// iterates reports whether a recording has iterations, enough for their median if the turns depend on it.
func (c *comparing) iterates(ctx context.Context, path string) (median time.Duration, ok bool) {
	r, err := recording.Open(ctx, path, func(string) *settings.Table { return nil })
	if err != nil { // it does not exist yet
		return 0, false
	}
	defer r.Close()
	status, err := r.Status(ctx)
	if err != nil || status.Iterations == 0 || c.Turn == 0 && !(status.Iterations >= timed && status.MedianMS > 0) {
		return 0, false
	}
	return time.Duration(status.MedianMS * float64(time.Millisecond)), true
}

// timed is the number of iterations whose median chooses the length of a turn.
const timed = 10

// settle chooses what the caller left open, by the median of the longer iterations.
func (c *comparing) settle(longest time.Duration) {
	if c.Turn == 0 {
		c.Turn = min(max(shortestTurn, turnOf*longest), longestTurn)
	}
	if c.Rounds == 0 {
		c.Rounds = max(int(c.Time/(4*c.Turn)), 3*c.Starts)
	}
}

// Between these is the turn that is chosen.
const shortestTurn, longestTurn = 100 * time.Millisecond, time.Minute

// turnOf is the number of iterations in a turn that is chosen. Where the machine's speed wanders, neighbouring turns
// differ as much whether short or long, so that many short ones tell more; but the first iteration of each finds cold
// caches.
const turnOf = 8

// prepareWithin is how long a program has until its first iteration is recorded.
const prepareWithin = time.Minute

// endWithin is how long a program has to end in order.
const endWithin = 20 * time.Second

// alternate lets the programs run by turns. The schedule is that of the rounds that are over, also after an error.
func (c *comparing) alternate(ctx context.Context, running [2]*process, rounds int) (schedule []compare.Quartet,
	err error) {
	for i := range warmUp {
		if _, err := c.turn(ctx, running[i%2], i%2); err != nil {
			return nil, err
		}
	}
	for range rounds {
		first := c.order.IntN(2)
		var q compare.Quartet
		for i, side := range [4]int{first, 1 - first, 1 - first, first} {
			if q[i], err = c.turn(ctx, running[side], side); err != nil {
				return schedule, err
			}
		}
		schedule = append(schedule, q)
		if c.done++; c.Progress != nil {
			c.Progress(c.done, c.Rounds)
		}
	}
	return schedule, nil
}

// turn lets a program run while the other is stopped.
func (c *comparing) turn(ctx context.Context, p *process, side int) (s compare.Slice, err error) {
	if err := p.goOn(); err != nil {
		return s, err
	}
	s = compare.Slice{Side: side, From: time.Now()}
	if err := p.wait(ctx, c.Turn); err != nil {
		return s, err
	}
	s.To = time.Now()
	return s, p.stop()
}

// read reads the recordings of a start.
func (c *comparing) read(ctx context.Context, recordings [2]string, schedule []compare.Quartet) error {
	take := c.turns.Start(schedule)
	for side := range recordings {
		from := recorded.Recording{Path: recordings[side], Name: c.Programs[side].Name}
		sample, err := recorded.Read(ctx, from, c.Tables, func(e *profiles.Event) { take(side, e) })
		if err != nil {
			return fmt.Errorf("the recording of %s: %w", c.Programs[side].Name, err)
		}
		c.samples[side] = append(c.samples[side], sample)
	}
	return nil
}

// name gives programs without a name that of their file, or their path where that would make them alike.
func name(programs *[2]Program) {
	short := [2]string{filepath.Base(programs[0].Path), filepath.Base(programs[1].Path)}
	for i := range programs {
		p := &programs[i]
		if short[0] == short[1] {
			short[i] = p.Path
		}
		p.Name = cmp.Or(p.Name, short[i])
	}
}

// ErrUnsupported reports a system on which a program cannot be stopped for a while.
var ErrUnsupported = errors.New("programs cannot be stopped and continued on this system: it must be a Unix")
