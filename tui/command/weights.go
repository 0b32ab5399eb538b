package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim"
	"prismtop/sim/weights"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// weightsCommand returns the command weights.
func weightsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "weights", Short: "Hand the decoder's weights to PyTorch", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			return badUsage(errors.New("weights: what to do is missing: must be export"))
		},
	}
	var from, to string
	export := &cobra.Command{
		Use: "export", Short: "Write the weights of a checkpoint as a state_dict in NPZ or safetensors format", Args: noArguments,
		Example: "prismtop weights export --from run.npz --to decoder.safetensors",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case from == "":
				return badUsage(errors.New("weights export: flag --from is missing: must be a checkpoint"))
			case to == "":
				return badUsage(errors.New("weights export: flag --to is missing: must be a file in .npz or .safetensors"))
			}
			if err := weights.CheckPath(to); err != nil {
				return badUsage(fmt.Errorf("flag --to: %w", err))
			}
			return exportWeights(cmd.Context(), cmd.OutOrStdout(), from, to)
		},
	}
	export.Flags().StringVar(&from, "from", "", "checkpoint to take the weights from")
	export.Flags().StringVar(&to, "to", "", "file to write; its extension, .npz or .safetensors, is its format")
	cmd.AddCommand(export)
	return cmd
}

// exportWeights writes the weights of a checkpoint to a file.
func exportWeights(ctx context.Context, w io.Writer, from, to string) error {
	c, err := sim.OpenCheckpoint(ctx, from, checkpointKinds())
	if err != nil {
		return err
	}
	maker, ok := workloads.Of(c.Settings).Maker(workloads.Devices{}).(workload.Exporter)
	if !ok {
		return fmt.Errorf("checkpoint %s: %s has no weights", from, c.Workload)
	}
	tensors, err := maker.Weights(c.Settings, c.Checkpoint)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", from, err)
	}
	if err := weights.Write(to, tensors); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s of iteration %d in %s\n", unit.Plural(len(tensors), "array", "arrays"), c.Iteration, visible.Text(to))
	return err
}
