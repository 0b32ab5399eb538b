package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/ptycho/inference"
	"prismtop/sim/ptycho/throughput"
	"prismtop/sim/ptycho/training"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// ownFlag is a flag of one workload's command that sets a setting.
type ownFlag struct{ flag, key, help string }

// ptychoFlags are the settings of an inference with their own flags.
var ptychoFlags = []ownFlag{
	{"size", "size", "N, the side of a diffraction pattern: 64, 128 or 256"},
	{"gridsize", "gridsize", "side of a group of patterns"},
	{"filters-scale", "filters_scale", "factor of all numbers of filters"},
	{"images", "positions", "number of diffraction patterns"},
	{"data", "data", "NPZ file of a measured scan by PtychoPINN's schema, instead of a simulated one"},
	{"data-as", "data_as", "how its patterns are read: amplitude, as PtychoPINN's loader does, or intensity"},
	{"data-factor", "data_factor", "factor of its amplitudes; 0 is PtychoPINN's rule"},
	{"batch-size", settings.BatchSize, "objects that the network computes at a time"},
	{"memory-limit", settings.MemoryLimit, "bound of the run's memory in MiB, of batch sizes and of plans that are kept; 0 is none"},
	{"adaptive", settings.AdaptBatch, "halve the batch size above 90 % of the memory, double it below 50 %, up to 256"},
	{"max-passes", "max_passes", "end after so many passes over the scan; 0 is all"},
}

// ptychoCommand returns the command ptycho: a run of PtychoPINN's inference.
func ptychoCommand() *cobra.Command {
	w := workloads.Of(inference.Table.Zero())
	f := runFlags{SettingFlags: cli.SettingFlags{Of: &w}, own: ptychoFlags, keep: keepFlags{none: true}}
	var from recommended
	f.before = func(cmd *cobra.Command) error { return from.apply(cmd, &f) }
	cmd := f.command()
	from.register(cmd.Flags())
	cmd.Use = "ptycho"
	cmd.Short = "Run PtychoPINN's inference, and tune its batch size while it runs"
	cmd.AddCommand(trainCommand())
	return cmd
}

// recommended is what a sweep recommends for a run: the file and the preset in it.
type recommended struct{ file, preset string }

func (r *recommended) register(flags *pflag.FlagSet) {
	flags.StringVar(&r.file, "batch-sizes", "",
		"batch_sizes.json of bench ptycho: run the network that it is of in a batch size that it recommends")
	flags.StringVar(&r.preset, "recommended", "speed_optimized", "what that batch size is best for: speed_optimized, "+
		"memory_optimized, balanced, real_time or another preset of the file")
}

// largestBatchSizes bounds a file of batch sizes, in bytes.
const largestBatchSizes = 1 << 20

// apply passes the recommendation to the settings: the batch size, and the network that it
// is of. Flags of the same settings win.
func (r *recommended) apply(cmd *cobra.Command, f *runFlags) error {
	if r.file == "" {
		if cmd.Flags().Changed("recommended") {
			return errors.New("flag --recommended: is of a file of --batch-sizes, which is missing")
		}
		return nil
	}
	text, err := inputfile.ReadNamed(cmd.Context(), r.file, largestBatchSizes)
	if err != nil {
		return fmt.Errorf("flag --batch-sizes: %w", err)
	}
	var sizes throughput.BatchSizes
	if err := json.Unmarshal(text, &sizes); err != nil || len(sizes.Presets) == 0 {
		return fmt.Errorf("flag --batch-sizes: %s: must be batch_sizes.json of prismtop bench ptycho --output", r.file)
	}
	batch := sizes.Presets[r.preset]["predict"]
	if batch < 1 {
		return fmt.Errorf("flag --recommended: %q: %s has %s", r.preset, r.file,
			strings.Join(slices.Sorted(maps.Keys(sizes.Presets)), ", "))
	}
	for _, s := range []struct {
		flag, key string
		value     int
	}{{"batch-size", settings.BatchSize, batch}, {"size", "size", sizes.Model.Size},
		{"gridsize", "gridsize", sizes.Model.GridSize}, {"filters-scale", "filters_scale", sizes.Model.FiltersScale}} {
		if !cmd.Flags().Changed(s.flag) {
			f.More = append(f.More, preset.Flag{Name: "batch-sizes", Key: s.key, Value: fmt.Sprint(s.value)})
		}
	}
	return nil
}

// tuneFlag is the flag of the workloads' commands that starts the auto-tuner.
const tuneFlag = "tune"

// tunes reports whether the command's workload has an auto-tuner.
func (f *runFlags) tunes() bool { return f.Of != nil && f.Has(settings.AutoTune) }

// registerOwn defines the flags of a workload's command.
func (f *runFlags) registerOwn(flags *pflag.FlagSet) {
	for _, o := range f.own {
		switch k, _ := f.Of.Presets.Table.Lookup(o.key); k.Type {
		case settings.TypeSwitch:
			flags.Bool(o.flag, false, o.help)
		case settings.TypeInteger:
			flags.Int(o.flag, 0, o.help)
		default:
			flags.String(o.flag, "", o.help)
		}
		if flags.Lookup(o.flag).NoOptDefVal == "" {
			flags.Lookup(o.flag).DefValue = ""
		}
	}
	if f.tunes() {
		flags.Bool(tuneFlag, false,
			"find the batch size of the most images a second; without a screen, the run ends when it is found")
	}
}

// readOwn passes the flags of a workload's command to its settings.
func (f *runFlags) readOwn(flags *pflag.FlagSet) {
	for _, o := range f.own {
		if flags.Changed(o.flag) {
			f.More = append(f.More, preset.Flag{Name: o.flag, Key: o.key, Value: flags.Lookup(o.flag).Value.String()})
		}
	}
	if f.tunes() && flags.Changed(tuneFlag) {
		f.More = append(f.More, preset.Flag{Name: tuneFlag, Key: settings.AutoTune,
			Value: fmt.Sprint(flags.Lookup(tuneFlag).Value)})
	}
}

// trainCommand returns the command ptycho train.
func trainCommand() *cobra.Command {
	w := workloads.Of(training.Table.Zero())
	f := runFlags{own: []ownFlag{
		{"data", "data", "NPZ file of a measured scan by PtychoPINN's schema, instead of a simulated one"},
		{"data-as", "data_as", "how its patterns are read: amplitude, as PtychoPINN's loader does, or intensity"},
		{"data-factor", "data_factor", "factor of its amplitudes; 0 is PtychoPINN's rule"},
	}}
	f.Of = &w
	cmd := f.command()
	cmd.Use, cmd.Short = "train", "Train the network on a simulated scan, on the live screen or without one"
	return cmd
}
