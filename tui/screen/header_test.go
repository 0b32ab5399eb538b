package screen

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/sim/prism"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// headerStates returns runs with different header contents in the same slots.
func headerStates() map[string]*profiles.Snapshot {
	states := map[string]*profiles.Snapshot{"running": tuitest.Running(), "paused": tuitest.Paused(), "finished": tuitest.Finished(), "failed": tuitest.Failed(), "busy": tuitest.Busy()}
	with := func(name string, change func(*profiles.Snapshot)) {
		s := tuitest.Running()
		change(s)
		states[name] = s
	}
	with("an alert", func(s *profiles.Snapshot) { s.Alerts = tuitest.Eventful().Alerts[:1] })
	with("many alerts", func(s *profiles.Snapshot) {
		for range 6 {
			s.Alerts = append(s.Alerts, tuitest.Eventful().Alerts...)
		}
	})
	with("others and alerts", func(s *profiles.Snapshot) { s.Load, s.Alerts = tuitest.Busy().Load, tuitest.Eventful().Alerts })
	with("an ablation", func(s *profiles.Snapshot) {
		s.Ablation = &profiles.Ablation{Running: true, Done: 3, Groups: 96, Base: s.Settings}
	})
	with("an ablation beside others", func(s *profiles.Snapshot) {
		s.Ablation = &profiles.Ablation{Running: true, Done: 96, Groups: 96, Base: s.Settings}
		s.Load, s.Alerts = tuitest.Busy().Load, tuitest.Eventful().Alerts
	})
	with("long names", func(s *profiles.Snapshot) {
		s.Run.Object, s.Run.Kernels = "a-picture-of-europa-with-a-very-long-name.tiff", "avx512-with-a-name"
	})
	with("no names", func(s *profiles.Snapshot) {
		s.Run.Object, s.Run.Kernels, s.Run.Device, s.Run.Sampling = "", "", "", nil
	})
	with("small numbers", func(s *profiles.Snapshot) {
		s.Unit, s.Index, s.Rate, s.Elapsed, s.ETAKnown = 0, 7, 0.4, time.Second, false
	})
	with("large numbers", func(s *profiles.Snapshot) {
		s.Unit, s.Index, s.Rate, s.Elapsed, s.ETA = 99, 123_456_789, 123_456, 99*time.Hour, 99*time.Hour
	})
	with("fp16", func(s *profiles.Snapshot) {
		s.SkippedSteps = 123
		tuitest.Set(s, "amp", "fp16")
		tuitest.Latest(s, prism.SeriesGradientScale, 65536)
	})
	with("many threads", func(s *profiles.Snapshot) { tuitest.Set(s, "threads", "128") })
	return states
}

// The count of samples is labelled and complete at every width.
func TestTheCountOfSamplesIsLabelled(t *testing.T) {
	profilestest.OneGoroutine(t)
	for _, n := range []struct {
		of, at int
		want   string
	}{{100, 37, "sample  38/100"}, {1200, 0, "sample    1/1200"}, {1200, 1199, "sample 1200/1200"}, {16500, 16000, "sample 16001"}} {
		for w := layout.MinWidth; w <= 240; w++ {
			s := tuitest.Running()
			s.Run.Units, s.Unit = n.of, n.at
			m, _ := screen(t, w, 30, Options{}, colorprofile.ANSI256, s)
			header, _, _ := strings.Cut(frameOf(m), "\n")
			if !strings.Contains(header, n.want) {
				t.Errorf("%d columns: no %q in %q", w, n.want, header)
			}
		}
	}
}

