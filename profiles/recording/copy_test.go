package recording

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"prismtop/profiles"
)

// A copy of a recording that still grows is a whole file with what was recorded; a plain copy of the file would lack
// the log.
func TestACopyHasWhatIsInTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := New(Options{Path: path, Every: time.Hour, Fingerprint: Fingerprint{Version: "test"}})
	defer r.Close(context.Background())
	began := time.Now()
	r.Event(&profiles.Event{At: began, Body: &profiles.Begin{Info: profiles.RunInfo{Schema: profiles.Schema{Workload: "test", Kinds: []profiles.KindInfo{{Name: "steps"}}}}}})
	r.Event(&profiles.Event{At: began, Body: &profiles.StateChange{State: profiles.Running}})
	for i := range int64(100) {
		r.Event(&profiles.Event{Body: &profiles.Iteration{Index: i, Start: i * 1000, Total: 1000, Series: profiles.NoValues()}})
	}
	r.Tick(began.Add(time.Second), &profiles.Snapshot{Index: 100, State: profiles.Running})
	r.Flush(t.Context())
	to := filepath.Join(t.TempDir(), "copy.sqlite")
	if err := os.WriteFile(to, []byte("an earlier copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Copy(t.Context(), path, to); err != nil {
		t.Fatal(err)
	}
	s, err := statusOf(t.Context(), to)
	if err != nil || s.Iterations != 100 {
		t.Errorf("the copy has %d iterations, %v", s.Iterations, err)
	}
	left, _ := filepath.Glob(to + "?*")
	hidden, _ := filepath.Glob(filepath.Join(filepath.Dir(to), ".*"))
	if len(left)+len(hidden) > 0 {
		t.Errorf("%v %v is left beside it", left, hidden)
	}
	if err := Copy(t.Context(), filepath.Join(t.TempDir(), "none"), to); err == nil {
		t.Error("a file that is not there was copied")
	}
}
