//go:build unix

package builds

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/bench/apart"
)

// process is a program that is run, stopped and continued.
type process struct {
	*Program
	cmd       *exec.Cmd
	complaint bytes.Buffer
	ended     chan error // its end, once
	over      bool
}

// check checks that a program is a prismtop that runs on this machine.
func check(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%s --version: %w: must be a prismtop that runs on this machine", path, err)
	case !bytes.HasPrefix(out, []byte("prismtop ")):
		return fmt.Errorf("%s is no prismtop: --version prints %.40q", path, out)
	}
	return nil
}

// start starts a program in a process group of its own, so that ctrl+c does not reach it: a stopped one
// could not end.
func start(program *Program, recording string) (*process, error) {
	arguments := slices.Concat(program.Arguments, []string{"--headless", "--json", "--record", recording}, program.Then)
	p := &process{Program: program, cmd: exec.Command(program.Path, arguments...), ended: make(chan error, 1)}
	p.cmd.Stderr = &p.complaint
	p.cmd.Dir, p.cmd.Env = program.Folder, append(os.Environ(), program.Env...)
	p.cmd.SysProcAttr = apart.Attributes()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// stop stops the program, with whatever it started.
func (p *process) stop() error { return p.signal(syscall.SIGSTOP) }

// goOn continues it.
func (p *process) goOn() error { return p.signal(syscall.SIGCONT) }

// signal sends a signal to the program's group, and to those of what it started.
func (p *process) signal(s syscall.Signal) error {
	for i, group := range machine.Groups(p.cmd.Process.Pid) {
		if err := syscall.Kill(-group, s); err != nil && i == 0 { // another may have ended meanwhile
			if ended := p.wait(context.Background(), time.Second); ended != nil {
				return ended
			}
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// wait waits for a time while the program runs. An error says that it ended, or that ctx did.
func (p *process) wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case err := <-p.ended:
		p.over = true
		return p.failure(err)
	}
}

// failure says why the program ended before it was asked to.
func (p *process) failure(err error) error {
	lines := strings.Split(strings.TrimSpace(p.complaint.String()), "\n")
	if err == nil {
		return fmt.Errorf("%s ended before the last round: it must go on for longer", p.Name)
	}
	return fmt.Errorf("%s: %w: %s", p.Name, err, lines[len(lines)-1])
}

// finish ends the program in order, so that its recording is whole.
func (p *process) finish(ctx context.Context) error {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT) // what it started is ended by it
	if err := p.goOn(); err != nil {
		return err
	}
	select {
	case <-p.ended: // 130 of an interrupted run
		p.over = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(endWithin):
		return fmt.Errorf("%s did not end within %s", p.Name, endWithin)
	}
}

// kill kills the program if it runs or is stopped, and waits for its end.
func (p *process) kill() {
	if p == nil || p.over {
		return
	}
	_ = p.signal(syscall.SIGKILL) // which reaches a stopped one too
	if !p.over {
		<-p.ended
	}
	p.over = true
}
