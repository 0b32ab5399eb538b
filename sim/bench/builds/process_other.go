//go:build !unix

package builds

import (
	"context"
	"time"
)

// process is a program, which cannot be stopped on this system.
type process struct{ *Program }

func check(context.Context, string) error { return ErrUnsupported }

func start(*Program, string) (*process, error) { return nil, ErrUnsupported }

func (*process) stop() error { return ErrUnsupported }

func (*process) goOn() error { return ErrUnsupported }

func (*process) wait(context.Context, time.Duration) error { return ErrUnsupported }

func (*process) finish(context.Context) error { return ErrUnsupported }

func (*process) kill() {}
