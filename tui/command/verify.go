package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/verify"
	"prismtop/tui/command/cli"
)

// verifyCommand returns the command verify.
func verifyCommand() *cobra.Command {
	var asJSON bool
	var device string
	var o cpu.Options
	cmd := &cobra.Command{
		Use: "verify FILE.npz…", Short: "Recompute reference vectors with this build and compare",
		Args: cli.AtLeastOne("NPZ file of reference vectors"),
		RunE: func(cmd *cobra.Command, args []string) error {
			backend, err := verified(cmd.Context(), device, o)
			if err != nil {
				return fmt.Errorf("verify: %w", err)
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
	cmd.Flags().StringVar(&device, "device", "cpu", "what computes: cpu, cuda, or cuda:1 for the second GPU")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cli.EngineFlags(cmd.Flags(), &o)
	return cmd
}

// verified opens the backend that a device's name stands for.
func verified(ctx context.Context, device string, o cpu.Options) (nn.Backend, error) {
	if device == "cpu" {
		backend, err := cpu.New(o)
		if err != nil {
			return nil, cli.BadUsage(err) // a nil *cpu.Backend would be an nn.Backend that is not nil
		}
		return backend, nil
	}
	if device != "cuda" && !strings.HasPrefix(device, "cuda:") {
		return nil, cli.BadUsage(fmt.Errorf("--device %s: must be cpu, cuda or cuda:N", device))
	}
	found, err := cli.Probe(ctx)
	if err != nil {
		return nil, err
	}
	devices := cli.Devices(found)
	if reason := devices.GPUReason(device); reason != "" {
		return nil, fmt.Errorf("--device %s: %s", device, reason)
	}
	return devices.GPU(device)
}
