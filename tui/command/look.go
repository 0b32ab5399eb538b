package command

import (
	"errors"
	"fmt"
	"os"

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

// look returns the screen's options.
func (f *runFlags) look(flags *pflag.FlagSet, v settings.Values) (o screen.Options, err error) {
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
	notify, where := f.notify, "flag --notify"
	if given := os.Getenv(envNotify); given != "" && !flags.Changed("notify") {
		notify, where = given, "environment "+envNotify
	}
	if o.Notices, err = notice.Parse(notify); err != nil {
		return o, badUsage(fmt.Errorf("%s: %w", where, err))
	}
	if f.lines && (f.headless || f.json) {
		return o, badUsage(errors.New("flag --lines: cannot be joined with --headless or --json"))
	}
	return o, nil
}

// inLines converts the screen's options to those of a run in lines of text.
func inLines(o screen.Options) lines.Options {
	return lines.Options{ASCII: o.ASCII, Cores: o.Cores, Notices: o.Notices, Settings: o.Settings, Environ: o.Environ}
}
