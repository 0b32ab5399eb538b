// Package bench is the command bench: a subcommand a file, which reads its flags, has sim/bench measure, and prints or
// writes what came out. What a measurement means, and how it is judged, is in sim/bench and profiles; here are words.
package bench

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/tui/command/cli"
)

// Sweep runs commands of the suite as arms of a sweep, in a folder, by an executor.
type Sweep func(cmd *cobra.Command, folder, executor string, arms []Arm) error

// Arm is a command of the suite: its arguments after bench.
type Arm struct {
	Name string
	Args []string
}

// Command returns the command bench. sweep runs a plan of its commands.
func Command(sweep Sweep) *cobra.Command {
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure speed, memory and effects, each command for one question", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var names []string
			for _, c := range cmd.Commands() {
				if !c.Hidden && c.Name() != "help" {
					names = append(names, c.Name())
				}
			}
			return cli.BadUsage(fmt.Errorf("bench: what to measure is missing: must be one of %s",
				strings.Join(names, ", ")))
		},
	}
	part := map[string]*cobra.Command{}
	for _, c := range suiteCommands(sweep) {
		part[c.Name()] = c
	}
	cmd.AddCommand(burnCommand(), ptychoTrialCommand())
	cli.AddGroup(cmd, "How fast is it?", benchModelCommand(), benchScalingCommand(), benchPeerCommand())
	cli.AddGroup(cmd, "What should I switch?", recommendCommand(), benchAblationCommand())
	cli.AddGroup(cmd, "Does mixed precision pay here?", part["amp"])
	cli.AddGroup(cmd, "Which build is faster?", checkCommand(), compareBuildsCommand(), historyCommand())
	cli.AddGroup(cmd, "What do PRISM's documents claim, and is it so here?", part["claims"], part["all"],
		part["compare"], part["baseline"], part["optimized"],
		part["performance"], part["profile"], part["measurement-cache"], part["inference"])
	cli.AddGroup(cmd, "Which batch size is best for PtychoPINN?", benchPtychoCommand())
	cli.AddGroup(cmd, "Can these numbers be trusted?", benchCalibrateCommand(), benchWatchingCommand())
	for _, c := range cmd.Commands() {
		if measures := !c.Hidden && c.Name() != "history"; measures {
			cli.RegisterQuiet(c.Flags())
		}
	}
	return cmd
}
