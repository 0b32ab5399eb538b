// Command prismtop runs PRISM's progressive image reconstruction and shows,
// while it runs, where the time and the memory go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/gpu"
	"prismtop/profiles"
	"prismtop/profiles/await"
	"prismtop/profiles/export"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/visible"
	"prismtop/sim"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/features"
	"prismtop/sim/cpu/roof"
	"prismtop/sim/cpu/vec"
	"prismtop/sim/prism"
	"prismtop/sim/verify"
	"prismtop/sim/workloads"
	"prismtop/tui"
	"prismtop/tui/doctor"
)

// version is the program's version; released builds set it by -ldflags.
var version = "0.1.0-dev"

// The exit statuses.
const (
	statusDone        = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130
)

func main() { os.Exit(execute(os.Args[1:])) }

// execute runs the command line and returns the exit status.
func execute(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root := rootCommand()
	addCompletion(root)
	root.SetArgs(args)
	root.SetOut(newOutlet(ctx.Done(), os.Stdout))
	root.SetErr(newOutlet(ctx.Done(), os.Stderr))
	begun := false
	root.PersistentPreRun = func(*cobra.Command, []string) { begun = true }
	err := root.ExecuteContext(ctx)
	if err != nil && !begun {
		err = badUsage(err)
	}
	if errors.Is(err, errGivenUp) && ctx.Err() != nil {
		err = errInterrupted
	}
	if line := errorLine(err); line != "" {
		fmt.Fprintln(newOutlet(ending(), os.Stderr), "prismtop: "+line)
	}
	return exitStatus(err)
}

// exitStatus is the exit status of an error.
func exitStatus(err error) int {
	var usage *usageError
	switch {
	case err == nil:
		return statusDone
	case interrupted(err):
		return statusInterrupted
	case errors.As(err, &usage):
		return statusUsage
	}
	return statusFailed
}

// errorLine is an error's text on one line, without characters that steer a terminal.
// Errors that errors.Join joined stand one after another. That work was interrupted is
// not told: whoever did it knows.
func errorLine(err error) string {
	if usage, ok := err.(*usageError); ok {
		return errorLine(usage.error)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok && err.Error() == errors.Join(joined.Unwrap()...).Error() {
		var parts []string
		for _, e := range joined.Unwrap() {
			if line := errorLine(e); line != "" {
				parts = append(parts, line)
			}
		}
		return strings.Join(parts, "; ")
	}
	if err == nil || interrupted(err) {
		return ""
	}
	return visible.Text(err.Error())
}

// errInterrupted ends a run that a signal stopped; what it measured was printed.
var errInterrupted = errors.New("interrupted")

// interrupted reports whether a signal ended the work that returned the error.
func interrupted(err error) bool {
	return errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled)
}

// usageError is a command line or a setting that cannot be right.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// badUsage marks an error of the command line or the settings. That this machine lacks
// the kernels is none: the line is right elsewhere.
func badUsage(err error) error {
	var lacking *vec.UnavailableError
	if err == nil || errors.As(err, &lacking) {
		return err
	}
	return &usageError{err}
}

func rootCommand() *cobra.Command {
	root := runCommand()
	root.Use = "prismtop"
	root.Short = "Watch and tune PRISM's progressive reconstruction while it runs"
	root.Long = "prismtop reconstructs an image from a simulated telescope, measures every phase of\n" +
		"every iteration, and switches caches and mixed precision while the run goes on.\n" +
		"Without a command it opens the live screen on the default preset; where standard\n" +
		"output is no terminal it runs without one."
	root.Example = "prismtop\nprismtop run --preset baseline --image europa.jpg\nprismtop run --headless --json --set amp=bf16 --max-iterations 500"
	root.AddCommand(runCommand(), presetsCommand(), verifyCommand(), doctorCommand(), benchCommand(), manualCommand())
	root.Version = version
	root.SetHelpFunc(printHelp)
	root.SetHelpCommand(helpCommand())
	root.SetFlagErrorFunc(flagError)
	root.SilenceUsage, root.SilenceErrors = true, true
	return root
}

