// Package bench is the command bench with its subcommands.
package bench

import (
	"errors"

	"prismtop/tui/command/cli"

	"github.com/spf13/cobra"
)

// Command returns the command bench.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure the engine, and what watching it costs", Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			return cli.BadUsage(errors.New("bench: what to measure is missing: must be all, claims, performance, baseline, optimized, compare, profile, model, peer, scaling, ablation, calibrate, watching, ptycho or compare-builds"))
		},
	}
	cmd.AddCommand(benchModelCommand(), benchPeerCommand(), benchScalingCommand(), benchAblationCommand(), benchCalibrateCommand(), benchWatchingCommand(), compareBuildsCommand(), burnCommand(),
		benchPtychoCommand(), ptychoTrialCommand())
	cmd.AddCommand(suiteCommands()...)
	return cmd
}
