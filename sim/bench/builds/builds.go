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
	"time"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/compare/files"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

// Options of a comparison of builds.
type Options struct {
	Programs  [2]string // paths, the base first
	Arguments []string  // of run, for both: presets and settings
	Rounds    int
	Turn      time.Duration // how long a program runs before the other
	Seed      uint64        // of the order of the rounds
	// Tables is as for recording.Open.
	Tables func(workload string) *settings.Table
	// Progress is called after each round; nil for nobody.
	Progress func(done, all int)

	within time.Duration // until the first iteration is recorded; prepareWithin unless set
}

// warmUp is how many turns each program has before the first round.
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
	var recordings [2]string
	var running [2]*process
	defer func() {
		for _, p := range running {
			p.kill()
		}
	}()
	for side, path := range o.Programs {
		recordings[side] = filepath.Join(folder, fmt.Sprintf("%d.sqlite", side))
		if running[side], err = start(path, append([]string{"run", "--headless", "--json", "--record", recordings[side]}, o.Arguments...)); err != nil {
			return nil, err
		}
		if err := running[side].stop(); err != nil {
			return nil, err
		}
	}
	for side, p := range running { // one after the other, so that neither prepares while the other runs
		if err := prepare(ctx, p, recordings[side], &o); err != nil {
			return nil, err
		}
	}
	schedule, err := alternate(ctx, running, &o)
	if err != nil {
		return nil, err
	}
	for _, p := range running {
		if err := p.finish(ctx); err != nil {
			return nil, err
		}
	}
	return read(ctx, recordings, schedule, &o)
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

// prepare lets a program run until it iterates.
func prepare(ctx context.Context, p *process, recording string, o *Options) error {
	if err := p.goOn(); err != nil {
		return err
	}
	for deadline := time.Now().Add(o.within); ; {
		if err := p.wait(ctx, 50*time.Millisecond); err != nil {
			return err
		}
		if iterates(ctx, recording) {
			return p.stop()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has not recorded an iteration after %s: it must be able to record runs (run --record)", p.path, o.within)
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
func alternate(ctx context.Context, running [2]*process, o *Options) (schedule []compare.Quartet, err error) {
	order := rand.New(rand.NewPCG(o.Seed, 1))
	for i := range warmUp {
		if _, err := turn(ctx, running, i%2, o); err != nil {
			return nil, err
		}
	}
	for round := range o.Rounds {
		first := order.IntN(2)
		var q compare.Quartet
		for i, side := range [4]int{first, 1 - first, 1 - first, first} {
			if q[i], err = turn(ctx, running, side, o); err != nil {
				return nil, err
			}
		}
		schedule = append(schedule, q)
		if o.Progress != nil {
			o.Progress(round+1, o.Rounds)
		}
	}
	return schedule, nil
}

// turn lets one of the programs run.
func turn(ctx context.Context, running [2]*process, side int, o *Options) (s compare.Slice, err error) {
	p := running[side]
	if err := p.goOn(); err != nil {
		return s, err
	}
	s = compare.Slice{Side: side, From: time.Now()}
	if err := p.wait(ctx, o.Turn); err != nil {
		return s, err
	}
	s.To = time.Now()
	return s, p.stop()
}

// read compares the recordings.
func read(ctx context.Context, recordings [2]string, schedule []compare.Quartet, o *Options) (*compare.Comparison, error) {
	turns := compare.NewTurns(schedule)
	var samples [2]*compare.Sample
	for side := range recordings {
		var err error
		name := filepath.Base(o.Programs[side])
		samples[side], err = files.Read(ctx, files.Recording{Path: recordings[side], Name: name}, o.Tables, func(e *profiles.Event) { turns.Take(side, e) })
		if err != nil {
			return nil, fmt.Errorf("the recording of %s: %w", o.Programs[side], err)
		}
	}
	return turns.Compare(names(o.Programs), samples)
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
