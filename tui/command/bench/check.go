package bench

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/export"
	"prismtop/profiles/history"
	"prismtop/profiles/preset"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/bench/builds"
	"prismtop/sim/bench/suite"
	"prismtop/sim/cpu/features"
	"prismtop/tui/command/cli"
	"prismtop/tui/terminal"
)

// checkFlags are the flags of bench check.
type checkFlags struct {
	history   historyFlags
	reference string
	old       string
	failOver  string
	sets      []string
	seconds   float64
	rounds    int
	json      bool
	markdown  bool

	store        bool
	measurements int
	force        bool

	limit float64 // a share
}

// checkCommand returns the command bench check.
func checkCommand() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use: "check", Short: "Measure this build, and judge whether it is slower than the history",
		Args: cli.NoArguments, RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	f.history.register(flags)
	flags.StringVar(&f.reference, "reference", "",
		"stored reference, or history, to compare with in place of the usual ones; with --store the file to write")
	flags.BoolVar(&f.store, "store", false,
		"measure this build, and store it as the reference of this processor, its kernels and threads")
	flags.IntVar(&f.measurements, "measurements", 3, "measurements to store with --store")
	flags.BoolVar(&f.force, "force", false, "replace the stored reference of another build with --store")
	flags.StringVar(&f.old, "old", "", "path of the old program, which is run by turns with this one")
	flags.StringVar(&f.failOver, "fail-over", "5%", "percentage by which a time or memory may be worse")
	flags.StringArrayVar(&f.sets, "set", nil, "one setting of the work as key=value; may be given again")
	flags.Float64Var(&f.seconds, "seconds", 5, "seconds of each measurement of iterations and forward passes")
	flags.IntVar(&f.rounds, "rounds", 64, "rounds of four turns with --old")
	flags.BoolVar(&f.json, "json", false, "the check as one JSON object (prismtop docs benchmarks)")
	flags.BoolVar(&f.markdown, "markdown", false, "Markdown, for an issue")
	return cmd
}

// check checks the flags.
func (f *checkFlags) check(cmd *cobra.Command, claims cli.Claims) error {
	percent, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(f.failOver), "%")), 64)
	given := cmd.Flags().Changed
	switch {
	case err != nil || !(percent >= 0 && percent <= 10_000):
		return fmt.Errorf("flag --fail-over: %q: must be a percentage of at least 0, as 5%%", f.failOver)
	case f.json && f.markdown:
		return errors.New("flag --markdown: cannot be joined with --json")
	case f.old != "" && f.reference != "":
		return errors.New("flag --old: cannot be joined with --reference: both programs are measured")
	case f.old != "" && (f.history.path != "" || f.history.note != "" || given("seconds")):
		return errors.New("flag --old: both programs are measured by turns: --history, --note and --seconds " +
			"do not apply")
	case f.old == "" && given("rounds"):
		return errors.New("flag --rounds: is for --old")
	case f.old != "" && (f.rounds < leastStarts || f.rounds > mostRounds):
		return fmt.Errorf("flag --rounds: %d: must be from %d to %d", f.rounds, leastStarts, mostRounds)
	case !(f.seconds > 0) || f.seconds > 600:
		return fmt.Errorf("flag --seconds: %g: must be above 0, and 600 at most", f.seconds)
	case f.store && (f.old != "" || f.json || f.markdown || given("fail-over")):
		return errors.New("flag --store: nothing is judged: --old, --json, --markdown and --fail-over do not apply")
	case !f.store && (f.force || given("measurements")):
		return errors.New("flags --force and --measurements: are for --store")
	case f.measurements < 1 || f.measurements > mostMeasurements:
		return fmt.Errorf("flag --measurements: %d: must be from 1 to %d", f.measurements, mostMeasurements)
	}
	f.limit = percent / 100
	switch {
	case f.store && f.reference != "":
		if err := cli.WritableFiles("reference", f.reference, f.reference, f.reference); err != nil {
			return err
		}
		if err := claims.Replace("flag --reference", history.Is, f.reference); err != nil {
			return err
		}
	case f.reference != "":
		if _, err := os.Stat(f.reference); err != nil {
			return fmt.Errorf("flag --reference: %s: %w", f.reference, cli.Bare(err))
		}
		if err := claims.Read("flag --reference", f.reference); err != nil {
			return err
		}
	}
	return f.history.check(claims)
}

