package machine

import (
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// The limits of memory that control groups set.

// memoryGroup is a control group with limits of memory: that of this process, or one that it lies in.
type memoryGroup struct {
	dir   string // of its files
	path  string // in the hierarchy
	files *groupFiles
}

// groupFiles are the names of a control group's files.
type groupFiles struct {
	version int
	limits  []string // memory.high slows a group down so much that it is one
	usage   string
	cached  string // begins the names of the cached pages of files in memory.stat, inactive and active ones
}

var (
	groupV1 = groupFiles{1, []string{"memory.limit_in_bytes"}, "memory.usage_in_bytes", "total_"}
	groupV2 = groupFiles{2, []string{"memory.max", "memory.high"}, "memory.current", ""}
)

// bound applies the group's limits to the memory of the machine.
func (g *memoryGroup) bound(m *Memory) {
	for _, name := range g.files.limits {
		limit := parseLimit(g.read(name), m.Total)
		if limit == 0 {
			continue
		}
		if m.Limit == 0 || limit < m.Limit {
			m.Limit, m.Group = limit, g.path+" ("+name+")"
		}
		used, err := strconv.ParseInt(g.read(g.files.usage), 10, 64)
		if err != nil || m.Available == 0 {
			continue
		}
		m.Available = min(m.Available, max(1, limit-max(0, used-g.cached())))
	}
}

// read returns the contents of a file of the group; empty if it has none.
func (g *memoryGroup) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(g.dir, name)) // the root group has none
	return strings.TrimSpace(string(text))
}

// cached returns the bytes of cached files, which count as used and make room when it is needed, as in the machine's
// MemAvailable.
func (g *memoryGroup) cached() (bytes int64) {
	for line := range strings.Lines(g.read("memory.stat")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == g.files.cached+"inactive_file" || name == g.files.cached+"active_file" {
			n, _ := strconv.ParseInt(value, 10, 64) // 0 where it does not say
			bytes += n
		}
	}
	return bytes
}

// memoryGroups returns the control groups that this process is in and that limit memory, of versions 1 and 2: its
// own, and those around it that it can see.
func memoryGroups(root string) (groups []memoryGroup) {
	own, _ := os.ReadFile(filepath.Join(root, "/proc/self/cgroup")) // a system without control groups has none
	mounts, _ := os.ReadFile(filepath.Join(root, "/proc/self/mountinfo"))
	for line := range strings.Lines(string(own)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		files := &groupV1
		switch {
		case fields[0] == "0" && fields[1] == "":
			files = &groupV2
		case !contains(fields[1], "memory"):
			continue
		}
		mounted, point, ok := groupMount(string(mounts), files.version)
		if !ok {
			continue
		}
		inside, ok := within(mounted, fields[2])
		if !ok { // a mount of another part of the hierarchy: its root is all that is seen
			inside = "/"
		}
		for {
			g := memoryGroup{filepath.Join(root, point, inside), path.Join(mounted, inside), files}
			groups = append(groups, g)
			if inside == "/" || files == &groupV1 &&
				(&memoryGroup{dir: filepath.Dir(g.dir)}).read("memory.use_hierarchy") == "0" {
				break
			}
			inside = path.Dir(inside)
		}
	}
	return groups
}

// groupMount returns where the hierarchy of control groups with memory is mounted, and which group is the root of
// that mount, from the text of mountinfo (https://docs.kernel.org/filesystems/proc.html, 3.5).
func groupMount(mounts string, version int) (mounted, point string, ok bool) {
	for line := range strings.Lines(mounts) {
		before, after, found := strings.Cut(line, " - ")
		place, system := strings.Fields(before), strings.Fields(after)
		if !found || len(place) < 5 || len(system) < 3 {
			continue
		}
		if version == 2 && system[0] == "cgroup2" || version == 1 && system[0] == "cgroup" &&
			contains(system[2], "memory") {
			return unescaped(place[3]), unescaped(place[4]), true
		}
	}
	return "", "", false
}

// within returns a group's path relative to another that it is or lies in.
func within(outer, group string) (inside string, ok bool) {
	if outer == "/" {
		return path.Clean("/" + group), !strings.HasPrefix(group, "/..") // outside the namespace of groups
	}
	inside, ok = strings.CutPrefix(group, outer)
	return path.Clean("/" + inside), ok && (inside == "" || inside[0] == '/')
}

// contains reports whether a list with commas has a word.
func contains(list, word string) bool {
	for each := range strings.SplitSeq(list, ",") {
		if each == word {
			return true
		}
	}
	return false
}

// unescaped returns a path of mountinfo, which has spaces, tabs, newlines and backslashes as octal numbers.
var unescaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