// A paused run has no rate and no time left; neither is shown as if it were running, and nothing
// moves.
func TestAPausedRunShowsNothingLive(t *testing.T) {
	for _, w := range []int{60, 80, 120, 200} {
		m, _ := screen(t, w, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
		places := headerPlaces(w)
		field := func(f headerField) string {
			header, _, _ := strings.Cut(frameOf(m), "\n")
			return strings.TrimSpace(string([]rune(header)[places[f].X : places[f].X+places[f].W]))
		}
		if places[rateField].W > 0 && field(rateField) != "184.2 it/s" || places[leftField].W > 0 && field(leftField) != "left ~3 min" {
			t.Fatalf("%d columns, running: %q", w, strings.Split(frameOf(m), "\n")[0])
		}
		press(m, "space") // immediately, before the run has responded
		for range 2 {
			if places[rateField].W > 0 && field(rateField) != "– it/s" || places[leftField].W > 0 && field(leftField) != "left (paused)" ||
				strings.Contains(frameOf(m), "184.2 it/s") || field(stateField) != "‖ paused" {
				t.Errorf("%d columns, paused: %q", w, strings.Split(frameOf(m), "\n")[0])
			}
			m.Update(snapshotMsg{tuitest.Paused()})
		}
		press(m, "space")
		m.Update(snapshotMsg{tuitest.Running()})
		if places[rateField].W > 0 && field(rateField) != "184.2 it/s" {
			t.Errorf("%d columns, running again: %q", w, strings.Split(frameOf(m), "\n")[0])
		}
	}
	s := tuitest.Busy()
	s.State = profiles.Paused
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	if _, style := m.header().text(othersField, 11); style != theme.Faint {
		t.Errorf("other programs, of which a paused run has no news, stand in style %d", style)
	}
}

// placesOf returns the positions of the header fields that are never empty, by their first words.
func placesOf(t *testing.T, header string) map[string]int {
	t.Helper()
	at := map[string]int{}
	runes := []rune(header)
	for i := range runes {
		rest := string(runes[i:])
		for _, word := range []string{"prismtop", "sample", "iter "} {
			if strings.HasPrefix(rest, word) {
				at[word] = i
			}
		}
		var h, m, s int
		if _, seen := at["clock"]; !seen && len(rest) >= 8 && rest[0] >= '0' && rest[0] <= '9' {
			if n, _ := fmt.Sscanf(rest[:8], "%2d:%2d:%2d", &h, &m, &s); n == 3 {
				at["clock"] = i
			}
		}
		for _, lamp := range []string{"● running", "‖ paused", "✓ finished", "✗ failed"} {
			if strings.HasPrefix(rest, lamp) {
				at["state"] = i
			}
		}
	}
	return at
}

// Fields that appear, disappear or grow do not move the others.
func TestTheFieldsOfTheHeaderStandStill(t *testing.T) {
	profilestest.OneGoroutine(t)
	states := headerStates()
	for w := layout.MinWidth; w <= 240; w += oneOf(7) {
		want := map[string]int{}
		m, _ := screen(t, w, 30, Options{}, colorprofile.ANSI256)
		for name, s := range states {
			m.Update(snapshotMsg{s})
			m.help.sheet = sheet{}
			header, _, _ := strings.Cut(frameOf(m), "\n")
			at := placesOf(t, header)
			if _, ok := at["clock"]; !ok && w >= 80 {
				t.Errorf("%d columns, %s: no clock in %q", w, name, header)
			}
			for _, field := range []string{"prismtop", "sample", "state"} {
				if _, ok := at[field]; !ok {
					t.Errorf("%d columns, %s: no %s in %q", w, name, field, header)
				}
			}
			for field, x := range at {
				if before, ok := want[field]; ok && before != x {
					t.Errorf("%d columns, %s: %s moved from %d to %d in %q", w, name, field, before, x, header)
				}
				want[field] = x
			}
		}
	}
}

// Slots do not overlap on the screen, at any width.
func TestTheSlotsOfTheHeaderDoNotOverlap(t *testing.T) {
	for w := layout.MinWidth; w <= 400; w++ {
		end := 0
		places := headerPlaces(w)
		for _, group := range headerGroups {
			for _, f := range group {
				r := places[f]
				if r.W == 0 {
					continue
				}
				if r.X < end+1 || r.X+r.W > w {
					t.Fatalf("%d columns: field %d at %+v, after column %d", w, f, r, end)
				}
				end = r.X + r.W
			}
		}
	}
}

// Whatever is wrong with a run, the keys stay in the footer.
func TestAlertsAndNewsLeaveTheKeysInTheFooter(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		for _, ascii := range []bool{false, true} {
			at := time.Unix(1000, 0)
			m, _ := screen(t, size[0], size[1], Options{ASCII: ascii, Now: func() time.Time { return at }}, colorprofile.ANSI256, tuitest.Running())
			before := footerOf(m)
			s := tuitest.Running()
			s.Alerts = tuitest.Eventful().Alerts
			s.Log = append(s.Log, profiles.LogLine{At: time.Minute, Text: "one of the last samples ended at its limit, far from the threshold (cleared after 5 s)"})
			m.Update(snapshotMsg{s})
			if got := footerOf(m); got != before && !(size[0] == 200 && strings.HasPrefix(got, strings.TrimRight(before[:150], " "))) {
				t.Errorf("%v: the footer was\n%s\nand with alerts is\n%s", size, before, got)
			}
			header, _, _ := strings.Cut(frameOf(m), "\n")
			if !strings.Contains(header, ": !") || !strings.Contains(header, "2") {
				t.Errorf("%v: the header does not say where to read the alerts: %q", size, header)
			}
		}
	}
}

// footerOf returns the last two lines of the screen.
func footerOf(m *Model) string {
	lines := strings.Split(frameOf(m), "\n")
	return strings.Join(lines[len(lines)-2:], "\n")
}

