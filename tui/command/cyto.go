package command

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// cytoFlags are the settings of an experiment with their own flags.
var cytoFlags = []ownFlag{
	{"experiment", "experiment", "segmentation, or labelfree: a signal from another"},
	{"data", "data", "folder with train.csv, valid.csv and test.csv; for a prediction also a list, a folder of images or an image"},
	{"batch-size", "batch", "patches of a minibatch, or images of a batch of predictions"},
	{"epochs", "epochs", "epochs of a training"},
	{"predictions", "predictions", "folder for a prediction file of each image (OME-TIFF at its scale); complete ones are skipped"},
	{"workers", "workers", "goroutines that load batches beside the loop; 0 loads them on it"},
}

// cytoCommand returns the command cyto: a run of one of CytoDL's experiments.
func cytoCommand() *cobra.Command {
	w := workloads.Of(im2im.Table.Zero())
	f := runFlags{SettingFlags: cli.SettingFlags{Of: &w}, own: cytoFlags}
	cmd := f.command()
	cmd.Use = "cyto"
	cmd.Short = "Train CytoDL's network to segment cells, or predict with it"
	cmd.AddCommand(cytoTasksCommand(tasks.Training), cytoTasksCommand(tasks.Inference))
	return cmd
}

// cytoTasks are the flags of a list of tasks, and what its run left.
type cytoTasks struct {
	kind    tasks.Kind
	compare bool
	ignore  bool
	results []tasks.Result
	lost    error // why results were not written

	executor, folder string // of the list as a sweep
}

// cytoTasksCommand returns the command cyto train or cyto inference.
func cytoTasksCommand(kind tasks.Kind) *cobra.Command {
	w := workloads.Of(benchmark.Table.Zero())
	t := &cytoTasks{kind: kind}
	f := runFlags{
		SettingFlags: cli.SettingFlags{Of: &w, NoFile: true, More: []preset.Flag{{Name: "cyto", Key: "kind", Value: kind.String()}}},
		own: []ownFlag{
			{"config", "tasks", "list of tasks, a CSV file (prismtop docs cyto-tasks); without one six small tasks, one for each variant"},
			{"output", "output", "file of results, JSON, written after every round; its folder is created"},
			{"skip-failed", "skip_failed", "run the next task after one that failed"},
			{"rounds", "rounds", "times that every task runs, in balanced random order; 6 or more give intervals"},
			{"baseline", "baseline", "what speed-ups compare with: first, the first task of an experiment, or fastest, CytoDL's rule"},
			{"repo", "repo", "git repository whose branches the list names; each runs in a worktree and a process of its own"},
			{"command", "command", "program that runs a task on a git branch, with {output} and other values; without it cyto-dl itself"},
			{"fetch", "fetch", "fetch branches that the repository does not have, over the network"},
			{"task-seconds", "task_seconds", "time that a program of a git branch may take; 0 is no limit"},
			{"cpu-fallback", "cpu_fallback", "run tasks for a GPU on the processor where there is none, and say so in the results"},
		},
		keep:  keepFlags{none: true},
		join:  withRepository,
		maker: t.maker,
		after: t.after,
	}
	kept := ownFlag{"checkpoints", "checkpoints", "folder for the weights, an NPZ file for each task that " +
		"completes, which the column checkpoint_path of an inference names"}
	if kind == tasks.Inference {
		kept = ownFlag{"predictions", "predictions", "folder for the predictions, in a folder for each " +
			"task an OME-TIFF for each image; complete ones are skipped"}
	}
	f.own = append(f.own, kept)
	cmd := f.command()
	cmd.Flags().BoolVar(&t.compare, "compare", false,
		"print the speed-ups of the tasks of each experiment, with intervals where there are enough rounds")
	cmd.Flags().BoolVar(&t.ignore, "ignore-failed", false, "exit with status 0 although tasks failed")
	cmd.Flags().StringVar(&t.executor, "executor", "", "run the list as a sweep, a task an arm and a round a "+
		"replicate: local, or slurm, one array (prismtop docs sweep)")
	cmd.Flags().StringVar(&t.folder, "folder", "",
		"folder of the sweep, which all machines share; each task's results are in its runs")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if t.executor != "" || t.folder != "" {
			return t.sweep(&f, cmd)
		}
		return run(cmd, args)
	}
	what := "training"
	cmd.Use = "train"
	if kind == tasks.Inference {
		cmd.Use, what = "inference", "inference"
	}
	cmd.Short = "Run a list of " + what + " tasks, one after the other, and compare them"
	cmd.Long = "Run the " + what +
		" tasks of a CSV list in CytoDL's format (prismtop docs cyto-tasks), each with the " +
		"settings of\nits variant, its columns and its overrides, on the live screen or without one. The list is\n" +
		"checked before anything runs. Without --skip-failed the first task that fails ends the list.\n" +
		"The results are written as JSON after every round, also of a task that was interrupted; the\n" +
		"exit status is 1 if a task failed."
	file := map[tasks.Kind]string{tasks.Training: "train", tasks.Inference: "inference"}[kind]
	cmd.Example = fmt.Sprintf("prismtop cyto %s\nprismtop cyto %[1]s --config docs/cyto/%[2]s_tasks.csv --output "+
		"results/%[2]s_benchmark.json --skip-failed\n"+
		"prismtop cyto %[1]s --config tasks.csv --output results.json --rounds 6 --compare --headless", cmd.Use, file)
	return cmd
}

// withRepository returns an error about a flag for git branches without the repository.
func withRepository(flags *pflag.FlagSet, v settings.Values) error {
	for _, name := range []string{"command", "fetch", "task-seconds"} {
		if flags.Changed(name) && v.Text("repo") == "" {
			return fmt.Errorf("flag --%s: needs --repo, the git repository whose branches the list names", name)
		}
	}
	return nil
}

// maker makes runs that report their results here.
func (t *cytoTasks) maker(d workloads.Devices) workload.Maker {
	m := workloads.CytoTasks(d)
	m.Report = func(results []tasks.Result) { t.results = results }
	m.Lost = func(err error) { t.lost = errors.Join(t.lost, err) }
	return m
}

// after prints what the tasks left, and returns an error if one of them failed.
func (t *cytoTasks) after(f *runFlags, cmd *cobra.Command, v settings.Values, err error) error {
	if err = errors.Join(err, t.lost); len(t.results) == 0 {
		return err
	}
	var to io.Writer = cmd.OutOrStdout()
	if f.json { // standard output has the run's object alone
		to = cmd.ErrOrStderr()
	}
	printed := tasks.Summary(to, t.results)
	if t.compare && printed == nil {
		if _, printed = fmt.Fprintln(to); printed == nil {
			printed = tasks.Compare(t.results, tasks.Rule(v.Text("baseline"))).Write(to)
		}
	}
	failed := 0
	for i := range t.results {
		if !t.results[i].Success {
			failed++
		}
	}
	if err = errors.Join(err, printed); err != nil || failed == 0 || t.ignore {
		return err
	}
	where := ""
	if path := v.Text("output"); path != "" {
		where = "; the errors are in " + filepath.Clean(path)
	}
	return fmt.Errorf("%d of %s failed%s", failed, unit.Plural(len(t.results), "task", "tasks"), where)
}