// noArguments, atMost and atLeastOne check what stands behind a command.
func noArguments(cmd *cobra.Command, args []string) error { return atMost(0)(cmd, args) }

func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		if cmd.HasAvailableSubCommands() {
			return unknownCommand(cmd, args[n])
		}
		return badUsage(fmt.Errorf("%sunexpected argument %q; see %s --help", prefix(cmd), args[n], cmd.CommandPath()))
	}
}

func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return badUsage(fmt.Errorf("%swants at least one %s", prefix(cmd), what))
	}
}

// prefix begins an error about a command, whose program printError names.
func prefix(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") + ": "
}

// runFlags are the flags of a run.
type runFlags struct {
	settingFlags
	origins   preset.Origins // of the settings
	headless  bool
	json      bool
	ascii     bool
	lines     bool
	theme     string
	bandwidth string
	notify    string
	save      string
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run a reconstruction on the live screen, or without one",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := f.settings(cmd)
			if err != nil {
				return badUsage(err)
			}
			return f.run(cmd, settings)
		},
	}
	flags := cmd.Flags()
	f.register(flags)
	flags.BoolVar(&f.headless, "headless", false, "without a screen: progress on standard error, the summary on standard output")
	flags.BoolVar(&f.json, "json", false, "the summary as one JSON object (docs/json.md); implies --headless")
	flags.BoolVar(&f.ascii, "ascii", false, "draw with 7-bit characters")
	flags.BoolVar(&f.lines, "lines", false, "lines of text instead of the screen, for screen readers and logs; settings and commands are typed")
	flags.StringVar(&f.theme, "theme", "auto", "colours of the screen: auto, dark, light or mono")
	flags.StringVar(&f.bandwidth, "bandwidth", "auto", "how much of the line to the terminal the screen may take: auto, low or full")
	flags.StringVar(&f.notify, "notify", "off",
		"how to tell that the run finished, failed or stalled: off, or bell, osc9, osc777 or several of them with commas between")
	flags.StringVar(&f.save, "save", "", "path to save the reconstruction to at the end, as .png and .npy, which replace files of that name")
	return cmd
}

// settings joins preset, file, environment and flags, and checks where to save.
func (f *runFlags) settings(cmd *cobra.Command) (preset.Settings, error) {
	s, origins, err := f.resolve(cmd.Context(), cmd.Flags())
	f.origins = origins
	if err == nil && cmd.Flags().Changed("save") {
		f.save, err = savePath(f.save)
	}
	return s, err
}

// thriftyCollector lets the garbage collector run more often, unless the user said
// how often. Nearly all of the heap is tensors without pointers, which cost nothing
// to mark, while garbage as large as they are would double the program's memory.
func thriftyCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(20)
	}
}

// envNotify is what the environment says of --notify.
const envNotify = preset.EnvPrefix + "NOTIFY"

// otherEnvironment are the variables with the settings' prefix that are none.
var otherEnvironment = []string{envNotify}

// lineInterval is the time between two lines of progress.
const lineInterval = 10 * time.Second

// live is a run as the screen sees it.
type live struct {
	*sim.Run
	aggregator *profiles.Aggregator
}

// Snapshots delivers the newest snapshot.
func (l live) Snapshots() <-chan *profiles.Snapshot { return l.aggregator.Snapshots() }

