package bench

import (
	"strings"
	"testing"

	"prismtop/tui/command/cli"
)

// A setting that the measurement decides by itself is refused where it is given, before anything is measured.
func TestSettingsThatAMeasurementDecidesAreRefused(t *testing.T) {
	for _, c := range []struct{ command, set, want string }{
		{"amp", "size=256", "flag --set: size: --sizes decides it"},
		{"amp", "object_size = 64", "flag --set: object_size: --sizes decides it"},
		{"amp", "amp=off", "flag --set: amp: the measurement decides it"},
		{"scaling", "size=256", "flag --set: size: --sizes decides it"},
		{"scaling", "threads=1", "flag --set: threads: --threads decides it"},
		{"compare", "amp=bf16", "flag --set: amp: the comparison decides it"},
	} {
		t.Run(c.command+" "+c.set, func(t *testing.T) {
			command := Command(nil)
			command.SilenceErrors, command.SilenceUsage = true, true
			command.SetArgs([]string{c.command, "--set", c.set})
			err := command.ExecuteContext(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || cli.ExitStatus(err) != cli.StatusUsage {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
