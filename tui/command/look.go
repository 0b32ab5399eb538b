package command

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/pflag"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/tui/lines"
	"prismtop/tui/notice"
	"prismtop/tui/screen"
	"prismtop/tui/terminal"
)

// envNotify is the environment variable for --notify.
const envNotify = preset.EnvPrefix + "NOTIFY"

// envWatchBudget is the environment variable for --watch-budget.
const envWatchBudget = preset.EnvPrefix + "WATCH_BUDGET"

// envOr returns the value of a flag, or of an environment variable if the flag is not given, and
// what to call it in errors.
func envOr(flags *pflag.FlagSet, flag, env string) (value, where string) {
	if given := os.Getenv(env); given != "" && !flags.Changed(flag) {
		return given, "environment " + env
	}
	return flags.Lookup(flag).Value.String(), "flag --" + flag
}

// parseBudget converts a percentage to a share.
func parseBudget(text string) (share float64, err error) {
	percent, err := strconv.ParseFloat(text, 64)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return 0, fmt.Errorf("%q: must be a percentage from 0, no limit, to 100", text)
	}
	return percent / 100, nil
}

// look returns the screen's options for a run.
func (f *runFlags) look(flags *pflag.FlagSet, v settings.Values) (o screen.Options, err error) {
	if o, err = f.looks(flags, v); err != nil {
		return o, err
	}
	budget, where := envOr(flags, "watch-budget", envWatchBudget)
	if f.watchBudget, err = parseBudget(budget); err != nil {
		return o, badUsage(fmt.Errorf("%s: %w", where, err))
	}
	notify, where := envOr(flags, "notify", envNotify)
	if o.Notices, err = notice.Parse(notify); err != nil {
		return o, badUsage(fmt.Errorf("%s: %w", where, err))
	}
	if f.lines && (f.headless || f.json) {
		return o, badUsage(errors.New("flag --lines: cannot be joined with --headless or --json"))
	}
	return o, nil
}

// looks returns the screen's options that need no run.
func (f *runFlags) looks(flags *pflag.FlagSet, v settings.Values) (o screen.Options, err error) {
	o.ASCII, o.Settings, o.Origins, o.Summary = f.ascii, v, f.origins, lines.SummaryAs
	// Without a known configuration folder the screen remembers nothing.
	o.Remember, _ = screen.RememberedPath()
	o.FixedColours, o.FixedBandwidth = flags.Changed("theme"), flags.Changed("bandwidth")
	if o.Colours, err = terminal.ParseColours(f.theme); err != nil {
		return o, badUsage(fmt.Errorf("flag --theme: %w", err))
	}
	if o.Bandwidth, err = terminal.ParseBandwidth(f.bandwidth); err != nil {
		return o, badUsage(fmt.Errorf("flag --bandwidth: %w", err))
	}
	return o, nil
}

// inLines converts the screen's options to those of a run in lines of text.
func inLines(o screen.Options) lines.Options {
	return lines.Options{ASCII: o.ASCII, Cores: o.Cores, Notices: o.Notices, Settings: o.Settings, Environ: o.Environ}
}
