package alert

import (
	"strings"
	"testing"
)

func TestAFailedDeviceIsAnAlertUntilTheRunMoves(t *testing.T) {
	f := &Facts{Failed: "the GPU is lost: continuing on the CPU from the newest copy of the weights; 3 iterations lost"}
	found := judgeDevice(f)
	if !found.raised || !found.kept {
		t.Fatalf("%+v", found)
	}
	if what, try := found.tell(); what != "the GPU is lost: continuing on the CPU from the newest copy of the weights; 3 iterations lost." || !strings.Contains(string(try), "doctor --gpu") {
		t.Errorf("%q, %q", what, try)
	}
	if found = judgeDevice(&Facts{}); found.raised || found.kept {
		t.Errorf("without a failure: %+v", found)
	}
}
