//go:build !linux || nogpu

package library

import (
	"strings"
	"testing"
)

func TestAbsentSaysWhy(t *testing.T) {
	if text := Absent().Error(); !strings.Contains(text, "nogpu") && !strings.Contains(text, "Linux only") {
		t.Errorf("Absent() = %q", text)
	}
}