func (f *checkFlags) run(cmd *cobra.Command) error {
	claims := cli.Claims{}
	defer claims.Release()
	if err := f.check(cmd, claims); err != nil {
		return cli.BadUsage(err)
	}
	switch {
	case f.old != "":
		return f.byTurns(cmd)
	case f.store:
		return f.keep(cmd, claims)
	}
	named, past, err := f.entries(cmd)
	if err != nil {
		return err
	}
	fresh, err := f.measure(cmd)
	if err != nil {
		return err
	}
	var c *history.Check
	switch {
	case history.Stored(named):
		c = history.JudgeStored(named, past, *fresh, f.limit)
	case f.reference != "":
		c = history.Judge(named, *fresh, f.limit)
	default:
		stored, err := f.stored(cmd, fresh)
		if err != nil {
			return err
		}
		c = history.Judge(slices.Concat(stored, past), *fresh, f.limit)
	}
	switch {
	case f.json:
		err = export.WriteObject(cmd.OutOrStdout(), c)
	case f.markdown:
		err = c.WriteMarkdown(cmd.OutOrStdout())
	default:
		err = c.WriteText(cmd.OutOrStdout())
	}
	return errors.Join(err, f.history.keep(cmd.ErrOrStderr(), []history.Entry{*fresh}), failure(c))
}

// failure returns the error for a verdict.
func failure(c *history.Check) error {
	err := fmt.Errorf("bench check: %s: %s", c.Verdict, c.Reason)
	switch c.Verdict {
	case history.Pass:
		return nil
	case history.Undecided:
		return cli.Undecided(err)
	case history.Elsewhere:
		return cli.Elsewhere(err)
	}
	return err
}

// mostMeasurements bounds --measurements.
const mostMeasurements = 100

// referenceFile returns the file of the stored reference of a measurement's processor.
func (f *checkFlags) referenceFile(e *history.Entry) (string, error) {
	if f.reference != "" {
		return f.reference, nil
	}
	folder, err := history.ReferenceFolder()
	return filepath.Join(folder, e.ReferenceName()), cli.BadUsage(err)
}

// stored reads the stored reference of a measurement's processor; a missing one is empty.
func (f *checkFlags) stored(cmd *cobra.Command, e *history.Entry) ([]history.Entry, error) {
	path, err := f.referenceFile(e)
	if err != nil {
		return nil, err
	}
	entries, _, err := readHistory(cmd, path)
	return entries, err
}

// keep measures this build and stores it as the reference of its processor.
func (f *checkFlags) keep(cmd *cobra.Command, claims cli.Claims) error {
	var measured []history.Entry
	var path string
	for range f.measurements {
		e, err := f.measure(cmd)
		if err != nil {
			return err
		}
		measured = append(measured, *e)
		if path == "" { // refused before the others are measured
			if path, err = f.referenceFile(e); err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return fmt.Errorf("bench check: %w", err)
			}
			if f.reference == "" {
				err = claims.Add(path)
			} else {
				err = claims.Hold()
			}
			if err != nil {
				return err
			}
			if _, err := f.joined(cmd, path, measured); err != nil {
				return err
			}
		}
	}
	all, err := f.joined(cmd, path, measured)
	if err != nil {
		return err
	}
	if err := history.Write(path, all); err != nil {
		return fmt.Errorf("bench check: %w", err)
	}
	first := &measured[0]
	_, err = fmt.Fprintf(cmd.OutOrStdout(),
		"Stored %s of build %s in %s: the reference of %s with kernels %s and %s.\n",
		unit.Plural(len(measured), "measurement", "measurements"), first.Build, visible.Text(path),
		visible.Text(first.Machine.CPU), first.Kernels,
		unit.Plural(first.Threads, "thread", "threads"))
	return errors.Join(err, f.history.keep(cmd.ErrOrStderr(), measured))
}

// joined returns a file of references with the measurements.
func (f *checkFlags) joined(cmd *cobra.Command, path string, measured []history.Entry) ([]history.Entry, error) {
	file, _, err := history.Read(cmd.Context(), path)
	if err != nil {
		return nil, err
	}
	all, err := history.Store(file, measured, whoStores(), f.force)
	if err != nil {
		return nil, fmt.Errorf("bench check: %s: %w", visible.Text(path), err)
	}
	return all, nil
}

// whoStores names the user and the host: "ada@lab-3".
func whoStores() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// entries reads the file of --reference and the history.
func (f *checkFlags) entries(cmd *cobra.Command) (named, past []history.Entry, err error) {
	if f.reference != "" {
		if named, _, err = readHistory(cmd, f.reference); err != nil {
			return nil, nil, cli.BadUsage(err)
		}
		if len(named) == 0 {
			return nil, nil, cli.BadUsage(fmt.Errorf("flag --reference: %s: has no entry: must be a stored reference, "+
				"which bench check --store writes, or a history", f.reference))
		}
	}
	path, err := f.history.file()
	switch {
	case err != nil && f.reference != "": // without a history its file decides alone
		return named, nil, nil
	case err == nil:
		past, _, err = readHistory(cmd, path)
	}
	return named, past, cli.BadUsage(err)
}

