package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/gpu/monitor"
	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/export"
	"prismtop/profiles/export/files"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/checkpoint"
	"prismtop/sim/cpu/features"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
)

// runFlags are the flags of a run.
type runFlags struct {
	cli.SettingFlags
	origins  settings.Origins // of the settings
	headless bool
	json     bool
	cli.Look
	lines    bool
	budget   string // for watching, in per cent
	notify   string
	save     string
	exports  []string
	metrics  string
	detach   bool
	onHangup string
	session  string // file for the ID of the session that a run without a screen is to be; empty for none
	dryRun   bool
	record   recordFlags
	keep     keepFlags
	claims   cli.Claims // the files that the flags name

	own []ownFlag // of the workload's command
	// gives settings that own flags name; nil for none
	before func(cmd *cobra.Command) error
	// checks own flags that need one another; nil for none
	join func(flags *pflag.FlagSet, v settings.Values) error
	// of its runs; nil for the workload's
	maker func(workloads.Devices) workload.Maker
	// is given what a run returned; nil for none
	after func(f *runFlags, cmd *cobra.Command, v settings.Values, err error) error

	recorded    string          // path of the recording, once there is one
	watchBudget float64         // 0 to 1
	outlives    bool            // the run goes on when the terminal is lost
	child       *sessions.Child // what this process is of run --detach; nil if it is not
	program     *guest          // whose loop the run is; nil for runs of prismtop's own
}

// runCommand returns the command run.
func runCommand() *cobra.Command {
	var f runFlags
	cmd := f.command()
	cmd.Use, cmd.Short = "run", "Run a reconstruction on the live screen, or without one"
	return cmd
}

// command returns a command without a name that runs what the flags say.
func (f *runFlags) command() *cobra.Command {
	cmd := &cobra.Command{
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.child = sessions.IsChild()
			v, err := f.settings(cmd)
			switch {
			case err != nil:
				return cli.BadUsage(err)
			case f.dryRun:
				return f.foresee(cmd, v)
			case f.detach && f.child == nil:
				return f.begin(cmd)
			}
			err = f.run(cmd, v)
			if f.after != nil {
				err = f.after(f, cmd, v, err)
			}
			return err
		},
	}
	flags := cmd.Flags()
	f.SettingFlags.Own = true
	f.SettingFlags.Register(flags)
	f.registerOwn(flags)
	f.registerWatching(flags)
	flags.BoolVar(&f.dryRun, "dry-run", false, "run nothing: print the memory and the time that the run would take, "+
		"from its plan and a second of its iterations; with --json as one object")
	flags.StringVar(&f.save, "save", "", f.saveHelp())
	f.keep.register(flags)
	return cmd
}

// registerWatching defines the flags of how a run is watched, recorded and handed on, whatever it runs.
func (f *runFlags) registerWatching(flags *pflag.FlagSet) {
	flags.BoolVar(&f.headless, "headless", false,
		"without a screen: progress on standard error, the summary on standard output")
	flags.BoolVar(&f.json, "json", false, "the summary as one JSON object (prismtop docs json); implies --headless")
	f.Look.Register(flags)
	cli.RegisterQuiet(flags)
	flags.BoolVar(&f.lines, "lines", false,
		"lines of text instead of the screen, for screen readers and logs; settings and commands are typed")
	flags.StringVar(&f.budget, "watch-budget", "1",
		"percentage of the run's speed that the screen may cost; above it there are fewer frames, pictures and "+
			"quality measurements; 0 is no limit")
	flags.StringVar(&f.notify, "notify", "off",
		"how to tell that the run finished, failed or stalled: off, or bell, osc9, osc777 or several of them with "+
			"commas between")
	flags.BoolVar(&f.detach, "detach", false,
		"run without a screen or a terminal, and print the ID for prismtop attach (prismtop docs sessions)")
	flags.StringVar(&f.onHangup, "on-hangup", "auto",
		"what the loss of the terminal does to a run on the screen: detach leaves it going, end ends it; auto "+
			"detaches in an SSH login")
	flags.StringVar(&f.session, "session", "",
		"file for the ID of the session that this run without a screen is, for prismtop attach")
	_ = flags.MarkHidden("session") // it is there
	f.record.register(flags)
	flags.StringArrayVar(&f.exports, "export", nil,
		"write the run to a file while it goes on, as FORMAT=PATH with the format "+files.Names()+
			" (prismtop docs export); may be given again")
	flags.StringVar(&f.metrics, "metrics", "",
		"serve metrics for Prometheus over HTTP at HOST:PORT, or at PORT for this machine alone")
}

