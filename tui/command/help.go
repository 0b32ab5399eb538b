package command

import (
	"cmp"
	"context"
	_ "embed" // the texts of help
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/helptext"
	"prismtop/tui/keys"
)

// helpTexts has the description and the examples of every command.
//
//go:embed help.md
var helpTexts string

// describe gives a command and those below it their descriptions and examples.
func describe(cmd *cobra.Command) {
	for _, c := range cmd.Commands() {
		describe(c)
	}
	_, text, found := strings.Cut(helpTexts, "\n## "+cmd.CommandPath()+"\n")
	if !found {
		return
	}
	text, _, _ = strings.Cut(text, "\n## ")
	about, examples, _ := strings.Cut("\n"+text, "\n    ")
	if about = strings.TrimSpace(about); about != "" {
		cmd.Long = about
	}
	cmd.Example = strings.TrimSpace(strings.ReplaceAll(examples, "\n    ", "\n"))
}

// help writes the help of a command, unless the command line has a word that is none.
func help(cmd *cobra.Command) error {
	if err := cli.Surplus(cmd); err != nil {
		return err
	}
	return helptext.Help(cmd)
}

// helpCommand returns the command help, which rejects unknown commands.
func helpCommand() *cobra.Command {
	var workload string
	topics := map[string]func(context.Context, io.Writer, *workloads.Workload) error{
		"keys": writeKeys,
		"settings": func(_ context.Context, w io.Writer, of *workloads.Workload) error {
			p, err := workloads.Presets().Lookup(of.Presets.Default)
			if err != nil {
				return err
			}
			return writeSettings(w, p.Settings)
		},
	}
	help := &cobra.Command{
		Use: "help [command | keys | settings]", Short: "Describe a command, the keys of the screen, or the settings",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, begun string) (names []string,
			d cobra.ShellCompDirective) {
			of, _, err := cmd.Root().Find(args)
			if len(args) == 0 && strings.HasPrefix("keys", begun) {
				names = append(names, cobra.CompletionWithDesc("keys", "The keys of the screen"))
			}
			for i := 0; err == nil && i < len(of.Commands()); i++ {
				if c := of.Commands()[i]; c.IsAvailableCommand() && strings.HasPrefix(c.Name(), begun) {
					names = append(names, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("workload") && (len(args) != 1 || topics[args[0]] == nil) {
				return cli.BadUsage(errors.New("flag --workload: is of prismtop help keys and prismtop help settings"))
			}
			if len(args) == 1 && topics[args[0]] != nil {
				w, err := workloadNamed(workload)
				if err != nil {
					return cli.BadUsage(err)
				}
				return topics[args[0]](cmd.Context(), cmd.OutOrStdout(), w)
			}
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
	registerWorkload(help, &workload)
	return help
}

// writeKeys writes the keys of all screens that are in force, those of a run for a workload, with the names of the
// actions in keys.toml.
func writeKeys(ctx context.Context, w io.Writer, of *workloads.Workload) error {
	own, err := cli.OwnKeys(ctx)
	if err != nil {
		return err
	}
	t, err := keys.For(of.Presets.Table, own)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Keys of a run of the workload %s, of a replay, of the table of runs and of a comparison\n",
		of.Presets.Table.Workload)
	for _, s := range t.Manual() {
		fmt.Fprintf(&b, "\n%s\n", s.Title)
		for _, r := range s.Rows {
			shown := strings.Join(r.Keys, " ")
			if len(r.Keys) > 2 {
				shown = r.Name()
			}
			name := keys.Path(r.Action)
			if r.Fixed {
				name = "fixed"
			}
			fmt.Fprintf(&b, "  %-11s %-26s %s\n", shown, name, r.Help)
		}
	}
	fmt.Fprintf(&b, "\nA line in %s, such as pause = \"z\", gives an action another key.\n",
		cmp.Or(keys.OwnPath(), "keys.toml"))
	_, err = io.WriteString(w, b.String())
	return err
}

// versionCommand returns the command version.
func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version, commit and Go version of this program", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "prismtop version", cli.AboutBuild())
			return err
		},
	}
}

// manualCommand returns the hidden command man.
func manualCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Print the manual page", Hidden: true, Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			own, err := cli.OwnKeys(cmd.Context())
			if err != nil {
				return err
			}
			text, err := manual(own)
			if err == nil {
				_, err = io.WriteString(cmd.OutOrStdout(), text)
			}
			return err
		},
	}
}

// manual returns the manual page, with the user's choices of keys.
func manual(own *keys.Own) (string, error) {
	t, err := keys.For(workloads.All[0].Presets.Table, own)
	if err != nil {
		return "", err
	}
	return helptext.Manual(rootCommand(nil), t.Manual())
}