// run carries out a reconstruction on the screen or without one.
func (f *runFlags) run(cmd *cobra.Command, settings preset.Settings) error {
	thriftyCollector()
	screen := !f.lines && !f.headless && !f.json && term.IsTerminal(os.Stdout.Fd()) && term.IsTerminal(os.Stdin.Fd())
	if screen && os.Getenv("TERM") == "dumb" {
		fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: TERM is dumb: lines of text instead of the screen, as with --lines")
		screen, f.lines = false, true
	}
	look, err := f.look(cmd.Flags())
	if err != nil {
		return err
	}
	chosen, err := f.sources.Chosen()
	if err != nil {
		return badUsage(err)
	}
	device, err := probe(cmd.Context())
	if err != nil {
		return err
	}
	o := sim.Options{
		Maker: workloads.PRISM(device.Reason), Settings: settings, Stream: profiles.NewStream(8192), GPUReason: device.Reason,
		Linger: screen || f.lines, Metrics: 500 * time.Millisecond, Notes: chosen.Notes(&settings),
		Roofs: judgeRoofs, KeepOutput: f.save != "",
	}
	pictures := time.Duration(0)
	if screen {
		pictures = 300 * time.Millisecond
	}
	open := sim.New
	if screen || f.lines {
		open = sim.Open // there at once
	}
	r, err := open(cmd.Context(), o)
	if err != nil {
		if f.json {
			err = errors.Join(err, writeNotBegun(cmd.Context(), cmd.OutOrStdout(), o.Stream, chosen.Name, err))
		}
		return badUsage(err)
	}
	defer r.Close()
	show := live{r, profiles.NewAggregator(o.Stream.Follow(), profiles.Options{Pictures: pictures})}
	if screen || f.lines {
		err = f.watch(cmd.Context(), cmd.OutOrStdout(), show, look)
		cmd.SetErr(newOutlet(ending(), os.Stderr)) // the terminal may not read any more
	} else {
		err = f.report(cmd, show, look, chosen.Name)
	}
	var crash *sim.PanicError
	var wrong *sim.SettingsError
	if errors.As(err, &wrong) {
		return badUsage(err)
	}
	if f.save != "" && !errors.As(err, &crash) { // nothing is sure after a panic
		err = errors.Join(err, f.write(cmd.ErrOrStderr(), r, interrupted(err)))
	}
	return err
}

// write saves the reconstruction. The signal that ended a run does not end that too,
// which may take a while for a large one; the next does.
func (f *runFlags) write(w io.Writer, r *sim.Run, wasInterrupted bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	paths, err := r.WriteReconstruction(ctx, f.save)
	if len(paths) > 0 {
		fmt.Fprintln(w, "saved "+visible.Text(strings.Join(paths, " and ")))
	}
	if err != nil && (wasInterrupted || ctx.Err() != nil) { // nobody else says it
		why := errorLine(err)
		if ctx.Err() != nil {
			why = errInterrupted.Error()
		}
		fmt.Fprintln(w, "prismtop: not saved: "+why)
	}
	return err
}

// look is the screen's options.
func (f *runFlags) look(flags *pflag.FlagSet) (o tui.Options, err error) {
	o.ASCII, o.Origins = f.ascii, f.origins
	// Where no folder for settings is known the screen remembers nothing.
	o.Remember, _ = tui.RememberedPath()
	o.FixedColours, o.FixedBandwidth = flags.Changed("theme"), flags.Changed("bandwidth")
	if o.Colours, err = tui.ParseColours(f.theme); err != nil {
		return o, badUsage(fmt.Errorf("flag --theme: %w", err))
	}
	if o.Bandwidth, err = tui.ParseBandwidth(f.bandwidth); err != nil {
		return o, badUsage(fmt.Errorf("flag --bandwidth: %w", err))
	}
	notify, where := f.notify, "flag --notify"
	if given := os.Getenv(envNotify); given != "" && !flags.Changed("notify") {
		notify, where = given, "environment "+envNotify
	}
	if o.Notices, err = tui.ParseNotices(notify); err != nil {
		return o, badUsage(fmt.Errorf("%s: %w", where, err))
	}
	if f.lines && (f.headless || f.json) {
		return o, badUsage(errors.New("flag --lines: cannot be joined with --headless or --json"))
	}
	return o, nil
}

