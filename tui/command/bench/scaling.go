package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/sim/bench"
	"prismtop/sim/cpu/features"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// benchScalingCommand returns the command bench scaling.
func benchScalingCommand() *cobra.Command {
	var sizes, threads []int
	var seconds float64
	var plot string
	var sets []string
	var goText bool
	cmd := &cobra.Command{
		Use: "scaling", Short: "Time iterations over field sizes and threads, as a table and a plot", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case len(sizes) == 0:
				return cli.BadUsage(errors.New("flag --sizes: must not be empty"))
			case len(threads) == 0:
				return cli.BadUsage(errors.New("flag --threads: must not be empty"))
			case !(seconds > 0) || seconds > 600:
				return cli.BadUsage(fmt.Errorf("flag --seconds: %g: must be above 0, and 600 at most", seconds))
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
			claims := cli.Claims{}
			defer claims.Release()
			if err := claimPlot(claims, plot); err != nil {
				return cli.BadUsage(err)
			}
			o := bench.Options{
				Maker: maker, Settings: s, Warmup: 5, Time: time.Duration(seconds * float64(time.Second)), MaxForeign: machine.Quiet,
			}
			if err := bench.CheckScaling(o, sizes, threads); err != nil {
				origins["size"], origins["object_size"], origins["threads"] = "flag --sizes", "flag --sizes", "flag --threads"
				return cli.BadUsage(preset.From(origins, err))
			}
			if plot != "" {
				if err := cli.WritableFiles("plot", plot, plot, plot); err != nil {
					return cli.BadUsage(err)
				}
			}
			points, err := bench.Scaling(cmd.Context(), o, sizes, threads, func(size, threads int) {
				fmt.Fprintf(cli.Notes(cmd), "size %d, threads %d\n", size, threads)
			})
			switch {
			case cmd.Context().Err() != nil:
				err = cli.ErrInterrupted
			case err != nil:
				err = cli.BadUsage(err)
			}
			if len(points) == 0 {
				return err
			}
			write := bench.WriteScaling
			if goText {
				write = func(w io.Writer, points []bench.Point) error {
					return bench.WriteScalingGo(w, points, cli.Version, features.Detect().Model, v)
				}
			}
			err = errors.Join(write(cmd.OutOrStdout(), points), err)
			if plot != "" {
				err = errors.Join(err, writePlot(plot, points))
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&sizes, "sizes", []int{256, 512, 1024, 2048}, "sides of the field in pixels; the object has a quarter")
	flags.IntSliceVar(&threads, "threads", []int{1, machine.Processors()}, "numbers of threads")
	flags.Float64Var(&seconds, "seconds", 5, "seconds of each measurement")
	flags.BoolVar(&goText, "benchfmt", false, "the times in the format of Go's benchmarks, which benchstat compares (prismtop docs performance)")
	flags.StringVar(&plot, "plot", "", "path of a plot to draw, in SVG")
	flags.StringArrayVar(&sets, "set", nil, "one setting as key=value; may be given again")
	return cmd
}

// claimPlot checks that the plot can be written, unless there is none, and keeps other processes from it.
func claimPlot(claims cli.Claims, path string) error {
	if path == "" {
		return nil
	}
	err := cli.WritableFiles("plot", path, path, path)
	if err == nil {
		err = claims.Replace("flag --plot", bench.IsPlot, path)
	}
	if err == nil {
		err = claims.Hold()
	}
	return err
}

func writePlot(path string, points []bench.Point) error {
	err := atomicfile.WriteFrom(path, 0o666, func(w io.Writer) error { return bench.WriteScalingSVG(w, points) })
	if err != nil {
		return fmt.Errorf("flag --plot: %w", err)
	}
	return nil
}
