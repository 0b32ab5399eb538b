package bench

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/recommend"
	"prismtop/profiles/settings"
	"prismtop/sim/ablation"
	"prismtop/tui/command/cli"
)

// recommendJSON is bench recommend --json.
type recommendJSON struct {
	Schema   int             `json:"schema"`
	Version  string          `json:"version"`
	Preset   string          `json:"preset"`
	Settings settings.Values `json:"settings"`
	Ended    string          `json:"ended"` // of the ablation: "complete", or why it ended before
	// ForeignCPU is the share of the processors that other programs took meanwhile, 0 to 1; null if it is not known.
	ForeignCPU      *float64                   `json:"foreign_cpu"`
	Recommendations []recommend.Recommendation `json:"recommendations"`
}

// recommendCommand returns the command bench recommend.
func recommendCommand() *cobra.Command {
	var f cli.SettingFlags
	var o ablation.Options
	var asJSON bool
	cmd := &cobra.Command{
		Use: "recommend", Short: "Measure what each optimisation would save here, and list what to switch, the " +
			"largest saving first and what is switched already last", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := resolve(cmd, &f, "the measurement ends with its last round; see --rounds and --only",
				func(v settings.Values) error { return benchAblationOptions(cmd.Flags(), v, nil, &o) })
			if err != nil {
				return err
			}
			table, err := m.ablation(cmd, o)
			if table == nil {
				return failed(&f, err)
			}
			list := recommend.List(table, m.cautions())
			out := cmd.OutOrStdout()
			if asJSON {
				if list == nil {
					list = []recommend.Recommendation{}
				}
				object := &recommendJSON{Schema: export.Schema, Version: cli.Version, Preset: m.preset,
					Settings: m.settings, Ended: table.Ended, Recommendations: list}
				if table.ForeignKnown {
					object.ForeignCPU = &table.Foreign
				}
				return errors.Join(export.WriteObject(out, object), err)
			}
			written := recommend.WriteText(out, list, table)
			if table.Ended != "complete" && written == nil {
				_, written = fmt.Fprintf(out, "the ablation ended early: %s\n", table.Ended)
			}
			return errors.Join(written, err)
		},
	}
	register(cmd, &f)
	cmd.Flags().IntVar(&o.Rounds, "rounds", 0, fmt.Sprintf("groups of four blocks for each setting, %d without; below "+
		"6 nothing is recommended", profiles.AblationRounds))
	cmd.Flags().StringSliceVar(&o.Only, "only", nil, "settings to compare; all without")
	cmd.Flags().BoolVar(&asJSON, "json", false, "the list as one JSON object (prismtop docs benchmarks)")
	return cmd
}

// cautions returns what limits values of settings on the device and with the kernels of the run that was measured.
func (m *measured) cautions() func(key, value string) []string {
	return func(key, value string) []string { return m.run.CautionsAbout(key, value, m.settings) }
}
