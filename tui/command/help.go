package command

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/page"
	"prismtop/tui/comparison"
	pages "prismtop/tui/page"
	"prismtop/tui/runs"
	"prismtop/tui/screen"
	"prismtop/tui/sessions"
	"prismtop/tui/widget"
)

// help writes the help of a command, unless the command line has a word that is none.
func help(cmd *cobra.Command) error {
	if err := cli.Surplus(cmd); err != nil {
		return err
	}
	return page.Help(cmd)
}

// helpCommand returns the command help, which rejects unknown commands.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Describe a command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) (names []string, d cobra.ShellCompDirective) {
			of, _, err := cmd.Root().Find(args)
			for i := 0; err == nil && i < len(of.Commands()); i++ {
				if c := of.Commands()[i]; c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return cli.BadUsage(err)
			case len(rest) > 0:
				return cli.UnknownCommand(of, rest[0])
			}
			of.InitDefaultHelpFlag() // otherwise its help would not list them
			of.InitDefaultVersionFlag()
			return of.Help()
		},
	}
}

// manualCommand returns the hidden command man.
func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", Hidden: true, Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := manual()
			if err == nil {
				_, err = io.WriteString(cmd.OutOrStdout(), text)
			}
			return err
		},
	}
}

// manual returns the manual page.
func manual() (string, error) {
	return page.Manual(rootCommand(), keySections())
}

// keySections returns the keys of all screens.
func keySections() []widget.KeySection {
	return slices.Concat(screen.KeySections(workloads.All[0].Presets.Table), runs.KeySections(), sessions.KeySections(), comparison.KeySections(), pages.KeySections())
}
