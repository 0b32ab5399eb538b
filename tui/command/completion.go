package command

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/profiles/export/files"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/sweep"
	"prismtop/sim/cpu"
	"prismtop/sim/workloads"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
)

// This file completes values in the shell: presets, settings and their values, recordings, sessions, formats.

// fixed lists the values of flags that have few.
var fixed = map[string][]string{
	"theme": {"auto", "dark", "light", "mono"}, "bandwidth": {"auto", "low", "full"},
	"on-hangup": {"auto", "detach", "end"}, "executor": {"local", "slurm"}, "pairing": {"none", "turns"},
	"format": sweep.Formats, "notify": {"off", "bell", "osc9", "osc777"}, "device": {"auto", "cpu", "cuda", "cuda:1"},
}

// addCompletions completes values of the flags of a command and of those below it.
func addCompletions(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch values := fixed[f.Name]; {
		case f.Value.Type() == "bool":
		case values != nil:
			_ = cmd.RegisterFlagCompletionFunc(f.Name,
				cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		case f.Name == "kernels":
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(append([]string{"auto"},
				cpu.KernelNames()...), cobra.ShellCompDirectiveNoFileComp))
		case f.Name == "preset":
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completePresets)
		case f.Name == "set":
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completeSets)
		case f.Name == "export":
			_ = cmd.RegisterFlagCompletionFunc(f.Name, completeFormats)
		}
	})
	if cmd.ValidArgsFunction == nil {
		switch strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ") {
		case "replay", "compare", "runs name", "runs note", "runs delete":
			cmd.ValidArgsFunction = completeRuns
		case "export":
			cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string,
				cobra.ShellCompDirective) {
				if len(args) == 0 {
					return completeRuns(cmd, args, begun)
				}
				return completeFormats(cmd, args, begun)
			}
		case "attach", "stop":
			cmd.ValidArgsFunction = completeSessions
		case "presets show":
			cmd.ValidArgsFunction = completePresets
		}
	}
	for _, c := range cmd.Commands() {
		addCompletions(c)
	}
}

// beginning returns the values that begin with what is typed.
func beginning(values []string, begun string) (found []string) {
	for _, v := range values {
		if strings.HasPrefix(v, begun) {
			found = append(found, v)
		}
	}
	return found
}

// completePresets completes the name of a preset.
func completePresets(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	presets := workloads.Presets()
	var found []string
	for _, name := range beginning(presets.Names(), begun) {
		if p, err := presets.Lookup(name); err == nil {
			found = append(found, cobra.CompletionWithDesc(name, p.Description))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// tableFor returns the table of settings of the command line so far: that of the preset, or of the command's workload.
func tableFor(cmd *cobra.Command) *settings.Table {
	if f := cmd.Flags().Lookup("preset"); f != nil && f.Value.String() != "" {
		if p, err := workloads.Presets().Lookup(f.Value.String()); err == nil {
			return p.Settings.Table()
		}
	}
	if f := cmd.Flags().Lookup("workload"); f != nil {
		if w, err := workloadNamed(f.Value.String()); err == nil {
			return w.Presets.Table
		}
	}
	path := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
	for command, workload := range map[string]string{"ptycho": "ptycho", "ptycho train": "ptycho-training",
		"cyto": "cyto"} {
		if table := cli.TableOf(workload); path == command && table != nil {
			return table
		}
	}
	return workloads.All[0].Presets.Table
}

// completeKeys completes the key of a setting.
func completeKeys(cmd *cobra.Command, args []string, begun string) (found []string, d cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, k := range tableFor(cmd).Keys() {
		if strings.HasPrefix(k.Name, begun) {
			found = append(found, cobra.CompletionWithDesc(k.Name, k.Help))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeSets completes key=value of a setting: first the key, then its values if it has few.
func completeSets(cmd *cobra.Command, _ []string, begun string) (found []string, d cobra.ShellCompDirective) {
	table := tableFor(cmd)
	key, value, given := strings.Cut(begun, "=")
	if !given {
		for _, k := range table.Keys() {
			if strings.HasPrefix(k.Name, begun) {
				found = append(found, cobra.CompletionWithDesc(k.Name+"=", k.Help))
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	k, known := table.Lookup(key)
	if !known {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	values := k.Allowed
	if k.Type == settings.TypeSwitch {
		values = []string{"true", "false"}
	}
	for _, v := range beginning(values, value) {
		found = append(found, key+"="+v)
	}
	if len(values) == 0 && k.Type == settings.TypeText {
		return nil, cobra.ShellCompDirectiveDefault // a path
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeFormats completes the format of FORMAT=PATH; the shell completes the path.
func completeFormats(_ *cobra.Command, _ []string, begun string) (found []string, d cobra.ShellCompDirective) {
	if strings.Contains(begun, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for _, k := range files.Kinds() {
		if strings.HasPrefix(k.Name, begun) {
			found = append(found, cobra.CompletionWithDesc(k.Name+"=", k.About))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeRuns completes the name of a recording; files are completed too.
func completeRuns(cmd *cobra.Command, _ []string, begun string) (found []string, d cobra.ShellCompDirective) {
	folder, err := recording.Folder()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	all, err := filepath.Glob(filepath.Join(folder, "*.sqlite"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	for i := range all { // newest first
		name := strings.TrimSuffix(filepath.Base(all[len(all)-1-i]), ".sqlite")
		if strings.HasPrefix(name, begun) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveKeepOrder
}

// completeSessions completes the ID of a session.
func completeSessions(cmd *cobra.Command, args []string, begun string) (found []string, d cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, f := range sessions.All(cmd.Context()) {
		if strings.HasPrefix(f.ID, begun) {
			found = append(found, cobra.CompletionWithDesc(f.ID, f.Info.Object))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