// One key lists the alerts with advice; esc closes the list and nothing else.
func TestAKeyListsTheAlerts(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}} {
		s := tuitest.Eventful()
		s.Ablation = &profiles.Ablation{Running: true, Groups: 96, Base: s.Settings}
		m, r := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
		m.openPane(idAblation)
		press(m, "!")
		seen := frameOf(m)
		for range 20 { // scrolled to its end
			press(m, "down")
			seen += frameOf(m)
		}
		flat := strings.Join(strings.Fields(strings.NewReplacer("│", " ").Replace(seen)), " ")
		for _, want := range []string{"─ Alerts ─", "▴ warning since iteration ", "3 of the last 10 samples ended at their limit", "Halve the learning rate (l)",
			"· notice since iteration ", "Switch it off (g) and compare.", "esc closes"} {
			if !strings.Contains(flat, want) {
				t.Errorf("%v: the list lacks %q:\n%s", size, want, frameOf(m))
			}
		}
		press(m, "esc")
		if frame := frameOf(m); strings.Contains(frame, "─ Alerts ─") || len(r.Called()) > 0 {
			t.Errorf("%v: esc called %v and left\n%s", size, r.Called(), frame)
		}
		press(m, "!", "!")
		if strings.Contains(frameOf(m), "─ Alerts ─") {
			t.Errorf("%v: the key does not close the list", size)
		}
	}
	m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, tuitest.Running())
	press(m, "!")
	if !strings.Contains(frameOf(m), "No alert is active.") {
		t.Errorf("without alerts:\n%s", frameOf(m))
	}
}

// A click on the count of alerts lists them.
func TestAClickOnTheAlertsListsThem(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Eventful())
	header := []rune(strings.Split(frameOf(m), "\n")[0])
	x := strings.IndexRune(string(header), '▴')
	m.Update(tea.MouseClickMsg{X: len([]rune(string(header)[:x])), Y: 0, Button: tea.MouseLeft})
	if !strings.Contains(frameOf(m), "─ Alerts ─") {
		t.Errorf("no list:\n%s", frameOf(m))
	}
}

// A run that fails shows the full reason, at every size, and keeps the keys that help.
func TestAFailureSaysWhyInFull(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}} {
		s := tuitest.Failed()
		s.Err = "sample 37: the loss is not finite, which is told in a sentence that is longer than a row of the screen, by far\ngoroutine 1"
		m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, tuitest.Running())
		m.Update(snapshotMsg{s})
		flat := strings.Join(strings.Fields(strings.NewReplacer("│", " ").Replace(frameOf(m))), " ")
		if !strings.Contains(flat, "longer than a row of the screen, by far") {
			t.Errorf("%v: the reason is cut:\n%s", size, frameOf(m))
		}
		for _, key := range []string{"R", "q quit"} {
			if !strings.Contains(footerOf(m), key) {
				t.Errorf("%v: the footer lacks %s: %s", size, key, footerOf(m))
			}
		}
		press(m, "esc")
		m.Update(snapshotMsg{s})
		if strings.Contains(frameOf(m), "─ Alerts ─") {
			t.Errorf("%v: the list comes back", size)
		}
	}
}

// After the end, the footer offers the keys that still work, and the header shows what ran.
func TestAfterTheEndKeysAreThoseThatWork(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, tuitest.Finished())
		header, _, _ := strings.Cut(frameOf(m), "\n")
		footer := footerOf(m)
		for _, gone := range []string{"pause", "step", "ablation"} {
			if strings.Contains(footer, gone) {
				t.Errorf("%v: the footer offers %q: %s", size, gone, footer)
			}
		}
		for _, want := range []string{"next run:", "R restart", "s save", "q quit"} {
			if !strings.Contains(footer, want) && size[0] > 60 {
				t.Errorf("%v: the footer lacks %q: %s", size, want, footer)
			}
		}
		s := tuitest.Finished()
		next := tuitest.Having(s.Settings, "threads", "1", "amp", "off")
		s.Next = &next
		m.Update(snapshotMsg{s})
		press(m, "esc")
		after, _, _ := strings.Cut(frameOf(m), "\n")
		if after != header {
			t.Errorf("%v: a change for the next run made the header of what ran %q, was %q", size, after, header)
		}
		footer = footerOf(m)
		if !strings.Contains(footer, "threads 1") && !strings.Contains(footer, "2 changes") {
			t.Errorf("%v: the footer does not tell what the next run begins with: %s", size, footer)
		}
	}
}

