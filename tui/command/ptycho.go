package command

import (
	"errors"

	"github.com/spf13/cobra"

	"prismtop/sim/ptycho/training"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// ptychoCommand returns the command ptycho.
func ptychoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ptycho", Short: "Run PtychoPINN's network on simulated ptychography", Args: cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			return cli.BadUsage(errors.New("ptycho: what to do is missing: must be train"))
		},
	}
	cmd.AddCommand(trainCommand())
	return cmd
}

// trainCommand returns the command ptycho train.
func trainCommand() *cobra.Command {
	var f runFlags
	w := workloads.Of(training.Table.Zero())
	f.Of = &w
	cmd := f.command()
	cmd.Use, cmd.Short = "train", "Train the network on a simulated scan, on the live screen or without one"
	cmd.Long = "Train PtychoPINN's network to reconstruct a simulated object from its diffraction, without\n" +
		"showing it the object. Training that completes its epochs leaves the weights where\n" +
		"inference looks for them: $XDG_STATE_HOME/prismtop/ptycho/weights-N64-s2-g1.npz, named\n" +
		"after size, filters_scale and gridsize. See docs/ptycho.md."
	cmd.Example = "prismtop ptycho train\nprismtop ptycho train --preset ptycho-train-small --headless --json\n" +
		"prismtop ptycho train --set positions=1024 --save lines"
	return cmd
}
