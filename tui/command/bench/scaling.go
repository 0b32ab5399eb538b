package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/unit"
	"prismtop/sim/bench"
	"prismtop/sim/bench/peer"
	"prismtop/sim/cpu/features"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// scalingFlags are the flags of bench scaling.
type scalingFlags struct {
	sizes, threads, samples []int
	seconds                 float64
	patience                time.Duration
	plot                    string
	sets                    []string
	goText                  bool
	programs                peer.Programs
}

// benchScalingCommand returns the command bench scaling.
func benchScalingCommand() *cobra.Command {
	var f scalingFlags
	cmd := &cobra.Command{
		Use: "scaling", Short: "Time iterations over field sizes and threads, or runs over samples, as a " +
			"table and a plot", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.IntSliceVar(&f.sizes, "sizes", []int{256, 512, 1024, 2048},
		"sides of the field in pixels; the object has a quarter")
	flags.IntSliceVar(&f.threads, "threads", []int{1, machine.Processors()}, "numbers of threads")
	flags.IntSliceVar(&f.samples, "samples", nil,
		"numbers of samples of whole runs, an iteration each, at the first of --sizes")
	flags.Float64Var(&f.seconds, "seconds", 5, "seconds of each measurement of iterations")
	flags.StringVar(&f.programs.Script, "beside", "",
		"path of a PyTorch benchmark that does the same work, as of bench peer; every measurement is a process")
	flags.StringSliceVar(&f.programs.Python, "python", []string{"python3"},
		"the interpreter that has PyTorch, and what goes before the script")
	flags.DurationVar(&f.patience, "patience", 3*time.Minute,
		"leave out runs of --samples that PyTorch would take longer for, by those before")
	flags.BoolVar(&f.goText, "benchfmt", false,
		"the times in the format of Go's benchmarks, which benchstat compares (prismtop docs performance)")
	flags.StringVar(&f.plot, "plot", "", "path of a plot to draw, in SVG")
	flags.StringArrayVar(&f.sets, "set", nil, "one setting as key=value; may be given again")
	return cmd
}

// check checks the flags.
func (f *scalingFlags) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	switch {
	case len(f.sizes) == 0:
		return errors.New("flag --sizes: must not be empty")
	case len(f.threads) == 0:
		return errors.New("flag --threads: must not be empty")
	case !(f.seconds > 0) || f.seconds > 600:
		return fmt.Errorf("flag --seconds: %g: must be above 0, and 600 at most", f.seconds)
	case f.processes() && f.goText:
		return errors.New("flag --benchfmt: has no place for --samples and --beside")
	case f.programs.Script == "" && given("python"):
		return errors.New("flag --python: is for --beside")
	case len(f.programs.Python) == 0:
		return errors.New("flag --python: must not be empty")
	case (f.samples == nil || f.programs.Script == "") && given("patience"):
		return errors.New("flag --patience: is for --samples with --beside")
	case f.samples != nil && given("sizes") && len(f.sizes) != 1:
		return errors.New("flag --sizes: with --samples must be one size")
	}
	for i, n := range f.samples {
		if n < 1 || i > 0 && n <= f.samples[i-1] {
			return errors.New("flag --samples: must be positive and ascend")
		}
	}
	return errors.Join(checkSets(f.sets, "--sizes decides it", "size", "object_size"),
		checkSets(f.sets, "--threads decides it", "threads"),
		checkSets(f.sets, "--samples decides it", "samples"))
}

// processes reports whether every measurement is a process of its own.
func (f *scalingFlags) processes() bool { return f.samples != nil || f.programs.Script != "" }

