package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/sim/bench"
	"prismtop/sim/workload"
	"prismtop/tui/command/cli"
)

// This file is what the benchmarks within one run have in common: ablation, calibrate and watching.

// measured is the run within which they measure.
type measured struct {
	settings settings.Values
	preset   string // its name
	maker    workload.Maker
	run      profiles.RunInfo // once it was measured
}

// limits are the flags that would end the run before the measurement.
var limits = []string{"max-iterations", "max-time"}

// register defines the flags of settings, without those of limits in the help.
func register(cmd *cobra.Command, f *cli.SettingFlags) {
	f.Register(cmd.Flags())
	for _, limit := range limits {
		cmd.Flags().Lookup(limit).Hidden = true
	}
}

// resolve returns the run of the flags, which starts from the preset baseline. check checks the
// command's own flags; ends says how the measurement ends, in place of a limit.
func resolve(cmd *cobra.Command, f *cli.SettingFlags, ends string, check func(settings.Values) error) (m measured,
	err error) {
	f.FromBaseline(cmd.Flags())
	v, _, err := f.Resolve(cmd.Context(), cmd.Flags())
	if err == nil {
		err = check(v)
	}
	for _, limit := range limits {
		if err == nil && cmd.Flags().Changed(limit) {
			err = fmt.Errorf("flag --%s: %s", limit, ends)
		}
	}
	if err != nil {
		return m, cli.BadUsage(err)
	}
	chosen, err := f.Sources.Chosen()
	if err != nil {
		return m, cli.BadUsage(err)
	}
	maker, err := cli.OnDevice(cmd.Context(), v)
	return measured{settings: v, preset: chosen.Name, maker: maker}, cli.BadUsage(f.Sourced(err))
}

// ablation runs an ablation and shows how far it is. An interrupted one has a table and an error, if it measured
// anything.
func (m *measured) ablation(cmd *cobra.Command, o ablation.Options) (*profiles.Ablation, error) {
	shown := newProgress(cmd)
	table, run, err := bench.Ablation(cmd.Context(), m.maker, m.settings, o, func(a *profiles.Ablation) {
		if a.LeftKnown {
			shown.report("%d of %d %s, %.0f s left", a.Done, a.Groups, a.Unit(), a.Left.Seconds())
		}
	})
	m.run = run
	shown.end()
	if cmd.Context().Err() != nil {
		err = cli.ErrInterrupted
	}
	return table, err
}

// failed returns the error of a measurement, with the source of a picture or a device that cannot be
// used.
func failed(f *cli.SettingFlags, err error) error {
	var unusable *settings.KeyError
	if errors.As(err, &unusable) {
		return cli.BadUsage(f.Sourced(err))
	}
	return err
}

// progressEvery is the time between two lines of progress that is not shown on a terminal.
const progressEvery = 10 * time.Second

// progress reports how far a measurement is: in one line that is rewritten on a terminal, otherwise
// in a line now and then.
type progress struct {
	w       io.Writer
	rewrite bool
	now     func() time.Time
	last    time.Time // of the newest line
	open    bool      // the line on the terminal has no end
}

// newProgress returns the progress of a command, on its standard error.
func newProgress(cmd *cobra.Command) *progress {
	return &progress{w: cli.Notes(cmd), rewrite: term.IsTerminal(os.Stderr.Fd()), now: time.Now, last: time.Now()}
}

// report reports how far it is.
func (p *progress) report(format string, values ...any) {
	if p.rewrite {
		fmt.Fprintf(p.w, "\r"+format+" ", values...)
		p.open = true
		return
	}
	if now := p.now(); now.Sub(p.last) >= progressEvery {
		p.last = now
		fmt.Fprintf(p.w, format+"\n", values...)
	}
}

// note writes a line of its own.
func (p *progress) note(text string) {
	p.end()
	fmt.Fprintln(p.w, text)
}

// end ends the line.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}
