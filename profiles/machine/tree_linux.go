package machine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Tree is a process with everything that descends from it. Its methods may be called from any goroutine.
type Tree struct {
	root int

	mu      sync.Mutex
	members []int // at the last search
	found   time.Time
	took    time.Duration // for that search
	most    float64       // the largest reading
}

// NewTree returns the tree of a process.
func NewTree(root int) *Tree { return &Tree{root: root} }

// searchShare bounds what looking for new descendants costs: the time between two searches is so many times as long as
// the last one took.
const searchShare = 200

// searchEvery is the shortest time between two searches.
const searchEvery = 500 * time.Millisecond

// Seconds returns the processor time of the tree, that of members that have ended included. Members that ended while
// nobody waited for them may be missing.
func (t *Tree) Seconds() float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); t.members == nil || now.Sub(t.found) > max(searchEvery, searchShare*t.took) {
		t.members = descendants(t.root)
		t.found, t.took = now, time.Since(now)
	}
	sum := 0.0
	for _, pid := range t.members {
		if s, err := readProcess(pid); err == nil {
			sum += s.seconds
		}
	}
	t.most = max(t.most, sum)
	return t.most
}

// descendants lists a process, the members of its group and everything that descends from them.
func descendants(root int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []int{root}
	}
	parents, members := map[int]int{}, map[int]bool{root: true}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if s, err := readProcess(pid); err == nil {
			parents[pid] = s.parent
			members[pid] = members[pid] || s.group == root
		}
	}
	var all []int
	for pid := range parents {
		for at, hops := pid, 0; at > 1 && hops < 64; at, hops = parents[at], hops+1 {
			if members[at] {
				all = append(all, pid)
				break
			}
		}
	}
	return append(all, root)[:max(len(all), 1)]
}

// SeesDescendants tells whether what descends from a process is known on this system.
const SeesDescendants = true

// Groups returns the process groups of a process and of everything that descends from it, its own first.
func Groups(root int) []int {
	all := []int{root}
	for _, pid := range descendants(root) {
		if p, err := readProcess(pid); err == nil && p.group > 0 && !slices.Contains(all, p.group) {
			all = append(all, p.group)
		}
	}
	return all
}

// process is a line of /proc/PID/stat.
type process struct {
	parent, group int
	seconds       float64 // of processor time, its own and that of children that it waited for
	started       int64   // ticks since the system was started
}

func readProcess(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseProcess(string(text))
}

var errProcess = errors.New("/proc/PID/stat is not as documented")

// parseProcess reads /proc/PID/stat, whose second field, a name in parentheses, may contain anything.
func parseProcess(text string) (p process, err error) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 20 {
		return p, errProcess
	}
	number := func(field int) int64 {
		n, wrong := strconv.ParseInt(fields[field-3], 10, 64)
		if wrong != nil {
			err = errProcess
		}
		return n
	}
	p.parent, p.group, p.started = int(number(4)), int(number(5)), number(22)
	p.seconds = float64(number(14)+number(15)+number(16)+number(17)) * tick
	return p, err
}

// Started returns when a process was started, in ticks since the system was: the same number for the same process, also
// where its ID was used again. It is 0 if there is no such process.
func Started(pid int) int64 {
	p, _ := readProcess(pid)
	return p.started
}

// ReadResidentOf is ReadResident of another process.
func ReadResidentOf(pid int) (rss, peak int64, reason string) {
	return readResident(fmt.Sprintf("/proc/%d/status", pid))
}

// InEnvironment reports whether a process of this user was started with a text in its environment; known is false where
// that cannot be read.
func InEnvironment(text string) (used, known bool) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false, false
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		environment, err := os.ReadFile("/proc/" + e.Name() + "/environ") // empty or refused for those of others
		if err == nil && bytes.Contains(environment, []byte(text)) {
			return true, true
		}
	}
	return false, true
}
