package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/export"
	"prismtop/profiles/settings"
	"prismtop/profiles/sweep"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/bench/executor"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// sweepFlags are the flags of the command sweep.
type sweepFlags struct {
	plan     sweep.Plan // as far as flags give it
	pairing  string
	sets     []string
	grid     []string
	search   string
	memory   string
	executor string
	jobs     int
	retry    bool
	wait     bool
	headless bool
	look     cli.Look
	sweepOutput
}

// sweepOutput are the flags of how a table is written.
type sweepOutput struct {
	json   bool
	format string
	output string
}

func (o *sweepOutput) register(flags *pflag.FlagSet) {
	flags.BoolVar(&o.json, "json", false, "the table as one JSON object (prismtop docs sweep)")
	flags.StringVar(&o.format, "format", sweep.Formats[0], "form of the table: "+strings.Join(sweep.Formats, ", "))
	flags.StringVar(&o.output, "output", "",
		"file to write the table to, instead of standard output; .md, .json, .csv and .html say its form")
}

// endings are the forms that the ending of a file's name says.
var endings = map[string]string{".md": "markdown", ".json": "json", ".csv": "csv", ".html": "html", ".txt": "text"}

// check checks the flags.
func (o *sweepOutput) check(flags *pflag.FlagSet) error {
	if form := endings[strings.ToLower(filepath.Ext(o.output))]; form != "" && !flags.Changed("format") {
		o.format = form
	}
	if o.json {
		o.format = "json"
	}
	if !slices.Contains(sweep.Formats, o.format) {
		return fmt.Errorf("flag --format: %q: must be one of %s", o.format, strings.Join(sweep.Formats, ", "))
	}
	if o.output != "" {
		if err := cli.WritableFiles("output", o.output, o.output, o.output); err != nil {
			return err
		}
		if err := atomicfile.Replaceable(sweep.IsTable, o.output); err != nil {
			return fmt.Errorf("flag --output: %w", err)
		}
	}
	return nil
}

// write writes the table.
func (o *sweepOutput) write(cmd *cobra.Command, t *sweep.Table) error {
	write := func(w io.Writer) error {
		switch o.format {
		case "markdown":
			return t.WriteMarkdown(w)
		case "json":
			return export.WriteObject(w, t.JSON(cli.Version))
		case "csv":
			return t.WriteCSV(w)
		case "html":
			return t.WriteHTML(w)
		}
		return t.WriteText(w)
	}
	if o.output == "" {
		return write(cmd.OutOrStdout())
	}
	named := cli.Claims{}
	err := named.Write("flag --output", o.output)
	if err == nil {
		err = atomicfile.WriteFrom(o.output, 0o644, write)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(cli.Notes(cmd), "prismtop: the table is in "+visible.Text(named.Marked(o.output)[0]))
	return nil
}

// sweepCommand returns the command sweep.
func sweepCommand() *cobra.Command {
	var f sweepFlags
	cmd := &cobra.Command{
		Use: "sweep PLAN.toml | FOLDER", Short: "Run arms and replicates of a plan, here or on Slurm, and compare them",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return cli.BadUsage(errors.New("sweep: wants one plan, or the folder of a sweep"))
			}
			return f.run(cmd, strings.Join(args, ""))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.plan.Folder, "folder", "",
		"folder of the sweep, which all machines share; in place of the plan's")
	flags.StringVar(&f.plan.Base.Preset, "preset", "", "preset of every arm, without a plan")
	flags.StringArrayVar(&f.sets, "set", nil,
		"one setting of every arm as key=value, without a plan; may be given again")
	flags.StringArrayVar(&f.grid, "grid", nil,
		"values of a setting as key=a,b, without a plan: each combination of all grids is an arm; may be given again")
	flags.StringVar(&f.search, "search", "",
		"bounds of a setting whose fastest value is searched, as batch_size=1..256, without a plan")
	flags.StringVar(&f.memory, "memory-limit", "",
		"memory that a run may use, as 8GB; a search finds the largest value within it, too; in place of the plan's")
	flags.IntVar(&f.plan.Replicates, "replicates", 0, "runs of each arm; in place of the plan's")
	flags.StringVar(&f.pairing, "pairing", "",
		"none, or turns: the arms of a replicate run by turns in one task; in place of the plan's")
	flags.StringVar(&f.plan.Reference, "reference", "", "arm that the others are compared with; in place of the plan's")
	flags.DurationVar(&f.plan.Budget, "budget", 0,
		"running time of all runs together, as 2h, of which each gets an equal share; in place of the plan's")
	flags.StringVar(&f.executor, "executor", "local", "where to run: local, this machine, or slurm, one array")
	flags.IntVar(&f.jobs, "jobs", 1, "tasks at a time on this machine, each with its share of the processors")
	flags.BoolVar(&f.retry, "retry-failed", false, "repeat runs that failed, from their beginning")
	flags.BoolVar(&f.wait, "wait", false, "with --executor slurm, wait until no run is left, and print the table")
	flags.BoolVar(&f.headless, "headless", false,
		"without a screen: progress on standard error, the table on standard output")
	f.look.Register(flags)
	cli.RegisterQuiet(flags)
	f.register(flags)
	cmd.AddCommand(sweepShowCommand(), sweepWatchCommand(), sweepTaskCommand())
	return cmd
}

