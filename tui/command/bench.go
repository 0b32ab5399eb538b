package command

import (
	"errors"

	"github.com/spf13/cobra"
)

// benchCommand returns the command bench.
func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure the engine, and what watching it costs", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return badUsage(errors.New("bench: what to measure is missing: must be model, peer, scaling, ablation, calibrate or watching"))
		},
	}
	cmd.AddCommand(benchModelCommand(), benchPeerCommand(), benchScalingCommand(), benchAblationCommand(), benchCalibrateCommand(), benchWatchingCommand(), burnCommand())
	return cmd
}
