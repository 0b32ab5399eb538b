package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/sweep"
	"prismtop/sim/bench/apart"
)

// Slurm: one array for all tasks, what it says of them, and the job of a task.

// Job is an array that was submitted.
type Job struct {
	ID       string    `json:"id"`
	Elements []int     `json:"elements"` // of the array: indexes of Folder.Bundles
	At       time.Time `json:"at"`
}

// jobsFile lists the arrays that were submitted, and scriptFile is the script of all of them.
const (
	jobsFile   = "slurm/jobs.json"
	scriptFile = "slurm/task.sh"
)

// NoSlurmError reports that a command of Slurm is missing.
type NoSlurmError struct{ Command string }

func (e *NoSlurmError) Error() string {
	return e.Command + " is not in PATH: must run where Slurm's commands are, on a login node"
}

// slurmWithin is how long a command of Slurm may take.
const slurmWithin = 30 * time.Second

// ask runs a command of Slurm and returns what it prints.
func ask(ctx context.Context, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", &NoSlurmError{name}
	}
	ctx, cancel := context.WithTimeout(ctx, slurmWithin)
	defer cancel()
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if line := apart.LastLine(complaint.String()); line != "" { // of several, the last says what ended the command
			return "", fmt.Errorf("%s: %s", name, strings.TrimPrefix(line, name+": "))
		}
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return strings.TrimSpace(out.String()), nil
}

// Jobs returns the arrays that were submitted for a sweep.
func Jobs(f *sweep.Folder) (all []Job, err error) {
	data, err := os.ReadFile(f.At(jobsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.At(jobsFile), err)
	}
	return all, nil
}

// script is what each element of the array runs. The program takes the place of the shell,
// so that Slurm's signals reach it.
const script = `#!/bin/sh
exec %s sweep task %s "$SLURM_ARRAY_TASK_ID" %s
`

// Submit submits an array of the elements that have one of the tasks, but for those that an earlier array still has. It
// returns the job, whose ID is empty if nothing was left to submit, and the number of elements that are queued already.
func (o *Options) Submit(ctx context.Context, tasks []int) (job Job, queued int, err error) {
	f := o.Folder
	lock, err := atomicfile.LockPath(f.At(jobsFile), o.Owner)
	if err != nil {
		return job, 0, err
	}
	defer lock.Release()
	jobs, err := Jobs(f)
	if err != nil {
		return job, 0, err
	}
	q := Queue{Folder: f}
	now, err := q.Ask(ctx)
	if err != nil {
		return job, 0, err
	}
	for i, bundle := range f.Bundles() {
		switch {
		case !slices.ContainsFunc(bundle, func(t int) bool { return slices.Contains(tasks, t) }):
		case now.Elements[i] != "":
			queued++
		default:
			job.Elements = append(job.Elements, i)
		}
	}
	if len(job.Elements) == 0 {
		return job, queued, nil
	}
	retry := ""
	if o.Retry {
		retry = "--retry-failed"
	}
	text := fmt.Sprintf(script, quoted(f.At(f.Programs[0].Name)), quoted(f.Path), retry)
	if err := atomicfile.Write(f.At(scriptFile), []byte(text), 0o755); err != nil {
		return job, 0, err
	}
	args := []string{"--parsable", "--array=" + ranges(job.Elements), "--job-name=prismtop-sweep", "--requeue",
		"--open-mode=append",
		"--signal=B:USR1@60", "--chdir=" + f.Directory, "--output=" + f.At("slurm", "%a.log")}
	for _, s := range f.Slurm {
		args = append(args, "--"+s.Key+"="+s.Value)
	}
	out, err := ask(ctx, "sbatch", append(args, f.At(scriptFile))...)
	if err != nil {
		return job, 0, err
	}
	job.ID, _, _ = strings.Cut(out, ";") // of a federation it is ID;CLUSTER
	job.At = time.Now()
	text2, err := json.MarshalIndent(append(jobs, job), "", "  ")
	if err == nil {
		err = atomicfile.Write(f.At(jobsFile), append(text2, '\n'), 0o644)
	}
	return job, queued, err
}

