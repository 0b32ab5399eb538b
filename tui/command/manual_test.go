package command

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"prismtop/sim/workloads"
	"prismtop/tui/keys"
)

// docs/prismtop.1 matches the commands, their flags and the table of keys.
func TestManual(t *testing.T) {
	got, err := manual(nil)
	if err != nil {
		t.Fatal(err)
	}
	const name = "docs/prismtop.1"
	file := inRepository(t, name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the program says; go test ./tui/command -run Manual -update writes it anew", name)
	}
	plain := strings.NewReplacer(`\-`, "-", `\&`, "", `\fB`, "", `\fP`, "", `\fI`, "").Replace(got)
	listed, _ := keys.For(workloads.All[0].Presets.Table, nil)
	for _, s := range listed.Manual() {
		for _, r := range s.Rows {
			if !strings.Contains(plain, r.Help) {
				t.Errorf("the manual lacks %v: %s", r.Keys, r.Help)
			}
		}
	}
	var lacks func(c *cobra.Command)
	lacks = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(plain, "--"+f.Name) {
				t.Errorf("the manual lacks %s --%s", c.CommandPath(), f.Name)
			}
		})
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				lacks(sub)
			}
		}
	}
	lacks(rootCommand(nil))
	for _, signal := range []string{"SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGXCPU", "SIGTSTP"} {
		if !strings.Contains(plain, signal) {
			t.Errorf("the manual lacks %s", signal)
		}
	}
	if strings.Contains(got, "%!") {
		t.Error("a per cent sign was taken for a verb")
	}
}
