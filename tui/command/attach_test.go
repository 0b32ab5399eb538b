package command

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/attach"
)

// A screen says what happened since the last one left; the first, to which nobody left anything, only what
// happened since the run began.
func TestWhatAScreenHasMissed(t *testing.T) {
	now := time.Unix(1e9, 0)
	info := attach.Info{Unit: "sample", UnitMany: "samples"}
	for _, c := range []struct {
		away attach.Away
		want string
	}{
		{attach.Away{}, ""},
		{attach.Away{Since: now.Add(-5 * time.Second), Began: true}, ""},
		{attach.Away{Since: now.Add(-5 * time.Second), Began: true, Alerts: 1, Units: 2}, "since the run began 00:00:05 ago: 1 alert, 2 samples"},
		{attach.Away{Since: now.Add(-5 * time.Second)}, "since you left 00:00:05 ago: no change, no alert"},
		{attach.Away{Since: now.Add(-5 * time.Second), Changes: 1}, "since you left 00:00:05 ago: 1 change"},
	} {
		if got := away(c.away, info, now); got != c.want {
			t.Errorf("%+v: %q, want %q", c.away, got, c.want)
		}
	}
}

// A number that is nothing known is called so, with the reason where Slurm could not be asked; an element of an array is a
// job's alone.
func TestANumberThatIsNothingKnown(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	for _, c := range []struct{ says, id, want string }{
		{"", "4711", "attach: no session, process or Slurm job 4711"},
		{"slurm_load_jobs error: Invalid job id specified", "4711", "attach: no session, process or Slurm job 4711"},
		{"squeue: fatal: no configuration", "4711", "attach: no session, process or Slurm job 4711: squeue: fatal: no configuration"},
		{"slurm_load_jobs error: Invalid job id specified", "4711_3", "attach: job 4711_3: Slurm has none of that number"},
	} {
		folder := t.TempDir()
		script := "#!/bin/sh\nexit 0\n"
		if c.says != "" {
			script = "#!/bin/sh\necho '" + c.says + "' >&2\nexit 1\n"
		}
		if err := os.WriteFile(filepath.Join(folder, "squeue"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", folder)
		if err := attachJob(cmd, c.id, false, false, attach.Operator.String()); err == nil || err.Error() != c.want {
			t.Errorf("%s of %q: %v, want %q", c.id, c.says, err, c.want)
		}
	}
}

// A run that was told to end and does not answer is reported.
func TestARunThatDoesNotEndInTimeIsReported(t *testing.T) {
	ended := make(chan error, 1)
	if err := awaitEnd(t.Context(), ended, time.Millisecond); !errors.Is(err, errGoesOn) {
		t.Errorf("%v", err)
	}
	ended <- nil
	if err := awaitEnd(t.Context(), ended, time.Hour); err != nil {
		t.Errorf("%v", err)
	}
}
