package command

import (
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"
)

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
				return badUsage(err)
			case len(rest) > 0:
				return unknownCommand(of, rest[0])
			}
			of.InitDefaultHelpFlag() // otherwise its help would not list them
			of.InitDefaultVersionFlag()
			return of.Help()
		},
	}
}

// printHelp writes a command's help to its standard output. It queries only the terminal's size.
func printHelp(cmd *cobra.Command, _ []string) {
	p := helpPage{width: plainHelpWidth}
	if width, _, err := term.GetSize(os.Stdout.Fd()); err == nil && width > 0 {
		p.width = min(width, maxHelpWidth)
		p.colours = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	p.command(cmd)
	_, _ = io.WriteString(cmd.OutOrStdout(), p.text.String())
}
