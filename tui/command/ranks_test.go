package command

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"prismtop/tui/ptytest"
)

// waitedFor is what the pane of ranks says of the rank that it names.
var waitedFor = regexp.MustCompile(`rank (\d+) is waited for`)

// Of two and four gloo ranks, the one that is 10 % slower is named, and at no time one that waits for it. The ranks' own work is
// mostly sleep, because a machine may have fewer processors than ranks.
func TestTheSlowRankOfSeveralIsNamed(t *testing.T) {
	python := os.Getenv("TORCH_PYTHON")
	if python == "" {
		t.Skip("skipped: TORCH_PYTHON names no Python with PyTorch")
	}
	const (
		each = "100"           // ms of a step, for each rank
		long = 2 * time.Minute // for the start and the steps of four processes
	)
	script := inRepository(t, "profiles/loop/python/testdata/ddp.py")
	for _, ranks := range []int{2, 4} {
		slow := ranks - 1
		t.Run(fmt.Sprint(ranks, " ranks"), func(t *testing.T) {
			x := ptytest.Open(t, 120, 40)
			cmd := withDefaults(t, "python", "--max-iterations", "200", "--", python, "-m", "torch.distributed.run", "--nproc-per-node",
				strconv.Itoa(ranks), script, "1000000", strconv.Itoa(slow), "10%", each)
			x.Start(cmd)
			named := map[string]int{}
			var text string
			for began := time.Now(); !regexp.MustCompile(`[✓✗○] \w+ed`).MatchString(text); time.Sleep(50 * time.Millisecond) {
				if text = x.Text(); time.Since(began) > long {
					t.Fatalf("the ranks train on\n%s", text)
				}
				for _, of := range waitedFor.FindAllStringSubmatch(text, -1) {
					named[of[1]]++
				}
			}
			x.Press("q")
			_ = cmd.Wait()
			if names := slices.Sorted(maps.Keys(named)); len(names) != 1 || names[0] != strconv.Itoa(slow) {
				t.Errorf("rank %d is slow, and these are named: %v\n%s", slow, named, text)
			}
		})
	}
}
