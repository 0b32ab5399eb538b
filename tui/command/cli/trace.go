package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"prismtop/profiles/kineto"
	"prismtop/sim/outside"
)

// Traces makes recordings of the arguments that are traces of torch.profiler, in a folder that done removes. Other
// arguments, recordings and their stretches among them, are returned as they are.
func Traces(ctx context.Context, args []string) (named []string, done func(), err error) {
	folder := ""
	done = func() {
		if folder != "" {
			_ = os.RemoveAll(folder)
		}
	}
	for i, arg := range args {
		path, stretch, at := strings.Cut(arg, "@")
		if info, err := os.Stat(path); !kineto.Named(path) || err != nil || !info.Mode().IsRegular() {
			named = append(named, arg)
			continue
		}
		t, err := kineto.Read(ctx, path)
		if err == nil && folder == "" {
			folder, err = os.MkdirTemp("", "prismtop-traces-*")
		}
		if err != nil {
			done()
			if ctx.Err() != nil {
				err = ErrInterrupted
			}
			return nil, func() {}, err
		}
		below := filepath.Join(folder, fmt.Sprint(i)) // two traces of one name
		made := filepath.Join(below, filepath.Base(path)+".sqlite")
		if err = errors.Join(os.Mkdir(below, 0o700),
			outside.RecordTrace(ctx, t, filepath.Base(path), made)); err != nil {
			done()
			return nil, func() {}, fmt.Errorf("%s: %w", path, err)
		}
		if at {
			made += "@" + stretch
		}
		named = append(named, made)
	}
	return named, done, nil
}
