package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles/attach"
	"prismtop/profiles/loop"
	"prismtop/profiles/sweep"
	"prismtop/profiles/visible"
	"prismtop/sim/bench/executor"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/control"
	"prismtop/tui/screen"
	arms "prismtop/tui/sweep"
)

// This file is how a sweep is watched: on the screen, in lines of text, as JSON, and how one of its runs is opened.

// sweepWatchCommand returns the command sweep watch.
func sweepWatchCommand() *cobra.Command {
	var f struct {
		look        cli.Look
		json, lines bool
	}
	cmd := &cobra.Command{
		Use: "watch FOLDER", Short: "Follow a sweep on the screen, and open its runs", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return cli.BadUsage(errors.New("sweep watch: wants the folder of a sweep"))
			case f.json && f.lines:
				return cli.BadUsage(errors.New("flag --lines: cannot be joined with --json"))
			}
			look, err := f.look.Options(cmd.Flags())
			if err != nil {
				return err
			}
			folder, err := sweep.Open(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("sweep watch: %w", err)
			}
			w := newSweepWatch(folder)
			switch {
			case f.json || f.lines || !cli.OnTerminal():
				return w.tell(cmd.Context(), cmd.OutOrStdout(), f.json)
			}
			if err := cli.ReadKeys(cmd.Context(), &look); err != nil {
				return err
			}
			return w.show(cmd, look, false)
		},
	}
	flags := cmd.Flags()
	f.look.Register(flags)
	flags.BoolVar(&f.json, "json", false, "the table as a JSON object on a line, for each change")
	flags.BoolVar(&f.lines, "lines", false,
		"lines of text instead of the screen: a line for each change of a run's state")
	return cmd
}

// sweepWatch reads a sweep for those who watch it.
type sweepWatch struct {
	*sweep.Watch
	queue executor.Queue
	view  *arms.View
	slurm string // why Slurm says nothing
}

func newSweepWatch(folder *sweep.Folder) *sweepWatch {
	return &sweepWatch{Watch: sweep.NewWatch(folder), queue: executor.Queue{Folder: folder}}
}

// read returns what the folder holds, the same view if nothing has changed.
func (w *sweepWatch) read(ctx context.Context) (*arms.View, error) {
	changed, err := w.Look(ctx)
	if err != nil {
		return nil, err
	}
	asked := w.queueAt()
	queued, err := w.queue.Newest(ctx)
	note := ""
	var missing *executor.NoSlurmError
	if err != nil && !errors.As(err, &missing) { // without Slurm's commands, the folder says enough
		note = err.Error()
	}
	if w.view != nil && !changed && note == w.slurm && asked.Equal(w.queueAt()) {
		return w.view, nil
	}
	w.slurm = note
	effects, err := w.Effects(ctx)
	if err != nil {
		return nil, err
	}
	states := w.Statuses()
	v := &arms.View{Table: sweep.Make(w.Folder, states, effects), Note: note, Runs: make([][]arms.Run, len(w.Arms))}
	elements := map[sweep.Cell]int{}
	if len(queued.Elements) > 0 {
		for i, bundle := range w.Bundles() {
			for _, t := range bundle {
				for _, c := range w.Tasks[t].Cells {
					elements[c] = i
				}
			}
		}
	}
	v.Over = w.Search == nil || w.Search.Over
	for i, c := range w.Cells() {
		s := states[i]
		v.Over = v.Over && (s.State == sweep.Done || s.State == sweep.Failed)
		r := arms.Run{Status: s}
		if at, ok := elements[c]; ok {
			r.Queued = queued.Elements[at]
		}
		v.Runs[c.Arm] = append(v.Runs[c.Arm], r)
	}
	w.view = v
	return v, nil
}

// queueAt returns when Slurm was asked last.
func (w *sweepWatch) queueAt() time.Time { return w.queue.Asked() }