// run runs a plan, or goes on with a folder.
func (f *sweepFlags) run(cmd *cobra.Command, arg string) error {
	if err := f.check(cmd.Flags()); err != nil {
		return cli.BadUsage(err)
	}
	switch {
	case f.executor != "local" && f.executor != "slurm":
		return cli.BadUsage(fmt.Errorf("flag --executor: %q: must be local or slurm", f.executor))
	case f.executor == "slurm" && cmd.Flags().Changed("jobs"):
		return cli.BadUsage(errors.New("flag --jobs: cannot be joined with --executor slurm, which runs as many as " +
			"the cluster lets"))
	case f.executor == "local" && f.wait:
		return cli.BadUsage(errors.New("flag --wait: needs --executor slurm: on this machine sweep always waits"))
	case f.jobs < 1 || f.jobs > 1024:
		return cli.BadUsage(fmt.Errorf("flag --jobs: %d: must be from 1 to 1024", f.jobs))
	}
	folder, begun, err := f.open(cmd.Context(), cmd.Flags(), arg)
	if err != nil {
		var wrong *sweep.Error
		if errors.As(err, &wrong) || errors.Is(err, sweep.ErrNone) {
			return cli.BadUsage(fmt.Errorf("sweep: %w", err))
		}
		return fmt.Errorf("sweep: %w", err)
	}
	return f.runIn(cmd, folder, begun)
}

// runIn runs what is left in a folder.
func (f *sweepFlags) runIn(cmd *cobra.Command, folder *sweep.Folder, begun bool) error {
	if begun {
		fmt.Fprintln(cli.Notes(cmd), "prismtop: goes on with the sweep in "+visible.Text(folder.Path))
	}
	if f.executor == "slurm" {
		if folder.Search != nil {
			return cli.BadUsage(errors.New("flag --executor: a search tries one value after the other: must be local"))
		}
		return f.submit(cmd, folder)
	}
	return f.here(cmd, folder)
}

// options returns those of tasks.
func sweepOptions(folder *sweep.Folder, retry bool) *executor.Options {
	host, _ := os.Hostname() // an unknown name is none
	return &executor.Options{Folder: folder, Retry: retry, Tables: cli.TableOf, Environ: os.Environ(),
		Job:   executor.ThisJob(),
		Owner: fmt.Sprintf("prismtop sweep, process %d on %s", os.Getpid(), host)}
}

