package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"prismtop/profiles/machine"
)

// draftName returns an unused hidden name for a file of the name base. It holds the machine and the
// process, by which removeStale finds the drafts of programs that were killed.
func draftName(base string) string {
	var random [6]byte
	rand.Read(random[:])
	return fmt.Sprintf("%s%s-%d-%s%s", draftPrefix(base), machine.Host(), os.Getpid(), hex.EncodeToString(random[:]),
		draftSuffix)
}

// draftPrefix and draftSuffix are around the part of a draft's name that tells it from others.
func draftPrefix(base string) string { return "." + base[:min(len(base), longestBase)] + "." }

const (
	draftSuffix = ".part"
	longestBase = 180
)

// removeStale removes the drafts of a file that processes of this machine left behind. What cannot be
// read or removed stays.
func removeStale(folder, base string) {
	base = base[:min(len(base), longestBase)]
	f, err := os.Open(folder)
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		rest, draft := strings.CutSuffix(name, draftSuffix)
		rest, hidden := strings.CutPrefix(rest, ".")
		dot := strings.LastIndexByte(rest, '.')
		if !draft || !hidden || dot < 0 || rest[:dot] != base {
			continue
		}
		parts := strings.Split(rest[dot+1:], "-")
		if len(parts) != 3 || parts[0] != machine.Host() {
			continue
		}
		if pid, err := strconv.Atoi(parts[1]); err == nil && pid > 0 && !machine.Runs(pid) {
			_ = os.Remove(filepath.Join(folder, name))
		}
	}
}
