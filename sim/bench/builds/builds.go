// Package builds compares two builds of prismtop on this machine: both run at once, and by turns one of
// them is stopped, in balanced rounds. Their recordings are then cut by the turns.
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
	"prismtop/profiles/compare/files"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

// Options of a comparison of builds.
type Options struct {
	Programs  [2]string     // paths, the base first
	Arguments []string      // of run, for both: presets and settings
	Rounds    int           // of all starts together
	Starts    int           // of both programs, among which the rounds are divided
	Turn      time.Duration // how long a program runs before the other
	Seed      uint64        // of the order of the rounds
	// Tables is as for recording.Open.
	Tables func(workload string) *settings.Table
	// Progress is called after each round; nil for nobody.
	Progress func(done, all int)

	within time.Duration // until the first iteration is recorded; prepareWithin unless set
}

// warmUp is the number of turns before the first round.
const warmUp = 4

// Compare runs both programs by turns and compares them. If ctx ends first, or one of the programs does,
// both are ended: none is left stopped behind.
func Compare(ctx context.Context, o Options) (*compare.Comparison, error) {
	for i := range o.Programs {
		var err error
		if o.Programs[i], err = found(o.Programs[i]); err != nil {
			return nil, err
		}
		if err := check(ctx, o.Programs[i]); err != nil {
			return nil, err
		}
	}
	o.within = cmp.Or(o.within, prepareWithin)
	folder, err := os.MkdirTemp("", "prismtop-builds-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	c := comparing{Options: o, order: rand.New(rand.NewPCG(o.Seed, 1))}
	for n := range o.Starts {
		if err := c.start(ctx, filepath.Join(folder, strconv.Itoa(n)),
			(n+1)*o.Rounds/o.Starts-n*o.Rounds/o.Starts); err != nil {
			return nil, err
		}
	}
	return c.turns.Compare(names(o.Programs), c.samples)
}

// comparing is a comparison under way.
type comparing struct {
	Options
	order   *rand.Rand
	done    int // rounds
	turns   compare.Turns
	samples [2][]*compare.Sample
}

// start starts both programs, lets them run by turns for some rounds, ends them, and reads what they
// recorded to a new folder.
func (c *comparing) start(ctx context.Context, folder string, rounds int) error {
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
	first := c.order.IntN(2)
	for _, side := range []int{first, 1 - first} {
		recordings[side] = filepath.Join(folder, fmt.Sprintf("%d.sqlite", side))
		var err error
		if running[side], err = start(c.Programs[side],
			append([]string{"run", "--headless", "--json", "--record", recordings[side]}, c.Arguments...)); err != nil {
			return err
		}
		if err := c.prepare(ctx, running[side], recordings[side]); err != nil {
			return err
		}
	}
	schedule, err := c.alternate(ctx, running, rounds)
	if err != nil {
		return err
	}
	for _, p := range running {
		if err := p.finish(ctx); err != nil {
			return err
		}
	}
	return c.read(ctx, recordings, schedule)
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

// prepare lets a program run until it iterates, and stops it.
func (c *comparing) prepare(ctx context.Context, p *process, recording string) error {
	for deadline := time.Now().Add(c.within); ; {
		if err := p.wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		if iterates(ctx, recording) {
			return p.stop()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has not recorded an iteration after %s: it must be able to record runs "+
				"(run --record)", p.path, c.within)
		}
	}
}

// iterates reports whether a recording has an iteration.
func iterates(ctx context.Context, path string) bool {
	r, err := recording.Open(ctx, path, func(string) *settings.Table { return nil })
	if err != nil { // it does not exist yet
		return false
	}
	defer r.Close()
	status, err := r.Status(ctx)
	return err == nil && status.Iterations > 0
}

// prepareWithin is how long a program has until its first iteration is recorded.
const prepareWithin = time.Minute

// alternate lets the programs run by turns.
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
				return nil, err
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
		from := files.Recording{Path: recordings[side], Name: names(c.Programs)[side]}
		sample, err := files.Read(ctx, from, c.Tables, func(e *profiles.Event) { take(side, e) })
		if err != nil {
			return fmt.Errorf("the recording of %s: %w", c.Programs[side], err)
		}
		c.samples[side] = append(c.samples[side], sample)
	}
	return nil
}

// names shortens the paths of the programs, unless that makes them alike.
func names(paths [2]string) [2]string {
	short := [2]string{filepath.Base(paths[0]), filepath.Base(paths[1])}
	if short[0] == short[1] {
		return paths
	}
	return short
}

// ErrUnsupported reports a system on which a program cannot be stopped for a while.
var ErrUnsupported = errors.New("programs cannot be stopped and continued on this system: it must be a Unix")
