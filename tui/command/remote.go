package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/loop"
	"prismtop/profiles/machine"
	"prismtop/profiles/visible"
)

// This file brings the module into a Python that trains already, by sys.remote_exec, and out of it.

const (
	remoteSince    = 14               // minor version of Python 3 from which sys.remote_exec is there
	reachedWithin  = 5 * time.Second  // the program executes Python code, or a line says that it does not
	askedWithin    = 20 * time.Second // a Python says its version
	detachedWithin = 10 * time.Second // a step ends, and with it the module's work
)

// pythonProcess is a Python process of this user.
type pythonProcess struct {
	pid    int
	name   string // of its script
	python string // its executable
}

// remote attaches to a loop that runs already, which nothing has watched so far.
func remote(ctx context.Context, pid int, notes io.Writer) (*guest, error) {
	r, err := attachable(ctx, pid)
	if err != nil {
		return nil, fmt.Errorf("process %d cannot be attached: %w", pid, err)
	}
	rings, err := loop.MakeFolder()
	if err != nil {
		return nil, err
	}
	p, err := r.attach(ctx, rings, notes)
	if err != nil {
		_ = os.Remove(rings)
		return nil, fmt.Errorf("process %d (%s) cannot be attached: %w", pid, visible.Text(r.name), err)
	}
	return p, nil
}

// attachable returns a process that can be attached, or names the condition that it lacks.
func attachable(ctx context.Context, pid int) (r pythonProcess, err error) {
	proc := "/proc/" + strconv.Itoa(pid)
	info, err := os.Stat(proc)
	switch {
	case !machine.Runs(pid):
		return r, errors.New("there is no such process")
	case err != nil:
		return r, errors.New("this system has no /proc, by which a process is known; start the program with " +
			"prismtop python")
	case !atomicfile.Own(info):
		return r, errors.New("it is another user's")
	}
	if r.python, err = os.Readlink(proc + "/exe"); err != nil {
		return r, fmt.Errorf("its executable is not known: %w", errors.Unwrap(err))
	}
	for _, space := range []string{"root", "ns/mnt"} {
		ours, _ := os.Readlink("/proc/self/" + space)
		if theirs, _ := os.Readlink(proc + "/" + space); theirs != ours {
			return r, errors.New("it runs in a container or chroot: run prismtop there")
		}
	}
	if path, deleted := strings.CutSuffix(r.python, " (deleted)"); deleted {
		return r, fmt.Errorf("%s was replaced since it was started", path)
	}
	if !strings.HasPrefix(filepath.Base(r.python), "python") {
		return r, fmt.Errorf("it runs %s, which is no Python", visible.Text(r.python))
	}
	if err := remoteVersion(ctx, r.python); err != nil {
		return r, err
	}
	environment, _ := os.ReadFile(proc + "/environ")
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		switch key, _, _ := strings.Cut(string(entry), "="); key {
		case loop.EnvFolder:
			return r, errors.New("it was started by prismtop python: prismtop attach shows it, once it trains")
		case "PYTHON_DISABLE_REMOTE_DEBUG":
			return r, errors.New("PYTHON_DISABLE_REMOTE_DEBUG is in its environment")
		}
	}
	command, _ := os.ReadFile(proc + "/cmdline")
	r.pid, r.name = pid, filepath.Base(r.python)
	for _, argument := range strings.Split(string(command), "\x00")[1:] {
		if strings.HasSuffix(argument, ".py") {
			r.name = filepath.Base(argument)
			break
		}
	}
	return r, nil
}

// remoteVersion returns an error for a Python that is older than sys.remote_exec.
func remoteVersion(ctx context.Context, python string) error {
	ctx, stop := context.WithTimeout(ctx, askedWithin)
	defer stop()
	out, err := exec.CommandContext(ctx, python, "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])").Output()
	var major, minor int
	if n, _ := fmt.Sscan(string(out), &major, &minor); err != nil || n < 2 {
		return fmt.Errorf("%s does not say its version", visible.Text(python))
	}
	if major < 3 || minor < remoteSince {
		return fmt.Errorf("it runs Python %d.%d, and a program that prismtop python did not start needs "+
			"sys.remote_exec, which is there from 3.%d on: start it with prismtop python", major, minor, remoteSince)
	}
	return nil
}

