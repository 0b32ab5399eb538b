package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"prismtop/profiles/visible"
	"prismtop/sim/bench/apart"
	"prismtop/sim/ptycho/sweep/trial"
)

// Process runs each trial as a process: a program that reads a trial.Job from its standard
// input, as JSON, and prints a trial.Result.
type Process struct {
	Program   string
	Arguments []string
}

// Bounds of what a trial prints.
const (
	maxResult    = 64 << 20
	maxComplaint = 1 << 16
)

// Run runs a trial. If ctx ends first, the process is killed.
func (p Process) Run(ctx context.Context, j trial.Job) Outcome {
	used := 0.0
	failed := func(format string, values ...any) Outcome {
		return Outcome{Status: Failed, Reason: fmt.Sprintf(format, values...), CPU: used}
	}
	job, err := json.Marshal(j)
	if err != nil {
		return failed("the job: %v", err)
	}
	cmd := exec.CommandContext(ctx, p.Program, p.Arguments...)
	cmd.SysProcAttr = apart.Attributes()
	cmd.WaitDelay = time.Second
	cmd.Stdin = bytes.NewReader(job)
	out, complaint := bounded{most: maxResult}, bounded{most: maxComplaint}
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	if s := cmd.ProcessState; s != nil {
		used = (s.UserTime() + s.SystemTime()).Seconds()
	}
	if reason, memory := outOfMemory(cmd.ProcessState, complaint.String()); memory && err != nil {
		return Outcome{Status: OutOfMemory, Reason: reason, CPU: used}
	}
	if err != nil {
		return failed("%s", lastLine(complaint.String(), err))
	}
	r := &trial.Result{}
	if err := json.Unmarshal(out.Bytes(), r); err != nil {
		return failed("the trial printed no result: %v", err)
	}
	return Outcome{Status: Success, Result: r, CPU: used}
}

// exhausted are the words of Go's runtime and of systems for memory that ends.
var exhausted = []string{"out of memory", "cannot allocate memory", "pthread_create failed"}

// crashed matches what Go's runtime prints if one of its own allocations returned nothing: a
// crash on its system stack, in its own code. Kernels run on other stacks.
var crashed = regexp.MustCompile(`^SIGSEGV[^\n]*\nPC=\S+ m=\d+ sigcode=\d+ addr=0x0\n\ngoroutine 0 [^\n]*\nruntime\.`)

// outOfMemory reports whether a process ended because there was no more memory.
func outOfMemory(ended ending, complaint string) (reason string, memory bool) {
	if killed(ended) {
		return "killed by the system", true
	}
	if last := lastLine(complaint, nil); strings.HasPrefix(last, trial.Exceeded) {
		return last, true
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

// lastLine returns what a process complained about last, without the program's name.
func lastLine(complaint string, err error) string {
	lines := strings.Split(strings.TrimSpace(complaint), "\n")
	if last := strings.TrimPrefix(lines[len(lines)-1], "prismtop: "); last != "" {
		return visible.Text(last)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// bounded keeps the beginning of what is written to it.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
