package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"prismtop/profiles/atomicfile"
	"prismtop/tui/command/cli"
)

// outputFolder is the folder of --output.
type outputFolder struct {
	path   string     // empty for none
	made   []string   // folders that were not there, the innermost first
	claims cli.Claims // its files, which no other process may write, and what else is read or written
}

func (o *outputFolder) failed(err error) error {
	return cli.Refused(fmt.Errorf("flag --output: %s: %w", o.path, cli.Bare(err)))
}

// prepare makes the folder and keeps other processes from writing the files until close. There must
// be none of them unless they may be replaced.
func (o *outputFolder) prepare(names []string, replace bool) error {
	err := o.take(o.paths(names), replace)
	if err != nil {
		o.close()
	}
	return err
}

// paths returns the paths of files in the folder.
func (o *outputFolder) paths(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(o.path, name)
	}
	return paths
}

// take is prepare, without cleaning up after an error.
func (o *outputFolder) take(paths []string, replace bool) error {
	if err := o.mkdir(o.path); err != nil {
		return o.failed(err)
	}
	if info, err := os.Stat(o.path); err == nil && !info.IsDir() {
		return fmt.Errorf("flag --output: %s is a file: must be a folder", o.path)
	}
	if err := cli.Writable(o.path); err != nil {
		return cli.Refused(fmt.Errorf("flag --output: %w", err))
	}
	for _, path := range paths {
		if err := o.mkdir(filepath.Dir(path)); err != nil {
			return o.failed(err)
		}
	}
	if err := o.claims.Write("flag --output", paths...); err != nil {
		return err
	}
	if err := o.claims.Hold(); err != nil {
		return err
	}
	for _, path := range paths { // now that no other process can add one
		if _, err := os.Lstat(path); err == nil && !replace {
			return fmt.Errorf("flag --output: %s is there already: must be a folder without it, or --force "+
				"to replace it", path)
		}
	}
	return nil
}

// mkdir makes a folder unless it is there.
func (o *outputFolder) mkdir(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := o.mkdir(parent); err != nil {
			return err
		}
	}
	err := os.Mkdir(path, 0o777)
	if err == nil {
		o.made = slices.Insert(o.made, 0, path)
	}
	return err
}

// close lets other processes write the files, and removes folders that were made for nothing.
func (o *outputFolder) close() {
	o.claims.Release()
	for _, folder := range o.made {
		_ = os.Remove(folder) // fails unless it is empty
	}
}

// write writes files into the folder, all or none of them.
func (o *outputFolder) write(names []string, data [][]byte) error {
	if len(names) == 0 {
		return nil
	}
	paths := o.paths(names)
	return errors.Join(o.mkdir(filepath.Dir(paths[0])), atomicfile.WriteTogether(paths, data, 0o666))
}