// Fields without room between them have a line there, and an experiment is named.
func TestFieldsOfTheHeaderAreSeparatedAndNamed(t *testing.T) {
	deciding, further, ablating := tuitest.Busy(), tuitest.Busy(), tuitest.Busy()
	deciding.Ablation = &profiles.Ablation{Running: true, Replication: true, Groups: 9, Done: 3}
	further.Ablation = &profiles.Ablation{Running: true, Replication: true, Groups: 26, Done: 12}
	ablating.Ablation = &profiles.Ablation{Running: true, Groups: 88, Done: 18}
	for _, w := range []int{68, 80, 120, 200} {
		for _, tt := range []struct {
			s    *profiles.Snapshot
			want []string
		}{
			{tuitest.Busy(), []string{"others 62 %│", "it/s│others"}},
			{deciding, []string{"decide 3/9", "deciding 3/9"}},
			{further, []string{"dec. 12/26"}},
			{ablating, []string{"abl. 18/88", "ablate 18/88"}},
		} {
			tt.s.Alerts = tuitest.Eventful().Alerts
			m, _ := screen(t, w, 40, Options{}, colorprofile.ANSI256, tt.s)
			line, _, _ := strings.Cut(frameOf(m), "\n")
			if w < 200 && !slices.ContainsFunc(tt.want, func(want string) bool { return strings.Contains(line, want) }) {
				t.Errorf("%d columns: none of %q in %q", w, tt.want, line)
			}
			if i := strings.Index(line, "others"); i > 0 && line[i-1] == ' ' && line[i-2] != ' ' {
				t.Errorf("%d columns: no separator before other programs in %q", w, line)
			}
		}
	}
}

// The time left stands in the place of alerts while other programs have its own, and the kernels' name is whole.
func TestTheTimeLeftBesideOtherPrograms(t *testing.T) {
	profilestest.OneGoroutine(t)
	for w := 110; w <= 240; w++ {
		s := tuitest.Busy()
		s.Run.Device, s.Run.Kernels = "cpu", "avx512-bf16"
		m, _ := screen(t, w, 40, Options{}, colorprofile.ANSI256, s)
		line := headerLine(m)
		if !strings.Contains(line, "62 %") || !strings.Contains(line, "left ~3 min") {
			t.Errorf("%d columns: %q", w, line)
		}
		if headerPlaces(w)[deviceField].W > 0 && !strings.Contains(line, "avx512-bf16") {
			t.Errorf("%d columns: the kernels are cut: %q", w, line)
		}
		s.Alerts = tuitest.Eventful().Alerts
		m.Update(snapshotMsg{s})
		if line = headerLine(m); !strings.Contains(line, "62 %") || !strings.Contains(line, "alert") {
			t.Errorf("%d columns, with alerts: %q", w, line)
		}
	}
}

// A workload without a choice of precision leaves that slot to a long name.
func TestALongNameHasTheSlotOfThePrecision(t *testing.T) {
	const long = "finetune-demo.py"
	s := tuitest.Tasks()
	s.Run.Object = long
	for w, want := range map[int]string{100: "finetune-…", 120: long, 160: long, 240: long} {
		m, _ := screen(t, w, 40, Options{}, colorprofile.ANSI256, s)
		line, _, _ := strings.Cut(frameOf(m), "\n")
		if !strings.Contains(line, want+" ") {
			t.Errorf("%d columns: no %q in %q", w, want, line)
		}
	}
	p := tuitest.Running()
	p.Run.Object = long
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, p)
	if line, _, _ := strings.Cut(frameOf(m), "\n"); !strings.Contains(line, "finetune-…") {
		t.Errorf("%q", line)
	}
}

// The name of what runs is in the header at every width: below that of its slot it has the place of the units, in a run that does not
// know how many there are.
func TestARunWithoutUnitsIsNamedAtEveryWidth(t *testing.T) {
	profilestest.OneGoroutine(t)
	for w := layout.MinWidth; w <= 240; w++ {
		s := tuitest.Running()
		s.Run.Object, s.Run.Units = "train.py", 0
		m, _ := screen(t, w, 30, Options{}, colorprofile.ANSI256, s)
		if line := headerLine(m); strings.Count(line, "train.py") != 1 {
			t.Errorf("%d columns, without units: %q", w, line)
		}
		s = tuitest.Running()
		s.Run.Object = "train.py"
		m.Update(snapshotMsg{s})
		if line := headerLine(m); strings.Contains(line, "train.py") != (headerPlaces(w)[objectField].W > 0) || !strings.Contains(line, "sample") {
			t.Errorf("%d columns, with units: %q", w, line)
		}
	}
}

// headerLine returns the header as text with sequences.
func headerLine(m *Model) string {
	var c chart.Canvas
	c.Resize(m.layout.Header.W, 1)
	m.header().draw(&c)
	return c.Lines(m.theme)[0]
}
