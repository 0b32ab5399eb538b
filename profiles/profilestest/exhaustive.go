package profilestest

import (
	"os"
	"testing"
)

// Exhaustive reports whether tests take whole lists, long runs and many repetitions, as in .ci/run, and not those that
// show the same in less time.
func Exhaustive() bool { return os.Getenv("EXHAUSTIVE") != "" }

// OneGoroutine skips a test that computes or draws for long in one goroutine under the race detector, which has nothing
// to find there.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Slow > 1 {
		t.Skip("skipped under the race detector: one goroutine does it all")
	}
}

// OnlyExhaustive skips a test that takes long for what others test already.
func OnlyExhaustive(t testing.TB) {
	t.Helper()
	if !Exhaustive() {
		t.Skip("skipped: takes long; EXHAUSTIVE=1 runs it, as .ci/run does")
	}
}