// measure measures the model.
func (f *checkFlags) measure(cmd *cobra.Command) (*history.Entry, error) {
	p := suiteFlags{sets: f.sets}
	v, origins, err := p.resolve("standard")
	if err != nil {
		return nil, cli.BadUsage(err)
	}
	ctx := cmd.Context()
	maker, _, err := cli.OfPRISM(ctx, v)
	if err != nil {
		return nil, cli.BadUsage(preset.From(origins, err))
	}
	shown := newProgress(cmd)
	defer shown.end()
	s := suite.New(suite.Options{Maker: maker, Settings: p.settings, Build: cli.Build(), Processor: features.Detect(),
		Time: time.Duration(f.seconds * float64(time.Second)),
		Progress: func(what string, done float64, _ time.Duration) {
			shown.report("%3.0f %% · %s      ", 100*done, what)
		}})
	cli.ThriftyCollector()
	s.Model(1)
	report, err := s.Run(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, cli.ErrInterrupted
	case err != nil:
		return nil, fmt.Errorf("bench check: %w", err)
	}
	entries := report.Entries()
	return &entries[0], nil
}

// turnsJSON is bench check --old --json.
type turnsJSON struct {
	Schema     int             `json:"schema"`
	Verdict    history.Verdict `json:"verdict"`
	Reason     string          `json:"reason"`
	Limit      float64         `json:"limit"`
	Build      history.Build   `json:"build"`
	Machine    history.Machine `json:"machine"`
	Comparison any             `json:"comparison"` // of docs/compare.md
}

// byTurns compares the old program and this one by turns.
func (f *checkFlags) byTurns(cmd *cobra.Command) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("bench check: this program's path: %w", err)
	}
	c, err := cli.CompareByTurns(cmd, builds.Options{
		Programs: buildPrograms(f.old, self, cli.Baseline, f.sets), Rounds: f.rounds, Starts: min(8, f.rounds),
		Turn: 250 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	t := judgeTurns(c, f.limit)
	out := cmd.OutOrStdout()
	switch {
	case f.json:
		err = export.WriteObject(out, &t)
	case f.markdown:
		if _, err = fmt.Fprintf(out, "## Performance: %s\n\n%s\n\n", t.Verdict, visible.Text(t.Reason)); err == nil {
			err = compare.WriteMarkdown(out, c)
		}
	default:
		if _, err = fmt.Fprintf(out, "%s: %s\n\n", strings.ToUpper(string(t.Verdict)),
			visible.Text(t.Reason)); err == nil {
			err = compare.WriteText(out, c, terminal.Columns(out))
		}
	}
	return errors.Join(err, failure(&history.Check{Verdict: t.Verdict, Reason: t.Reason}))
}

// judgeTurns judges a comparison by turns: as a reference of the history is, a time passes if its whole
// interval is within the limit.
func judgeTurns(c *compare.Comparison, limit float64) turnsJSON {
	t := turnsJSON{Schema: history.Schema, Verdict: history.Pass,
		Reason: "nothing is worse by more than " + unit.Share(limit), Limit: limit,
		Build: cli.Build(), Machine: thisMachine()}
	over, undecided := c.Over(limit), c.Undecided(limit)
	switch {
	case len(over) > 0:
		t.Verdict, t.Reason = history.Worse, "worse by more than "+unit.Share(limit)+": "+cli.WorseRows(c, over)
	case undecided != "":
		t.Verdict, t.Reason = history.Undecided, undecided
	default:
		if row := slices.IndexFunc(c.Rows, func(r compare.Row) bool { return mayBeWorse(&r, limit) }); row >= 0 {
			t.Verdict = history.Undecided
			t.Reason = fmt.Sprintf("the interval of %s, %s, contains %s: more --rounds narrow it", c.Rows[row].Title,
				strings.TrimSpace(c.Rows[row].Interval(0)), strings.TrimSpace(unit.SignedPercent(limit)))
		}
	}
	t.Comparison = c.JSON(cli.Version, over, undecided)
	return t
}

// mayBeWorse reports whether the interval of a speed reaches beyond the limit.
func mayBeWorse(r *compare.Row, limit float64) bool {
	if r.Group != compare.Speed || len(r.Against) == 0 {
		return false
	}
	d := &r.Against[0]
	if r.Better == profiles.MoreIsBetter {
		return stats.AtLeast(1/(1+limit)-1).Judge(d.Low, d.High) != stats.Within
	}
	return r.Better == profiles.LessIsBetter && stats.AtMost(limit).Judge(d.Low, d.High) != stats.Within
}
