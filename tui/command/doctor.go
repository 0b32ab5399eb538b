package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"prismtop/gpu/driver/installed"
	"prismtop/profiles/unit"
	"prismtop/sim/cpu"
	"prismtop/sim/cpu/features"
	"prismtop/sim/cpu/roof"
	"prismtop/tui/command/cli"
	"prismtop/tui/doctor"
)

// doctorCommand returns the command doctor.
func doctorCommand() *cobra.Command {
	var asJSON, calibrate, checkGPU bool
	var card, python string
	var o cpu.Options
	cmd := &cobra.Command{
		Use: "doctor", Short: "Tell what this machine, its terminal and its GPU can do, and why not more",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkCard(card, checkGPU, cmd.Flags().Changed("device")); err != nil {
				return cli.BadUsage(fmt.Errorf("doctor: %w", err))
			}
			if cmd.Flags().Changed("python") {
				return checkPython(cmd, python, asJSON)
			}
			backend, err := cpu.New(o)
			if err != nil {
				return cli.BadUsage(fmt.Errorf("doctor: %w", err))
			}
			defer backend.Close()
			roofs, err := cli.RoofsOf(cmd.Context(), features.Detect(), backend.Kernels(), backend.Threads(), calibrate)
			if roofs == nil {
				return err
			}
			note := cli.ErrorLine(err)
			if note != "" { // the roofs were measured nevertheless
				fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: "+note)
			}
			device, err := cli.Probe(cmd.Context())
			if err != nil {
				return err
			}
			var check *doctor.GPUCheck
			if checkGPU {
				c := gpuCheck{driver: installed.Open, found: device, device: card, reference: backend, sizes: gpuSizes,
					networks: true, iterations: gpuIterations}
				if term.IsTerminal(os.Stderr.Fd()) {
					c.progress = func(what string) {
						fmt.Fprintln(cmd.ErrOrStderr(), "prismtop: checking the GPU: "+what)
					}
				}
				if check, err = c.run(cmd.Context()); err != nil {
					return err
				}
			}
			sensors, err := cli.ReadSensors(cmd.Context())
			if err != nil {
				return err
			}
			facts := doctor.Gather(doctor.Options{
				Check:   check,
				Roofs:   doctorRoofs(roofs, note),
				Version: cli.Version, CPU: cpu.Processor(), Kernels: cpu.KernelNames(), Using: backend.Kernels(),
				Advice:  doctorAdvice(cmd.Context(), backend),
				Threads: backend.Threads(), GPU: device, Sensors: sensors, Out: os.Stdout, Env: os.Environ(),
			})
			write := facts.WriteText
			if asJSON {
				write = facts.WriteJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil || check == nil || check.OK {
				return err
			}
			return errors.New("doctor --gpu: " + check.Reason)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Flags().BoolVar(&checkGPU, "gpu", false,
		"compare the GPU's kernels with the processor's, and measure the GPU (prismtop docs gpu)")
	cmd.Flags().StringVar(&card, "device", "cuda", "the GPU of --gpu: cuda, or cuda:1 for the second")
	cmd.Flags().StringVar(&python, "python", "",
		"tell instead what prismtop python could do with this Python (prismtop docs python)")
	cmd.Flags().BoolVar(&calibrate, "calibrate", false, "measure again what this machine can do at most")
	cli.EngineFlags(cmd.Flags(), &o)
	return cmd
}

// checkCard checks the flag that names the GPU to check.
func checkCard(card string, check, named bool) error {
	if named && !check {
		return errors.New("--device names the GPU that --gpu checks: add --gpu")
	}
	number, more := strings.CutPrefix(card, "cuda:")
	if n, err := strconv.Atoi(number); card == "cuda" || more && err == nil && n >= 1 {
		return nil
	}
	return fmt.Errorf("--device %s: must be cuda, or cuda:1 for the second GPU and so on", card)
}

// doctorAdvice returns what bench amp found on this machine with the kernels and threads in use.
func doctorAdvice(ctx context.Context, backend *cpu.Backend) (to doctor.Advice) {
	to.Found = []doctor.Advised{}
	m := cli.AdviceMachine(backend.Device(), backend.Kernels(), backend.Threads())
	all, err := cli.Advice(ctx)
	if err != nil {
		to.Reason = cli.ErrorLine(err)
	}
	for i := range all {
		if a := &all[i]; a.Machine == m {
			to.Found = append(to.Found, doctor.Advised{Measured: a.Measured, Version: a.Version, Mode: a.Value,
				Size:    a.Size(),
				Verdict: string(a.Verdict), Sentence: a.Sentence()})
		}
	}
	if len(to.Found) == 0 && to.Reason == "" {
		to.Reason = fmt.Sprintf("speed and risk were not measured on this machine with %s on %s: prismtop bench amp",
			m.Kernels, unit.Plural(m.Threads, "thread", "threads"))
	}
	return to
}

// doctorRoofs converts the roofs for the doctor, with a note on how they were measured.
func doctorRoofs(r *roof.Roofs, note string) doctor.Roofs {
	to := doctor.Roofs{GFLOPS: r.GFLOPS, BF16: r.BF16, Measured: r.Measured, Note: note}
	for _, l := range r.Levels {
		to.Levels = append(to.Levels, doctor.Level(l))
	}
	return to
}
