package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"prismtop/sim/cpu"
	"prismtop/sim/verify"
	"prismtop/tui/command/cli"
)

// verifyCommand returns the command verify.
func verifyCommand() *cobra.Command {
	var asJSON bool
	var o cpu.Options
	cmd := &cobra.Command{
		Use: "verify FILE.npz…", Short: "Recompute reference vectors with this build and compare",
		Args: cli.AtLeastOne("NPZ file of reference vectors"),
		RunE: func(cmd *cobra.Command, args []string) error {
			backend, err := cpu.New(o)
			if err != nil {
				return cli.BadUsage(fmt.Errorf("verify: %w", err))
			}
			defer backend.Close()
			reports, err := verify.Files(cmd.Context(), args, backend)
			if err != nil {
				return err
			}
			write := verify.WriteText
			if asJSON {
				write = verify.WriteJSON
			}
			if err := write(cmd.OutOrStdout(), backend.Name(), reports); err != nil {
				return err
			}
			if err := verify.Failure(reports); err != nil {
				return fmt.Errorf("verify: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cli.EngineFlags(cmd.Flags(), &o)
	return cmd
}
