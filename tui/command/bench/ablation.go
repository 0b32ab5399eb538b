package bench

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/sim/bench"
	"prismtop/tui/command/cli"
)

// benchAblationCommand returns the command bench ablation.
func benchAblationCommand() *cobra.Command {
	var f cli.SettingFlags
	var o ablation.Options
	var asJSON bool
	var factors []string
	cmd := &cobra.Command{
		Use: "ablation", Short: "Switch each optimisation on and off in a balanced order and tell what it is worth", Args: cli.NoArguments,
		Long: "Switch each optimisation on and off in balanced blocks of iterations, in the middle of the\n" +
			"preset's pattern, as the key A does on the live screen. Each row has the iteration time off and\n" +
			"on, the effect with its 95 % interval, the memory, and what PSNR gained more or less.\n" +
			"Settings start from the preset baseline.\n\n" +
			"With --factorial, run every combination of two to five settings instead: what each saves alone\n" +
			"and on average over the others, which of them interact, and whether the product of the single\n" +
			"speed-ups is what all of them save together (docs/ablation.md).",
		Example: "prismtop bench ablation\nprismtop bench ablation --preset phase5 --only measurement_cache,amp --rounds 12 --json\n" +
			"prismtop bench ablation --preset phase5 --factorial default\nprismtop bench ablation --factorial caches,amp=bf16x3,pruned_fft",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.FromBaseline(cmd.Flags())
			v, _, err := f.Resolve(cmd.Context(), cmd.Flags())
			if err != nil {
				return cli.BadUsage(err)
			}
			if err := benchAblationOptions(cmd.Flags(), v, factors, &o); err != nil {
				return cli.BadUsage(err)
			}
			for _, limit := range []string{"max-time", "max-iterations"} {
				if cmd.Flags().Changed(limit) {
					return cli.BadUsage(fmt.Errorf("flag --%s: an ablation ends with its last round; see --rounds and --only", limit))
				}
			}
			told := func(*profiles.Ablation) {}
			progress := term.IsTerminal(os.Stderr.Fd())
			if progress {
				told = func(a *profiles.Ablation) {
					if a.LeftKnown {
						fmt.Fprintf(cmd.ErrOrStderr(), "\r%d of %d %s, %.0f s left ", a.Done, a.Groups, a.Unit(), a.Left.Seconds())
					}
				}
			}
			maker, err := cli.OnDevice(cmd.Context(), v)
			if err != nil {
				return cli.BadUsage(err)
			}
			table, err := bench.Ablation(cmd.Context(), maker, v, o, told)
			if progress {
				fmt.Fprintln(cmd.ErrOrStderr())
			}
			switch {
			case cmd.Context().Err() != nil:
				return cli.ErrInterrupted
			case err != nil:
				return err
			case !asJSON:
				return bench.WriteAblation(cmd.OutOrStdout(), table)
			}
			chosen, err := f.Sources.Chosen()
			if err != nil {
				return cli.BadUsage(err)
			}
			data, err := export.AblationJSON(table, v, cli.Version, chosen.Name)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", data)
			return err
		},
	}
	f.Register(cmd.Flags())
	cmd.Flags().IntVar(&o.Rounds, "rounds", 0, fmt.Sprintf("groups of four blocks for each setting, %d without; of a factorial, blocks of each combination, %d without. Few give no interval",
		profiles.AblationRounds, profiles.FactorialRounds))
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "settings to compare; all without")
	cmd.Flags().StringSliceVar(&factors, "factorial", nil, fmt.Sprintf("run every combination of these %d to %d settings; default: those that the workload chooses",
		settings.LeastFactors, settings.MostFactors))
	cmd.Flags().BoolVar(&asJSON, "json", false, "the table as one JSON object (docs/json.md)")
	return cmd
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
