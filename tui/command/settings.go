package command

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/words"
)

// settingsCommand returns the command settings.
func settingsCommand() *cobra.Command {
	var f cli.SettingFlags
	var workload string
	cmd := &cobra.Command{
		Use: "settings [KEY]", Short: "List the settings with their values, limits and keys, or describe one",
		Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := ofWorkload(cmd.Flags(), workload); err != nil {
				return cli.BadUsage(fmt.Errorf("settings: %w", err))
			}
			v, origins, err := f.Resolve(cmd.Context(), cmd.Flags())
			if err != nil {
				return cli.BadUsage(err)
			}
			if len(args) == 0 {
				return writeSettings(cmd.OutOrStdout(), v)
			}
			k, known := v.Lookup(args[0])
			if !known {
				return cli.BadUsage(fmt.Errorf("settings: %w", unknownSetting(v, args[0])))
			}
			return describeSetting(cmd.OutOrStdout(), v, k, origins[k.Name])
		},
		ValidArgsFunction: completeKeys,
	}
	f.Own = true
	f.Register(cmd.Flags())
	registerWorkload(cmd, &workload)
	return cmd
}

// registerWorkload defines the flag --workload.
func registerWorkload(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "workload", "", "workload, in place of a preset: "+strings.Join(workloadNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("workload",
		cobra.FixedCompletions(workloadNames(), cobra.ShellCompDirectiveNoFileComp))
}

// workloadNames lists the workloads, the default first.
func workloadNames() (names []string) {
	for _, w := range workloads.All {
		names = append(names, w.Presets.Table.Workload)
	}
	return names
}

// workloadNamed returns a workload by its name; the default for none.
func workloadNamed(name string) (*workloads.Workload, error) {
	for i := range workloads.All {
		if w := &workloads.All[i]; w.Presets.Table.Workload == name || name == "" {
			return w, nil
		}
	}
	return nil, fmt.Errorf("flag --workload: %q: must be one of %s", name, strings.Join(workloadNames(), ", "))
}

// ofWorkload selects the default preset of a workload that a flag names.
func ofWorkload(flags *pflag.FlagSet, name string) error {
	if !flags.Changed("workload") {
		return nil
	}
	if flags.Changed("preset") {
		return errors.New("flags --workload and --preset exclude each other: a preset is of one workload")
	}
	if name == "" {
		return fmt.Errorf(`flag --workload: "": must be one of %s`, strings.Join(workloadNames(), ", "))
	}
	w, err := workloadNamed(name)
	if err != nil {
		return err
	}
	return flags.Set("preset", w.Presets.Default)
}

// unknownSetting returns the error about a key that a workload does not have.
func unknownSetting(v settings.Values, key string) error {
	if near := settings.Closest(key, v.Table().Names()); len(near) > 0 {
		return fmt.Errorf("the workload %s has no setting %q: did you mean %s?", v.Table().Workload, key,
			strings.Join(near, " or "))
	}
	return fmt.Errorf("the workload %s has no setting %q: prismtop settings --workload %[1]s lists them",
		v.Table().Workload, key)
}

// writeSettings writes the table of settings, two lines each.
func writeSettings(w io.Writer, v settings.Values) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Settings of the workload %s. A key changes a live setting during the run; the others are read at "+
		"the start.\n", v.Table().Workload)
	group := ""
	for _, k := range v.Keys() {
		if k.Group != group {
			group = k.Group
			fmt.Fprintf(&b, "\n%s\n", group)
		}
		live := ""
		if k.Live {
			live = "live"
		}
		fmt.Fprintf(&b, "  %-22s %-14s %-4s %-4s %s\n", k.Name, visible.Text(v.Quoted(k.Name)), keysOf(&k),
			live, k.Wants())
		for _, line := range words.Wrap(meaning(&k), 74) {
			fmt.Fprintf(&b, "      %s\n", line)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describeSetting writes all about one setting.
func describeSetting(w io.Writer, v settings.Values, k *settings.Key, origin string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", k.Name, meaning(k))
	entry := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-8s %s\n", name, text)
		}
	}
	entry("value", visible.Text(v.Quoted(k.Name)))
	entry("from", visible.Text(origin))
	entry("may be", k.Wants())
	if k.Live {
		entry("live", "yes, in force at the next iteration")
		for _, p := range k.Presses {
			entry("key", p.Key+": "+p.Help)
		}
	} else {
		entry("live", "no: "+k.Fixed)
	}
	entry("idle", k.Idle(v))
	entry("workload", v.Table().Workload)
	entry("set it", "--set "+k.Name+"=…, PRISMTOP_"+strings.ToUpper(k.Name)+", or "+k.Name+
		" = … in a file for --config")
	_, err := io.WriteString(w, b.String())
	return err
}

// meaning returns what a setting is, with its unit.
func meaning(k *settings.Key) string {
	if k.Unit == "" {
		return k.Help
	}
	return k.Help + " (" + k.Unit + ")"
}

// keysOf returns the keys of a setting on the screen, as "l L".
func keysOf(k *settings.Key) string {
	var keys []string
	for _, p := range k.Presses {
		keys = append(keys, p.Key)
	}
	return strings.Join(keys, " ")
}