// quoted quotes a word for a POSIX shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// ranges words ascending numbers as sbatch takes them: "0-3,7".
func ranges(all []int) string {
	var parts []string
	for i := 0; i < len(all); {
		j := i
		for j+1 < len(all) && all[j+1] == all[j]+1 {
			j++
		}
		part := strconv.Itoa(all[i])
		if j > i {
			part += "-" + strconv.Itoa(all[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// Queued is what Slurm says of a sweep's arrays.
type Queued struct {
	Elements map[int]string // the state of each element that it still has: "PENDING (Resources)", "RUNNING"
	At       time.Time
}

// Queue asks Slurm about a sweep, at most every askEvery, in one call for all of its arrays.
type Queue struct {
	Folder *sweep.Folder
	mu     sync.Mutex
	newest Queued
	err    error
}

// askEvery is the shortest time between two questions to Slurm.
const askEvery = 30 * time.Second

// Newest returns what Slurm said last, and asks again if that is old enough. Without Slurm's commands it is empty.
func (q *Queue) Newest(ctx context.Context) (Queued, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.newest.At) >= askEvery {
		q.newest, q.err = q.Ask(ctx)
		q.newest.At = time.Now()
	}
	return q.newest, q.err
}

// Asked returns when Slurm was asked last.
func (q *Queue) Asked() time.Time {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.newest.At
}

// Ask asks Slurm now.
func (q *Queue) Ask(ctx context.Context) (Queued, error) {
	now := Queued{Elements: map[int]string{}}
	jobs, err := Jobs(q.Folder)
	if err != nil || len(jobs) == 0 {
		return now, err
	}
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.ID)
	}
	out, err := ask(ctx, "squeue", "--noheader", "--array", "--jobs="+strings.Join(ids, ","), "--format=%K|%T|%r")
	if err != nil && strings.Contains(err.Error(), "Invalid job id") { // Slurm has forgotten all of them
		return now, nil
	}
	if err != nil {
		return now, err
	}
	for _, line := range strings.Split(out, "\n") {
		parts := strings.SplitN(line, "|", 3)
		element, err := strconv.Atoi(parts[0])
		if err != nil || len(parts) < 3 || !alive(parts[1]) {
			continue
		}
		text := parts[1]
		if reason := parts[2]; reason != "" && reason != "None" {
			text += " (" + reason + ")"
		}
		now.Elements[element] = text
	}
	return now, nil
}

// alive reports whether a job in a state will run or runs.
func alive(state string) bool {
	return slices.Contains([]string{"PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD",
		"REQUEUE_FED", "RESIZING", "SIGNALING", "STOPPED", "STAGE_OUT", "SPECIAL_EXIT"}, state)
}

// Requeue puts the job of this process back into the queue, of which time is up: its runs go on from their checkpoints.
func Requeue(ctx context.Context) error {
	id := os.Getenv("SLURM_JOB_ID")
	if id == "" {
		return errors.New("no job of Slurm to put back into the queue: SLURM_JOB_ID is not set")
	}
	_, err := ask(ctx, "scontrol", "requeue", id)
	return err
}

// ThisJob names the job of this process as Slurm's users do: "4711_3"; empty for none.
func ThisJob() string {
	if array := os.Getenv("SLURM_ARRAY_JOB_ID"); array != "" {
		return array + "_" + os.Getenv("SLURM_ARRAY_TASK_ID")
	}
	return os.Getenv("SLURM_JOB_ID")
}

// Placed is where a job runs.
type Placed struct {
	Raw    string // its number, which an element of an array has besides its name
	State  string
	Script string // that it runs
}

// UnknownJobError is a job that Slurm does not know, or, with Err, of which it could not be asked.
type UnknownJobError struct {
	ID  string
	Err error
}

func (e *UnknownJobError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("job %s: %v", e.ID, e.Err)
	}
	return fmt.Sprintf("job %s: Slurm has none of that number", e.ID)
}

func (e *UnknownJobError) Unwrap() error { return e.Err }

// Find asks Slurm for a job by its number, of an element of an array as 4711_3 or 4711.3.
func Find(ctx context.Context, id string) (p Placed, err error) {
	id = strings.Replace(id, ".", "_", 1)
	out, err := ask(ctx, "squeue", "--noheader", "--jobs="+id, "--format=%A|%T|%o")
	if err != nil && strings.Contains(err.Error(), "Invalid job id") {
		return p, &UnknownJobError{ID: id}
	}
	if err != nil {
		return p, &UnknownJobError{id, err}
	}
	lines := strings.Split(out, "\n")
	parts := strings.SplitN(lines[0], "|", 3)
	switch {
	case out == "" || len(parts) < 3:
		return p, &UnknownJobError{ID: id}
	case len(lines) > 1:
		return p, fmt.Errorf("job %s: has %d elements: name one as %[1]s_0", id, len(lines))
	case parts[1] != "RUNNING":
		return p, fmt.Errorf("job %s: is %s: must be running", id, strings.ToLower(parts[1]))
	}
	return Placed{Raw: parts[0], State: parts[1], Script: parts[2]}, nil
}

// FolderOf returns the folder of the sweep whose array runs a script; empty for another job's.
func FolderOf(script string) string {
	if strings.HasSuffix(script, string(filepath.Separator)+scriptFile) {
		return filepath.Dir(filepath.Dir(script))
	}
	return ""
}