// show shows the sweep until the user leaves it, and the runs that are opened from it. closes is as of arms.New.
func (w *sweepWatch) show(cmd *cobra.Command, look screen.Options, closes bool) error {
	cli.ThriftyCollector()
	s := arms.New(w.Path, w.read, closes, cli.Page(look))
	for {
		chosen, err := s.Run(cmd.Context())
		if err == nil && chosen.Replicate > 0 {
			if err := w.open(cmd, look, sweep.Cell{Arm: chosen.Arm, Replicate: chosen.Replicate}); err != nil &&
				!cli.Interrupted(err) && !errors.Is(err, control.ErrDetached) {
				s.Complain(visible.Text(cli.ErrorLine(err)))
			}
			if cmd.Context().Err() == nil {
				continue
			}
		}
		if errors.Is(err, control.ErrInterrupted) || cmd.Context().Err() != nil {
			return cli.ErrInterrupted
		}
		return err
	}
}

// open shows a run: live in its session on this machine or in a job of Slurm, else by its
// recording, which is followed while a task replaces it.
func (w *sweepWatch) open(cmd *cobra.Command, look screen.Options, c sweep.Cell) error {
	ctx := cmd.Context()
	s, err := w.Read(ctx, c)
	if err != nil {
		return err
	}
	if s.Runs() && s.Session != "" {
		host, _ := os.Hostname() // an unknown name is none
		if _, err := exec.LookPath("srun"); s.Host != host && s.Job != "" && err == nil {
			if placed, err := executor.Find(ctx, s.Job); err == nil {
				return attachThrough(cmd, s.Job, placed, &s, w.At(w.Programs[0].Name), nil)
			}
		}
		if s.Host == host {
			all := attach.List(ctx, append(sessions.Folders(), filepath.Join(s.Runtime, "prismtop")), cli.Version)
			if i := slices.IndexFunc(all,
				func(f attach.Found) bool { return f.ID == s.Session && f.Err == nil }); i >= 0 {
				return attachTo(cmd, all[i], look, attach.ClientOptions{Version: cli.Version, Who: sessions.Who(),
					Role: attach.Operator, Table: cli.TableOf})
			}
		}
	}
	if len(s.Recordings) == 0 {
		return errors.New("it has no recording yet")
	}
	newest := func(s *sweep.Status) string { return s.Recordings[len(s.Recordings)-1] }
	path := filepath.Join(w.RunFolder(c), newest(&s))
	if !s.Runs() {
		return replayOnScreen(ctx, path, look)
	}
	return followOnScreen(ctx, path, func() bool {
		now, err := w.Read(ctx, c)
		return err == nil && now.Runs() && len(now.Recordings) > 0 && newest(&now) == newest(&s)
	}, look)
}

// tell prints what changes until no run is left: a line for each change of a run's state, or the table as JSON.
func (w *sweepWatch) tell(ctx context.Context, to io.Writer, asJSON bool) error {
	before := map[sweep.Cell]sweep.State{}
	var last *arms.View
	for {
		v, err := w.read(ctx)
		switch {
		case ctx.Err() != nil:
			return cli.ErrInterrupted
		case err != nil:
			return fmt.Errorf("sweep watch: %w", err)
		case v == last:
		case asJSON:
			text, err := json.Marshal(v.Table.JSON(cli.Version))
			if err == nil {
				_, err = to.Write(append(text, '\n'))
			}
			if err != nil {
				return err
			}
		default:
			if last == nil {
				if _, err := fmt.Fprintln(to, v.Table.Title()); err != nil {
					return err
				}
			}
			for i, c := range w.Cells() {
				s := &w.Statuses()[i]
				if was := before[c]; s.State == was || was == "" && s.State == sweep.Waiting {
					continue
				}
				before[c] = s.State
				if _, err := fmt.Fprintln(to, sweepLine(w.Name(c), s)); err != nil {
					return err
				}
			}
		}
		if last = v; v.Over {
			if !asJSON {
				_, err = fmt.Fprintln(to, v.Table.Title())
			}
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return cli.ErrInterrupted
		}
	}
}

