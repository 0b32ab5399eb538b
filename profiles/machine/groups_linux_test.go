package machine

import (
	"os"
	"path/filepath"
	"testing"
)

const (
	gib     = 1 << 30
	memory  = "MemTotal: 33554432 kB\nMemAvailable: 25165824 kB\n" // 32 and 24 GiB
	v2Mount = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
	v1Mount = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	noLimitV1 = "9223372036854771712\n"
)

// The limits are those of the process's own group and of the groups around it, wherever the hierarchy is mounted.
func TestControlGroupsLimitMemory(t *testing.T) {
	for _, c := range []struct {
		name, own, mounts string
		files             map[string]string
		limit, available  int64
		group             string
	}{
		{"no group", "", "", nil, 0, 24 * gib, ""},
		{"version 2", "0::/user.slice/a.scope\n", v2Mount, map[string]string{
			"/sys/fs/cgroup/user.slice/memory.max":             "max\n",
			"/sys/fs/cgroup/user.slice/a.scope/memory.max":     "1073741824\n",
			"/sys/fs/cgroup/user.slice/a.scope/memory.high":    "max\n",
			"/sys/fs/cgroup/user.slice/a.scope/memory.current": "536870912\n",
			"/sys/fs/cgroup/user.slice/a.scope/memory.stat":    "anon 1\nfile 268435457\ninactive_file 201326592\nactive_file 67108864\n",
		}, gib, 3 * gib / 4, "/user.slice/a.scope (memory.max)"},
		{"a group around it", "0::/user.slice/a.scope\n", v2Mount, map[string]string{
			"/sys/fs/cgroup/user.slice/memory.max":             "536870912\n",
			"/sys/fs/cgroup/user.slice/memory.current":         "536870912\n",
			"/sys/fs/cgroup/user.slice/a.scope/memory.max":     "1073741824\n",
			"/sys/fs/cgroup/user.slice/a.scope/memory.current": "1048576\n",
		}, gib / 2, 1, "/user.slice (memory.max)"},
		{"memory.high", "0::/a\n", v2Mount, map[string]string{
			"/sys/fs/cgroup/a/memory.max": "2147483648\n", "/sys/fs/cgroup/a/memory.high": "1073741824\n", "/sys/fs/cgroup/a/memory.current": "0\n",
		}, gib, gib, "/a (memory.high)"},
		{"a root of its own", "0::/\n", v2Mount, map[string]string{
			"/sys/fs/cgroup/memory.max": "1073741824\n",
		}, gib, 24 * gib, "/ (memory.max)"},
		{"version 1", "4:memory:/jobs/a\n3:cpu,cpuacct:/jobs\n0::/\n", v1Mount, map[string]string{
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":        noLimitV1,
			"/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes":   "2147483648\n",
			"/sys/fs/cgroup/memory/jobs/a/memory.limit_in_bytes": "209715200\n",
			"/sys/fs/cgroup/memory/jobs/a/memory.usage_in_bytes": "104857600\n",
			"/sys/fs/cgroup/memory/jobs/a/memory.stat":           "inactive_file 1\ntotal_inactive_file 52428800\ntotal_active_file x\n",
			"/sys/fs/cgroup/cpu,cpuacct/jobs/memory.max":         "1\n",
		}, 200 << 20, 150 << 20, "/jobs/a (memory.limit_in_bytes)"},
		{"version 1 without hierarchy", "4:memory:/jobs/a\n", v1Mount, map[string]string{
			"/sys/fs/cgroup/memory/jobs/memory.use_hierarchy":    "0\n",
			"/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes":   "4096\n",
			"/sys/fs/cgroup/memory/jobs/a/memory.limit_in_bytes": noLimitV1,
		}, 0, 24 * gib, ""},
		{"both versions", "4:memory:/\n0::/a\n", v1Mount + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", map[string]string{
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": noLimitV1, "/sys/fs/cgroup/unified/a/memory.max": "1073741824\n",
		}, gib, 24 * gib, "/a (memory.max)"},
		{"a part mounted elsewhere", "0::/docker/x/job\n", `9 1 0:5 /docker/x /my\040groups rw - cgroup2 none rw` + "\n", map[string]string{
			"/my groups/job/memory.max": "2147483648\n", "/my groups/memory.max": "1073741824\n", "/my groups/memory.current": "1\n",
		}, gib, gib - 1, "/docker/x (memory.max)"},
		{"another part mounted", "4:memory:/docker/xy\n", "9 1 0:5 /docker/x /sys/fs/cgroup/memory rw - cgroup none rw,memory\n", map[string]string{
			"/sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
		}, gib, 24 * gib, "/docker/x (memory.limit_in_bytes)"},
		{"more than the machine has", "0::/a\n", v2Mount, map[string]string{"/sys/fs/cgroup/a/memory.max": "68719476736\n"}, 0, 24 * gib, ""},
		{"nonsense", "0:/a\n\n:::\nx\n0::a/../..\n", "- cgroup2\n" + v2Mount, map[string]string{"/sys/fs/cgroup/memory.max": "many\n"}, 0, 24 * gib, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			write := func(name, text string) {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write("/proc/meminfo", memory)
			write("/proc/self/cgroup", c.own)
			write("/proc/self/mountinfo", c.mounts)
			for name, text := range c.files {
				write(name, text)
			}
			if m := readMemory(root); m != (Memory{Total: 32 * gib, Available: c.available, Limit: c.limit, Group: c.group}) {
				t.Errorf("%+v, want limit %d of %q and %d available", m, c.limit, c.group, c.available)
			}
		})
	}
}
