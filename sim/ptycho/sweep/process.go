package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

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
	cmd.Stdin = bytes.NewReader(job)
	out, complaint := apart.Head{Most: maxResult}, apart.Head{Most: maxComplaint}
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = apart.Run(cmd)
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

// outOfMemory reports whether a process ended because there was no more memory.
func outOfMemory(ended *os.ProcessState, complaint string) (reason string, memory bool) {
	if last := lastLine(complaint, nil); strings.HasPrefix(last, trial.Exceeded) {
		return last, true
	}
	return apart.OutOfMemory(ended, complaint)
}

// lastLine returns what a process complained about last, without the program's name.
func lastLine(complaint string, err error) string {
	if last := strings.TrimPrefix(apart.LastLine(complaint), "prismtop: "); last != "" {
		return visible.Text(last)
	}
	if err == nil {
		return ""
	}
	return err.Error()
}
