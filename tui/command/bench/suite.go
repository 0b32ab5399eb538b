package bench

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/export/files"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/bench/suite"
	"prismtop/sim/cpu/features"
	"prismtop/sim/prism"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// suiteFlags are the flags of the commands that run PRISM's documented benchmark.
type suiteFlags struct {
	sets    []string
	output  string
	force   bool
	json    bool
	rounds  int
	seconds float64
	set     string
	presets []string
	list    bool
	amp     *ampFlags // of bench amp
	history historyFlags

	executor, folder string // of the suite as a sweep
}

// part is a command that measures a part of the suite, or all of it.
type part struct {
	use, short string

	whole bool                              // the master summary and the claims are written too
	extra func(*cobra.Command, *suiteFlags) // flags of its own
	plan  func(*suite.Suite, *suiteFlags, func(*profiles.Event))
	text  func(*suite.Report, io.Writer) error
	sides bool     // it has workloads without and with optimisations, whose settings are fixed
	aside bool     // its results are none for the history
	tapes bool     // the profile's files are written
	files []string // what the names of its files begin with; nil for all
	sweep Sweep    // runs its parts as a sweep; nil if it has none
}

// register defines the flags.
func (f *suiteFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.sets, "set", nil, "one setting of every workload as key=value; may be given again")
	flags.StringVar(&f.output, "output", "", "folder for the files, made if it is not there; none are written without")
	flags.BoolVar(&f.force, "force", false, "replace files of the same names in the folder")
	flags.BoolVar(&f.json, "json", false, "the result as one JSON object (prismtop docs benchmarks)")
}

// rounds defines the flags of a comparison.
func roundFlags(cmd *cobra.Command, f *suiteFlags) {
	cmd.Flags().IntVar(&f.rounds, "rounds", suite.Rounds,
		"rounds of each comparison, of one run of either side; below 6 there is no interval")
}

func secondsFlag(cmd *cobra.Command, f *suiteFlags) {
	cmd.Flags().Float64Var(&f.seconds, "seconds", 5, "seconds of each measurement of iterations and forward passes")
}

// setFlag defines the flag of the set of optimisations.
func setFlag(cmd *cobra.Command, f *suiteFlags) {
	cmd.Flags().StringVar(&f.set, "optimizations", string(suite.Documented),
		"what is switched: prism, those of PRISM's documents; or all, this program's too")
}

