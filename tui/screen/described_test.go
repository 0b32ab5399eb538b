package screen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/export"
	"prismtop/profiles/preset"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/curve"
	"prismtop/sim/workload"
	"prismtop/tui/layout"
)

// described makes fits whose schema was read from JSON.
type described struct {
	curve.Maker
	schema profiles.Schema
}

// fit is a fit with all that it is able to do.
type fit struct {
	workload.Task
	workload.Clearer
	workload.Checkpointer
	schema profiles.Schema
}

func (d described) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	task, err := d.Maker.New(ctx, v, in)
	if err != nil {
		return nil, err
	}
	return fit{task, task.(workload.Clearer), task.(workload.Checkpointer), d.schema}, nil
}

func (f fit) Info() profiles.RunInfo {
	info := f.Task.Info()
	info.Schema = f.schema
	return info
}

// fitted runs the preset of the curve under a table, with a switch in the middle.
func fitted(t *testing.T, maker workload.Maker, table *settings.Table) *profiles.Snapshot {
	t.Helper()
	shelf := curve.Presets()
	shelf.Table = table
	// What is decided by itself takes a number of iterations that depends on their times.
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{shelf}, Sets: []string{"max_iterations=400", "decide=off"}})
	if err != nil {
		t.Fatal(err)
	}
	events := stream.New(1 << 12)
	r, err := sim.New(t.Context(), sim.Options{Maker: maker, Settings: v, Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	seen := aggregate.New(events.Follow(), aggregate.Options{})
	for range 200 {
		if _, done, err := r.Next(t.Context()); done || err != nil {
			t.Fatal(done, err)
		}
	}
	seen.Tick(time.Now())
	if err := r.Set("fused_residue", "true"); err != nil {
		t.Fatal(err)
	}
	r.Start(t.Context())
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	return seen.Tick(time.Now())
}

// printed returns the JSON of a run.
func printed(t *testing.T, s *profiles.Snapshot) string {
	t.Helper()
	var b bytes.Buffer
	if err := export.WriteJSON(&b, export.Summarize(s, export.Source{Version: "test", Preset: "curve"})); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// counted prints what a run's settings decide, and no time does.
func counted(s *profiles.Snapshot) string {
	text := fmt.Sprintf("%d iterations, RMS error %v, %d hits and %d misses", s.Index, s.Of("rms").Latest, s.Caches[0].Hits, s.Caches[0].Misses)
	for _, c := range s.Changes {
		text += fmt.Sprintf(", %s from %s to %s at %d", c.Key, c.Before, c.After, c.Iteration)
	}
	return text
}

// The curve's own schema and table of settings, written to JSON and read back, give the same JSON and the same screens.
func TestADescribedCurveIsTheCurve(t *testing.T) {
	profilestest.OneGoroutine(t)
	table, err := curve.Table.Described(settings.Values{})
	if err != nil {
		t.Fatal(err)
	}
	schema := curve.Schema()
	data, err := json.Marshal(&schema)
	if err != nil {
		t.Fatal(err)
	}
	schema = profiles.Schema{}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	declared, read := fitted(t, curve.Maker{}, curve.Table), fitted(t, described{schema: schema}, table)
	if declared.Settings.Table() != curve.Table || !read.Settings.Table().Same(table) || declared.Index != 400 {
		t.Fatalf("after %d iterations the runs have the tables %p and %p", declared.Index, declared.Settings.Table(), read.Settings.Table())
	}
	if a, b := counted(declared), counted(read); a != b {
		t.Errorf("declared, the run counts\n%s\nread, it counts\n%s", a, b)
	}

	shown := map[layout.Pane][]string{idSettings: {"degree", "basis_cache", "fused_residue"}, idCaches: {"basis"}}
	same := *declared // with all that was measured, so that the load of the machine decides nothing below
	same.Run.Schema, same.Settings = schema, read.Settings
	if a, b := printed(t, declared), printed(t, &same); a != b {
		t.Errorf("declared, its JSON is\n%s\nread, it is\n%s", a, b)
	}
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		first, _ := screen(t, size[0], size[1], Options{Settings: declared.Settings}, colorprofile.ANSI256, declared)
		second, _ := screen(t, size[0], size[1], Options{Settings: same.Settings}, colorprofile.ANSI256, &same)
		agree := func(what string, words ...string) {
			t.Helper()
			checkFrame(t, first, size[0], size[1])
			a, b := first.View().Content, second.View().Content
			if a != b {
				t.Fatalf("%s at %v: declared, it is\n%s\nread, it is\n%s", what, size, ansi.Strip(a), ansi.Strip(b))
			}
			for _, word := range words {
				if !strings.Contains(ansi.Strip(a), word) {
					t.Errorf("%s at %v lacks %q:\n%s", what, size, word, ansi.Strip(a))
				}
			}
		}
		agree("the screen", "residue", "RMS error")
		for id := range layout.Pane(len(deck.Panes)) {
			alone(first, id)
			alone(second, id)
			agree(deck.Panes[id].Name, shown[id]...)
		}
		for _, name := range table.Names() {
			for _, m := range []*Model{first, second} {
				settingsIn(m).Select(name)
				alone(m, idSettings)
			}
			agree("the setting "+name, name)
		}
		first.closePane()
		second.closePane()
		press(first, "?")
		press(second, "?")
		sheet := ""
		for range 60 { // lines of the sheet
			agree("the help")
			sheet += ansi.Strip(strings.Join(first.help.box(first.room()).Lines(first.theme), "\n"))
			first.Update(downKey)
			second.Update(downKey)
		}
		if !strings.Contains(sheet, "basis cache") || !strings.Contains(sheet, "fused residue") {
			t.Errorf("the help at %v does not name the switches", size)
		}
	}
}