// saveHelp describes the flag --save.
func (f *runFlags) saveHelp() string {
	if f.Of == nil {
		return "path to save the reconstruction to at the end, as .png and .npy, which replace files of that name"
	}
	if f.Of.Saves == nil {
		return "refused: these tasks write their own results"
	}
	return "path to save the result to at the end, with the endings " + strings.Join(f.Of.Saves, ", ") +
		"; files of these names are replaced"
}

// settings merges preset, file, environment and flags, and checks the path of --save.
func (f *runFlags) settings(cmd *cobra.Command) (settings.Values, error) {
	f.readOwn(cmd.Flags())
	if f.before != nil {
		if err := f.before(cmd); err != nil {
			return settings.Values{}, err
		}
	}
	v, origins, err := f.keep.resolve(cmd.Context(), cmd.Flags(), &f.SettingFlags)
	f.origins = origins
	if err == nil && f.join != nil {
		err = f.join(cmd.Flags(), v)
	}
	if err == nil {
		err = f.record.check(cmd.Context(), cmd.Flags(), f.keep.resumed)
	}
	if err == nil && cmd.Flags().Changed("save") {
		f.save, err = savePath(f.save, v)
	}
	if err == nil {
		err = f.claim(cmd.Context(), v)
	}
	return v, err
}