// attach has the program load the module and waits for its loop.
func (r *pythonProcess) attach(ctx context.Context, rings string, notes io.Writer) (*guest, error) {
	module, err := loop.Install(filepath.Dir(rings))
	if err != nil {
		return nil, err
	}
	says := filepath.Join(rings, loop.AttachmentSays)
	remove, err := r.execute(ctx, rings, loop.Attachment(module, rings))
	if err != nil {
		return nil, err
	}
	defer os.Remove(says)
	defer remove()
	begun, told := time.Now(), false
	var said string
	err = loop.Wait(ctx.Done(), func() (bool, error) {
		if !machine.Runs(r.pid) {
			return false, errors.New("it has ended")
		}
		if !told && time.Since(begun) > reachedWithin {
			told = true
			fmt.Fprintf(notes, "prismtop: %s executes no Python code in its main thread so far\n", r.name)
		}
		text, err := os.ReadFile(says)
		said = string(text)
		return err == nil, nil
	})
	switch {
	case err != nil || ctx.Err() != nil:
		return nil, errors.Join(err, ctx.Err())
	case said != loop.AttachmentDone:
		return nil, errors.New(visible.Text(said))
	}
	fmt.Fprintf(notes, "prismtop: the module is in %s; its loop is watched after its second step\n", r.name)
	p := newGuest(r.name, rings)
	p.pid, p.tree, p.goesOn, p.remote = r.pid, machine.NewTree(r.pid), true, r
	if p.file, err = os.Open(os.DevNull); err != nil {
		return nil, err
	}
	go p.awaitOther(r.pid)
	go p.pump()
	switch found, err := p.greeted(ctx, notes); {
	case err != nil:
		p.leaveIt()
		return nil, err
	case !found:
		return nil, errors.New("it has ended")
	}
	p.loop.Over, p.loop.Failure = nil, nil // its exit status is its parent's to know
	return p, nil
}

// execute has the program execute a script, in its main thread between two of its
// instructions. remove removes the script once it was read.
func (r *pythonProcess) execute(ctx context.Context, folder string, script []byte) (remove func(), err error) {
	path := filepath.Join(folder, "script.py")
	remove = func() { _ = os.Remove(path) }
	if err := os.WriteFile(path, script, 0o600); err != nil {
		return nil, err
	}
	run := exec.CommandContext(ctx, r.python, "-I", "-S", "-c",
		"import sys; sys.remote_exec(int(sys.argv[1]), sys.argv[2])", strconv.Itoa(r.pid), path)
	if out, err := run.CombinedOutput(); err != nil {
		remove()
		return nil, refusedRemotely(string(out), err)
	}
	return remove, nil
}

// refusedRemotely says why a program could not be told to load the module.
func refusedRemotely(out string, err error) error {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	last := lines[len(lines)-1]
	if strings.HasPrefix(last, "PermissionError") || strings.Contains(last, "permitted") {
		scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
		return fmt.Errorf("this system does not let processes reach one another (kernel.yama.ptrace_scope is %s): "+
			"start the program with prismtop python", strings.TrimSpace(string(scope)))
	}
	if last == "" {
		return err
	}
	return errors.New(visible.Text(last))
}

// leaveIt has the module take everything back and leave the program, which goes on, and returns whether it did: at the
// end of its step, or, where none ends or has begun, at its next instruction.
func (p *guest) leaveIt() bool {
	if p.loop != nil && p.loop.Ring != nil {
		p.loop.Ring.Close()
		p.loop.Ring = nil
	}
	left := false
	for _, path := range loop.In(p.rings) {
		if r, err := loop.Open(path); err == nil {
			left = leave(r)
			r.Close()
		}
	}
	if !left && p.remote != nil {
		remove, err := p.remote.execute(context.Background(), p.rings, []byte(loop.Detachment))
		if left = err == nil; left {
			time.AfterFunc(detachedWithin, remove)
		}
	}
	_ = os.Remove(p.rings)
	return left || p.hasEnded()
}

// leave asks the module to leave and waits until it has.
func leave(r *loop.Ring) bool {
	_, err := r.Send(&loop.Settings{Detach: true})
	for begun := time.Now(); err == nil && r.State() <= loop.Training && r.Alive() &&
		time.Since(begun) < detachedWithin; {
		r.Beat()
		time.Sleep(lookAtOutput)
	}
	if r.State() <= loop.Training && r.Alive() {
		return false
	}
	r.Remove()
	return true
}