// suiteCommands returns bench baseline, optimized, compare, profile, all and claims.
func suiteCommands(sweep Sweep) []*cobra.Command {
	side := func(side suite.Side, report func(*suite.Report) *suite.Result, title string) *part {
		return &part{extra: setFlag, sides: true,
			plan: func(s *suite.Suite, f *suiteFlags, _ func(*profiles.Event)) {
				s.Side("standard", suite.Set(f.set), side, 1)
			},
			text: suite.Text(title, suite.Runs(report))}
	}
	baseline := side(suite.Baseline, func(r *suite.Report) *suite.Result { return r.Baseline }, "Baseline performance")
	baseline.files = []string{"phase5_baseline_"}
	baseline.use, baseline.short = "baseline", "Run the workload standard without PRISM's optimisations"
	optimized := side(suite.Optimized, func(r *suite.Report) *suite.Result { return r.Optimized },
		"Optimised performance")
	optimized.files = []string{"phase5_optimized_"}
	optimized.use, optimized.short = "optimized", "Run the workload standard with PRISM's optimisations"
	parts := []*part{baseline, optimized, {
		use: "performance", short: "Measure the model as PRISM's baseline-v0.2.0.md does",
		extra: secondsFlag,
		plan:  func(s *suite.Suite, _ *suiteFlags, _ func(*profiles.Event)) { s.Model(1) },
		text:  suite.Text("Performance baseline", suite.TheModel),
		files: []string{"performance_baseline"},
	}, {
		use: "compare", sides: true,
		short: "Run a workload without and with PRISM's optimisations by turns, for the speed-up",
		extra: func(cmd *cobra.Command, f *suiteFlags) {
			roundFlags(cmd, f)
			setFlag(cmd, f)
			cmd.Flags().StringSliceVar(&f.presets, "preset", []string{"standard"}, "workloads to compare")
		},
		plan: func(s *suite.Suite, f *suiteFlags, _ func(*profiles.Event)) {
			for _, name := range f.presets {
				s.Compare(name, suite.Set(f.set), 1)
			}
		},
		text:  suite.Text("Comparison report", suite.TheComparisons, suite.TheChecklist),
		files: []string{"phase5_comparison"},
	}, {
		use: "measurement-cache", aside: true,
		short: "Time one measurement, computed and from the measurement cache, by turns",
		plan:  func(s *suite.Suite, _ *suiteFlags, _ func(*profiles.Event)) { s.Cached(1) },
		text:  suite.Text("The measurement cache", suite.OneMeasurement),
		sides: true,
		files: []string{"measurement_cache"},
	}, {
		use: "inference", aside: true, short: "Measure what preparing a trained decoder for inference gives",
		extra: func(cmd *cobra.Command, f *suiteFlags) {
			f.presets = []string{"phase5"}
			cmd.Flags().StringVar(&f.presets[0], "preset", "phase5", "workload that trains the decoder")
		},
		plan: func(s *suite.Suite, f *suiteFlags, _ func(*profiles.Event)) {
			s.Inference(f.presets[0], 1)
		},
		text:  suite.Text("Inference: the trained decoder's output alone", suite.TheForms),
		files: []string{"inference_"},
	}, {
		use: "profile", aside: true, short: "Profile PRISM's profiling workload by phases and steps",
		plan:  func(s *suite.Suite, _ *suiteFlags, tape func(*profiles.Event)) { s.Profile(tape, 1) },
		text:  suite.Text("Processor time: phases, and the steps that take longest", suite.TheProfile),
		tapes: true,
		files: []string{"profiling"},
	}, {
		use: "all", short: "Run PRISM's documented benchmark whole, with its files and claims", whole: true,
		sides: true, tapes: true,
		extra: func(cmd *cobra.Command, f *suiteFlags) {
			roundFlags(cmd, f)
			secondsFlag(cmd, f)
			cmd.Flags().StringVar(&f.executor, "executor", "", "run the parts as a sweep: local, one after the other "+
				"in processes of their own, or slurm, an array (prismtop docs sweep)")
			cmd.Flags().StringVar(&f.folder, "folder", "",
				"folder of the sweep, which all machines share; the parts' files are in its runs")
		},
		plan:  planAll,
		sweep: sweep,
		text:  (*suite.Report).WriteMaster,
	}, {
		use: "claims", short: "Put every claimed figure beside the one measured here", whole: true, sides: true,
		files: []string{"performance_baseline", "phase5_comparison", "phase5_master", "measurement_cache", "inference_",
			"claims", "report", "benchmark"},
		extra: func(cmd *cobra.Command, f *suiteFlags) {
			roundFlags(cmd, f)
			secondsFlag(cmd, f)
			cmd.Flags().BoolVar(&f.list, "list", false, "measure nothing")
		},
		plan: func(s *suite.Suite, f *suiteFlags, _ func(*profiles.Event)) {
			if !f.list {
				planClaims(s, f)
			}
		},
		text: suite.Text("Claims of PRISM's documents and measurements", suite.TheClaims),
	}}
	var commands []*cobra.Command
	for _, p := range append(parts, ampPart()) {
		commands = append(commands, p.command())
	}
	return commands
}

// planClaims adds what the claims need. The weights are seconds on two cores.
func planClaims(s *suite.Suite, f *suiteFlags) {
	rounds := float64(f.rounds)
	s.Model(3*f.seconds + 2)
	s.Compare("standard", suite.Documented, 7*rounds)
	s.Compare("standard", suite.Everything, 6*rounds)
	s.Compare("phase5", suite.Documented, 42*rounds)
	s.Compare("guide", suite.Documented, 18*rounds)
	s.Cached(6)
	s.Effects("phase5", []string{"measurement_cache", "fft_cache", "mask_cache", "amp"}, 7*rounds)
	s.Inference("phase5", 14)
}

func planAll(s *suite.Suite, f *suiteFlags, tape func(*profiles.Event)) {
	s.Side("standard", suite.Documented, suite.Baseline, 12)
	s.Side("standard", suite.Documented, suite.Optimized, 10)
	s.Profile(tape, 2)
	planClaims(s, f)
	amp := suite.DefaultAMP()
	// at the preset's learning rate
	s.AMP(suite.AMPOptions{Sizes: amp.Sizes, Iterations: amp.Iterations, Seeds: 3}, 160)
}

// command returns the command of a part.
func (p *part) command() *cobra.Command {
	f := &suiteFlags{rounds: suite.Rounds, seconds: 5, set: string(suite.Documented)}
	cmd := &cobra.Command{Use: p.use, Short: p.short, Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd, f) }}
	f.register(cmd)
	if !p.aside {
		f.history.register(cmd.Flags())
	}
	if p.extra != nil {
		p.extra(cmd, f)
	}
	return cmd
}

