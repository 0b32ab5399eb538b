package files

import (
	"os"
	"testing"
)

// New files take names that are free, for all files of a format.
func TestNewFilesReplaceNone(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ format, taken, want string }{
		{"chrome", "", "run.trace.json"},
		{"chrome", "run.trace.json", "run-2.trace.json"},
		{"csv", "run.changes.csv", "run-2.csv"},
		{"csv", "run-2.csv", "run-3.csv"},
		{"tensorboard", "", "run.tensorboard"},
		{"tensorboard", "run.tensorboard", "run-2.tensorboard"},
		{"pprof", "", "run.pb.gz"},
	} {
		if c.taken != "" {
			if err := os.WriteFile(c.taken, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := New(c.format, "run"); err != nil || got.Path != c.want || got.Format() != c.format {
			t.Errorf("%s beside %q: %q, want %q (%v)", c.format, c.taken, got.Path, c.want, err)
		}
	}
	if _, err := New("none", "run"); err == nil {
		t.Error("an unknown format has a file")
	}
}

// Every format says what it is for.
func TestEveryFormatIsExplained(t *testing.T) {
	for _, k := range Kinds() {
		if k.About == "" {
			t.Errorf("%s is not explained", k.Name)
		}
	}
}
