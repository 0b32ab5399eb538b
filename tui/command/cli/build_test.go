package cli

import (
	"strings"
	"testing"
)

// The version says what the program was built from, or that the build did not record it.
func TestAVersionSaysItsCommit(t *testing.T) {
	for _, c := range []struct {
		revision, made string
		modified       bool
		want           string
	}{
		{"4abbf95f", "2026-11-26T22:50:04Z", false, "commit  4abbf95f of 2026-11-26T22:50:04Z\n"},
		{"4abbf95f", "2026-11-26T22:50:04Z", true, "commit  4abbf95f of 2026-11-26T22:50:04Z, with changes since\n"},
		{"", "", false, "commit  not recorded by this build"},
	} {
		got := aboutBuild(c.revision, c.made, c.modified)
		if !strings.HasPrefix(got, Version+"\n"+c.want) || !strings.Contains(got, "\ngo      go1.") {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