func (f *scalingFlags) run(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return cli.BadUsage(err)
	}
	v, origins, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: cli.Baseline,
		Env: os.Environ(), EnvOthers: cli.OtherEnvironment, Sets: f.sets})
	if err != nil {
		return cli.BadUsage(err)
	}
	maker, s, err := cli.OfPRISM(cmd.Context(), v)
	if err != nil {
		return cli.BadUsage(preset.From(origins, err))
	}
	claims := cli.Claims{}
	defer claims.Release()
	if err := claimPlot(claims, f.plot); err != nil {
		return cli.BadUsage(err)
	}
	o := bench.Options{
		Maker: maker, Settings: s, Warmup: 5, Time: time.Duration(f.seconds * float64(time.Second)),
		MaxForeign: machine.Quiet,
	}
	if err := bench.CheckScaling(o, f.sizes, f.threads); err != nil {
		origins["size"], origins["object_size"], origins["threads"] = "flag --sizes", "flag --sizes", "flag --threads"
		return cli.BadUsage(preset.From(origins, err))
	}
	var points []bench.Point
	if f.processes() {
		points, err = f.beside(cmd)
	} else {
		points, err = bench.Scaling(cmd.Context(), o, f.sizes, f.threads, func(size, threads int) {
			fmt.Fprintf(cli.Notes(cmd), "size %d, threads %d\n", size, threads)
		})
		err = cli.BadUsage(err)
	}
	if cmd.Context().Err() != nil {
		err = cli.ErrInterrupted
	}
	if len(points) == 0 {
		return err
	}
	write := bench.WriteScaling
	if f.goText {
		write = func(w io.Writer, points []bench.Point) error {
			return bench.WriteScalingGo(w, points, cli.Version, features.Detect().Model, v)
		}
	}
	err = errors.Join(write(cmd.OutOrStdout(), points), err)
	if f.plot != "" {
		err = errors.Join(err, writePlot(f.plot, points))
	}
	return err
}

// beside measures every point in processes: this program, and PyTorch before it if there is a script. An error
// comes with the points measured before it.
func (f *scalingFlags) beside(cmd *cobra.Command) (points []bench.Point, err error) {
	if f.programs.Script != "" {
		if f.programs.Script, err = filepath.Abs(f.programs.Script); err != nil {
			return nil, err
		}
		if _, err := f.programs.Versions(cmd.Context()); err != nil {
			return nil, fmt.Errorf("bench scaling: %w", err)
		}
	}
	if f.programs.Prismtop, err = os.Executable(); err != nil {
		return nil, err
	}
	o := peer.Options{Seconds: f.seconds, Sets: f.sets}
	sizes, samples := f.sizes, f.samples
	if samples == nil {
		samples = []int{0}
	} else {
		sizes = sizes[:1]
	}
	for _, threads := range f.threads {
		before := 0.0 // seconds of a sample in PyTorch
		for _, size := range sizes {
			for _, n := range samples {
				object := bench.ObjectOf(size)
				w, scale := o.Iteration(size, object, threads), 1.0
				if n > 0 {
					w, scale = o.Whole(n, size, object, threads), 1e3
				}
				programs, p := f.programs, bench.Point{Size: size, Object: object, Threads: threads, Samples: n}
				if expected := time.Duration(before * float64(n) * float64(time.Second)); programs.Script != "" &&
					expected > f.patience {
					programs.Script, p.Absent = "", "not run: "+unit.Estimate(expected)
				}
				fmt.Fprintln(cli.Notes(cmd), w.Name)
				r := programs.Measure(cmd.Context(), w, 1, machine.Quiet)
				if r.Err != nil {
					return points, fmt.Errorf("bench scaling: %w", r.Err)
				}
				round := r.Rounds[0]
				p.Side, p.Clean, p.FLOPs = sideOf(round.Ours, scale), !round.Disturbed, round.Ours.Operations
				if programs.Script != "" {
					side := sideOf(round.Peer, scale)
					p.Peer = &side
					if n > 0 {
						before = round.Peer.Median / float64(n)
					}
				}
				points = append(points, p)
			}
		}
	}
	return points, nil
}

// sideOf returns a figure as a side of a point, in ms.
func sideOf(f peer.Figure, scale float64) bench.Side {
	return bench.Side{Median: f.Median * scale, P10: f.P10 * scale, P90: f.P90 * scale, Memory: f.Resident,
		Foreign: f.Foreign}
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
