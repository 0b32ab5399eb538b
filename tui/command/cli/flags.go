package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/loop"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cpu"
	"prismtop/sim/workloads"
)

// SettingFlags are the flags that set settings, for runs and for commands that show a run's
// settings.
type SettingFlags struct {
	Of      *workloads.Workload // the only one that the command runs, with its own default preset; nil for any
	Sources preset.Sources
	More    []preset.Flag // specific to one command
	NoFile  bool          // --config is another flag of the command, no file of settings
	Own     bool          // the user's own file of settings applies: to runs, not to benchmarks
	maxTime time.Duration
	origins settings.Origins // of what Resolve returned
}

// keyFlags are the flags that set one setting each, with its key.
var keyFlags = []struct{ flag, key string }{
	{"image", "image"}, {"device", "device"}, {"threads", "threads"}, {"kernels", "kernels"}, {"seed", "seed"},
	{"max-iterations", "max_iterations"}, {"max-time", "max_seconds"}, {"faithful", "faithful"},
}

// Baseline is the default preset of benchmarks.
const Baseline = "baseline"

const (
	threadsHelp = "threads of the kernels; 0 is one per processor"
	kernelsHelp = "instruction set of the kernels: auto, avx512-bf16, amx, avx512, avx2 or go"
)

// Register defines the flags.
func (f *SettingFlags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Sources.Preset, "preset", "", "preset to start from (see prismtop presets list)")
	if !f.NoFile {
		flags.StringVar(&f.Sources.File, "config", "", f.configHelp())
	}
	flags.StringArrayVar(&f.Sources.Sets, "set", nil, "one setting as key=value; may be given again; a setting's own "+
		"flag, as --seed, wins over it (prismtop docs settings)")
	if f.Has("image") {
		flags.String("image", "", "picture to reconstruct, a file")
	}
	if f.Has("device") {
		flags.String("device", "auto", f.deviceHelp())
	}
	flags.Int("threads", 0, threadsHelp)
	flags.String("kernels", "auto", kernelsHelp)
	flags.Uint64("seed", 0, "seed of weights, noise and random patterns")
	flags.Int64("max-iterations", 0, "end after so many iterations; 0 is no limit")
	flags.DurationVar(&f.maxTime, "max-time", 0, "end after so much running time, as 90s or 5m")
	if f.Has("faithful") {
		flags.Bool("faithful", false, "keep PRISM's defects (prismtop docs faithful)")
	}
}

// RegisterOutside defines the flags of a run of another program: its settings are known once it runs.
func (f *SettingFlags) RegisterOutside(flags *pflag.FlagSet) {
	f.NoFile = true
	flags.StringArrayVar(&f.Sources.Sets, "set", nil,
		"a value of a knob from the first step that is watched on, as key=value; may be given again")
	flags.Int64("max-iterations", 0, "end after so many recorded steps, the first of which is "+
		"the program's third; it takes some more until it has ended; 0 is no limit")
	flags.DurationVar(&f.maxTime, "max-time", 0, "end after so much time, as 90s or 5m")
}

// noConfig is the value of --config that leaves out the user's own file.
const noConfig = "none"

// configHelp describes the flag --config.
func (f *SettingFlags) configHelp() string {
	const file = "file of settings over the preset's, in TOML"
	if f.Own {
		return file + "; none leaves out $XDG_CONFIG_HOME/prismtop/config.toml, which applies before it"
	}
	return file
}

// Has reports whether the command's workload has a setting.
func (f *SettingFlags) Has(key string) bool {
	if f.Of == nil {
		return true
	}
	_, known := f.Of.Presets.Table.Lookup(key)
	return known
}

// deviceHelp describes the flag --device.
func (f *SettingFlags) deviceHelp() string {
	if f.Of != nil && f.Of.NoGPU != "" {
		key, _ := f.Of.Presets.Table.Lookup(settings.Device)
		return "where to compute: " + strings.Join(key.Allowed, " or ") + "; " + f.Of.NoGPU
	}
	return "where to compute: auto, cpu, cuda, or cuda:1 for the second GPU"
}

// shelves returns the presets of all workloads, those of the command's first.
func (f *SettingFlags) shelves() preset.Shelves {
	all := workloads.Presets()
	if f.Of != nil {
		own := slices.IndexFunc(all, func(s preset.Shelf) bool { return s.Table == f.Of.Presets.Table })
		all[0], all[own] = all[own], all[0]
	}
	return all
}

// ownFile returns the path of the user's own file of settings, "" where there is no folder for it.
func ownFile() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "prismtop", "config.toml")
}

// Fits returns an error if settings are of another workload than the command's.
func (f *SettingFlags) Fits(v settings.Values) error {
	if f.Of == nil || v.Table() == f.Of.Presets.Table {
		return nil
	}
	return fmt.Errorf("of the workload %s: must be one of %s", v.Table().Workload, f.Of.Presets.Table.Workload)
}