// run performs a reconstruction, with or without the screen.
func (f *runFlags) run(cmd *cobra.Command, v settings.Values) (failed error) {
	cli.ThriftyCollector()
	screen := f.child == nil && !f.lines && !f.headless && !f.json && term.IsTerminal(os.Stdout.Fd()) &&
		term.IsTerminal(os.Stdin.Fd())
	if screen && os.Getenv("TERM") == "dumb" {
		fmt.Fprintln(cli.Notes(cmd), "prismtop: TERM is dumb: lines of text instead of the screen, as with --lines")
		screen, f.lines = false, true
	}
	look, err := f.look(cmd.Flags(), v)
	if err == nil && screen {
		err = cli.ReadKeys(cmd.Context(), &look)
	}
	if err != nil {
		return err
	}
	chosen, err := f.keep.preset(f.Sources)
	if err != nil {
		return cli.BadUsage(err)
	}
	defer f.claims.Release()
	if err := f.claims.Hold(); err != nil {
		return err
	}
	if err := f.keep.unused(cmd.Context()); err != nil {
		return cli.BadUsage(err)
	}
	origins := f.keep.origins(f.origins)
	gpu := cli.FindGPU(cmd.Context()) // beside the first frame
	var recorder *recording.Recorder
	print := fingerprint(chosen.Name, origins)
	handed, err := f.handOn(cmd.Context(), export.Source{
		Version: cli.Version, Preset: chosen.Name, CPU: features.Detect(), Processors: machine.Processors(),
		Origins: origins, Facts: func() map[string]any { return factsOf(&print, recorder, gpu) },
	}, cmd.Flags().Changed("metrics"))
	if err != nil {
		return cli.BadUsage(err)
	}
	defer handed.discard()
	makes := workloads.Of(v).Maker
	if f.maker != nil {
		makes = f.maker
	}
	maker := makes(gpu.Devices())
	joined, notes := f.record.join(cmd.Context(), f.keep.resumed, print)
	notes = append(notes, f.record.announce(cmd.Flags())...)
	if _, moved, err := f.exportTargets(); err == nil {
		notes = append(notes, moved...)
	}
	if seen, ok := needs(cmd.Context(), maker, v, gpu); ok {
		notes = append(notes, "needs "+memoryText(&seen))
	}
	o := sim.Options{
		Maker: maker, Settings: v, Needs: needsOf(maker, gpu), Foresee: !screen && f.child == nil,
		Stream: stream.New(stream.Room), GPUReason: func() string { return gpu.Reason(workloads.Of(v)) },
		Linger: screen || f.lines || f.child != nil, Metrics: cli.MetricsInterval,
		Notes: append(chosen.Notes(v), notes...), Roofs: cli.JudgeRoofs, KeepOutput: f.save != "",
		Checkpoints: sim.Checkpoints{
			Path: f.keep.path, Every: f.keep.every, Keep: f.keep.kept, Lock: f.claims.Add, Program: cli.Version,
			Preset: chosen.Name, Origins: origins, Recording: func() *checkpoint.Recording {
				return recordingOf(recorder)
			},
		},
		Resume: f.keep.resumed, Weights: f.keep.weights, EndTuned: !screen && !f.lines && f.child == nil &&
			v.On(settings.AutoTune),
	}
	sensors := monitor.New()
	defer sensors.Close()
	observed := cli.Observing(sensors)
	if screen || f.child != nil {
		observed = cli.OnScreen(f.watchBudget, sensors)
	}
	if f.program != nil {
		f.program.observe(&o, &observed)
	}
	open := sim.New
	if screen || f.lines || f.child != nil {
		open = sim.Open // opens at once
	}
	notBegun := func(err error) error {
		if joined != nil {
			err = errors.Join(err, joined.Leave(context.WithoutCancel(cmd.Context())))
		}
		if f.json {
			err = errors.Join(f.sourced(err), writeNotBegun(cmd.Context(), cmd.OutOrStdout(), o.Stream,
				workloads.Of(v).Schema(), chosen.Name, err))
			return cli.BadUsage(err)
		}
		return cli.BadUsage(f.sourced(err))
	}
	reader := o.Stream.Follow()
	handed.listen(o.Stream)
	r, err := open(cmd.Context(), o)
	if err != nil {
		return notBegun(err)
	}
	defer r.Close()
	if err := f.claims.Hold(); err != nil { // in folders that were made meanwhile
		return notBegun(err)
	}
	recorder = f.record.recorder(o.Stream, v, print, gpu, joined)
	if recorder != nil {
		observed.Tape = recorder
		if joined != nil {
			observed.Starts, observed.Notes = joined.Starts(), joined.Notes()
		}
		f.recorded = recorder.Path()
	}
	host := sessions.NewHost(o.Stream)
	var from profiles.Source = reader
	if screen || f.child != nil || f.session != "" {
		from, observed = host.Source(reader), host.Observe(observed)
	}
	show := cli.Live{Run: r, Aggregator: aggregate.New(from, observed)}
	defer func() { host.Close(show.Aggregator.Last()) }()
	closing := sync.OnceValues(func() (recording.Pruned, error) {
		within := recordedWithin
		if (screen || f.lines) && !host.Detached() {
			within = recordedOnScreen
		}
		return f.record.closeRecording(cmd, recorder, show.Aggregator.Last(), within)
	})
	defer func() {
		_, err := closing()
		failed = errors.Join(failed, err)
	}()
	handed.follow(o.Stream, show.Aggregator.Last)
	if f.program != nil {
		defer f.program.follow(o.Stream, show.Aggregator.Last, host)()
	}
	if screen || f.child != nil || f.session != "" {
		if err := f.serve(host, show, &look, o.Stream, recorder); err != nil {
			return err
		}
	}
	if !screen && f.child == nil {
		defer pauseWhileStopped(show)()
	}
	if screen || f.lines || f.child != nil {
		exports := exportsRecorded(recorder)
		err = f.watch(cmd.Context(), cmd.OutOrStdout(), exportable{show, exports}, look, host)
		exports.end()
		errs := cli.NewOutlet(cli.Ending(), os.Stderr) // the terminal may have stopped reading
		errs.Obey(cmd.Flags())
		cmd.SetErr(errs)
	} else {
		err = f.report(cmd, show, look, chosen.Name, closing)
	}
	var crash *sim.PanicError
	var wrong *sim.SettingsError
	if errors.As(err, &wrong) {
		return cli.BadUsage(f.sourced(err))
	}
	err = errors.Join(err, f.keep.reportCheckpoint(cmd, r, err))
	exported := handed.end(cli.Notes(cmd), f.claims, f.recorded)
	if f.save != "" && !errors.As(err, &crash) { // the state is unreliable after a panic
		err = errors.Join(err, f.write(cmd, r, cli.Interrupted(err)))
	}
	return errors.Join(err, exported)
}

// sourced adds to an error about what a run starts from the flag, file or preset that names it.
func (f *runFlags) sourced(err error) error {
	var weights *sim.WeightsError
	if errors.As(err, &weights) {
		return fmt.Errorf("flag --weights: %w", err)
	}
	return preset.From(f.origins, err)
}
