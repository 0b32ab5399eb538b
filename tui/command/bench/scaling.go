package bench

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/sim/bench"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// benchScalingCommand returns the command bench scaling.
func benchScalingCommand() *cobra.Command {
	var sizes, threads []int
	var seconds float64
	var plot string
	var sets []string
	cmd := &cobra.Command{
		Use: "scaling", Short: "Measure iterations over field sizes and threads; print a Markdown table, draw a plot", Args: cli.NoArguments,
		Example: "prismtop bench scaling --sizes 256,512,1024 --plot scaling.svg",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(sizes) == 0 || len(threads) == 0 || !(seconds > 0) {
				return cli.BadUsage(errors.New("bench scaling: --sizes and --threads must not be empty, --seconds above 0"))
			}
			if err := errors.Join(checkSets(sets, "--sizes decides it", "size", "object_size"), checkSets(sets, "--threads decides it", "threads")); err != nil {
				return cli.BadUsage(err)
			}
			v, origins, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: cli.Baseline, Env: os.Environ(), EnvOthers: cli.OtherEnvironment, Sets: sets})
			if err != nil {
				return cli.BadUsage(err)
			}
			maker, s, err := cli.OfPRISM(cmd.Context(), v)
			if err != nil {
				return cli.BadUsage(preset.From(origins, err))
			}
			o := bench.Options{
				Maker: maker, Settings: s, Warmup: 5, Time: time.Duration(seconds * float64(time.Second)), MaxForeign: machine.Quiet,
			}
			points, err := bench.Scaling(cmd.Context(), o, sizes, threads, func(size, threads int) {
				fmt.Fprintf(cmd.ErrOrStderr(), "size %d, threads %d\n", size, threads)
			})
			switch {
			case cmd.Context().Err() != nil:
				return cli.ErrInterrupted
			case err != nil:
				return cli.BadUsage(err)
			}
			if plot != "" {
				if err := writePlot(plot, points); err != nil {
					return err
				}
			}
			return bench.WriteScaling(cmd.OutOrStdout(), points)
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&sizes, "sizes", []int{256, 512, 1024, 2048}, "sides of the field in pixels; the object has a quarter")
	flags.IntSliceVar(&threads, "threads", []int{1, machine.Processors()}, "numbers of threads")
	flags.Float64Var(&seconds, "seconds", 5, "seconds of each measurement")
	flags.StringVar(&plot, "plot", "", "path of a plot to draw, in SVG")
	flags.StringArrayVar(&sets, "set", nil, "one setting as key=value; may be given again")
	return cmd
}

func writePlot(path string, points []bench.Point) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("flag --plot: %w", err)
	}
	err = bench.WriteScalingSVG(f, points)
	return errors.Join(err, f.Close())
}
