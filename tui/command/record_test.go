package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"prismtop/profiles"
	"prismtop/profiles/recording"
)

// Where the recording of a run is not whole, none is deleted for it, and the end of the run says what is left.
func TestWhatARecordingThatIsCutShortLeaves(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	folder, err := recording.Folder()
	if err != nil {
		t.Fatal(err)
	}
	path, err := recording.NewPath(folder, "moon", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(folder, "2026-01-01T00-00-01-moon.sqlite")
	if err := os.WriteFile(old, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	r := recording.New(recording.Options{Path: path, Reserved: true, Limit: 1})
	r.Event(&profiles.Event{At: time.Now(), Body: &profiles.LogEntry{Text: strings.Repeat("x", 100)}})
	r.Flush(t.Context())
	var said bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&said)
	f := recordFlags{limit: 1}
	if _, err := f.closeRecording(cmd, r, nil, time.Minute); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err != nil || !strings.Contains(said.String(), " still holds ") ||
		!strings.Contains(said.String(), "none was deleted") {
		t.Errorf("%v: %q", err, said.String())
	}
}
