// Package apart runs programs that are measured: each is the leader of a process group of
// its own, which ctrl+c at the terminal does not reach and which ends as a whole.
package apart

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// Run runs a program to its end. cmd is of exec.CommandContext: if that context ends first, the
// program's whole process group is killed, as are processes that the program leaves behind.
func Run(cmd *exec.Cmd) error {
	cmd.SysProcAttr = Attributes()
	cmd.Cancel = func() error { return killGroup(cmd.Process) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if cmd.Process != nil {
		_ = killGroup(cmd.Process) // mostly there is none
	}
	if errors.Is(err, exec.ErrWaitDelay) { // it succeeded, and left behind a process with its output
		return nil
	}
	return err
}

// exhausted are the words of runtimes and systems for memory that ends.
var exhausted = []string{"out of memory", "cannot allocate memory", "can't allocate memory", "MemoryError",
	"pthread_create failed"}

// crashed matches what Go's runtime prints if one of its own allocations returned nothing: a
// crash on its system stack, in its own code. Kernels run on other stacks.
var crashed = regexp.MustCompile(`^SIGSEGV[^\n]*\nPC=\S+ m=\d+ sigcode=\d+ addr=0x0\n\ngoroutine 0 [^\n]*\nruntime\.`)

// OutOfMemory reports whether a program that failed did so because there was no more memory:
// from how it ended, nil if unknown, and what it complained. A program killed for another
// reason, such as the end of its context, cannot be told apart by it.
func OutOfMemory(ended *os.ProcessState, complaint string) (reason string, memory bool) {
	if killed(ended) {
		return "killed by the system", true
	}
	for _, words := range exhausted {
		if strings.Contains(complaint, words) {
			return "an allocation failed: " + words, true
		}
	}
	if crashed.MatchString(complaint) {
		return "an allocation of the Go runtime failed", true
	}
	return "", false
}

// LastLine returns the last line of what a program printed that is not blank.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// Head keeps the beginning of what is written to it, up to Most bytes.
type Head struct {
	bytes.Buffer
	Most int
}

// Write keeps what there is room for. It never fails.
func (h *Head) Write(p []byte) (int, error) {
	if room := h.Most - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// Tail keeps the end of what is written to it, up to Most bytes.
type Tail struct {
	Most int
	kept []byte
}

// Write keeps the end. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if len(t.kept) > 2*t.Most {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.Most:]...)
	}
	return len(p), nil
}

// String returns what was kept, from the beginning of a line if the first was cut.
func (t *Tail) String() string {
	text := string(t.kept)
	if len(text) <= t.Most {
		return text
	}
	text = text[len(text)-t.Most:]
	return text[strings.IndexByte(text, '\n')+1:]
}