// here runs what is left on this machine and writes the table.
func (f *sweepFlags) here(cmd *cobra.Command, folder *sweep.Folder) error {
	o := sweepOptions(folder, f.retry)
	w := sweep.NewWatch(folder)
	if _, err := w.Look(cmd.Context()); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	tasks := executor.Left(folder, w.Statuses(), f.retry)
	left, run := len(tasks) > 0, func(ctx context.Context) error { return o.Local(ctx, tasks, f.jobs) }
	p := sweepProgress{to: cli.Notes(cmd), folder: folder, of: len(folder.Cells())}
	if s := folder.Search; s != nil {
		left, run = !s.Over || f.retry, func(ctx context.Context) error { return o.Search(ctx, f.jobs) }
		p.of = 0
	}
	for _, s := range w.Statuses() {
		if s.State == sweep.Done {
			p.done++
		}
	}
	o.Report = p.report
	if !left || f.json || f.headless || !cli.OnTerminal() {
		return f.conclude(cmd, folder, run(cmd.Context()))
	}
	return f.onScreen(cmd, folder, run, &p)
}

// onScreen runs what is left while the screen shows the sweep. Leaving it leaves the sweep going,
// with a line for each run that ends; ctrl+c ends both.
func (f *sweepFlags) onScreen(cmd *cobra.Command, folder *sweep.Folder, run func(context.Context) error,
	p *sweepProgress) error {
	look, err := f.look.Options(cmd.Flags())
	if err == nil {
		err = cli.ReadKeys(cmd.Context(), &look)
	}
	if err != nil {
		return err
	}
	notes := p.to
	p.to = io.Discard
	watch := newSweepWatch(folder) // before a search adds to it
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- run(ctx) }()
	shown := watch.show(cmd, look, true)
	if shown != nil {
		stop()
	}
	p.mu.Lock()
	p.to = notes
	p.mu.Unlock()
	var ended error
	select {
	case ended = <-ran:
	default:
		if shown == nil {
			fmt.Fprintln(notes, "prismtop: the sweep goes on; ctrl+c interrupts it")
		}
		ended = <-ran
	}
	if shown != nil && !cli.Interrupted(shown) {
		return errors.Join(shown, ended)
	}
	return f.conclude(cmd, folder, ended)
}

// conclude writes the table, and returns how the sweep ended.
func (f *sweepFlags) conclude(cmd *cobra.Command, folder *sweep.Folder, ran error) error {
	t, err := folder.Table(context.WithoutCancel(cmd.Context()))
	if err != nil {
		return errors.Join(ran, fmt.Errorf("sweep: %w", err))
	}
	err = f.write(cmd, t)
	switch {
	case errors.Is(ran, executor.ErrInterrupted) || cmd.Context().Err() != nil:
		fmt.Fprintf(cli.Notes(cmd), "prismtop: to continue: prismtop sweep %s\n", shellWord(visible.Text(folder.Path)))
		return errors.Join(err, cli.ErrInterrupted)
	case ran != nil:
		return errors.Join(err, fmt.Errorf("sweep: %w", ran))
	case err == nil && t.Counts[sweep.Failed] > t.Short:
		return fmt.Errorf("sweep: %d of %s failed; --retry-failed repeats them", t.Counts[sweep.Failed]-t.Short,
			unit.Plural(len(folder.Cells()), "run", "runs"))
	}
	return err
}

// sweepProgress prints a line for each run that ends.
type sweepProgress struct {
	mu       sync.Mutex
	to       io.Writer
	folder   *sweep.Folder
	done, of int
}

func (p *sweepProgress) report(c sweep.Cell, s *sweep.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.State == sweep.Running {
		return
	}
	line := sweepLine(p.folder.Name(c), s)
	if s.State == sweep.Done {
		p.done++
		if p.of > 0 { // a search does not know
			line += fmt.Sprintf(" (%d of %d)", p.done, p.of)
		}
	}
	fmt.Fprintln(p.to, line)
}

