package command

import "github.com/spf13/cobra"

// addCompletion adds Cobra's command for shell completions, and makes it reject unknown shells.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil && c != root {
		c.Args = noArguments
		c.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}