// check checks the flags, and notes the file of the history in claims.
func (f *suiteFlags) check(claims cli.Claims) error {
	switch {
	case f.rounds < 1 || f.rounds > mostRounds:
		return fmt.Errorf("flag --rounds: %d: must be from 1 to %d", f.rounds, mostRounds)
	case !(f.seconds > 0) || f.seconds > 600:
		return fmt.Errorf("flag --seconds: %g: must be above 0, and 600 at most", f.seconds)
	case f.set != string(suite.Documented) && f.set != string(suite.Everything):
		return fmt.Errorf("flag --optimizations: %q: must be %s or %s", f.set, suite.Documented, suite.Everything)
	case f.force && f.output == "":
		return errors.New("flag --force: replaces files of --output, which is missing")
	}
	for _, name := range f.presets {
		if p, err := workloads.Presets().Lookup(name); err != nil {
			return fmt.Errorf("flag --preset: %w", err)
		} else if p.Settings.Table() != prism.Table {
			return fmt.Errorf("flag --preset: %s is of the workload %s: must be one of %s", name, p.Workload(),
				prism.Table.Workload)
		} else if _, err := f.settings(p.Name, nil); err != nil {
			return err
		}
	}
	if err := f.history.check(claims); err != nil {
		return err
	}
	if _, err := f.settings("standard", nil); err != nil {
		return err
	}
	if f.amp != nil { // after the settings, whose errors are not those of a size
		return f.amp.check(f)
	}
	return nil
}

// checkSides returns an error for a setting that the sides of a comparison decide.
func (f *suiteFlags) checkSides() error {
	return checkSets(f.sets, "the comparison decides it: off, on, or the same on both sides",
		append(suite.Set(f.set).Fixed(), "seed")...)
}

// checkSets returns an error for a setting that something else decides.
func checkSets(sets []string, decides string, keys ...string) error {
	for _, set := range sets {
		if key, _, _ := strings.Cut(set, "="); slices.Contains(keys, strings.TrimSpace(key)) {
			return fmt.Errorf("flag --set: %s: %s", strings.TrimSpace(key), decides)
		}
	}
	return nil
}

// changed returns the settings in which the standard workload differs from its preset, as key=value.
func (f *suiteFlags) changed(v settings.Values) (all []string) {
	p, err := workloads.Presets().Lookup("standard")
	if err != nil {
		return nil
	}
	for _, k := range v.Keys() {
		if v.Get(k.Name) != p.Settings.Get(k.Name) {
			all = append(all, k.Name+"="+v.Get(k.Name))
		}
	}
	return all
}

// settings returns the settings of a workload of PRISM with the environment's, the user's, and sets.
func (f *suiteFlags) settings(name string, sets []settings.Assignment) (settings.Values, error) {
	v, _, err := f.resolve(name)
	if err != nil {
		return v, err
	}
	return v.With(sets...)
}

// resolve is settings without sets, and with the origin of each value.
func (f *suiteFlags) resolve(name string) (settings.Values, settings.Origins, error) {
	return preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: name, Env: os.Environ(),
		EnvOthers: cli.OtherEnvironment, Sets: f.sets})
}

// run measures and reports.
func (p *part) run(cmd *cobra.Command, f *suiteFlags) error {
	claims := cli.Claims{}
	err := f.check(claims)
	if err == nil && p.sides {
		err = f.checkSides()
	}
	if err != nil {
		return cli.BadUsage(err)
	}
	if f.executor != "" || f.folder != "" {
		return p.asSweep(cmd, f)
	}
	ctx := cmd.Context()
	v, origins, err := f.resolve("standard")
	if err != nil {
		return cli.BadUsage(err)
	}
	maker, _, err := cli.OfPRISM(ctx, v)
	if err != nil {
		return cli.BadUsage(preset.From(origins, err))
	}
	device, err := cli.Probe(ctx)
	if err != nil {
		return cli.ErrInterrupted
	}
	out, err := p.open(f, claims)
	if err != nil {
		return cli.BadUsage(err)
	}
	defer out.close()
	shown := newProgress(cmd)
	defer shown.end()
	o := suite.Options{Maker: maker, Settings: f.settings, Build: cli.Build(), Processor: features.Detect(),
		GPUReason: device.Reason, Changed: f.changed(v), Rounds: f.rounds,
		Time: time.Duration(f.seconds * float64(time.Second)),
		Progress: func(what string, done float64, left time.Duration) {
			text := ""
			if left > 0 {
				text = ", " + unit.Estimate(left) + " left"
			}
			shown.report("%3.0f %% · %s%s      ", 100*done, what, text)
		}}
	if card := cli.CardOf(device, v); card != nil {
		o.GPU, o.GPUAbout, o.NoBF16, o.GPUReason = card.Name, device.About(card), !card.MultipliesBF16(), ""
	}
	s := suite.New(o)
	cli.ThriftyCollector()
	p.plan(s, f, out.take)
	report, err := s.Run(ctx)
	shown.end()
	if ctx.Err() != nil {
		err = cli.ErrInterrupted
	}
	if report.Profile == nil {
		out.discard()
	}
	return errors.Join(out.write(report, p.whole), p.print(cmd.OutOrStdout(), report, f.json),
		f.history.keep(cmd.ErrOrStderr(), report.Entries()), f.keepAdvice(report), err)
}

