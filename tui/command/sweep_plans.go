package command

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/sweep"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/cyto/tasks"
	"prismtop/sim/workloads"
	"prismtop/tui/command/bench"
	"prismtop/tui/command/cli"
)

// This file makes plans of what has lists of its own: CytoDL's tasks and the parts of PRISM's suite.

// runPlan runs a plan as the command sweep does.
func runPlan(cmd *cobra.Command, p *sweep.Plan, executor string) error {
	f := sweepFlags{executor: executor, jobs: 1, headless: true, sweepOutput: sweepOutput{format: sweep.Formats[0]}}
	if executor != "local" && executor != "slurm" {
		return cli.BadUsage(fmt.Errorf("flag --executor: %q: must be local or slurm", executor))
	}
	if err := p.Check(workloads.Presets()); err != nil {
		return cli.BadUsage(fmt.Errorf("flag --executor: %w", err))
	}
	folder, begun, err := freeze(cmd.Context(), p, nil)
	if err != nil {
		return fmt.Errorf("flag --executor: %w", err)
	}
	return f.runIn(cmd, folder, begun)
}

// sweepOfSuite runs parts of PRISM's suite.
func sweepOfSuite(cmd *cobra.Command, folder, executor string, arms []bench.Arm) error {
	p := &sweep.Plan{Folder: folder}
	for _, a := range arms {
		p.Arms = append(p.Arms, sweep.Arm{Name: a.Name, Command: append([]string{"bench"}, a.Args...)})
	}
	return runPlan(cmd, p, executor)
}

// notPassed are the flags of a list of tasks that are the sweep's, not those of its tasks.
var notPassed = []string{"config", "output", "rounds", "executor", "folder", "json", "headless", "record", "no-record",
	"quiet", "compare", "lines", "detach", "checkpoints", "predictions"}

// unnamed is what a name of an arm cannot contain.
var unnamed = regexp.MustCompile(`[^A-Za-z0-9._,=+-]+`)

// sweep runs the list as a sweep.
func (t *cytoTasks) sweep(f *runFlags, cmd *cobra.Command) error {
	v, err := f.settings(cmd)
	if err != nil {
		return cli.BadUsage(err)
	}
	switch {
	case t.folder == "":
		return cli.BadUsage(errors.New("flag --executor: needs --folder, the folder of the sweep"))
	case v.Text("tasks") == "":
		return cli.BadUsage(errors.New("flag --executor: needs --config, the list of tasks"))
	}
	list, err := benchmark.Tasks(cmd.Context(), v)
	if err != nil {
		return cli.BadUsage(fmt.Errorf("flag --config: %w", err))
	}
	var more []string
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if slices.Contains(notPassed, flag.Name) {
			return
		}
		if all, ok := flag.Value.(pflag.SliceValue); ok {
			for _, value := range all.GetSlice() {
				more = append(more, "--"+flag.Name+"="+value)
			}
			return
		}
		more = append(more, "--"+flag.Name+"="+flag.Value.String())
	})
	keeping := "checkpoints"
	if t.kind == tasks.Inference {
		keeping = "predictions"
	}
	p := &sweep.Plan{Folder: t.folder, Replicates: max(1, v.Int("rounds")), Files: map[string]string{}}
	seen := map[string]bool{}
	for i := range list {
		one := &list[i]
		name := cmp.Or(strings.Trim(unnamed.ReplaceAllString(one.Branch+"-"+filepath.Base(one.Experiment), "-"),
			"-.,=+"), "task")
		if seen[strings.ToLower(name)] {
			name += fmt.Sprintf("-%d", one.Line)
		}
		seen[strings.ToLower(name)] = true
		text, err := listOf(one)
		if err != nil {
			return err
		}
		p.Files[name+".csv"] = text
		command := append([]string{"cyto", cmd.Name(), "--config", "{folder}/files/" + name + ".csv",
			"--output", "{output}/results.json"}, more...)
		if kept := v.Text(keeping); kept != "" { // each task's names begin with 1
			if kept, err = filepath.Abs(kept); err != nil {
				return err
			}
			command = append(command, "--"+keeping, filepath.Join(kept, name))
		}
		p.Arms = append(p.Arms, sweep.Arm{Name: name, Command: command})
	}
	return runPlan(cmd, p, cmp.Or(t.executor, "local"))
}

// listOf returns a list of one task.
func listOf(t *tasks.Task) (string, error) {
	var b strings.Builder
	var head, row []string
	for _, c := range t.Row {
		head, row = append(head, c.Column), append(row, c.Value)
	}
	w := csv.NewWriter(&b)
	err := w.WriteAll([][]string{head, row})
	return b.String(), err
}
