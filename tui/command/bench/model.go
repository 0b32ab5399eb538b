package bench

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/export"
	"prismtop/profiles/history"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/sim/bench"
	"prismtop/sim/cpu/features"
	"prismtop/sim/prism"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// benchFlags are the flags of a benchmark.
type benchFlags struct {
	cli.SettingFlags
	size, object int
	loss, amp    string
	options      bench.Options
	json, goText bool
	layers       bool
	history      historyFlags
}

// benchModelCommand returns the command bench model.
func benchModelCommand() *cobra.Command {
	w := workloads.Of(prism.Table.Zero())
	f := benchFlags{SettingFlags: cli.SettingFlags{Of: &w}}
	cmd := &cobra.Command{
		Use: "model", Short: "Time the phases and layers of an iteration, or the decoder's forward pass",
		Args: cli.NoArguments, RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	f.Register(flags)
	flags.IntVar(&f.size, "size", 512, "side of the field in pixels")
	flags.IntVar(&f.object, "object", 128, "side of the object's window in pixels")
	flags.StringVar(&f.loss, "loss", "l1", "l1, l1+ssim in equal parts, or another value of the setting loss")
	flags.StringVar(&f.amp, "amp", "off", "mixed precision, a value of the setting amp")
	flags.BoolVar(&f.options.Forward, "forward", false,
		"measure the decoder's forward pass alone, with running statistics")
	flags.BoolVar(&f.layers, "layers", false,
		"every step of the plan with its share of what this machine can do at most")
	flags.IntVar(&f.options.Warmup, "warmup", 20, "runs before the first that is measured")
	flags.Float64Var(&f.options.MaxForeign, "max-foreign", machine.Quiet,
		"measure again where other programs took more than this share of the processors; 0 keeps everything")
	flags.BoolVar(&f.json, "json", false, "the summary as one JSON object (prismtop docs json)")
	flags.BoolVar(&f.goText, "benchfmt", false,
		"the times in the format of Go's benchmarks, which benchstat compares (prismtop docs performance)")
	f.history.register(flags)
	return cmd
}

// errJoinedJSON is the error of two forms on one standard output.
var errJoinedJSON = errors.New("flag --benchfmt: cannot be joined with --json")

// modelFlags are the flags whose values are settings without conversion.
var modelFlags = [][2]string{{"size", "size"}, {"object", "object_size"}, {"amp", "amp"}}

// settings merges the sources, with the baseline preset as default.
func (f *benchFlags) settings(cmd *cobra.Command) (settings.Values, error) {
	flags := cmd.Flags()
	f.FromBaseline(flags)
	for _, m := range modelFlags {
		if flags.Changed(m[0]) {
			f.More = append(f.More, preset.Flag{Name: m[0], Key: m[1], Value: flags.Lookup(m[0]).Value.String()})
		}
	}
	if flags.Changed("loss") {
		f.More = append(f.More, lossFlags(f.loss)...)
	}
	v, _, err := f.Resolve(cmd.Context(), flags)
	return v, err
}

// lossFlags returns the settings for a value of --loss.
func lossFlags(name string) []preset.Flag {
	if name != "l1+ssim" {
		return []preset.Flag{{Name: "loss", Key: "loss", Value: name}}
	}
	return []preset.Flag{
		{Name: "loss", Key: "loss", Value: "composite"}, {Name: "loss", Key: "composite_l1", Value: "0.5"},
		{Name: "loss", Key: "composite_l2", Value: "0"}, {Name: "loss", Key: "composite_ssim", Value: "0.5"},
	}
}

func (f *benchFlags) run(cmd *cobra.Command) error {
	v, err := f.settings(cmd)
	if err != nil {
		return cli.BadUsage(err)
	}
	claims := cli.Claims{}
	if f.Sources.File != "" {
		_ = claims.Read("--config", f.Sources.File) // it was read; a pipe cannot be appended to
	}
	if err := f.history.check(claims); err != nil {
		return cli.BadUsage(err)
	}
	o := &f.options
	switch {
	case f.json && f.goText:
		return cli.BadUsage(errJoinedJSON)
	case o.Warmup < 0:
		return cli.BadUsage(fmt.Errorf("flag --warmup: %d: must be at least 0", o.Warmup))
	case !(o.MaxForeign >= 0 && o.MaxForeign <= 1):
		return cli.BadUsage(fmt.Errorf("flag --max-foreign: %g: must be from 0 to 1", o.MaxForeign))
	}
	if o.Maker, o.Settings, err = cli.OfPRISM(cmd.Context(), v); err != nil {
		return cli.BadUsage(f.Sourced(err))
	}
	o.Iterations, o.Time = v.Int(settings.MaxIterations),
		time.Duration(v.Number(settings.MaxSeconds)*float64(time.Second))
	if o.Iterations == 0 && o.Time == 0 {
		o.Time = 10 * time.Second
	}
	found, err := cli.Probe(cmd.Context())
	if err != nil {
		return cli.ErrInterrupted
	}
	report, err := bench.Run(cmd.Context(), *o)
	if report != nil { // the reason that every command gives
		report.Run.GPUReason = found.Reason
	}
	switch {
	case cmd.Context().Err() != nil:
		return cli.ErrInterrupted
	case err != nil:
		return cli.BadUsage(f.Sourced(err))
	}
	chosen, err := f.Sources.Chosen()
	if err != nil {
		return cli.BadUsage(err)
	}
	processor := features.Detect()
	summary := report.Summary(cli.Version, chosen.Name, processor)
	if f.layers {
		roofs, err := cli.RoofsOf(cmd.Context(), processor, *summary.Machine.Kernels, report.Threads, false)
		if roofs == nil {
			return err
		}
		if err != nil { // the roofs were measured nevertheless
			fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: "+cli.ErrorLine(err))
		}
		report.AddLayers(summary, roofs)
	}
	write := bench.WriteText
	switch {
	case f.json:
		write = export.WriteJSON
	case f.goText:
		write = func(w io.Writer, s *export.Summary) error { return bench.WriteGo(w, report, s) }
	}
	return errors.Join(write(cmd.OutOrStdout(), summary),
		f.history.keep(cmd.ErrOrStderr(), []history.Entry{modelEntry(report, chosen.Name, v)}))
}

// modelEntry returns a measurement as an entry of the history.
func modelEntry(r *bench.Report, preset string, v settings.Values) history.Entry {
	work, name := "model", history.Iteration
	if r.Options.Forward {
		work, name = "model --forward", history.Forward
	}
	sorted := slices.Sorted(slices.Values(r.Total))
	at := func(q float64) float64 { return stats.Quantile(sorted, q) / 1e6 }
	low, high := at(0.1), at(0.9)
	e := history.Entry{
		Schema: history.Schema, Time: r.Started.UTC().Format(time.RFC3339), Work: work, Preset: preset,
		Settings: history.SettingsOf(v),
		Build:    cli.Build(), Machine: thisMachine(), Kernels: r.Run.Kernels, Threads: r.Threads,
		Figures: []history.Figure{
			{Name: name, Unit: "ms", Value: at(0.5), Low: &low, High: &high, N: len(sorted)},
			{Name: history.Memory, Unit: "bytes", Value: float64(r.Memory.Total()), N: 1},
		},
	}
	e.Machine.GPU = r.Run.Card
	if r.ForeignReason == "" {
		e.Foreign = &r.Foreign
	}
	return e
}
