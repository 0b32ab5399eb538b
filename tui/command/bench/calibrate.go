package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"prismtop/profiles/export"
	"prismtop/profiles/settings"
	"prismtop/sim/bench"
	"prismtop/tui/command/cli"
)

// benchCalibrateCommand returns the command bench calibrate.
func benchCalibrateCommand() *cobra.Command {
	var f cli.SettingFlags
	var load int
	var asJSON bool
	o := bench.CalibrateOptions{}
	cmd := &cobra.Command{
		Use: "calibrate", Short: "Inject effects of known size, and count how often they are found",
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := resolve(cmd, &f, "a calibration ends with its last effect; see --sizes, --changes, --presses, "+
				"--replicas and --ablations",
				func(settings.Values) error { return validCalibration(&o, load) })
			if err != nil {
				return err
			}
			shown := newProgress(cmd)
			defer shown.end()
			o.Maker, o.Settings = m.maker, m.settings
			o.Progress = func(done, all int) { shown.report("%d of %d", done, all) }
			end, err := burn(load)
			if err != nil {
				return fmt.Errorf("flag --load: %w", err)
			}
			defer end()
			c, err := bench.Calibrate(cmd.Context(), o)
			switch {
			case cmd.Context().Err() != nil:
				return cli.ErrInterrupted
			case err != nil:
				return failed(&f, err)
			case !asJSON:
				return bench.WriteCalibration(cmd.OutOrStdout(), c)
			}
			return export.WriteObject(cmd.OutOrStdout(), summarizeCalibration(c, m.preset, load))
		},
	}
	register(cmd, &f)
	flags := cmd.Flags()
	flags.Float64SliceVar(&o.Sizes, "sizes", []float64{0, 1, 2, 5, 20}, "effects to inject, in percent of an iteration")
	flags.Lookup("sizes").DefValue = "0,1,2,5,20" // instead of 0.000000,1.000000 and so on
	flags.IntVar(&o.Changes, "changes", 60, "changes of each size, on and off by turns")
	flags.IntVar(&o.Every, "every", 150, "iterations between two changes")
	flags.IntVar(&o.Presses, "presses", 6, "presses of each size, on and off by turns, that are decided within 10 s")
	flags.IntVar(&o.Replicas, "replicas", 2, "replications of each size")
	flags.IntVar(&o.Ablations, "ablations", 2, "ablations of each size, of one setting each")
	flags.StringVar(&o.Phase, "phase", "", "phase that the injected time counts to; none unless given")
	flags.IntVar(&load, "load", 0, "busy processes beside it, which it starts and ends")
	flags.BoolVar(&asJSON, "json", false, "the result as one JSON object (prismtop docs accuracy)")
	return cmd
}

// validCalibration checks the flags and converts percentages to fractions.
func validCalibration(o *bench.CalibrateOptions, load int) error {
	switch {
	case len(o.Sizes) == 0:
		return errors.New("flag --sizes: must not be empty")
	case o.Changes < 0:
		return fmt.Errorf("flag --changes: %d: must be at least 0", o.Changes)
	case o.Presses < 0:
		return fmt.Errorf("flag --presses: %d: must be at least 0", o.Presses)
	case o.Replicas < 0:
		return fmt.Errorf("flag --replicas: %d: must be at least 0", o.Replicas)
	case o.Ablations < 0:
		return fmt.Errorf("flag --ablations: %d: must be at least 0", o.Ablations)
	case o.Changes == 0 && o.Presses == 0 && o.Replicas == 0 && o.Ablations == 0:
		return errors.New("flag --changes: 0: must be above 0, unless --presses, --replicas or --ablations is")
	case o.Every < 40:
		return errors.New("flag --every: must be at least 40: a window takes 20 iterations after 5 of warm-up")
	case load < 0 || load > 64:
		return errors.New("flag --load: must be from 0 to 64")
	}
	for i, percent := range o.Sizes {
		if !(percent >= 0 && percent <= 100) {
			return fmt.Errorf("flag --sizes: %g: must be from 0 to 100 percent", percent)
		}
		o.Sizes[i] = percent / 100
	}
	return nil
}

// burnCommand returns the hidden command that keeps one processor busy until its standard input
// is closed.
func burnCommand() *cobra.Command {
	return &cobra.Command{
		Use: "burn", Hidden: true, Args: cli.NoArguments, Short: "Keep one processor busy until standard input ends",
		RunE: func(cmd *cobra.Command, _ []string) error {
			over := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				close(over)
			}()
			for x := 1.0; ; {
				for range 1 << 20 {
					x *= 1.0000001
				}
				select {
				case <-over:
					return nil
				case <-cmd.Context().Done():
					return cli.ErrInterrupted
				default:
				}
			}
		},
	}
}

// burn starts n processes that keep one processor busy each; end stops them. They also end with
// this process, however it ends, because that closes their standard input.
func burn(n int) (end func(), err error) {
	var pipes []io.Closer
	var processes []*exec.Cmd
	end = func() {
		for _, p := range pipes {
			_ = p.Close()
		}
		for _, c := range processes {
			_ = c.Wait()
		}
	}
	self, err := os.Executable()
	for range n {
		if err != nil {
			break
		}
		c := exec.Command(self, "bench", "burn")
		var in io.WriteCloser
		if in, err = c.StdinPipe(); err == nil {
			err = c.Start()
		}
		if err == nil {
			pipes, processes = append(pipes, in), append(processes, c)
		}
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// calibrationSummary is the JSON form of a calibration.
type calibrationSummary struct {
	Schema         int                    `json:"schema"`
	Version        string                 `json:"version"`
	Preset         string                 `json:"preset"`
	Load           int                    `json:"load"`
	FalsePositives map[string]ratedShare  `json:"false_positives"` // of size 0: by_key, pressed, replicated, ablation
	Coverage       map[string]ratedShare  `json:"coverage"`        // over all sizes
	Detected       map[string][]foundSize `json:"detected"`
	*bench.Calibration
}

type ratedShare struct {
	Rate float64 `json:"rate"`
	N    int     `json:"n"`
}

type foundSize struct {
	Size float64 `json:"size"`
	ratedShare
}

func summarizeCalibration(c *bench.Calibration, preset string, load int) *calibrationSummary {
	s := &calibrationSummary{
		Schema: export.Schema, Version: cli.Version, Preset: preset, Load: load, Calibration: c,
		FalsePositives: map[string]ratedShare{}, Coverage: map[string]ratedShare{}, Detected: map[string][]foundSize{},
	}
	for i := range c.Sizes {
		size := &c.Sizes[i]
		for name, t := range map[string]bench.Tally{"by_key": size.ByKey, "pressed": size.Pressed,
			"replicated": size.Replicated, "ablation": size.Ablation} {
			if t.N == 0 {
				continue
			}
			if found := (ratedShare{t.Found, t.N}); size.Size == 0 {
				s.FalsePositives[name] = found
			} else {
				s.Detected[name] = append(s.Detected[name], foundSize{size.Size, found})
			}
			all := s.Coverage[name]
			s.Coverage[name] = ratedShare{(all.Rate*float64(all.N) + t.Covered*float64(t.N)) / float64(all.N+t.N),
				all.N + t.N}
		}
	}
	return s
}
