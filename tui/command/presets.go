package command

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
)

// presetsCommand returns the command presets.
func presetsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "presets", Short: "List the presets, or show one with the origin of every value",
		Args: cli.NoArguments}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return listPresets(cmd.OutOrStdout()) }
	list := &cobra.Command{Use: "list", Short: "List the presets", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return listPresets(cmd.OutOrStdout()) }}
	var f cli.SettingFlags
	show := &cobra.Command{
		Use: "show [preset]", Short: "Print a preset's settings as TOML, with what a file, the environment and " +
			"flags change",
		Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("preset") {
				return cli.BadUsage(fmt.Errorf("presets show: the preset is given twice, %q and --preset", args[0]))
			}
			if len(args) > 0 {
				if _, err := workloads.Presets().Lookup(args[0]); err != nil && args[0] != "" {
					return cli.BadUsage(fmt.Errorf("presets show: %w", err))
				}
				if err := cmd.Flags().Set("preset", args[0]); err != nil {
					return cli.BadUsage(err)
				}
			}
			v, origins, err := f.Resolve(cmd.Context(), cmd.Flags())
			if err != nil {
				return cli.BadUsage(err)
			}
			chosen, err := f.Sources.Chosen()
			if err != nil {
				return cli.BadUsage(err)
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "preset = %q\n\n", chosen.Name); err != nil {
				return err
			}
			return v.Write(cmd.OutOrStdout(), origins)
		},
	}
	f.Own = true
	f.Register(show.Flags())
	cmd.AddCommand(list, show)
	return cmd
}

func listPresets(w io.Writer) error {
	presets := workloads.Presets()
	for _, name := range presets.Names() {
		p, err := presets.Lookup(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-18s %s\n", name, p.Description); err != nil {
			return err
		}
	}
	return nil
}
