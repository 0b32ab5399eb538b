package atomicfile

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
)

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