// job is the number of a job of Slurm, or of an element of an array.
var job = regexp.MustCompile(`^\d+([._]\d+)?$`)

// element reports whether the number of a job means an element of an array.
func element(id string) bool { return strings.ContainsAny(id, "._") }

// isJob reports whether an argument of attach means a job of Slurm: it has the form of an element of an array, or is a
// number that is neither a loop's process nor a session of this machine.
func isJob(ctx context.Context, id string) bool {
	switch {
	case !job.MatchString(id):
		return false
	case element(id):
		return true
	}
	if _, err := exec.LookPath("squeue"); err != nil || slices.ContainsFunc(loop.List(), func(l loop.Left) bool {
		return fmt.Sprint(l.PID) == id
	}) {
		return false
	}
	_, err := sessions.Named(attach.List(ctx, sessions.Folders(), cli.Version), id)
	return err != nil
}

// attachJob shows the session in a job of Slurm.
func attachJob(cmd *cobra.Command, id string, take, watch bool, role string) error {
	placed, err := executor.Find(cmd.Context(), id)
	var unknown *executor.UnknownJobError
	switch {
	case errors.As(err, &unknown) && !element(id): // it may be meant as a session or a process just as well
		err := fmt.Errorf("attach: no session, process or Slurm job %s", id)
		if unknown.Err != nil {
			err = fmt.Errorf("%w: %w", err, unknown.Err)
		}
		return err
	case err != nil:
		return fmt.Errorf("attach: %w", err)
	case !cli.OnTerminal():
		return fmt.Errorf("attach: job %s: needs a terminal", id)
	}
	var more []string
	if take {
		more = append(more, "--take")
	}
	if watch {
		more = append(more, "--watch")
	}
	if role != attach.Operator.String() {
		more = append(more, "--role", role)
	}
	path := executor.FolderOf(placed.Script)
	if path == "" { // the job runs prismtop by a script of its own
		program, err := os.Executable()
		if err != nil {
			return err
		}
		return attachThrough(cmd, id, placed, nil, program, more)
	}
	folder, err := sweep.Open(cmd.Context(), path)
	if err != nil {
		return fmt.Errorf("attach: job %s: %w", id, err)
	}
	w := sweep.NewWatch(folder)
	if _, err := w.Look(cmd.Context()); err != nil {
		return fmt.Errorf("attach: job %s: %w", id, err)
	}
	name := regexp.MustCompile(`\.`).ReplaceAllString(id, "_")
	for i := range w.Statuses() {
		if s := &w.Statuses()[i]; s.State == sweep.Running && s.Session != "" && (s.Job == name) {
			return attachThrough(cmd, id, placed, s, folder.At(folder.Programs[0].Name), more)
		}
	}
	return fmt.Errorf("attach: job %s: no run of %s in it has a session yet", id, folder.Path)
}

// attachThrough shows a session in a job on the node's own socket, by a step of the job that shares its processors. s
// is the run whose session it is; nil for the only one of the node.
func attachThrough(cmd *cobra.Command, id string, placed executor.Placed, s *sweep.Status, program string,
	more []string) error {
	srun, err := exec.LookPath("srun")
	if err != nil {
		return fmt.Errorf("attach: job %s: %w", id, &executor.NoSlurmError{Command: "srun"})
	}
	args := []string{"--jobid=" + placed.Raw, "--overlap", "--nodes=1", "--ntasks=1", "--quiet", "--pty"}
	if s != nil {
		args = append(args, "env", "XDG_RUNTIME_DIR="+s.Runtime)
	}
	args = append(args, program, "attach")
	if s != nil {
		args = append(args, s.Session)
	}
	step := exec.CommandContext(context.WithoutCancel(cmd.Context()), srun, append(args, more...)...)
	step.Stdin, step.Stdout, step.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := step.Run(); err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == cli.StatusInterrupted {
			return cli.ErrInterrupted
		}
		return fmt.Errorf("attach: job %s: srun: %w", id, err)
	}
	return nil
}
