package command

import (
	"errors"

	"github.com/spf13/cobra"
)

// benchCommand returns the command bench.
func benchCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure the engine without a screen", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return badUsage(errors.New("bench: what to measure is missing: must be model, peer, scaling or ablation"))
		},
	}
	cmd.AddCommand(benchModelCommand(), benchPeerCommand(), benchScalingCommand(), benchAblationCommand(), benchCalibrateCommand(), burnCommand())
	return cmd
}