// watch runs the reconstruction under the screen, or with lines of text.
func (f *runFlags) watch(ctx context.Context, out io.Writer, show live, look tui.Options) error {
	signalled := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	aggregating, stopAggregating := context.WithCancel(context.Background())
	defer stopAggregating()
	go show.aggregator.Run(aggregating, 100*time.Millisecond)
	show.Start(ctx)
	go func() {
		var crash *sim.PanicError
		var wrong *sim.SettingsError
		if err := show.Wait(); errors.As(err, &crash) || errors.As(err, &wrong) {
			cancel(err) // takes the screen down, which restores the terminal
		}
	}()
	var err error
	var last *profiles.Snapshot
	if f.lines {
		last, err = tui.Lines(ctx, os.Stdin, out, show, look, lineInterval)
	} else {
		err = tui.Run(ctx, show, look)
	}
	show.Stop()
	runErr := show.Wait()
	var wrong *sim.SettingsError
	if errors.As(runErr, &wrong) {
		return runErr
	}
	if last != nil && last.Run.Size > 0 { // else it had not begun
		if last.State <= profiles.Paused { // the snapshot is older than the stop
			stopped := *last
			stopped.State, last = profiles.Stopped, &stopped
		}
		fmt.Fprint(out, tui.SummaryWithin(last, tui.Columns(out)))
	}
	var crash *sim.PanicError
	switch {
	case errors.As(runErr, &crash):
		return runErr
	case errors.Is(err, tui.ErrInterrupted) || signalled.Err() != nil:
		return errInterrupted
	}
	return errors.Join(runErr, err)
}

// report runs the reconstruction with its progress on standard error and the
// summary on standard output.
func (f *runFlags) report(cmd *cobra.Command, show live, look tui.Options, presetName string) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	aggregating, stopAggregating := context.WithCancel(context.Background())
	show.Start(ctx)
	go func() {
		<-show.Done()
		stopAggregating()
	}()
	go show.aggregator.Run(aggregating, 100*time.Millisecond)
	tui.PlainNotifying(context.Background(), cmd.ErrOrStderr(), show, look, time.Second)
	err := show.Wait()
	<-aggregating.Done()
	for range show.Snapshots() { // until the last one is in
	}
	last := show.aggregator.Last()
	summary := export.Summarize(last, export.Source{
		Version: version, Preset: presetName, CPU: features.Detect(), Threads: show.Threads(),
	})
	if f.json {
		err = errors.Join(err, export.WriteJSON(out, summary))
	} else {
		_, writeErr := io.WriteString(out, tui.SummaryWithin(last, tui.Columns(out)))
		err = errors.Join(err, writeErr)
	}
	if err == nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// probe is what the CUDA driver says, which may take seconds to answer.
func probe(ctx context.Context) (machine.GPU, error) {
	return await.Result(ctx, func() (machine.GPU, error) { return gpu.Probe(), nil })
}

// writeNotBegun writes the JSON summary of a run that failed, or was interrupted, in
// its preparation.
func writeNotBegun(ctx context.Context, w io.Writer, stream *profiles.Stream, presetName string, err error) error {
	if ctx.Err() != nil {
		stream.State(profiles.Stopped, "")
	} else {
		stream.State(profiles.Failed, err.Error())
	}
	s := *profiles.NewAggregator(stream.Follow(), profiles.Options{}).Tick(time.Now())
	s.Run.Schema = prism.Schema() // no task has declared it
	return export.WriteJSON(w, export.Summarize(&s, export.Source{
		Version: version, Preset: presetName, CPU: features.Detect(),
	}))
}

func presetsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "presets", Short: "List the presets, or show one with the origin of every value", Args: noArguments}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return listPresets(cmd.OutOrStdout()) }
	list := &cobra.Command{Use: "list", Short: "List the presets", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listPresets(cmd.OutOrStdout()) }}
	var f settingFlags
	show := &cobra.Command{
		Use: "show [preset]", Short: "Print a preset's settings as TOML, with what a file, the environment and flags change",
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("preset") {
				return badUsage(fmt.Errorf("presets show: the preset is given twice, %q and --preset", args[0]))
			}
			if len(args) > 0 {
				if err := cmd.Flags().Set("preset", args[0]); err != nil {
					return badUsage(err)
				}
			}
			s, origins, err := f.resolve(cmd.Context(), cmd.Flags())
			if err != nil {
				return badUsage(err)
			}
			return preset.Write(cmd.OutOrStdout(), &s, origins)
		},
	}
	f.register(show.Flags())
	cmd.AddCommand(list, show)
	return cmd
}

func listPresets(w io.Writer) error {
	for _, name := range preset.Names() {
		p, err := preset.Lookup(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-14s %s\n", name, p.Description); err != nil {
			return err
		}
	}
	return nil
}

func verifyCommand() *cobra.Command {
	var asJSON bool
	var o cpu.Options
	cmd := &cobra.Command{
		Use: "verify FILE.npz…", Short: "Recompute reference vectors with this build and compare",
		Args: atLeastOne("NPZ file of reference vectors"),
		RunE: func(cmd *cobra.Command, args []string) error {
			backend, err := cpu.New(o)
			if err != nil {
				return badUsage(fmt.Errorf("verify: %w", err))
			}
			defer backend.Close()
			reports, err := verify.Files(cmd.Context(), args, backend)
			if err != nil {
				return err
			}
			write := verify.WriteText
			if asJSON {
				write = verify.WriteJSON
			}
			if err := write(cmd.OutOrStdout(), backend.Name(), reports); err != nil {
				return err
			}
			if err := verify.Failure(reports); err != nil {
				return fmt.Errorf("verify: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	engineFlags(cmd.Flags(), &o)
	return cmd
}

// engineFlags are the flags of commands that compute without settings.
func engineFlags(flags *pflag.FlagSet, o *cpu.Options) {
	flags.StringVar(&o.Kernels, "kernels", "auto", kernelsHelp)
	flags.IntVar(&o.Threads, "threads", 0, threadsHelp)
}

func doctorCommand() *cobra.Command {
	var asJSON, calibrate bool
	var o cpu.Options
	cmd := &cobra.Command{
		Use: "doctor", Short: "Tell what this machine, its terminal and its GPU can do, and why not more", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			backend, err := cpu.New(o)
			if err != nil {
				return badUsage(fmt.Errorf("doctor: %w", err))
			}
			defer backend.Close()
			roofs, err := roofsOf(cmd.Context(), features.Detect(), backend.Kernels(), backend.Threads(), calibrate)
			if roofs == nil {
				return err
			}
			note := errorLine(err)
			if note != "" { // they were measured all the same
				fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: "+note)
			}
			device, err := probe(cmd.Context())
			if err != nil {
				return err
			}
			facts := doctor.Gather(doctor.Options{
				Roofs:   doctorRoofs(roofs, note),
				Version: version, CPU: cpu.Processor(), Kernels: cpu.KernelNames(), Using: backend.Kernels(),
				Threads: backend.Threads(), GPU: device, Out: os.Stdout, Env: os.Environ(),
			})
			if asJSON {
				return facts.WriteJSON(cmd.OutOrStdout())
			}
			return facts.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Flags().BoolVar(&calibrate, "calibrate", false, "measure again what this machine can do at most")
	engineFlags(cmd.Flags(), &o)
	return cmd
}

// doctorRoofs are the roofs in the doctor's terms, with a note on how they were measured.
func doctorRoofs(r *roof.Roofs, note string) doctor.Roofs {
	to := doctor.Roofs{GFLOPS: r.GFLOPS, Measured: r.Measured, Note: note}
	for _, l := range r.Levels {
		to.Levels = append(to.Levels, doctor.Level(l))
	}
	return to
}
