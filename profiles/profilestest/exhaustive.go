package profilestest

import (
	"os"
	"testing"
)

// Exhaustive reports whether tests take whole lists, long runs and many repetitions, as in .ci/run, and not those that
// show the same in less time.
func Exhaustive() bool { return os.Getenv("EXHAUSTIVE") != "" }

// OnlyExhaustive skips a test that takes long for what others test already.
func OnlyExhaustive(t testing.TB) {
	t.Helper()
	if !Exhaustive() {
		t.Skip("skipped: takes long; EXHAUSTIVE=1 runs it, as .ci/run does")
	}
}
