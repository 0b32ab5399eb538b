package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prismtop/gpu/monitor"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/sweep"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/bench/executor"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/ptycho/throughput"
	"prismtop/sim/ptycho/trial"
	"prismtop/tui/command/cli"
)

// The trials of bench ptycho: a sweep over its batch sizes, whose runs are processes of a hidden command.

// trials are those of a sweep under way.
type trials struct {
	*ptychoFlags
	*throughput.Sweep
	folder  *sweep.Folder
	began   time.Time
	results map[sweep.Cell]*trial.Result
	over    int
	rounds  bool // trials that are counted have begun
	stop    context.CancelCauseFunc
	shown   *progress
	cmd     *cobra.Command
}

// trialName is the name of the hidden command that runs a trial.
const trialName = "ptycho-trial"

// measureTrials runs the trials, which read the job and leave what they measured in a folder. The report is nil if they
// could not begin.
func (f *ptychoFlags) measureTrials(cmd *cobra.Command, folder string, shown *progress) (*throughput.Report, error) {
	ctx, stop := context.WithCancelCause(cmd.Context())
	defer stop(nil)
	t := &trials{ptychoFlags: f, Sweep: throughput.Begin(f.options), began: time.Now(),
		results: map[sweep.Cell]*trial.Result{}, stop: stop, shown: shown, cmd: cmd}
	var err error
	if t.folder, err = f.freeze(ctx, filepath.Join(folder, "sweep")); err != nil {
		return nil, err
	}
	o := executor.Options{Folder: t.folder, Environ: os.Environ(), Tables: cli.TableOf, Report: t.hear, Take: t.take,
		Disk: filepath.Join(folder, "runs")}
	err = o.Search(ctx, 1)
	if err != nil && cmd.Context().Err() != nil {
		err = cmd.Context().Err()
	} else if why := context.Cause(ctx); why != nil {
		err = why
	}
	if err == nil {
		err = t.Failure()
	}
	if err == nil {
		t.Edge = t.folder.Search.Edge
	}
	return t.Report(err), err
}

// freeze makes the folder of the sweep.
func (f *ptychoFlags) freeze(ctx context.Context, path string) (*sweep.Folder, error) {
	o, j := &f.options, f.options.Job
	j.Runs, j.Limit = 1, o.Limit
	job, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	run := []string{"bench", trialName, "{folder}/files/job.json", "--batch={value}"}
	p := &sweep.Plan{Folder: path, Replicates: o.Runs, Files: map[string]string{"job.json": string(job)},
		Arms: []sweep.Arm{{Name: "trial", Command: run}},
		Search: &sweep.Search{Key: "batch_size", Values: o.Sizes, From: 1, Limit: o.Limit, Margin: o.Margin,
			Tolerance: o.Tolerance, Seed: j.Seed, Probe: append(run[:len(run):len(run)], "--warmup=0")}}
	if o.Adaptive {
		p.Search.To = throughput.MostAdaptive
	}
	if o.Edge {
		p.Search.Most = throughput.MaxBatch
	}
	if j.Device == "" { // else the limit is of the GPU's memory
		p.MemoryLimit = o.Limit
	}
	if err := p.Check(preset.Shelves{}); err != nil {
		return nil, err
	}
	folder, _, err := sweep.Freeze(ctx, p, nil, sweep.Makes{Version: cli.Version, Owner: "prismtop bench ptycho",
		Lent: true, Command: func([]string) error { return nil }})
	return folder, err
}

// batch returns the batch size of a run.
func (t *trials) batch(c sweep.Cell) int { return t.folder.Arms[c.Arm].Value }

// take reads what a trial measured.
func (t *trials) take(c sweep.Cell, printed []byte, s *sweep.Status) error {
	r, j := &trial.Result{}, t.options.Job
	if err := json.Unmarshal(printed, r); err != nil {
		return fmt.Errorf("the trial printed no result: %w", err)
	}
	j.Batch, j.Runs = t.batch(c), 1
	if err := throughput.Proven(r, j); err != nil {
		return err
	}
	run := &r.Runs[0]
	ms := 1e3 * run.Seconds.Predict / float64(len(run.Batches))
	s.MS, s.Item, s.Items, s.Iterations = &ms, "image", j.Batch*j.Config().Channels(), int64(len(run.Batches))
	s.PeakBytes, s.Bend = throughput.Held(r), r.Microbatch
	t.results[c] = r
	return nil
}

