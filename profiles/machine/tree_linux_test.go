package machine

import (
	"math"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

func TestParseProcess(t *testing.T) {
	p, err := parseProcess("42 (a) b (c)) S 7 9 9 0 -1 4194560 1 2 3 4 100 50 20 30 20 0 1 0 12345 1 2 3\n")
	if err != nil || p.parent != 7 || p.group != 9 || p.started != 12345 || math.Abs(p.seconds-2) > 1e-9 {
		t.Errorf("%+v, %v; want parent 7, group 9, 2 s, started at 12345", p, err)
	}
	for _, text := range []string{"", ")", "42 (x) S 7", "42 (x) S a 9 9 0 -1 4194560 1 2 3 4 100 50 20 30 20 0 1 0 12345"} {
		if _, err := parseProcess(text); err == nil {
			t.Errorf("parseProcess(%q) found no error", text)
		}
	}
	if Started(os.Getpid()) <= 0 || Started(1<<30) != 0 {
		t.Errorf("started at %d, and what does not exist at %d", Started(os.Getpid()), Started(1<<30))
	}
}

// The time of a tree has that of a child of a child, while it runs and after it ended.
func TestTheTimeOfATreeHasItsDescendants(t *testing.T) {
	cmd := exec.Command("sh", "-c", `sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exec sleep 0.6'; sleep 60`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	tree := NewTree(cmd.Process.Pid)
	var last float64
	for deadline := time.Now().Add(time.Minute); last < 0.05 && time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		last = tree.Seconds()
	}
	if last < 0.05 {
		t.Fatalf("%g s of a busy descendant", last)
	}
	time.Sleep(1500 * time.Millisecond)
	if after := tree.Seconds(); after < last {
		t.Errorf("%g s after it ended, %g before", after, last)
	}
	if rss, peak, reason := ReadResidentOf(cmd.Process.Pid); rss <= 0 || peak < rss || reason != "" {
		t.Errorf("%d of %d bytes, %s", rss, peak, reason)
	}
}
