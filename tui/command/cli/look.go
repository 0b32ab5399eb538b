package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"prismtop/profiles/settings"
	"prismtop/sim/workloads"
	"prismtop/tui/keys"
	"prismtop/tui/page"
	"prismtop/tui/screen"
	"prismtop/tui/terminal"
)

// Look is the flags of a screen's looks.
type Look struct {
	ascii     bool
	theme     string
	bandwidth string
}

// Register defines the flags.
func (l *Look) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&l.ascii, "ascii", false, "draw with 7-bit characters, as on a terminal without UTF-8 (LANG=C, "+
		"TERM=linux) anyway; --ascii=false draws all there too")
	flags.StringVar(&l.theme, "theme", "auto", "colours of the screen: auto, dark, light or mono")
	flags.StringVar(&l.bandwidth, "bandwidth", "auto",
		"how much of the line to the terminal the screen may take: auto, low or full")
}

// ASCII reports whether a terminal with an environment is drawn with 7-bit characters.
func (l *Look) ASCII(flags *pflag.FlagSet, environ []string) bool {
	return l.ascii || !flags.Changed("ascii") && terminal.Plain(environ) != ""
}

// Options returns the options of a screen.
func (l *Look) Options(flags *pflag.FlagSet) (o screen.Options, err error) {
	o.ASCII = l.ASCII(flags, os.Environ())
	// Without a known configuration folder the screen remembers nothing.
	o.Remember, _ = screen.RememberedPath()
	o.FixedColours, o.FixedBandwidth = flags.Changed("theme"), flags.Changed("bandwidth")
	if o.Colours, err = terminal.ParseColours(l.theme); err != nil {
		return o, BadUsage(fmt.Errorf("flag --theme: %w", err))
	}
	if o.Bandwidth, err = terminal.ParseBandwidth(l.bandwidth); err != nil {
		return o, BadUsage(fmt.Errorf("flag --bandwidth: %w", err))
	}
	return o, nil
}

// ReadKeys reads the user's choices of keys for a screen that is about to be shown.
func ReadKeys(ctx context.Context, o *screen.Options) (err error) {
	o.Keys, err = OwnKeys(ctx)
	return err
}

// OwnKeys returns the user's choices of keys, for runs of all workloads.
func OwnKeys(ctx context.Context) (*keys.Own, error) {
	var tables []*settings.Table
	for i := range workloads.All {
		tables = append(tables, workloads.All[i].Presets.Table)
	}
	own, err := keys.Read(ctx, keys.OwnPath(), tables...)
	if err != nil {
		return nil, BadUsage(err)
	}
	return own, nil
}

// Page returns the looks of a page: those of the screen as it was left, unless flags say otherwise.
func Page(o screen.Options) page.Options {
	colours, bandwidth, mouse := screen.Left(o)
	return page.Options{ASCII: o.ASCII, Colours: colours, Bandwidth: bandwidth, Mouse: mouse, Keys: o.Keys}
}
