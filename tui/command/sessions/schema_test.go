package sessions

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"prismtop/profiles/attach"
	"prismtop/profiles/export"
	"prismtop/profiles/export/schematest"
)

func TestSchema(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "sessions", Title: "prismtop sessions --json", Value: []listed{},
		Adds: map[string]schematest.Schema{"Info.state": {"enum": []any{"preparing", "running", "paused", "finished", "stopped", "failed", silent, unwatched}}}})
	running := attach.Found{ID: "k3f9w", Path: "k3f9w.sock", Info: attach.Info{ID: "k3f9w", State: "running", Process: 7, Version: "1", Began: time.Now(), Unit: "sample", UnitMany: "samples", Units: 3, Operator: "pts/1", Recording: "a", Log: "b", Folder: "c"}}
	for name, all := range map[string][]attach.Found{"none": nil, "two": {running, {ID: "k3f9x", Err: errors.New("it does not answer")}},
		"a program": {{ID: "4711", Info: attach.Info{ID: "4711", State: unwatched, Process: 4711, Workload: "python", Object: "train.py"}}}} {
		var b bytes.Buffer
		if err := export.WriteObject(&b, asObjects(all)); err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("sessions", b.Bytes()); err != nil {
			t.Errorf("%s: %v\n%s", name, err, b.Bytes())
		}
	}
}

// What the loss of the terminal does, and which session is meant.
func TestOnHangup(t *testing.T) {
	for _, c := range []struct {
		text, ssh string
		want      bool
	}{{"auto", "", false}, {"auto", "10.0.0.7 5 1 22", true}, {"detach", "", true}, {"end", "10.0.0.7 5 1 22", false}} {
		environ := func(key string) string {
			if key == "SSH_CONNECTION" {
				return c.ssh
			}
			return ""
		}
		if got, err := DetachesOnHangup(c.text, environ); got != c.want || err != nil {
			t.Errorf("%s under %q: %v, %v", c.text, c.ssh, got, err)
		}
	}
	if _, err := DetachesOnHangup("maybe", func(string) string { return "" }); err == nil {
		t.Error("maybe is accepted")
	}
}

func TestNamed(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	two := []attach.Found{{ID: "k3f9w"}, {ID: "k3x2z"}}
	for _, c := range []struct {
		found    []attach.Found
		id, want string // want is an ID; empty for an error
	}{
		{two, "k3f9w", "k3f9w"}, {two, "k3x", "k3x2z"}, {two, "k3", ""}, {two, "", ""}, {two, "z", ""},
		{two[:1], "", "k3f9w"}, {nil, "", ""}, {nil, "k3f9w", ""},
	} {
		if f, err := Named(c.found, c.id); f.ID != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q of %d: %q, %v", c.id, len(c.found), f.ID, err)
		}
	}
}

// The list counts the unit under way, as the header does; one unit of work is told in the singular.
func TestRowsCountUnits(t *testing.T) {
	of := attach.Info{Unit: "epoch", UnitMany: "epochs", Done: 1, Iterations: 70}
	several := of
	several.Units = 4
	before, over := several, several
	before.Stage, over.Done = "initialising", 4
	for want, i := range map[string]attach.Info{"1 epoch, iter 70": of, "epoch 2/4, iter 70": several,
		"initialising, iter 70": before, "epoch 4/4, iter 70": over} {
		if rows := Rows([]attach.Found{{Path: "a.sock", Info: i}}); rows[0].Progress != want {
			t.Errorf("%q, want %q", rows[0].Progress, want)
		}
	}
}
