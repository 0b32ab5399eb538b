package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/settings"
)

// noArguments, atMost and atLeastOne check what stands behind a command.
func noArguments(cmd *cobra.Command, args []string) error { return atMost(0)(cmd, args) }

func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		if cmd.HasAvailableSubCommands() {
			return unknownCommand(cmd, args[n])
		}
		return badUsage(fmt.Errorf("%sunexpected argument %q; see %s --help", prefix(cmd), args[n], cmd.CommandPath()))
	}
}

func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return badUsage(fmt.Errorf("%swants at least one %s", prefix(cmd), what))
	}
}

// prefix begins an error about a command, whose program Main names.
func prefix(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") + ": "
}

// unknownCommand says that no command below cmd has this name, and which has one like it.
func unknownCommand(cmd *cobra.Command, name string) error {
	return badUsage(fmt.Errorf("%sunknown command %q%s", prefix(cmd), name, similar(name, commandNames(cmd), "", cmd)))
}

// commandNames are the commands below cmd that help shows.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// unknownFlag says that cmd has no flag of this name, and which has one like it.
func unknownFlag(cmd *cobra.Command, name string) error {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return badUsage(fmt.Errorf("%sunknown flag --%s%s", prefix(cmd), name, similar(name, names, "--", cmd)))
}

// similar asks whether one of the names was meant that are like name, or points to the
// help where none is.
func similar(name string, names []string, dashes string, cmd *cobra.Command) string {
	near := settings.Closest(name, names)
	if len(near) == 0 {
		return fmt.Sprintf("; see %s --help", cmd.CommandPath())
	}
	return fmt.Sprintf(": did you mean %s?", dashes+strings.Join(near, " or "+dashes))
}