// hear shows what runs, and adds a trial that is over.
func (t *trials) hear(c sweep.Cell, s *sweep.Status) {
	purpose, round, what := "sweep", c.Replicate-1, fmt.Sprintf("round %d of %d", c.Replicate, t.options.Runs)
	if !t.folder.Arms[c.Arm].Probe {
		t.rounds = true
	} else if purpose, round, what = "search", -1, "search"; t.rounds {
		purpose, what = "edge", "edge of memory"
	}
	batch := t.batch(c)
	if s.State == sweep.Running {
		t.progress(fmt.Sprintf("%s, batch size %d", what, batch))
		return
	}
	t.Own += s.CPUSeconds
	if s.State != sweep.Done && s.State != sweep.Failed {
		return
	}
	one := throughput.Trial{Began: s.Began, Purpose: purpose, Round: round, Batch: batch, Status: throughput.Success,
		Result: t.results[c]}
	t.over++
	if s.State == sweep.Failed {
		one.Status, one.Reason, one.Result = throughput.Failed, visible.Text(s.Error), nil
		if s.OutOfMemory {
			one.Status = throughput.OutOfMemory
		}
		t.shown.end()
		fmt.Fprintf(t.cmd.ErrOrStderr(), "batch size %d: %s: %s\n", batch, one.Status, one.Reason)
	} else if e, ok := throughput.EntryOf(one); ok {
		if a := t.output.monitor.Log(e); a != nil {
			t.shown.end()
			fmt.Fprintln(cli.Notes(t.cmd), a.Text)
		}
	}
	if err := t.Add(one); err != nil {
		t.stop(err)
	}
}

// progress shows what runs, the share done and the time left at the pace so far. While a search goes on, at least the
// rounds of the sizes asked for are left.
func (t *trials) progress(what string) {
	all := len(t.folder.Tasks)
	if !t.rounds {
		all += t.options.Runs * len(t.options.Sizes)
	}
	left, share, spent := "", float64(t.over)/float64(all), time.Since(t.began)
	if t.over > 0 && spent > time.Second {
		left = ", " + unit.Estimate(time.Duration(float64(spent)*(1-share)/share)) + " left"
	}
	t.shown.report("%3.0f %% · %s%s      ", 100*share, what, left)
}

// largestJob bounds the file of a job, in bytes.
const largestJob = 1 << 20

// ptychoTrialCommand returns the hidden command that runs one trial of bench ptycho.
func ptychoTrialCommand() *cobra.Command {
	var batch, warmup int
	cmd := &cobra.Command{
		Use: trialName + " JOB", Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Run a trial of bench ptycho, which a file describes",
		RunE: func(cmd *cobra.Command, args []string) error {
			var j trial.Job
			text, err := inputfile.ReadNamed(cmd.Context(), args[0], largestJob)
			if err == nil {
				err = json.Unmarshal(text, &j)
			}
			if err != nil {
				return cli.BadUsage(fmt.Errorf("bench %s: %w", trialName, err))
			}
			if j.Batch = batch; cmd.Flags().Changed("warmup") {
				j.Warmup = warmup
			}
			cli.ThriftyCollector()
			result, err := j.Run(cmd.Context(), trial.Devices{Open: openTrial, Energy: energyOf})
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
		},
	}
	cmd.Flags().IntVar(&batch, "batch", 0, "groups that are predicted at a time")
	cmd.Flags().IntVar(&warmup, "warmup", 0, "batches that are predicted before the run; in place of the job's")
	return cmd
}

// energyOf reads the counter of a GPU's energy.
func energyOf(card string) machine.Gauge {
	s := monitor.Read()
	for i := range s.GPUs {
		if g := &s.GPUs[i]; g.UUID == card {
			return g.Energy
		}
	}
	return machine.Missing(cmp.Or(s.Reason, "the driver lists no "+card))
}

// openTrial opens the backend of a trial.
func openTrial(j trial.Job) (nn.Backend, error) {
	if j.Device != "" {
		ordinal, err := strconv.Atoi(strings.TrimPrefix(j.Device, "cuda:"))
		if err != nil {
			return nil, fmt.Errorf("device %q: must be cuda:N", j.Device)
		}
		return cli.OpenGPU(ordinal)
	}
	backend, err := cpu.New(cpu.Options{Kernels: j.Kernels, Threads: j.Threads})
	if err != nil {
		return nil, err // a nil *cpu.Backend would be an nn.Backend that is not nil
	}
	return backend, nil
}
