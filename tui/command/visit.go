package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"prismtop/profiles/attach"
	"prismtop/profiles/machine"
	"prismtop/profiles/visible"
	"prismtop/tui/command/cli"
	"prismtop/tui/command/sessions"
	"prismtop/tui/control"
	"prismtop/tui/lines"
	"prismtop/tui/page"
	"prismtop/tui/screen"
	"prismtop/tui/serve"
	choice "prismtop/tui/sessions"
)

// This file is what a user of prismtop serve sees: the list of sessions, and their screens.

// roles are the names of the roles that a key may have, the least first.
var roles = []string{attach.Viewer.String(), attach.Annotator.String(), attach.Operator.String()}

// showing shows sessions on the terminals of visitors.
type showing struct {
	look   screen.Options
	ascii  func(environ []string) bool // of a visitor's terminal
	shares *shares
}

// show shows the only session, or the list of sessions and those that the visitor picks.
func (s *showing) show(ctx context.Context, v *serve.Visitor) (how string, err error) {
	find := func(ctx context.Context) []attach.Found { return attach.List(ctx, sessions.Folders(), cli.Version) }
	if found := find(ctx); len(found) == 1 && found[0].Err == nil {
		return "", left(s.attached(ctx, v, found[0]))
	}
	for {
		on := v.Streams()
		id, err := choice.New(v.Key.Name+", "+v.Key.Role, func(ctx context.Context) []choice.Row {
			return sessions.Rows(find(ctx))
		},
			page.Options{ASCII: s.ascii(on.Environ), Colours: s.look.Colours, Bandwidth: s.look.Bandwidth,
				On: on}).Run(ctx)
		if err != nil || id == "" {
			return "", left(err)
		}
		found, err := sessions.Named(find(ctx), id)
		if err == nil {
			err = s.attached(ctx, v, found)
		}
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case errors.Is(err, control.ErrInterrupted), errors.Is(err, control.ErrHungUp):
			return "", left(err)
		case err != nil && !errors.Is(err, control.ErrDetached):
			v.Log(err.Error()) // the list shows what is left
		}
	}
}

// left returns nil if the visitor left a screen, by whatever key.
func left(err error) error {
	if errors.Is(err, control.ErrInterrupted) || errors.Is(err, control.ErrDetached) {
		return nil
	}
	return err
}

// attached shows a session until the visitor leaves it, or it ends.
func (s *showing) attached(ctx context.Context, v *serve.Visitor, found attach.Found) error {
	role, err := attach.ParseRole(v.Key.Role)
	if err != nil {
		return err
	}
	used, leave := s.shares.join()
	defer leave()
	client, err := attach.Attach(ctx, found.Path, attach.ClientOptions{Version: cli.Version, Who: whoOf(v), Role: role,
		Used: used, Table: cli.TableOf})
	if err != nil {
		return fmt.Errorf("session %s: %w", found.ID, err)
	}
	v.Log("shows session " + found.ID)
	receiving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	var why string
	go func() {
		var err error
		why, err = client.Run(receiving)
		ended <- err
		close(ended)
	}()
	look, on := s.look, v.Streams()
	look.ASCII = s.ascii(on.Environ)
	look.Input, look.Output, look.Environ, look.Size, look.Sizes, look.Remote = on.Input, on.Output, on.Environ,
		on.Size, on.Sizes, on.Remote
	look.Summary, look.Advice = lines.SummaryAs, cli.Quoted()
	look.Leave = screen.Leave{Text: fmt.Sprintf("prismtop: session %s goes on\n", found.ID), OnHangup: true,
		Always: true, Greeting: greeting(client, time.Now(), look.Keys), Missed: stalled(client.Away())}
	err = screen.Run(ctx, client, look)
	following := err == nil // the run was told to end, or has ended
	if following {
		err = awaitEnd(ctx, ended, endLimit)
	}
	stop()
	for range ended { // until it follows no more
	}
	if following && err != nil && !errors.Is(err, cli.ErrInterrupted) {
		err = fmt.Errorf("session %s: %w", found.ID, err)
	}
	if err == nil && why != "" {
		v.Log(fmt.Sprintf("session %s has ended: %s", found.ID, why))
		_, _ = io.WriteString(on.Output, fmt.Sprintf("prismtop: session %s has ended: %s\r\n", found.ID,
			visible.Text(why)))
	}
	return err
}

// whoOf names the screen of a visitor to others.
func whoOf(v *serve.Visitor) string {
	from, _, err := net.SplitHostPort(v.From)
	if err != nil {
		from = v.From
	}
	name := []rune(v.Key.Name)
	return string(name[:min(len(name), longestName)]) + " from " + from
}

// longestName is how much of a key's name is shown, in characters: the address is never cut.
const longestName = 24

// shares divides the processor time of this process among the screens that it shows: each reports its
// share to its run, where it is not that of other programs.
type shares struct {
	mu   sync.Mutex
	read float64               // of the process, up to now
	of   map[*float64]struct{} // seconds of each screen
}

func newShares() *shares { return &shares{of: map[*float64]struct{}{}} }

// join begins a share. used returns its seconds so far, NaN if they cannot be read.
func (s *shares) join() (used func() float64, leave func()) {
	mine := new(float64)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count()
	s.of[mine] = struct{}{}
	used = func() float64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.count() {
			return math.NaN()
		}
		return *mine
	}
	return used, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count()
		delete(s.of, mine)
	}
}

// count divides what was used since the last call, and reports whether it can be read. The caller holds
// mu.
func (s *shares) count() bool {
	l := machine.ReadLoad()
	if l.Reason != "" {
		return false
	}
	for each := range s.of {
		*each += (l.Own - s.read) / float64(len(s.of))
	}
	s.read = l.Own
	return true
}