// named returns the preset's name with what gave it, as errors begin.
func (f *SettingFlags) named() string {
	chosen, _ := f.Sources.Chosen()
	switch {
	case f.Sources.Preset != "":
		return fmt.Sprintf("flag --preset: %q", chosen.Name)
	case os.Getenv(preset.EnvPreset) != "":
		return fmt.Sprintf("environment %s: %q", preset.EnvPreset, chosen.Name)
	}
	return fmt.Sprintf("file %s: preset = %q", cmp.Or(f.Sources.File, f.Sources.Own), chosen.Name)
}

// Resolve merges preset, file, environment and flags.
func (f *SettingFlags) Resolve(ctx context.Context, flags *pflag.FlagSet) (settings.Values, settings.Origins, error) {
	if flags.Changed("preset") && f.Sources.Preset == "" {
		return settings.Values{}, nil, errors.New(`flag --preset: "": must be the name of a preset`)
	}
	if flags.Changed("config") && f.Sources.File == "" && !f.NoFile {
		return settings.Values{}, nil, errors.New(`flag --config: "": must be the path of a file`)
	}
	if f.Own && (f.NoFile || f.Sources.File != noConfig) {
		f.Sources.Own = ownFile()
	}
	if f.Own && !f.NoFile && f.Sources.File == noConfig {
		f.Sources.File = ""
	}
	if f.Of != nil {
		f.Sources.Only = f.Of.Presets.Table.Workload
	}
	f.Sources.Shelves = f.shelves()
	if flags.Changed("preset") {
		if _, err := f.Sources.Shelves.Lookup(f.Sources.Preset); err != nil {
			return settings.Values{}, nil, fmt.Errorf("flag --preset: %w", err)
		}
	}
	if err := f.Sources.Read(ctx); err != nil {
		if ctx.Err() == nil {
			if f.Sources.File != "" && !strings.HasPrefix(err.Error(), "file "+f.Sources.Own+":") {
				err = fmt.Errorf("flag --config: %w", err)
			}
			err = fmt.Errorf("%w: must be a file of settings in TOML", err)
		}
		return settings.Values{}, nil, err
	}
	f.Sources.Env, f.Sources.EnvOthers = os.Environ(), OtherEnvironment
	f.ReadFlags(flags)
	v, origins, err := preset.Resolve(f.Sources)
	if err != nil && f.Sources.File != "" && strings.HasPrefix(err.Error(), "file "+f.Sources.File+":") {
		err = fmt.Errorf("flag --config: %w", err)
	}
	if err == nil {
		if err = f.Fits(v); err != nil {
			err = fmt.Errorf("%s: is %w", f.named(), err)
		}
	}
	f.origins = origins
	return v, origins, err
}

// Sourced adds to an error about a resolved setting the flag, file or preset that it comes from.
func (f *SettingFlags) Sourced(err error) error { return preset.From(f.origins, err) }

// ReadFlags fills in the settings that have their own flags.
func (f *SettingFlags) ReadFlags(flags *pflag.FlagSet) {
	f.Sources.Flags = append([]preset.Flag(nil), f.More...)
	for _, k := range keyFlags {
		if !flags.Changed(k.flag) {
			continue
		}
		value := flags.Lookup(k.flag).Value.String()
		if k.flag == "max-time" {
			value = strconv.FormatFloat(f.maxTime.Seconds(), 'g', -1, 64)
		}
		f.Sources.Flags = append(f.Sources.Flags, preset.Flag{Name: k.flag, Key: k.key, Value: value})
	}
}

// FromBaseline selects PRISM's benchmark unless a preset is named.
func (f *SettingFlags) FromBaseline(flags *pflag.FlagSet) {
	if !flags.Changed("preset") && !flags.Changed("config") && os.Getenv(preset.EnvPreset) == "" {
		f.Sources.Preset = Baseline
	}
}

// OtherEnvironment lists the variables with the settings' prefix that are not settings.
var OtherEnvironment = []string{EnvNotify, EnvWatchBudget, EnvOnHangup, loop.EnvFolder, loop.EnvOnlyWatch,
	loop.EnvCompile}

// FlagError adds to an error about a flag what would be valid.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		return unknownFlag(cmd, unknown.GetSpecifiedName())
	}
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return BadUsage(err)
	}
	flag := invalid.GetFlag()
	want := map[string]string{
		"bool": "true or false", "duration": "a duration as 90s or 5m",
		"int": "a whole number", "int64": "a whole number", "uint64": "a whole number", "float64": "a number",
		"intSlice": "whole numbers with commas between", "float64Slice": "numbers with commas between",
		"stringSlice": "values with commas between",
	}[flag.Value.Type()]
	for _, k := range keyFlags {
		if key, ok := workloads.All[0].Presets.Table.Lookup(k.key); ok && k.flag == flag.Name &&
			key.Type == settings.TypeInteger && !strings.HasSuffix(flag.Value.Type(), "Slice") {
			want = key.Wants()
		}
	}
	if want == "" {
		return BadUsage(err)
	}
	return BadUsage(fmt.Errorf("flag --%s: %q: must be %s", flag.Name, invalid.GetValue(), want))
}

// EngineFlags defines the flags of commands that compute without settings.
func EngineFlags(flags *pflag.FlagSet, o *cpu.Options) {
	flags.StringVar(&o.Kernels, "kernels", "auto", kernelsHelp)
	flags.IntVar(&o.Threads, "threads", 0, threadsHelp)
}
