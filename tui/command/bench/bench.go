// Package bench is the command bench with its subcommands.
package bench

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/tui/command/cli"
)

// Command returns the command bench.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure the engine, and what watching it costs", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var names []string
			for _, c := range cmd.Commands() {
				if !c.Hidden && c.Name() != "help" {
					names = append(names, c.Name())
				}
			}
			return cli.BadUsage(fmt.Errorf("bench: what to measure is missing: must be one of %s", strings.Join(names, ", ")))
		},
	}
	cmd.AddCommand(benchModelCommand(), benchPeerCommand(), benchScalingCommand(), benchAblationCommand(), benchCalibrateCommand(), benchWatchingCommand(), compareBuildsCommand(), historyCommand(), checkCommand(), recommendCommand(), burnCommand(),
		benchPtychoCommand(), ptychoTrialCommand())
	cmd.AddCommand(suiteCommands()...)
	return cmd
}
