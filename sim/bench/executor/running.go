package executor

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/sweep"
	"prismtop/profiles/unit"
	"prismtop/sim/bench/apart"
)

// A run under way: its process, what that records, and the state in the folder.

// running is a run that this process works on.
type running struct {
	*Options
	cell   sweep.Cell
	arm    *sweep.FrozenArm
	status sweep.Status
	lock   *atomicfile.Lock
	folder string // in the sweep's folder
	local  string // on this machine's disk

	cmd       *exec.Cmd
	log       *os.File
	complaint apart.Tail
	ended     chan error // the end of the process, once
	over      bool
	before    float64 // seconds of processors of earlier attempts
	slices    time.Duration
	turning   bool // stopped by turns: its running time is slices
	described bool // what its iterations are is known

	reported time.Time     // when the state was written
	copied   time.Time     // when the recordings were
	rest     time.Duration // until the next copy
	kept     time.Time     // of the newest checkpoint, when the recordings were copied after it
}

// The files of a run, in its folder and on this machine.
const (
	checkpointFile = "checkpoint.npz"
	recordingFile  = "recording.sqlite"
	summaryFile    = "summary.json"
	logFile        = "log"
	configFile     = "settings.toml"
	sessionFile    = "session"
)

// prepare makes the folders, and brings the newest recording of an earlier attempt to this machine.
func (r *running) prepare(ctx context.Context) error {
	r.local = r.localFolder(r.cell)
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(r.local)), 0o700); err != nil {
		return err
	}
	// anybody may make one in a temporary folder
	if err := atomicfile.OwnFolder(filepath.Dir(filepath.Dir(r.local))); err != nil {
		return err
	}
	for _, folder := range []string{r.folder, r.local} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	if r.status.Attempt == 0 || r.status.State == "" {
		if err := os.RemoveAll(r.local); err != nil {
			return err
		}
		return os.MkdirAll(r.local, 0o700)
	}
	for _, path := range recordings(r.folder) {
		here := filepath.Join(r.local, filepath.Base(path))
		if newer(ctx, path, here) {
			if err := removeRecording(here); err != nil {
				return err
			}
			if err := recording.Copy(ctx, path, here); err != nil {
				return err
			}
		}
	}
	if r.goesOn() || r.finished(ctx) {
		return nil
	}
	return r.forget()
}

// goesOn reports whether the next attempt goes on from a checkpoint: prismtop's own, or
// that of a program which says so.
func (r *running) goesOn() bool {
	switch r.arm.Kind {
	case "python":
		return r.arm.Continues
	case "command":
		return false
	}
	return !r.arm.Stateless && !modified(filepath.Join(r.folder, checkpointFile)).IsZero()
}

