package cli

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// quiet is the name of the flag of commands that print progress or notes.
const quiet = "quiet"

// RegisterQuiet defines the flag --quiet.
func RegisterQuiet(flags *pflag.FlagSet) {
	flags.BoolP(quiet, "q", false, "print no progress, notes or hints on standard error: errors and results alone")
}

// Quiet reports whether --quiet is given.
func Quiet(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup(quiet)
	return f != nil && f.Value.String() == "true"
}

// Notes returns the writer of progress, notes and hints: standard error, or nothing with --quiet.
func Notes(cmd *cobra.Command) io.Writer {
	if Quiet(cmd) {
		return io.Discard
	}
	return cmd.ErrOrStderr()
}
