package command

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"prismtop/tui/command/cli"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// forEver makes the preparation take years.
const forEver = "warmup_measurements=2147483647"

// slowIteration is a run whose preparation is short and whose first iteration takes minutes.
var slowIteration = strings.Fields("run --headless --image good.png --kernels go --set size=1024 --set object_size=1024 --set samples=3 " +
	"--set init_iterations=0 --set latent=64 --set channels=64,64,64,64,64,64,64,64,64,64,64,1")

// A signal ends every command with status 130, whatever it is doing. Users wait for about a
// second; the limit allows for a machine with ten other tasks.
func TestASignalEndsEveryCommand(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("skipped: the processor time of another process is not known here")
	}
	const begun = 250 * time.Millisecond
	for _, tt := range []struct {
		name  string
		args  []string
		begun time.Duration // processor time after which the work is in progress
	}{
		{"a run that prepares", []string{"run", "--headless", "--json", "--set", forEver}, begun},
		{"a run that draws", strings.Fields("run --headless --set size=8192 --set object_size=8192 --set channels=64,32,16,8,4,2,2,2,2,2,2,1"), begun},
		{"a run within an iteration", slowIteration, 8 * begun},
		{"a run that saves", append(slowIteration, "--save", "moon"), 8 * begun},
		{"lines", []string{"run", "--lines", "--set", forEver}, begun},
		{"verify", []string{"verify", "long.npz"}, begun},
		{"bench model", []string{"bench", "model", "--set", forEver}, begun},
		{"bench ablation", []string{"bench", "ablation", "--set", forEver}, begun},
		{"bench scaling", []string{"bench", "scaling", "--plot", "plot.svg", "--set", forEver}, begun},
		{"doctor", strings.Fields("doctor --calibrate --kernels go --threads 1024"), begun},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.HasPrefix(tt.name, "a run") {
				skipStarts(t)
			}
			t.Parallel()
			folder := t.TempDir()
			if err := errors.Join(pictures(folder), longArchive(filepath.Join(folder, "long.npz")), os.Mkdir(filepath.Join(folder, "cache"), 0o700)); err != nil {
				t.Fatal(err)
			}
			before := list(t, folder)
			p := begin(t, folder, tt.args...)
			for p.used(t) < tt.begun {
				p.pause(t)
			}
			p.interrupt(t)
			if after := list(t, folder); after != before {
				t.Errorf("it left files behind: %s, before there were %s", after, before)
			}
		})
	}
}

// A program that is interrupted before its training loop is found has the JSON summary of a run that was stopped.
func TestASignalBeforeALoopIsFoundLeavesASummary(t *testing.T) {
	t.Chdir(t.TempDir())
	p := begin(t, "", "python", "--headless", "--json", "--", "sh", "-c", "touch begun; exec sleep 1000")
	for {
		p.pause(t)
		if _, err := os.Stat("begun"); err == nil {
			break
		}
	}
	p.interrupt(t)
	if !strings.Contains(p.output.String(), `"state": "stopped"`) {
		t.Errorf("no summary of a run that was stopped:\n%s", &p.output)
	}
}

// A settings file may be a pipe whose writer is slow; a signal ends the wait.
func TestASignalEndsTheWaitForAPipe(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("settings", 0o600); err != nil {
		t.Skip(err)
	}
	for _, args := range []string{"presets show --config settings", "run --headless --config settings", "bench model --config settings"} {
		connected := make(chan *os.File, 1)
		go func() {
			f, err := os.OpenFile("settings", os.O_WRONLY, 0) // blocks until there is a reader
			if err != nil {
				t.Error(err)
			}
			connected <- f
		}()
		p := begin(t, "", strings.Fields(args)...)
		f := <-connected
		p.interrupt(t)
		f.Close()
	}
}

// A PyTorch process ends with the program, together with its own children.
func TestASignalEndsTheProgramsThatWereBegun(t *testing.T) {
	t.Chdir(t.TempDir())
	const script = "trap '' TERM INT\n(trap '' TERM INT; while :; do sleep 1; done) &\necho $! $$ >part\nmv part begun\nwait\n"
	if err := os.WriteFile("peer.sh", []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	p := begin(t, "", "bench", "peer", "peer.sh", "--python", "sh")
	var begun []byte
	for begun == nil {
		p.pause(t)
		begun, _ = os.ReadFile("begun")
	}
	p.interrupt(t)
	for _, field := range strings.Fields(string(begun)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d goes on", pid)
			}
		}
	}
}

// process is the program at work.
type process struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	done   chan error
}

// begin starts the program in a folder.
func begin(t *testing.T, folder string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command("prismtop", args...), done: make(chan error, 1)}
	p.cmd.Dir = folder
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(t.TempDir()))
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// pause lets the program work; it must not end by itself.
func (p *process) pause(t *testing.T) {
	t.Helper()
	select {
	case err := <-p.done:
		t.Fatalf("%v ended by itself: %v\n%s", p.cmd.Args, err, &p.output)
	case <-time.After(5 * time.Millisecond):
	}
}

// used returns the processor time of the program.
func (p *process) used(t *testing.T) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0 // it has ended; pause reports that
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:13] { // user and system time, see proc(5)
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100
}

// interrupt sends the signal of ctrl+c and checks the end of the program.
func (p *process) interrupt(t *testing.T) {
	t.Helper()
	start := time.Now()
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var ended error
	select {
	case ended = <-p.done:
	case <-time.After(time.Minute):
		t.Fatalf("%v goes on a minute after the signal", p.cmd.Args)
	}
	t.Logf("%v ended within %v", p.cmd.Args[1:], time.Since(start).Round(time.Millisecond))
	var exit *exec.ExitError
	if !errors.As(ended, &exit) || exit.ExitCode() != cli.StatusInterrupted {
		t.Errorf("%v ended with %v, want status %d\n%s", p.cmd.Args, ended, cli.StatusInterrupted, &p.output)
	}
}

// list returns the files of the folder.
func list(t *testing.T, folder string) string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// longArchive writes reference vectors of Adam that take minutes to recompute, as every result
// requires all steps.
func longArchive(path string) error {
	const steps, results = 200_000, 500
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	add := func(name, shape string, elements int) error {
		f, err := w.Create(name + ".npy")
		if err != nil {
			return err
		}
		header := "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }\n"
		data := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
		_, err = f.Write(append(append(data, header...), make([]byte, 4*elements)...))
		return err
	}
	err := errors.Join(add("p0", "4,", 4), add("grads", fmt.Sprintf("%d, 4", steps), 4*steps))
	for k := range results {
		err = errors.Join(err, add(fmt.Sprintf("r%d.p_64", k), "1,", 1))
	}
	err = errors.Join(err, w.Close())
	return errors.Join(err, os.WriteFile(path, file.Bytes(), 0o600))
}
