package command

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"prismtop/sim/cpu"
	"prismtop/sim/cpu/features"
	"prismtop/tui/doctor"
)

// doctorCommand returns the command doctor.
func doctorCommand() *cobra.Command {
	var asJSON, calibrate bool
	var o cpu.Options
	cmd := &cobra.Command{
		Use: "doctor", Short: "Tell what this machine, its terminal and its GPU can do, and why not more", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			backend, err := cpu.New(o)
			if err != nil {
				return badUsage(fmt.Errorf("doctor: %w", err))
			}
			defer backend.Close()
			roofs, err := roofsOf(cmd.Context(), features.Detect(), backend.Kernels(), backend.Threads(), calibrate)
			if roofs == nil {
				return err
			}
			note := errorLine(err)
			if note != "" { // the roofs were measured nevertheless
				fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: "+note)
			}
			device, err := probe(cmd.Context())
			if err != nil {
				return err
			}
			facts := doctor.Gather(doctor.Options{
				Roofs:   doctorRoofs(roofs, note),
				Version: version, CPU: cpu.Processor(), Kernels: cpu.KernelNames(), Using: backend.Kernels(),
				Threads: backend.Threads(), GPU: device, Out: os.Stdout, Env: os.Environ(),
			})
			if asJSON {
				return facts.WriteJSON(cmd.OutOrStdout())
			}
			return facts.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Flags().BoolVar(&calibrate, "calibrate", false, "measure again what this machine can do at most")
	engineFlags(cmd.Flags(), &o)
	return cmd
}
