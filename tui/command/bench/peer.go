package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/sim/bench/peer"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/features"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// peerFlags are the flags of a comparison with PyTorch.
type peerFlags struct {
	programs   peer.Programs
	options    peer.Options
	rounds     int
	maxForeign float64
	only       string
}

// benchPeerCommand returns the command bench peer.
func benchPeerCommand() *cobra.Command {
	var f peerFlags
	cmd := &cobra.Command{
		Use: "peer SCRIPT", Short: "Run the same work in PyTorch by turns, and print the ratios",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return cli.BadUsage(errors.New("bench peer: wants one path, of the PyTorch benchmark"))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.programs.Script = args[0]
			return f.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.programs.Python, "python", []string{"python3"},
		"the interpreter that has PyTorch, and what goes before the script")
	flags.StringArrayVar(&f.options.Sets, "set", nil, "a setting of prismtop as key=value; may be given again")
	flags.IntVar(&f.options.Threads, "threads", min(2, machine.Processors()), "threads of both sides")
	flags.Float64Var(&f.options.Seconds, "seconds", 5, "seconds of each measurement")
	flags.IntVar(&f.rounds, "rounds", 3, "rounds of each work")
	flags.Float64Var(&f.maxForeign, "max-foreign", machine.Quiet,
		"share of the processors that other programs may take in a round")
	flags.StringVar(&f.only, "only", "", "measure only the works whose names match a regular expression")
	return cmd
}

func (f *peerFlags) run(cmd *cobra.Command) error {
	only, err := regexp.Compile(f.only)
	switch {
	case err != nil:
		return cli.BadUsage(fmt.Errorf("flag --only: %w", err))
	case f.rounds < 1:
		return cli.BadUsage(fmt.Errorf("flag --rounds: %d: must be at least 1", f.rounds))
	case f.options.Threads < 1:
		return cli.BadUsage(fmt.Errorf("flag --threads: %d: must be at least 1", f.options.Threads))
	case !(f.options.Seconds > 0):
		return cli.BadUsage(fmt.Errorf("flag --seconds: %g: must be above 0", f.options.Seconds))
	case len(f.programs.Python) == 0:
		return cli.BadUsage(errors.New("flag --python: must not be empty"))
	}
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: cli.Baseline, Env: os.Environ(),
		EnvOthers: cli.OtherEnvironment, Sets: f.options.Sets})
	if err != nil {
		return cli.BadUsage(err)
	}
	kernels := v.Text("kernels")
	if kernels == "auto" {
		kernels = cpu.KernelNames()[0]
	}
	if f.programs.Script, err = filepath.Abs(f.programs.Script); err != nil {
		return err
	}
	if f.programs.Prismtop, err = os.Executable(); err != nil {
		return err
	}
	ctx := cmd.Context()
	versions, err := f.programs.Versions(ctx)
	if err != nil {
		return fmt.Errorf("bench peer: %w", err)
	}
	var results []peer.Result
	for _, w := range peer.Works(f.options) {
		if !only.MatchString(w.Name) {
			continue
		}
		fmt.Fprintln(cli.Notes(cmd), w.Name)
		r := f.programs.Measure(ctx, w, f.rounds, f.maxForeign)
		if ctx.Err() != nil {
			break // the results so far are printed
		}
		results = append(results, r)
	}
	processor := features.Detect()
	header := peer.Header{
		Version: cli.Version, Kernels: kernels, CPU: processor.Model, Logical: processor.Logical,
		Threads: f.options.Threads, Rounds: f.rounds, Peer: versions, Measured: time.Now(),
	}
	if err := peer.WriteMarkdown(cmd.OutOrStdout(), header, results); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	}
	return nil
}