// forget drops what an interrupted attempt measured, as the next one begins again: nothing counts twice but its
// processor time, which the sweep has spent.
func (r *running) forget() error {
	s := &r.status
	if log, err := os.OpenFile(filepath.Join(r.folder, logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND,
		0o644); err == nil {
		fmt.Fprintf(log, "prismtop: start %d begins again: start %d was interrupted after %s, and left no checkpoint\n",
			s.Attempt+1, s.Attempt,
			unit.Plural(int(s.Iterations), "iteration", "iterations"))
		_ = log.Close()
	}
	r.status = sweep.Status{State: s.State, Attempt: s.Attempt, CPUSeconds: s.CPUSeconds}
	for _, path := range recordings(r.folder) {
		if err := recording.Delete(path); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(r.local); err != nil {
		return err
	}
	return os.MkdirAll(r.local, 0o700)
}

// recordings lists those in a folder, in the order in which they were made.
func recordings(folder string) []string {
	all, _ := filepath.Glob(filepath.Join(folder, "recording*.sqlite")) // the pattern is valid
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	return all
}

// newer reports whether a recording in the folder has more than the one on this machine,
// which may be of an earlier attempt or not be there.
func newer(ctx context.Context, path, here string) bool {
	there, err := statusOf(ctx, path)
	if err != nil {
		return false
	}
	own, err := statusOf(ctx, here)
	return err != nil || there.Starts > own.Starts || there.Starts == own.Starts && there.Iterations > own.Iterations
}

// statusOf returns the state of a recording.
func statusOf(ctx context.Context, path string) (recording.Status, error) {
	rec, err := recording.Open(ctx, path, func(string) *settings.Table { return nil })
	if err != nil {
		return recording.Status{}, err
	}
	defer rec.Close()
	return rec.Status(ctx)
}

func removeRecording(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return recording.Delete(path)
}

// finished reports whether an earlier attempt finished the run and died before it said so.
func (r *running) finished(ctx context.Context) bool {
	all := recordings(r.local)
	if r.status.Attempt == 0 || len(all) == 0 {
		return false
	}
	s, err := statusOf(ctx, all[len(all)-1])
	return err == nil && s.State != recording.Growing && s.RunState == profiles.Finished.String()
}

// start starts the process on some processors, nil for all. One of share runs that run by turns may take their time.
func (r *running) start(ctx context.Context, pin []int, share int, turning bool) error {
	args, err := r.arguments(ctx, share)
	if err != nil {
		return err
	}
	if r.log, err = os.OpenFile(filepath.Join(r.folder, logFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND,
		0o644); err != nil {
		return err
	}
	summary, err := os.Create(filepath.Join(r.local, summaryFile))
	if err != nil {
		return err
	}
	defer summary.Close()
	r.cmd = exec.Command(r.Folder.At(r.arm.Program), args...)
	r.cmd.Dir = r.Folder.Directory
	r.complaint.Most = mostComplaint
	r.cmd.Stdout, r.cmd.Stderr = summary, both{r.log, &r.complaint}
	r.cmd.WaitDelay = time.Second
	r.cmd.SysProcAttr = apart.Attributes()
	s := &r.status
	s.Attempt++
	s.Runtime = r.local // on many nodes there is no other
	if run := os.Getenv("XDG_RUNTIME_DIR"); run != "" {
		if info, err := os.Stat(run); err == nil && info.IsDir() {
			s.Runtime = run
		}
	}
	s.Again = false
	s.State, s.Error, s.Host, s.Node, s.Job, s.Local, s.Turns, s.Session = sweep.Running, "", hostname(),
		os.Getenv("SLURMD_NODENAME"), r.Job, r.local, turning, ""
	if s.Began.IsZero() {
		s.Began = time.Now()
	}
	r.cmd.Env = r.environ()
	r.before, r.turning = s.CPUSeconds, turning
	r.slices = time.Duration(s.Seconds * float64(time.Second))
	_ = os.Remove(filepath.Join(r.local, sessionFile))
	if err := startOn(r.cmd, pin); err != nil {
		return err
	}
	restrict(r.cmd, r.Folder.MemoryLimit)
	s.Process = r.cmd.Process.Pid
	r.ended = make(chan error, 1)
	go func() { r.ended <- r.cmd.Wait() }()
	r.copied, r.kept = time.Now(), modified(filepath.Join(r.folder, checkpointFile))
	return r.write()
}

// mostComplaint bounds the end of what a process prints on standard error, in bytes: a crash of the Go runtime.
const mostComplaint = 1 << 16

// both writes to the log and keeps the end.
type both struct {
	log *os.File
	end *apart.Tail
}

// Write writes to both.
func (b both) Write(p []byte) (int, error) {
	_, _ = b.end.Write(p) // never fails
	return b.log.Write(p)
}

// ownPrefix begins the environment variables that set what the plan sets.
const ownPrefix = "PRISMTOP_"

// environ returns the environment of the process: no setting comes from there, and the
// user's own file of settings does not apply to prismtop's runs.
func (r *running) environ() (all []string) {
	for _, e := range r.Environ {
		if !strings.HasPrefix(e, ownPrefix) {
			all = append(all, e)
		}
	}
	if r.arm.Kind == "settings" || r.arm.Kind == "program" {
		all = append(all, "XDG_CONFIG_HOME="+filepath.Join(r.local, "no-settings"))
	}
	return append(all, "XDG_RUNTIME_DIR="+r.status.Runtime)
}

// arguments returns those of the process, one of share that run by turns.
func (r *running) arguments(ctx context.Context, share int) ([]string, error) {
	fill := func(words []string) (all []string) {
		places := []string{"{replicate}", strconv.Itoa(r.cell.Replicate), "{output}", r.folder, "{arm}", r.arm.Name,
			"{folder}", r.Folder.Path}
		if v := r.arm.Value; v > 0 {
			places = append(places, "{value}", strconv.Itoa(v))
		}
		place := strings.NewReplacer(places...)
		for _, w := range words {
			all = append(all, place.Replace(w))
		}
		return all
	}
	watched := []string{"--headless", "--json", "--quiet", "--record", filepath.Join(r.local, recordingFile)}
	ours := r.arm.Program == r.Folder.Programs[0].Name
	if ours {
		watched = append(watched, "--session", filepath.Join(r.local, sessionFile))
	}
	var set []string
	for _, s := range r.arm.Set {
		if s.Key != settings.MaxSeconds {
			set = append(set, "--set", s.Key+"="+s.Value)
		}
	}
	if seconds := r.arm.Seconds * float64(share); seconds > 0 {
		if r.arm.Continues { // the parts of it are one run
			seconds = max(1, seconds-r.status.Seconds)
		}
		set = append(set, "--max-time", time.Duration(seconds*float64(time.Second)).String())
	}
	seed := func() []string {
		if r.arm.Seed == nil {
			return nil
		}
		return []string{"--seed", strconv.FormatUint(*r.arm.Seed+uint64(r.cell.Replicate-1), 10)}
	}
	checkpoint := filepath.Join(r.folder, checkpointFile)
	keep := []string{"--checkpoint", checkpoint, "--checkpoint-every", r.Folder.Checkpoint.String()}
	if r.arm.Stateless {
		keep = nil
	}
	resumes := r.status.Attempt > 0 && r.goesOn()
	watched[4] = free(r.local) // a recording that is not gone on with stays beside the new one
	if all := recordings(r.local); ours && resumes && r.arm.Kind != "python" && len(all) > 0 {
		watched[4] = all[len(all)-1]
	}
	switch r.arm.Kind {
	case "command":
		args := fill(r.arm.Args)
		if !r.arm.Unrecorded {
			args = append(args, watched...)
			if r.arm.Seconds > 0 {
				args = append(args, set[len(set)-2:]...)
			}
		}
		return args, nil
	case "python":
		return append(append(append([]string{"python"}, watched...), pythonSet(set)...), fill(r.arm.Args)...), nil
	case "program":
		if resumes {
			return append(append(append([]string{"run"}, watched...), keep...), "--resume", checkpoint), nil
		}
		args := append(append([]string{"run"}, watched...), keep...)
		if r.arm.Preset != "" {
			args = append(args, "--preset", r.arm.Preset)
		}
		return append(append(args, set...), seed()...), nil
	}
	if resumes {
		return append(append(append([]string{"run"}, watched...), keep...), "--resume", checkpoint), nil
	}
	text, err := r.Folder.Settings(ctx, r.cell.Arm)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(r.local, configFile)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	args := append(append(append([]string{"run"}, watched...), keep...), "--config", config)
	if n := len(r.arm.Set); r.arm.Value > 0 {
		args = append(args, "--set", r.arm.Set[n-1].Key+"="+r.arm.Set[n-1].Value)
	}
	if r.arm.Seconds > 0 {
		args = append(args, set[len(set)-2:]...)
	}
	return append(args, seed()...), nil
}

// pythonSet turns the settings that prismtop python has flags of its own for into these.
func pythonSet(set []string) (all []string) {
	for i := 0; i+1 < len(set); i += 2 {
		if n, ok := strings.CutPrefix(set[i+1], settings.MaxIterations+"="); ok {
			all = append(all, "--max-iterations", n)
			continue
		}
		all = append(all, set[i], set[i+1])
	}
	return all
}

// free returns a path for a new recording.
func free(local string) string {
	for n := 1; ; n++ {
		name := recordingFile
		if n > 1 {
			name = fmt.Sprintf("recording-%d.sqlite", n)
		}
		if _, err := os.Lstat(filepath.Join(local, name)); errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(local, name)
		}
	}
}

func hostname() string {
	name, _ := os.Hostname() // an unknown name is none
	return name
}

// modified returns when a file was written; zero for none.
func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Times of what a task writes into the folder.
const (
	reportEvery = 2 * time.Second
	copyEvery   = 2 * time.Second
	copyWork    = 100 // how much longer than a copy computes the task waits for the next
	copyTime    = 10  // likewise than it takes: on a busy machine or file system it waits for others
	flushed     = time.Second
)

// look reads what the process has recorded, and keeps it where it is due.
func (r *running) look(ctx context.Context) {
	if time.Since(r.reported) >= reportEvery {
		r.measure(ctx)
		_ = r.write() // the next one may succeed
	}
	// What a checkpoint goes on from must be in the copy, too; the recorder writes it within half a second.
	checkpoint := modified(filepath.Join(r.folder, checkpointFile))
	due := checkpoint.After(r.kept) && time.Since(checkpoint) > flushed
	if due || time.Since(r.copied) > max(copyEvery, r.rest) {
		r.kept = checkpoint
		r.copy(ctx)
	}
}

// copy writes closed copies of the recordings into the folder.
func (r *running) copy(ctx context.Context) {
	began, worked := time.Now(), machine.ReadLoad().Own
	r.status.Recordings = r.status.Recordings[:0]
	for _, path := range recordings(r.local) {
		name := filepath.Base(path)
		to := filepath.Join(r.folder, name)
		if modified(path).After(modified(to)) || modified(path+"-wal").After(modified(to)) {
			if err := recording.Copy(ctx, path, to); err != nil { // it may have nothing yet
				if _, gone := os.Stat(to); gone != nil {
					continue
				}
			}
		}
		r.status.Recordings = append(r.status.Recordings, name)
	}
	r.copied = time.Now()
	r.rest = max(copyTime*time.Since(began),
		time.Duration(copyWork*(machine.ReadLoad().Own-worked)*float64(time.Second)))
}

// measure reads the numbers of the recordings: those of a run that went on in another file are its parts.
func (r *running) measure(ctx context.Context) {
	s := &r.status
	if id, err := os.ReadFile(filepath.Join(r.local, sessionFile)); err == nil {
		s.Session = strings.TrimSpace(string(id))
	}
	if at := modified(filepath.Join(r.folder, checkpointFile)); !at.IsZero() {
		unix := at.Unix()
		s.Checkpoint = &unix
	}
	length := time.Duration(0)
	for _, path := range recordings(r.local) {
		part, err := statusOf(ctx, path)
		if err != nil {
			continue
		}
		length += part.Length
		if part.Iterations == 0 {
			continue
		}
		s.Iterations = part.Iterations
		if !math.IsNaN(part.MedianMS) {
			s.MS = &part.MedianMS
		}
		named := s.QualityIs != ""
		if !math.IsNaN(part.Quality) && !math.IsInf(part.Quality, 0) {
			s.Quality = &part.Quality
		} else {
			named = true
		}
		if !named || !r.described {
			if of := r.metric(ctx, path); !named {
				r.name(of)
			}
		}
	}
	s.Seconds = length.Seconds()
	if r.turning {
		s.Seconds = r.slices.Seconds()
	}
}

// metric reads what the quality of a recording is, of its first stretches: the schema's, or else the first loss. It
// notes what an iteration processes, under the settings of the start.
func (r *running) metric(ctx context.Context, path string) (found profiles.SeriesInfo) {
	rec, err := recording.Open(ctx, path, r.Tables)
	if err != nil {
		return found
	}
	defer rec.Close()
	stretches, err := rec.Stretches(ctx, 0)
	if err != nil {
		return found
	}
	look := func(s *profiles.Schema) {
		if q := s.QualityInfo(); q.Name != "" {
			found = q
		}
		for i := range s.Series {
			if found.Name == "" && s.Series[i].Group == profiles.Losses {
				found = s.Series[i]
				found.Better = profiles.LessIsBetter
			}
		}
	}
	cursor := rec.Cursor()
	for _, part := range stretches[:min(len(stretches), metricWithin)] {
		moments, err := cursor.Read(ctx, part)
		if err != nil {
			return found
		}
		for i := range moments {
			moments[i].Each(func(e *profiles.Event) {
				switch b := e.Body.(type) {
				case *profiles.Begin:
					look(&b.Info.Schema)
					if s := &r.status; b.Info.Schema.Item.One != "" {
						s.Item, s.Items = b.Info.Schema.Item.One, b.Info.Schema.Items(b.Settings)
					}
					r.described = true
				case *profiles.Grown:
					look(&b.Schema)
				}
			})
		}
		if found.Name != "" {
			break
		}
	}
	return found
}

// metricWithin is the number of stretches in which a loop in another process declares its loss.
const metricWithin = 20

// name notes what the quality of the run is.
func (r *running) name(of profiles.SeriesInfo) {
	s := &r.status
	s.QualityIs, s.QualityUnit, s.LessIsBetter = cmp.Or(of.Title, of.Name), of.Unit, of.Better == profiles.LessIsBetter
}

// write writes the state into the folder.
func (r *running) write() error {
	r.reported = time.Now()
	err := r.Folder.Write(r.cell, &r.status)
	if r.Report != nil {
		s := r.status
		r.Report(r.cell, &s)
	}
	return err
}

// patience is how long a process has to end in order, and to write its checkpoint.
const patience = 30 * time.Second

// interrupt ends the process, which leaves a checkpoint, and keeps what it has.
func (r *running) interrupt() error {
	if r.cmd != nil && !r.over {
		terminate(r.cmd)
		select {
		case err := <-r.ended:
			r.over = true
			if err == nil { // it finished just then
				return errors.Join(r.conclude(context.Background(), nil), ErrInterrupted)
			}
		case <-time.After(patience):
			kill(r.cmd)
			<-r.ended
			r.over = true
		}
	}
	return r.stopped()
}

// stopped notes that the run goes on later.
func (r *running) stopped() error {
	ctx := context.Background()
	r.count()
	r.measure(ctx)
	r.copy(ctx)
	r.status.State, r.status.Session, r.status.Process = sweep.Interrupted, "", 0
	r.status.Again = !r.goesOn()
	return errors.Join(r.write(), ErrInterrupted)
}

// count adds the processor time of the process that has ended.
func (r *running) count() {
	if r.cmd != nil && r.cmd.ProcessState != nil {
		r.status.CPUSeconds = r.before + (r.cmd.ProcessState.UserTime() + r.cmd.ProcessState.SystemTime()).Seconds()
	}
}

// statusInterrupted is the exit status of a prismtop that a signal ended.
const statusInterrupted = 130

// conclude ends the run whose process has ended.
func (r *running) conclude(ctx context.Context, ended error) error {
	r.over = true
	var exit *exec.ExitError
	if ended != nil && errors.As(ended, &exit) &&
		(exit.ExitCode() == statusInterrupted || exit.ExitCode() == 128+int(syscall.SIGTERM)) {
		select { // Slurm signals all processes of a task, in any order
		case <-ctx.Done():
			return r.stopped()
		case <-time.After(time.Second):
		}
		ended = errors.New("a signal or a screen ended it")
	}
	if ended != nil {
		return r.fail(r.why(ended))
	}
	r.count()
	last := context.WithoutCancel(ctx)
	r.measure(last)
	r.copy(last)
	text, err := os.ReadFile(filepath.Join(r.local, summaryFile))
	if err == nil && len(bytes.TrimSpace(text)) > 0 {
		if err := atomicfile.Write(filepath.Join(r.folder, summaryFile), text, 0o644); err != nil {
			return err
		}
		r.status.Changes = changes(text)
		r.loss(last, text)
	}
	if err := r.take(text); err != nil {
		return r.fail(err)
	}
	if s, err := statusOf(last, newest(r.local)); err == nil && s.RunState == profiles.Stopped.String() &&
		r.arm.Kind != "python" {
		return r.fail(errors.New("a screen ended it before its limit"))
	}
	if r.arm.Unrecorded {
		r.status.Seconds = time.Since(r.status.Began).Seconds()
	}
	r.status.State, r.status.Session, r.status.Process = sweep.Done, "", 0
	if err := r.write(); err != nil {
		return err
	}
	return os.RemoveAll(r.local)
}

// take reads the memory of a run in what it has printed, and compares it with the limit.
func (r *running) take(printed []byte) error {
	var s struct {
		Memory struct {
			Peak *int64 `json:"rss_peak"`
		} `json:"memory_bytes"`
	}
	if json.Unmarshal(printed, &s) == nil && s.Memory.Peak != nil {
		r.status.PeakBytes = *s.Memory.Peak
	}
	if r.Take != nil {
		if err := r.Take(r.cell, printed, &r.status); err != nil {
			return err
		}
	}
	if used, limit := r.status.PeakBytes, r.Folder.Bound(); limit > 0 && used > limit {
		r.status.OutOfMemory = true
		return fmt.Errorf("used %s of memory, the limit is %s", megabytes(used), megabytes(limit))
	}
	return nil
}

// loss takes the last loss of a summary for the quality of a run that measures none.
func (r *running) loss(ctx context.Context, summary []byte) {
	var s struct{ Quality map[string]any }
	if r.status.Quality != nil || json.Unmarshal(summary, &s) != nil {
		return
	}
	of := r.metric(ctx, newest(r.local))
	if v, ok := s.Quality[of.Name].(float64); ok {
		r.status.Quality = &v
		r.name(of)
	}
}

// changes words the changes of settings in a summary, with what they did to the time of an
// iteration where that is known.
func changes(summary []byte) (all []string) {
	var s struct {
		Changes []struct {
			Key, Before, After string
			Iteration          int64
			Effect             *struct{ Shift, Low, High *float64 }
			Replicated         *struct { // the press was decided by blocks back and forth
				Shift    *float64
				Interval *[2]float64
			}
		}
	}
	if json.Unmarshal(summary, &s) != nil { // of another program
		return nil
	}
	for _, c := range s.Changes {
		text := fmt.Sprintf("%s %s → %s at iteration %d", c.Key, c.Before, c.After, c.Iteration)
		if e := c.Replicated; e != nil && e.Shift != nil && e.Interval != nil {
			text += ", time of an iteration " + unit.ShareWithin(*e.Shift, e.Interval[0], e.Interval[1])
		} else if e := c.Effect; e != nil && e.Shift != nil && e.Low != nil && e.High != nil {
			text += ", time of an iteration " + unit.ShareWithin(*e.Shift, *e.Low, *e.High)
		}
		all = append(all, text)
	}
	return all
}

// why words the end of a process by its last line, or by what ended where its memory is bounded.
func (r *running) why(ended error) error {
	line := strings.TrimPrefix(apart.LastLine(r.complaint.String()), "prismtop: ")
	if r.Folder.Search != nil || r.Folder.MemoryLimit > 0 {
		var reason string
		reason, r.status.OutOfMemory = apart.OutOfMemory(r.cmd.ProcessState, r.complaint.String())
		if r.status.OutOfMemory && !strings.HasPrefix(line, exceeded) {
			return errors.New(reason)
		}
	}
	if line != "" {
		return errors.New(line)
	}
	return ended
}

// exceeded begins the last line of a process that used more memory than it may and noticed itself.
const exceeded = "out of memory"

// fail notes that the run failed, which is no error of the task.
func (r *running) fail(err error) error {
	ctx := context.Background()
	r.count()
	r.measure(ctx)
	r.copy(ctx)
	r.status.State, r.status.Error, r.status.Session, r.status.Process = sweep.Failed, err.Error(), "", 0
	return r.write()
}

// close gives the run back.
func (r *running) close() {
	if r.log != nil {
		_ = r.log.Close()
	}
	r.lock.Release()
}
