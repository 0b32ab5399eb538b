package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/compare"
	"prismtop/profiles/compare/recorded"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/tui/command/cli"
	"prismtop/tui/comparison"
	"prismtop/tui/control"
	"prismtop/tui/screen"
)

// This file shows comparisons on the screen.

// recordings are what a screen compares.
type recordings struct {
	sides   [][]recorded.Recording
	options compare.Options
}

// Compare reads and compares them.
func (r recordings) Compare(ctx context.Context) (*compare.Comparison, error) {
	c, damaged, err := Compare(ctx, r.sides, r.options)
	return c, errors.Join(damaged, err)
}

// Write writes a comparison as Markdown.
func (r recordings) Write(c *compare.Comparison, path string, replace bool) error {
	path = fromHome(path)
	if _, err := os.Lstat(path); err == nil && !replace {
		return &fs.PathError{Op: "write", Path: path, Err: fs.ErrExist}
	}
	named := cli.Claims{}
	for _, side := range r.sides {
		for _, compared := range side {
			_ = named.Read("a recording that is compared", cli.RecordingFiles(compared.Path)...) // it was read
		}
	}
	if err := named.Write("the comparison", path); err != nil {
		return err
	}
	defer named.Release()
	if err := named.Hold(); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := compare.WriteMarkdown(&text, c); err != nil {
		return err
	}
	return atomicfile.Write(path, text.Bytes(), 0o666)
}

// compareOnScreen shows a comparison until the user leaves it.
func compareOnScreen(ctx context.Context, r recordings, look screen.Options) error {
	cli.ThriftyCollector()
	err := comparison.New(r, cli.Page(look)).Run(ctx)
	switch {
	case errors.Is(err, control.ErrInterrupted) || ctx.Err() != nil:
		return cli.ErrInterrupted
	case err != nil:
		return fmt.Errorf("compare: %w", err)
	}
	return nil
}

// compareNamed shows the comparison of recordings that the user named, if all of them are there.
func compareNamed(ctx context.Context, r recordings, look screen.Options) error {
	for _, side := range r.sides {
		for _, named := range side {
			reader, err := recording.Open(ctx, named.Path, cli.TableOf)
			if err == nil {
				err = reader.Close()
			}
			if err != nil {
				return fmt.Errorf("compare: %w", err)
			}
		}
	}
	return compareOnScreen(ctx, r, look)
}

// comparePaths shows the comparison of the recordings at some paths, the base first.
func comparePaths(ctx context.Context, paths []string, look screen.Options) error {
	r := recordings{options: compare.Options{MaxForeign: machine.Quiet}}
	for _, path := range paths {
		r.sides = append(r.sides, []recorded.Recording{{Path: path, Name: fileName(path)}})
	}
	return compareOnScreen(ctx, r, look)
}
