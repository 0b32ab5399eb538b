package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
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
	return fmt.Sprintf("%s%s-%d-%s%s", draftPrefix(base), host(), os.Getpid(), hex.EncodeToString(random[:]), draftSuffix)
}

// draftPrefix and draftSuffix are around the part of a draft's name that tells it from others.
func draftPrefix(base string) string { return "." + base[:min(len(base), 180)] + "." }

const draftSuffix = ".part"

// host returns a short name of this machine.
func host() string {
	name, _ := os.Hostname()
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // which does not fail
	return fmt.Sprintf("%08x", sum.Sum32())
}

// removeStale removes the drafts of a file that processes of this machine left behind. What cannot be
// read or removed stays.
func removeStale(folder, base string) {
	f, err := os.Open(folder)
	if err != nil {
		return
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		tag, ours := strings.CutPrefix(name, draftPrefix(base))
		tag, draft := strings.CutSuffix(tag, draftSuffix)
		parts := strings.Split(tag, "-")
		if !ours || !draft || len(parts) != 3 || parts[0] != host() {
			continue
		}
		if pid, err := strconv.Atoi(parts[1]); err == nil && pid > 0 && !machine.Runs(pid) {
			_ = os.Remove(filepath.Join(folder, name))
		}
	}
}