// sweepLine words the state of a run.
func sweepLine(name string, s *sweep.Status) string {
	line := visible.Text(name) + " " + string(s.State)
	switch s.State {
	case sweep.Done:
		line += ": " + unit.Plural(int(s.Iterations), "iteration", "iterations")
		if s.MS != nil {
			line += ", " + strings.TrimSpace(unit.Milliseconds(1e6**s.MS)) + " ms each"
		}
	case sweep.Failed:
		line += ": " + visible.Text(s.Error)
	case sweep.Interrupted:
		line += " after " + unit.Plural(int(s.Iterations), "iteration", "iterations")
		if s.Again {
			line += ": it has no checkpoint and begins again"
		}
	case sweep.Running:
		line += " on " + visible.Text(cmp.Or(s.Node, s.Host))
	}
	return line
}

// submit submits what is left to Slurm.
func (f *sweepFlags) submit(cmd *cobra.Command, folder *sweep.Folder) error {
	ctx := cmd.Context()
	w := sweep.NewWatch(folder)
	if _, err := w.Look(ctx); err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	o := sweepOptions(folder, f.retry)
	job, queued, err := o.Submit(ctx, executor.Left(folder, w.Statuses(), f.retry))
	if err != nil {
		return fmt.Errorf("sweep: flag --executor: %w", err)
	}
	notes := cli.Notes(cmd)
	switch path := shellWord(visible.Text(folder.Path)); {
	case job.ID != "":
		fmt.Fprintf(notes, "prismtop: submitted %s as job %s; prismtop sweep watch %s follows it\n",
			unit.Plural(len(job.Elements), "task", "tasks"), job.ID, path)
	case queued > 0:
		fmt.Fprintf(notes, "prismtop: nothing to submit: %s in Slurm's queue or running; prismtop sweep watch "+
			"%s follows\n", unit.Plural(queued, "task is", "tasks are"), path)
	default:
		fmt.Fprintln(notes, "prismtop: nothing to submit: every run is done or has failed")
	}
	if f.wait {
		err := f.await(ctx, folder, w)
		return f.conclude(cmd, folder, err)
	}
	t, err := folder.Table(ctx)
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	if job.ID == "" && queued == 0 || f.json || f.output != "" {
		return f.write(cmd, t)
	}
	return nil
}

// awaitEvery is the time between two looks at the folder while the sweep waits for Slurm.
const awaitEvery = 2 * time.Second

// await waits until Slurm has no task of the sweep left.
func (f *sweepFlags) await(ctx context.Context, folder *sweep.Folder, w *sweep.Watch) error {
	q := executor.Queue{Folder: folder}
	for {
		select {
		case <-time.After(awaitEvery):
		case <-ctx.Done():
			return executor.ErrInterrupted
		}
		if _, err := w.Look(ctx); err != nil {
			return err
		}
		if len(executor.Left(folder, w.Statuses(), false)) == 0 {
			return nil
		}
		now, err := q.Newest(ctx)
		if err != nil {
			return err
		}
		if len(now.Elements) == 0 {
			return errors.New("no task of it is in Slurm any more, and runs are left: the same command " +
				"submits them again")
		}
	}
}

// open returns the folder of a plan, of flags, or of a sweep that was begun.
func (f *sweepFlags) open(ctx context.Context, flags *pflag.FlagSet, arg string) (*sweep.Folder, bool, error) {
	planned := []string{"folder", "preset", "set", "grid", "search", "memory-limit", "replicates", "pairing",
		"reference", "budget"}
	if info, err := os.Stat(arg); arg != "" && err == nil && info.IsDir() {
		for _, name := range planned {
			if flags.Changed(name) {
				return nil, false, &sweep.Error{Err: fmt.Errorf("flag --%s: cannot be joined with the folder of a "+
					"sweep, whose plan is frozen", name)}
			}
		}
		folder, err := sweep.Open(ctx, arg)
		return folder, true, err
	}
	p, text, err := f.read(flags, arg)
	if err != nil {
		return nil, false, err
	}
	if err := p.Check(workloads.Presets()); err != nil {
		return nil, false, err
	}
	return freeze(ctx, p, text)
}

