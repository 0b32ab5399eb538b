package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/settings"
)

// NoArguments rejects all arguments of a command.
func NoArguments(cmd *cobra.Command, args []string) error { return AtMost(0)(cmd, args) }

// surplusError is a word on the command line that the command does not take.
type surplusError struct{ error }

func (e *surplusError) Unwrap() error { return e.error }

// Surplus returns the error about a word on the command line that the command does not
// take; nil for none. Missing ones do not matter to it.
func Surplus(cmd *cobra.Command) error {
	err := cmd.ValidateArgs(cmd.Flags().Args())
	var surplus *surplusError
	if errors.As(err, &surplus) {
		return err
	}
	return nil
}

// AtMost rejects more than n arguments of a command; one with subcommands then wants one of those.
func AtMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		if cmd.HasAvailableSubCommands() {
			return UnknownCommand(cmd, args[n])
		}
		return BadUsage(&surplusError{fmt.Errorf("%sunexpected argument %q; see %s --help", prefix(cmd), args[n],
			cmd.CommandPath())})
	}
}

// AtLeastOne rejects a command without arguments, of which what is one.
func AtLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return BadUsage(fmt.Errorf("%swants at least one %s", prefix(cmd), what))
	}
}

// prefix returns the start of an error about a command; Main adds the name of the program.
func prefix(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return ""
	}
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") + ": "
}

// UnknownCommand returns an error about an unknown command below cmd that suggests similar
// names.
func UnknownCommand(cmd *cobra.Command, name string) error {
	return BadUsage(&surplusError{fmt.Errorf("%sunknown command %q%s", prefix(cmd), name,
		similar(name, commandNames(cmd), "", cmd))})
}

// commandNames returns the visible commands below cmd.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			names = append(names, c.Name())
		}
	}
	return names
}

// foreignFlags are flags of PRISM, and what is given here instead.
var foreignFlags = map[string]string{
	"use-amp": "it is --set amp=fp16, or bf16, here; prismtop bench amp measures which mode pays",
}

// unknownFlag returns an error about an unknown flag of cmd that suggests similar names.
func unknownFlag(cmd *cobra.Command, name string) error {
	if hint := foreignFlags[name]; hint != "" {
		return BadUsage(fmt.Errorf("%sunknown flag --%s: %s", prefix(cmd), name, hint))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return BadUsage(fmt.Errorf("%sunknown flag --%s%s", prefix(cmd), name, similar(name, names, "--", cmd)))
}

// similar asks whether one of the names close to name was meant, or refers to the help if there
// is none.
func similar(name string, names []string, dashes string, cmd *cobra.Command) string {
	near := settings.Closest(name, names)
	if len(near) == 0 {
		return fmt.Sprintf("; see %s --help", cmd.CommandPath())
	}
	return fmt.Sprintf(": did you mean %s?", dashes+strings.Join(near, " or "+dashes))
}

// AddGroup adds commands to a command under a heading of its help.
func AddGroup(to *cobra.Command, title string, commands ...*cobra.Command) {
	to.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	to.AddCommand(commands...)
}
