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
	return fmt.Errorf("%s exists, and nothing says that prismtop wrote it for this: choose another name", taken[0])
}

// Mark tells a file of prismtop by the beginning of its text: what merely mentions prismtop has none.
type Mark func(head []byte) bool

// Begins is the mark of a text that begins with one of some.
func Begins(texts ...string) Mark {
	return func(head []byte) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return bytes.HasPrefix(head, []byte(text)) })
	}
}

// Holds is the mark of a text that holds one of some near its beginning.
func Holds(texts ...string) Mark {
	return func(head []byte) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return bytes.Contains(head, []byte(text)) })
	}
}

// And is the mark of a text that has both.
func (m Mark) And(other Mark) Mark { return func(head []byte) bool { return m(head) && other(head) } }

// Generated is the comment that marks a text of prismtop in a language with comments of SGML.
const Generated = "<!-- generator: prismtop -->"

// Marked reports whether a regular file has a mark, also where it is compressed by gzip; an
// empty file has nothing to lose, and counts as marked.
func Marked(path string, by Mark) bool {
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
	return len(head) == 0 || by(head)
}
