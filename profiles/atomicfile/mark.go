package atomicfile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
)

// Replaceable returns an error if files with data are at paths that are written together, and own is true of none of
// them: they are the user's. A file that says nothing of itself, as an array, is known by one beside it that does.
func Replaceable(own func(path string) bool, paths ...string) error {
	var taken []string
	for _, path := range paths {
		// what else is there, writing refuses
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			taken = append(taken, path)
		}
	}
	if len(taken) == 0 || slices.ContainsFunc(taken, own) {
		return nil
	}
	return fmt.Errorf("%s exists, and nothing says that prismtop wrote it: choose another name", taken[0])
}

// Marked reports whether a regular file says near its beginning that prismtop wrote it, by that word, also where it is
// compressed by gzip; an empty file has nothing to lose, and counts as marked. marks are other beginnings that say so.
func Marked(path string, marks ...string) bool {
	const enough = 64 << 10
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, enough))
	if err != nil {
		return false
	}
	if z, err := gzip.NewReader(bytes.NewReader(head)); err == nil {
		head, _ = io.ReadAll(io.LimitReader(z, enough)) // the end of what was read is cut
	}
	for _, mark := range marks {
		if bytes.HasPrefix(head, []byte(mark)) {
			return true
		}
	}
	return len(head) == 0 || bytes.Contains(head, []byte("prismtop"))
}
