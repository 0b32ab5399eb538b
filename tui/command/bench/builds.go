package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"prismtop/sim/bench/builds"
	"prismtop/tui/command/cli"
)

// buildsFlags are the flags of a comparison of builds.
type buildsFlags struct {
	options builds.Options
	preset  string
	sets    []string
	length  time.Duration
	out     cli.ComparisonFlags
}

// mostRounds bounds the rounds: an interval of a thousand is as sharp as it gets.
const mostRounds = 1000

// leastStarts is the number of starts from which their spread says much, if there are several.
const leastStarts = 4

// compareBuildsCommand returns the command bench compare-builds.
func compareBuildsCommand() *cobra.Command {
	var f buildsFlags
	cmd := &cobra.Command{
		Use: "compare-builds OLD NEW", Short: "Run two builds of prismtop by turns, and judge which is faster",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 {
				return nil
			}
			return cli.BadUsage(errors.New("bench compare-builds: wants two paths, of the old build and of " +
				"the new one"))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.preset, "preset", cli.Baseline, "preset that both start from")
	flags.StringArrayVar(&f.sets, "set", nil, "one setting of both as key=value; may be given again")
	flags.IntVar(&f.options.Rounds, "rounds", 64, "rounds of four turns")
	flags.IntVar(&f.options.Starts, "starts", 8, "starts of both programs, among which the rounds are divided: two "+
		"processes of one program differ too, which 1 leaves out of account")
	flags.DurationVar(&f.length, "time", 0, "length of all rounds, as 2m, in place of --rounds")
	flags.DurationVar(&f.options.Turn, "turn", 250*time.Millisecond,
		"length of a turn, which needs four iterations or more")
	f.out.Register(flags)
	return cmd
}

// check checks the flags.
func (f *buildsFlags) check(cmd *cobra.Command) error {
	o := &f.options
	if o.Turn < 20*time.Millisecond || o.Turn > time.Minute {
		return fmt.Errorf("flag --turn: %s: must be from 20ms to 1m", o.Turn)
	}
	if cmd.Flags().Changed("time") {
		if cmd.Flags().Changed("rounds") {
			return errors.New("flag --time: cannot be joined with --rounds")
		}
		o.Rounds = int(f.length / (4 * o.Turn))
		if o.Rounds < 1 || o.Rounds > mostRounds {
			return fmt.Errorf("flag --time: %s: must be from one to %d rounds of four turns, %s to %s", f.length,
				mostRounds, 4*o.Turn, 4*o.Turn*mostRounds)
		}
	}
	if o.Rounds < 1 || o.Rounds > mostRounds {
		return fmt.Errorf("flag --rounds: %d: must be from 1 to %d", o.Rounds, mostRounds)
	}
	if o.Starts != 1 && (o.Starts < leastStarts || o.Starts > o.Rounds) {
		return fmt.Errorf("flag --starts: %d: must be 1, or from %d to the %d rounds", o.Starts, leastStarts, o.Rounds)
	}
	return f.out.Check()
}

func (f *buildsFlags) run(cmd *cobra.Command, paths []string) error {
	if err := f.check(cmd); err != nil {
		return cli.BadUsage(err)
	}
	f.options.Programs = buildPrograms(paths[0], paths[1], f.preset, f.sets)
	c, err := cli.CompareByTurns(cmd, f.options)
	switch {
	case c == nil:
		return err
	case err != nil:
		return errors.Join(f.out.Print(cmd.OutOrStdout(), c), err)
	}
	return f.out.Write(cmd.OutOrStdout(), "bench compare-builds", c)
}

// buildPrograms returns two builds that run a preset, and nothing of the user's own settings.
func buildPrograms(old, new, preset string, sets []string) (programs [2]builds.Program) {
	for i, path := range [2]string{old, new} {
		programs[i] = builds.Program{Path: path, Arguments: buildArguments(preset, sets),
			Env: []string{"XDG_CONFIG_HOME=" + filepath.Join(os.TempDir(), "prismtop-no-settings")}}
	}
	return programs
}

// buildArguments returns the arguments with which builds are compared.
func buildArguments(preset string, sets []string) []string {
	arguments := []string{"run", "--preset", preset}
	if preset == cli.Baseline {
		arguments = append(arguments, "--set", "threshold=0", "--set", "init_iterations=0", "--set", "init_cycles=0")
	}
	for _, set := range sets {
		arguments = append(arguments, "--set", set)
	}
	return arguments
}