// freeze freezes a checked plan into its folder.
func freeze(ctx context.Context, p *sweep.Plan, text []byte) (*sweep.Folder, bool, error) {
	return sweep.Freeze(ctx, p, text, sweep.Makes{
		Version: cli.Version, Presets: workloads.Presets(),
		Owner:  fmt.Sprintf("prismtop sweep, process %d", os.Getpid()),
		Inputs: inputs, Command: isCommand,
		Stateless: func(v settings.Values) bool {
			w := workloads.Of(v)
			return w.Stateless != nil && w.Stateless(v) != ""
		},
	})
}

// isCommand returns an error for arguments that name no command of this program, or flags that it does not have.
func isCommand(args []string) error {
	cmd, rest, err := rootCommand(nil).Find(args)
	switch {
	case err != nil:
		return err
	case !cmd.HasParent():
		return fmt.Errorf("%q: must begin with a command of prismtop", args[0])
	}
	return cmd.ParseFlags(rest)
}

// read reads the plan of a file, or makes one of flags.
func (f *sweepFlags) read(flags *pflag.FlagSet, arg string) (p *sweep.Plan, text []byte, err error) {
	given := f.plan
	given.Pairing = sweep.Pairing(f.pairing)
	if f.memory != "" {
		if given.MemoryLimit, err = unit.ParseBytes(f.memory); err != nil {
			return nil, nil, &sweep.Error{Err: fmt.Errorf("flag --memory-limit: %w", err)}
		}
	}
	if arg == "" {
		if given.Folder == "" && len(f.grid) == 0 && f.search == "" {
			return nil, nil, &sweep.Error{
				Err: errors.New("is missing: must be a file in TOML, or --folder and --grid or --search")}
		}
		p = &given
		if p.Base.Set, err = assignments("set", f.sets); err != nil {
			return nil, nil, err
		}
		if f.search != "" {
			p.Search, err = searchOf(f.search, len(f.grid) > 0)
		} else {
			p.Arms, err = gridOf(f.grid)
		}
		return p, nil, err
	}
	for _, name := range []string{"preset", "set", "grid", "search"} {
		if flags.Changed(name) {
			return nil, nil, &sweep.Error{
				Err: fmt.Errorf("flag --%s: cannot be joined with a plan, which has it", name)}
		}
	}
	text, err = os.ReadFile(arg)
	if err != nil {
		return nil, nil, &sweep.Error{File: arg, Err: cli.Bare(err)}
	}
	if p, err = sweep.Parse(arg, text); err != nil {
		return nil, nil, err
	}
	for _, of := range []struct {
		flag string
		do   func()
	}{
		{"folder", func() { p.Folder = given.Folder }}, {"replicates", func() { p.Replicates = given.Replicates }},
		{"pairing", func() { p.Pairing = given.Pairing }}, {"reference", func() { p.Reference = given.Reference }},
		{"budget", func() { p.Budget = given.Budget }},
		{"memory-limit", func() { p.MemoryLimit = given.MemoryLimit }},
	} {
		if flags.Changed(of.flag) {
			of.do()
		}
	}
	return p, text, nil
}

// assignments parses key=value.
func assignments(flag string, texts []string) (all []settings.Assignment, err error) {
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, &sweep.Error{Err: fmt.Errorf("flag --%s: %q: must be key=value", flag, text)}
		}
		all = append(all, settings.Assignment{Key: strings.TrimSpace(key), Value: value})
	}
	return all, nil
}

// searchOf returns the search of --search.
func searchOf(text string, grid bool) (*sweep.Search, error) {
	if grid {
		return nil, &sweep.Error{Err: errors.New("flag --grid: cannot be joined with --search")}
	}
	s := &sweep.Search{Tolerance: sweep.DefaultTolerance, Margin: sweep.DefaultMargin}
	key, bounds, _ := strings.Cut(text, "=")
	if err := s.Parse(strings.TrimSpace(key), bounds, ".."); err != nil {
		return nil, &sweep.Error{Err: fmt.Errorf("flag --search: %w", err)}
	}
	return s, nil
}

