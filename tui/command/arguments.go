package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
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