// asSweep runs the parts of bench all as arms of a sweep.
func (p *part) asSweep(cmd *cobra.Command, f *suiteFlags) error {
	switch {
	case f.folder == "":
		return cli.BadUsage(errors.New("flag --executor: needs --folder, the folder of the sweep"))
	case f.output != "":
		return cli.BadUsage(errors.New("flag --output: cannot be joined with --executor: the files are in the " +
			"sweep's folder"))
	}
	var all []Arm
	for _, name := range []string{"baseline", "optimized", "profile", "claims", "amp"} {
		a := Arm{name, []string{name, "--output", "{output}", "--force"}}
		for _, set := range f.sets {
			a.Args = append(a.Args, "--set", set)
		}
		if name == "claims" {
			a.Args = append(a.Args, "--rounds", strconv.Itoa(f.rounds), "--seconds",
				strconv.FormatFloat(f.seconds, 'g', -1, 64))
		}
		all = append(all, a)
	}
	return p.sweep(cmd, f.folder, cmp.Or(f.executor, "local"), all)
}

// print prints the report.
func (p *part) print(w io.Writer, r *suite.Report, asJSON bool) error {
	if asJSON {
		return export.WriteObject(w, r)
	}
	return p.text(r, w)
}

// suiteOutput is the folder of a report.
type suiteOutput struct {
	outputFolder
	checked []string // names of files that may be written
	exports *files.Exports
}

// names lists the files that the command may write, in the folder of its output.
func (p *part) names() []string {
	names := suite.FileNames(p.whole)
	if p.tapes {
		names = append(names, filepath.Join("profiling", "trace.json"), filepath.Join("profiling", "tensorboard"))
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return p.files != nil && !slices.ContainsFunc(p.files, func(start string) bool {
			return strings.HasPrefix(name, start)
		})
	})
}

// open prepares the folder. None of its files may be one in claims.
func (p *part) open(f *suiteFlags, claims cli.Claims) (*suiteOutput, error) {
	o := &suiteOutput{outputFolder: outputFolder{path: f.output, claims: claims}}
	if f.output == "" {
		return o, nil
	}
	o.checked = p.names()
	if err := o.prepare(o.checked, f.force); err != nil {
		return nil, err
	}
	if !p.tapes {
		return o, nil
	}
	folder := filepath.Join(f.output, "profiling")
	var targets []files.Target
	for _, t := range []string{"chrome=" + filepath.Join(folder, "trace.json"),
		"tensorboard=" + filepath.Join(folder, "tensorboard")} {
		target, err := files.Parse(t)
		if err != nil {
			o.close()
			return nil, err
		}
		targets = append(targets, target)
	}
	var err error
	if o.exports, err = files.Open(targets, export.Source{Version: cli.Version, Preset: "profiling"}, nil); err != nil {
		o.close()
		return nil, fmt.Errorf("flag --output: %w", err)
	}
	return o, nil
}

// take takes an event of the profile's run.
func (o *suiteOutput) take(e *profiles.Event) {
	if o.exports != nil {
		o.exports.Take(e)
	}
}

// discard drops the files that are not complete.
func (o *suiteOutput) discard() {
	if o.exports != nil {
		o.exports.Discard()
		o.exports = nil
	}
}

// close drops the files that are not complete, and gives the folder back.
func (o *suiteOutput) close() {
	o.discard()
	o.outputFolder.close()
}

// write writes the files of what was measured, all or none of them.
func (o *suiteOutput) write(r *suite.Report, whole bool) error {
	if o.path == "" {
		return nil
	}
	var err error
	if o.exports != nil {
		_, err = o.exports.Close(r.Profile.Lost)
		o.exports = nil
	}
	names, data, broken := r.Files(whole)
	if broken != nil {
		return errors.Join(err, broken)
	}
	for _, name := range names { // those of the folder were looked at before anything was measured
		if !slices.Contains(o.checked, name) {
			return errors.Join(err, fmt.Errorf("flag --output: %s was not checked before the measurement, and is "+
				"not written", name))
		}
	}
	return errors.Join(err, o.outputFolder.write(names, data))
}
