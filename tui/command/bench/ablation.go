package bench

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/sim/bench"
	"prismtop/sim/cpu/features"
	"prismtop/tui/command/cli"
)

// benchAblationCommand returns the command bench ablation.
func benchAblationCommand() *cobra.Command {
	var f cli.SettingFlags
	var o ablation.Options
	var asJSON, goText bool
	var factors []string
	cmd := &cobra.Command{
		Use: "ablation", Short: "Measure what every optimisation saves or costs here, with intervals",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := resolve(cmd, &f, "an ablation ends with its last round; see --rounds and --only",
				func(v settings.Values) error {
					switch {
					case asJSON && goText:
						return errJoinedJSON
					case goText && cmd.Flags().Changed("factorial"):
						return errors.New("flag --benchfmt: a factorial ablation compares combinations, not two " +
							"sides: must be left out with --factorial")
					}
					return benchAblationOptions(cmd.Flags(), v, factors, &o)
				})
			if err != nil {
				return err
			}
			table, err := m.ablation(cmd, o)
			if table == nil {
				return failed(&f, err)
			}
			return errors.Join(writeAblation(cmd.OutOrStdout(), table, &m, asJSON, goText), err)
		},
	}
	register(cmd, &f)
	cmd.Flags().IntVar(&o.Rounds, "rounds", 0, fmt.Sprintf("groups of four blocks for each setting, %d without; of a "+
		"factorial, blocks of each combination, %d without. Few give no interval",
		profiles.AblationRounds, profiles.FactorialRounds))
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "settings to compare; all without")
	cmd.Flags().StringSliceVar(&factors, "factorial", nil,
		fmt.Sprintf("run every combination of these %d to %d settings; default: those that the workload chooses",
			settings.LeastFactors, settings.MostFactors))
	cmd.Flags().BoolVar(&asJSON, "json", false, "the table as one JSON object (prismtop docs json)")
	cmd.Flags().BoolVar(&goText, "benchfmt", false, "the blocks in the format of Go's benchmarks, for benchstat -row "+
		"/setting -col /side (prismtop docs performance)")
	return cmd
}

// writeAblation writes the table of an ablation, which may have been interrupted.
func writeAblation(w io.Writer, table *profiles.Ablation, m *measured, asJSON, goText bool) error {
	switch {
	case goText:
		return bench.WriteAblationGo(w, table, cli.Version, features.Detect().Model, m.settings)
	case !asJSON:
		return bench.WriteAblation(w, table)
	}
	data, err := export.AblationJSON(table, m.settings, cli.Version, m.preset)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", data)
	}
	return err
}

// benchAblationOptions completes the options from the flags and the settings. An error names the
// flag.
func benchAblationOptions(flags *pflag.FlagSet, v settings.Values, factors []string, o *ablation.Options) error {
	var keys []string
	for _, k := range v.Table().Compares() {
		keys = append(keys, k.Name)
	}
	for _, key := range o.Only {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("flag --only: %q: must be some of %s", key, strings.Join(keys, ", "))
		}
	}
	if flags.Changed("rounds") && o.Rounds < 1 {
		return errors.New("flag --rounds: must be at least 1")
	}
	if !flags.Changed("factorial") {
		return nil
	}
	if flags.Changed("only") {
		return errors.New("flag --only: must be left out with --factorial, which names the settings")
	}
	var err error
	if o.Factors, err = v.Table().ParseFactors(factors); err == nil {
		_, err = ablation.Combinations(v.Settled(), o.Factors)
	}
	if err != nil {
		return fmt.Errorf("flag --factorial: %w", err)
	}
	return nil
}
