// Package cli is what the commands have in common: the flags of settings, devices, recordings and files
// that flags name, errors with their exit statuses, and outputs that a stuck terminal cannot block.
package cli

import (
	"os"
	"runtime/debug"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/pflag"

	"prismtop/profiles/preset"
)

// Version is the program's version, set in released builds by
//
//	go build -ldflags '-X prismtop/tui/command/cli.Version=1.2.3'
var Version = "0.1.0-dev"

// ThriftyCollector makes the garbage collector run more often, unless the user set GOGC. Nearly
// all of the heap is pointer-free tensors, which are free to mark, while garbage of the same
// size would double the program's memory.
func ThriftyCollector() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(20)
	}
}

// OnTerminal reports whether the process can show a screen: its input and output are terminals, and not
// dumb ones.
func OnTerminal() bool {
	return term.IsTerminal(os.Stdout.Fd()) && term.IsTerminal(os.Stdin.Fd()) && os.Getenv("TERM") != "dumb"
}

// EnvNotify is the environment variable for --notify.
const EnvNotify = preset.EnvPrefix + "NOTIFY"

// EnvWatchBudget is the environment variable for --watch-budget.
const EnvWatchBudget = preset.EnvPrefix + "WATCH_BUDGET"

// EnvOnHangup is the environment variable for --on-hangup.
const EnvOnHangup = preset.EnvPrefix + "ON_HANGUP"

// EnvOr returns the value of a flag, or of an environment variable if the flag is not given, and
// what to call it in errors.
func EnvOr(flags *pflag.FlagSet, flag, env string) (value, where string) {
	if given := os.Getenv(env); given != "" && !flags.Changed(flag) {
		return given, "environment " + env
	}
	return flags.Lookup(flag).Value.String(), "flag --" + flag
}