// gridOf returns the arms of --grid.
func gridOf(texts []string) ([]sweep.Arm, error) {
	if len(texts) == 0 {
		return nil, &sweep.Error{
			Err: errors.New("flag --grid: is missing: must be a setting and its values, as latent=128,256")}
	}
	all, err := assignments("grid", texts)
	if err != nil {
		return nil, err
	}
	var keys []string
	values := map[string][]string{}
	for _, a := range all {
		if values[a.Key] != nil {
			return nil, &sweep.Error{Err: fmt.Errorf("flag --grid: %s: is given twice", a.Key)}
		}
		keys, values[a.Key] = append(keys, a.Key), strings.Split(a.Value, ",")
	}
	return sweep.Grid(keys, values), nil
}

// sweepShowCommand returns the command sweep show.
func sweepShowCommand() *cobra.Command {
	var o sweepOutput
	cmd := &cobra.Command{
		Use: "show FOLDER", Short: "Print the table of a sweep so far, without running anything",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cli.BadUsage(errors.New("sweep show: wants the folder of a sweep"))
			}
			if err := o.check(cmd.Flags()); err != nil {
				return cli.BadUsage(err)
			}
			folder, err := sweep.Open(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("sweep show: %w", err)
			}
			t, err := folder.Table(cmd.Context())
			switch {
			case cmd.Context().Err() != nil:
				return cli.ErrInterrupted
			case err != nil:
				return fmt.Errorf("sweep show: %w", err)
			}
			return o.write(cmd, t)
		},
	}
	cli.RegisterQuiet(cmd.Flags())
	o.register(cmd.Flags())
	return cmd
}

// sweepTaskCommand returns the hidden command that is an element of the array.
func sweepTaskCommand() *cobra.Command {
	var retry bool
	cmd := &cobra.Command{
		Use: "task FOLDER ELEMENT", Short: "Run an element of a sweep's array", Hidden: true, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error { return sweepTask(cmd, args[0], args[1], retry) },
	}
	cmd.Flags().BoolVar(&retry, "retry-failed", false, "repeat runs that failed")
	return cmd
}

// sweepTask runs an element of the array. Before its time is up, Slurm sends SIGUSR1: its runs leave their checkpoints,
// and the element goes back into the queue.
func sweepTask(cmd *cobra.Command, path, element string, retry bool) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	up := make(chan os.Signal, 1)
	notifyTimeUp(up)
	late := make(chan struct{})
	go func() {
		select {
		case <-up:
			close(late)
			stop()
		case <-ctx.Done():
		}
	}()
	folder, err := sweep.Open(ctx, path)
	if err != nil {
		return fmt.Errorf("sweep task: %w", err)
	}
	bundles := folder.Bundles()
	n := -1
	if _, err := fmt.Sscan(element, &n); err != nil || n < 0 || n >= len(bundles) {
		return cli.BadUsage(fmt.Errorf("sweep task: %q: must be from 0 to %d", element, len(bundles)-1))
	}
	o := sweepOptions(folder, retry)
	p := sweepProgress{to: cmd.ErrOrStderr(), folder: folder}
	for _, t := range bundles[n] {
		p.of += len(folder.Tasks[t].Cells)
	}
	o.Report = p.report
	for _, t := range bundles[n] {
		if err = o.Task(ctx, t); err != nil {
			break
		}
	}
	if errors.Is(err, executor.ErrInterrupted) {
		select {
		case <-late:
			requeue, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			if err := executor.Requeue(requeue); err != nil {
				return fmt.Errorf("sweep task: %w", err)
			}
		default:
		}
		return cli.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("sweep task: %w", err)
	}
	return nil
}
