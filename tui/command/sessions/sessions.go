package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/attach"
	"prismtop/profiles/export"
	"prismtop/profiles/loop"
	"prismtop/profiles/report"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/outside"
	"prismtop/tui/command/cli"
	"prismtop/tui/sessions"
)

// Command returns the command sessions.
func Command() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "sessions", Short: "List the sessions on this machine", Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found := All(cmd.Context())
			if cmd.Context().Err() != nil {
				return cli.ErrInterrupted
			}
			if asJSON {
				return export.WriteObject(cmd.OutOrStdout(), asObjects(found))
			}
			return write(cmd.OutOrStdout(), found)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a list of JSON objects (prismtop docs sessions)")
	return cmd
}

// listed is a session as JSON. Numbers are null where they are not known: its process does
// not answer, or is a program without a prismtop.
type listed struct {
	attach.Info
	Done       *int     `json:"units_done"`
	Units      *int     `json:"units"`
	Iterations *int64   `json:"iterations"`
	Seconds    *float64 `json:"seconds"`         // running time
	Screens    *int     `json:"screens"`         // that show it
	Error      string   `json:"error,omitempty"` // why it does not answer
}

// unwatched is the state of a program's training that goes on without a prismtop.
const unwatched = "unwatched"

// All lists the sessions of this machine, and after them the trainings of prismtop python whose prismtop has ended:
// these have the number of their process as ID, and no socket.
func All(ctx context.Context) []attach.Found {
	found := attach.List(ctx, Folders(), cli.Version)
	for _, l := range loop.List() {
		id := strconv.Itoa(l.PID)
		i := attach.Info{ID: id, State: unwatched, Process: l.PID, Workload: outside.Name,
			Object: filepath.Base(l.Greeting.Script)}
		found = append(found, attach.Found{ID: id, Info: i})
	}
	return found
}

// silent is the state of a session that does not answer.
const silent = "unknown"

func asObjects(found []attach.Found) []listed {
	all := make([]listed, 0, len(found))
	for _, f := range found {
		l := listed{Info: f.Info}
		switch i := &l.Info; {
		case f.Err != nil:
			l.ID, l.State, l.Error = f.ID, silent, f.Err.Error()
		case f.Path != "":
			l.Done, l.Units, l.Iterations, l.Seconds, l.Screens = &i.Done, &i.Units, &i.Iterations,
				&i.Seconds, &i.Screens
		}
		all = append(all, l)
	}
	return all
}

// write writes the list as text.
func write(w io.Writer, found []attach.Found) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(w, "no session on this machine")
		return err
	}
	t := report.Table{Head: []string{"session", "state", "picture", "progress", "running", "screens", "operated by"}}
	for _, r := range Rows(found) {
		if r.Err != "" {
			t.Add(r.ID, r.State, "–", "–", "–", "–", r.Err)
			continue
		}
		t.Add(r.ID, r.State, r.Object, r.Progress, r.Running, r.Screens, r.Operator)
	}
	return t.WriteText(w)
}

// Rows describes sessions as texts.
func Rows(found []attach.Found) (rows []sessions.Row) {
	for _, f := range found {
		i := &f.Info
		if f.Err != nil {
			rows = append(rows, sessions.Row{ID: f.ID, State: silent, Err: f.Err.Error()})
			continue
		}
		if f.Path == "" {
			rows = append(rows, sessions.Row{ID: f.ID, State: i.State, Object: visible.Text(i.Object), Progress: "–",
				Running: "–", Screens: "–", Operator: "–"})
			continue
		}
		progress := "–"
		switch {
		case i.Unit == "":
		case i.Units == 0: // their number is not known
			progress = fmt.Sprintf("%s, iter %d", unit.Plural(i.Done, i.Unit, i.UnitMany), i.Iterations)
		case i.Stage != "":
			progress = fmt.Sprintf("%s, iter %d", visible.Text(i.Stage), i.Iterations)
		default: // the one under way, as in the header
			progress = fmt.Sprintf("%s %d/%d, iter %d", i.Unit, min(i.Done+1, i.Units), i.Units, i.Iterations)
		}
		rows = append(rows, sessions.Row{
			ID: i.ID, State: i.State, Object: i.Object, Progress: progress,
			Running: unit.Clock(time.Duration(i.Seconds * float64(time.Second))),
			Screens: strconv.Itoa(i.Screens), Operator: cmp.Or(i.Operator, "–"),
		})
	}
	return rows
}

// StopCommand returns the command stop.
func StopCommand() *cobra.Command {
	return &cobra.Command{
		Use: "stop SESSION", Short: "End a session", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return cli.BadUsage(errors.New("stop: wants one session; prismtop sessions lists them"))
			}
			f, err := Named(All(cmd.Context()), args[0])
			if err != nil {
				return fmt.Errorf("stop: %w", err)
			}
			if f.Path == "" {
				return fmt.Errorf("stop: process %s is a program without a prismtop: kill %[1]s ends it, prismtop "+
					"attach %[1]s shows it", f.ID)
			}
			why, err := attach.Stop(cmd.Context(), f.Path, cli.Version)
			switch {
			case cmd.Context().Err() != nil:
				return cli.ErrInterrupted
			case err != nil:
				return fmt.Errorf("stop: session %s: %w", f.ID, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "session %s: %s\n", f.ID, visible.Text(why))
			return err
		},
	}
}
