package command

import (
	"os/exec"
	"strings"
	"testing"
)

// Under limits that are too low the program says so in one sentence, and Go's runtime leaves no dump.
func TestLowLimitsAreSaid(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: the race detector, whose runs are short, needs more memory than these limits leave")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: no bash, whose ulimit sets limits")
	}
	for _, limit := range []string{"900000", "1100000", "1700000", "2200000"} {
		text, err := exec.Command("bash", "-c", "ulimit -v "+limit+" && exec prismtop doctor").CombinedOutput()
		if strings.Contains(string(text), "runtime.main()") || strings.HasPrefix(string(text), "runtime") || strings.HasPrefix(string(text), "fatal error") {
			t.Logf("%s KiB: the runtime ends before the program begins", limit)
			continue
		}
		if err == nil || !strings.HasPrefix(string(text), "prismtop: the limit of address space (ulimit -v) is "+limit+" KiB: must be at least ") || strings.Count(string(text), "\n") != 1 {
			t.Errorf("%s KiB: %v: %s", limit, err, text)
		}
	}
	if text, err := exec.Command("bash", "-c", "ulimit -v unlimited; exec prismtop --version").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, text)
	}
}

func TestTheLimitsThatAreEnough(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{enoughSpace(1<<64-1, 64), ""}, {enoughSpace(leastSpace+2*spacePerThread, 2), ""},
		{enoughSpace(1<<30, 2), "the limit of address space (ulimit -v) is 1048576 KiB: must be at least 2359296 KiB here; a control group limits memory itself"},
		{enoughThreads(20, 4, 2), ""}, {enoughThreads(10, 1, 2), "the limit of processes and threads (ulimit -u) is 10, and the user's other programs have 1 thread: must be at least 17 here"},
	} {
		if (c.err == nil) != (c.want == "") || c.err != nil && c.err.Error() != c.want {
			t.Errorf("%v, want %s", c.err, c.want)
		}
	}
	if all, own := userThreads("/proc", 1<<30); all != 0 || own != 0 {
		t.Errorf("an unknown user has %d threads, %d of them here", all, own)
	}
}
