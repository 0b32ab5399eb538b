package learning

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"prismtop/profiles/atomicfile"
	"prismtop/sim/weights"
)

// Saving adds to an error of save the path that could not be written: base, unless the error names another.
func Saving(base string, save func() ([]string, error)) ([]string, error) {
	paths, err := save()
	if err == nil {
		return paths, nil
	}
	at := base
	var path *fs.PathError
	if errors.As(err, &path) {
		at, err = path.Path, path.Err
	}
	return nil, fmt.Errorf("saving %s: %w", at, err)
}

// WriteNamed writes data to files named base with one of the suffixes each, all or none, and returns
// their paths. If fresh, it writes new files: with -2, -3, … after base where one is taken.
func WriteNamed(base string, fresh bool, suffixes []string, data [][]byte) ([]string, error) {
	named := func(base string) []string {
		paths := make([]string, len(suffixes))
		for i, suffix := range suffixes {
			paths[i] = base + suffix
		}
		return paths
	}
	if !fresh {
		return named(base), atomicfile.WriteTogether(named(base), data, 0o666)
	}
	return atomicfile.WriteNew(func(n int) []string {
		if n == 1 {
			return named(base)
		}
		return named(fmt.Sprintf("%s-%d", base, n))
	}, data, 0o666)
}

// Leave writes the weights of a complete training to the file where what they are for, "inference",
// looks for them, and returns a line for the log. Its folder is made.
func Leave(what, path string, all []weights.Tensor) (said string, err error) {
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = weights.Write(path, all)
	}
	if err != nil {
		return "", fmt.Errorf("the weights are not kept for %s: %w", what, err)
	}
	return "weights for " + what + " in " + path, nil
}
