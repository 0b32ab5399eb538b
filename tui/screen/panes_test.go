package screen

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/tui/layout"
	"prismtop/tui/lines"
	"prismtop/tui/pane"
	"prismtop/tui/tuitest"
)

// zoomed returns a screen with one zoomed pane.
func zoomed(t testing.TB, w, h int, id layout.Pane, snap *profiles.Snapshot, keys ...string) *Model {
	t.Helper()
	m, _ := screen(t, w, h, Options{}, colorprofile.ANSI256, snap)
	m.setFocus(id)
	m.toggleZoom()
	m.Update(snapshotMsg{snap})
	for _, k := range keys {
		m.Update(named(k))
	}
	m.stale = true
	m.Update(secondMsg{})
	checkFrame(t, m, w, h)
	return m
}

// alone shows one pane alone on a screen.
func alone(m *Model, id layout.Pane) {
	m.setFocus(id)
	m.zoomed = true
	m.relay()
	m.stale = true
	m.Update(secondMsg{})
}

// named returns the press of a key given by name, arrows included.
func named(name string) tea.KeyPressMsg {
	codes := map[string]rune{"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight,
		"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome, "end": tea.KeyEnd, "tab": tea.KeyTab}
	if code, ok := codes[name]; ok {
		return tea.KeyPressMsg{Code: code}
	}
	return pressed(name)
}

// ownPanes are the panes tested in this file, with their views.
var ownPanes = []struct {
	id    layout.Pane
	views int
}{{idQuality, 4}, {idSamples, 1}, {idLog, 1}, {idMemory, 2}, {idCaches, 2}, {idEffects, 1}, {idProgress, 1}}

func TestGoldenScreensOfZoomedPanes(t *testing.T) {
	profilestest.OneGoroutine(t)
	for _, size := range [][2]int{{80, 24}, {120, 40}} {
		for _, p := range ownPanes {
			var keys []string
			for view := range p.views {
				name := fmt.Sprintf("zoom-%s-%d-%dx%d", strings.ReplaceAll(deck.Panes[p.id].Name, " ", "-"), view, size[0], size[1])
				if p.views == 1 {
					name = fmt.Sprintf("zoom-%s-%dx%d", strings.ReplaceAll(deck.Panes[p.id].Name, " ", "-"), size[0], size[1])
				}
				t.Run(name, func(t *testing.T) {
					m := zoomed(t, size[0], size[1], p.id, tuitest.Eventful(), keys...)
					tuitest.Golden(t, name, tuitest.Shown(tuitest.Cells(m.View().Content, size[0], size[1])))
				})
				keys = append(keys, "v")
			}
		}
	}
}

// Small panes among others.
func TestGoldenSmallPanes(t *testing.T) {
	profilestest.OneGoroutine(t)
	for _, size := range [][2]int{{38, 11}, {60, 8}, {35, 5}} {
		for _, p := range ownPanes {
			m, _ := screen(t, 120, 40, Options{}, colorprofile.ASCII, tuitest.Eventful())
			pane := m.panes[p.id]
			pane.SetSize(size[0], size[1])
			name := fmt.Sprintf("pane-%s-%dx%d", strings.ReplaceAll(deck.Panes[p.id].Name, " ", "-"), size[0], size[1])
			t.Run(name, func(t *testing.T) {
				tuitest.Golden(t, name, tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(pane), "\n"), size[0], size[1])))
			})
		}
	}
}

// Any keys at any size leave every line as wide as the screen.
func TestAnyKeysHoldTheScreen(t *testing.T) {
	profilestest.OneGoroutine(t)
	random := rand.New(rand.NewPCG(7, 7))
	keys := []string{"up", "down", "left", "right", "pgup", "pgdown", "home", "end", "v", "x", "z", "tab", "esc", "?"}
	snaps := []*profiles.Snapshot{tuitest.Eventful(), tuitest.Running(), tuitest.Preparing(), tuitest.Finished(), tuitest.Failed(), tuitest.Trainer(), tuitest.Tasks(), {}}
	for range 25 {
		w, h := layout.MinWidth+random.IntN(200), layout.MinHeight+random.IntN(60)
		m, _ := screen(t, w, h, Options{ASCII: random.IntN(4) == 0}, colorprofile.Profile(1+random.IntN(5)), snaps[0])
		m.setFocus(ownPanes[random.IntN(len(ownPanes))].id)
		m.toggleZoom()
		for range 40 {
			switch random.IntN(8) {
			case 0:
				w, h = layout.MinWidth+random.IntN(200), layout.MinHeight+random.IntN(60)
				m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			case 1:
				m.Update(snapshotMsg{snaps[random.IntN(len(snaps))]})
			default:
				m.Update(named(keys[random.IntN(len(keys))]))
			}
			checkFrame(t, m, w, h)
		}
	}
}

// frameOf returns the contents of a zoomed pane, without colours.
func frameOf(m *Model) string { return ansi.Strip(m.View().Content) }

func TestTheLogStaysWhereTheUserScrolled(t *testing.T) {
	s := tuitest.Eventful()
	s.Alerts = nil
	m := zoomed(t, 80, 24, idLog, s, "up", "up", "up")
	before := frameOf(m)
	if !strings.Contains(before, "3 newer · end: newest") || strings.Contains(before, "europa-002800") {
		t.Fatalf("three lines up:\n%s", before)
	}
	next := *s
	next.Log = append(s.Log[:len(s.Log):len(s.Log)], profiles.LogLine{At: time.Hour, Text: "one more"})
	m.Update(snapshotMsg{&next})
	after := frameOf(m)
	if !strings.Contains(after, "4 newer") || strings.Contains(strings.Split(after, "╰")[0], "one more") {
		t.Errorf("a new line moved the log:\n%s", after)
	}
	for _, line := range []string{"europa-002600.png", "europa-002000.png"} {
		if strings.Contains(before, line) != strings.Contains(after, line) {
			t.Errorf("%q came or went", line)
		}
	}
	m.Update(named("end"))
	if got := frameOf(m); !strings.Contains(got, "one more") || strings.Contains(got, "newer") {
		t.Errorf("end does not follow the newest line:\n%s", got)
	}
	m.Update(named("home"))
	if got := frameOf(m); !strings.Contains(got, "europa-000000.png") {
		t.Errorf("home does not show the first line:\n%s", got)
	}
}

func TestLongLinesOfTheLogGoOnBelow(t *testing.T) {
	frame := frameOf(zoomed(t, 80, 24, idLog, tuitest.Eventful()))
	flat := strings.Join(strings.Fields(strings.NewReplacer("│", " ").Replace(frame)), " ")
	if !strings.Contains(flat, "long enough to go on below the first row of a pane.") {
		t.Errorf("the end of a long line is missing:\n%s", frame)
	}
}

func TestAlertsStandOnTopOfTheLog(t *testing.T) {
	frame := frameOf(zoomed(t, 120, 40, idLog, tuitest.Eventful()))
	at := func(s string) int { return strings.Index(frame, s) }
	if a, b, c := at("3 of the last 10 samples"), at("The mask cache costs"), at("saved europa-"); a < 0 || b < a || c < b {
		t.Errorf("alerts at %d and %d, log at %d:\n%s", a, b, c, frame)
	}
	if !strings.Contains(frame, "Halve the learning rate (l)") {
		t.Error("what to try is missing")
	}
}

// firstSample returns the number of the first sample in the table, after the running one.
func firstSample(frame string) string {
	for _, line := range strings.Split(frame, "\n") {
		if f := strings.Fields(line); len(f) > 3 && (f[2] == "converged" || f[2] == "limit") {
			return f[1]
		}
	}
	return ""
}

func TestSamplesAreSortedAndScrolled(t *testing.T) {
	s := tuitest.Eventful()
	longest, most := 0, 0
	for i, r := range s.Results {
		if r.Elapsed > s.Results[longest].Elapsed {
			longest = i
		}
		if r.Iterations >= s.Results[most].Iterations {
			most = i
		}
	}
	m := zoomed(t, 120, 30, idSamples, s)
	frame := frameOf(m)
	for _, want := range []string{"38 training", "37 of 100 · 33 converged · 4 at limit · median", "newest first", "13 of 1000", "13 below"} {
		if !strings.Contains(frame, want) {
			t.Errorf("the table lacks %q:\n%s", want, frame)
		}
	}
	for _, want := range []string{"37", strconv.Itoa(longest + 1), strconv.Itoa(most + 1), "37"} {
		if got := firstSample(frameOf(m)); got != want {
			t.Errorf("first is sample %s, want %s", got, want)
		}
		m.Update(named("x"))
	}
	m.Update(named("x"))
	m.Update(named("x"))
	m.Update(named("down"))
	if got := firstSample(frameOf(m)); got != "36" {
		t.Errorf("one down, first is sample %s", got)
	}
	m.Update(named("end"))
	if got := frameOf(m); !strings.Contains(got, "   1 ") || !strings.Contains(got, "13 above") {
		t.Errorf("end:\n%s", got)
	}
}

func TestCachesSayWhatTheySaveOfAnIteration(t *testing.T) {
	s := tuitest.Eventful()
	frame := frameOf(zoomed(t, 120, 40, idCaches, s))
	// 194 ms over 400 iterations are 0.485 ms; the iteration's mean is 5.43·1.01 ms.
	for _, want := range []string{"saves    0.48 ms/it [0.45, 0.53], 8.1 % of the iteration without it; 1.94 s saved in all",
		"100.0 % recently; 98.0 % since the start (985 hits 20 misses)", "an entry 2.41 ms (median of 15), a lookup 38.0 µs with hashing and storing", "of at most 268 MB"} {
		if !strings.Contains(frame, want) {
			t.Errorf("the caches lack %q:\n%s", want, frame)
		}
	}
	v := &s.Caches[0]
	v.Saved, v.RecentSaved, v.RecentLow, v.RecentHigh = -20e6, -40e6, -44e6, -38e6
	frame = frameOf(zoomed(t, 120, 40, idCaches, s))
	if want := "costs    0.10 ms/it [0.10, 0.11], 1.9 % of the iteration without it; 20.0 ms lost in all"; !strings.Contains(frame, want) {
		t.Errorf("a cache that costs lacks %q:\n%s", want, frame)
	}
}

// paneOf returns a pane of the given size with a snapshot.
func paneOf(t *testing.T, id layout.Pane, w, h int, s *profiles.Snapshot) pane.Pane {
	t.Helper()
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ASCII, s)
	m.panes[id].SetSize(w, h)
	return m.panes[id]
}

// Estimates from a single computation, which may have met cold memory, are marked.
func TestAnUncertainPriceSaysSo(t *testing.T) {
	s := tuitest.Eventful()
	s.Caches[0].PricedBy = 1
	for want, size := range map[string][2]int{"an entry 2.41 ms (timed once: uncertain)": {120, 40}, "1 timed: uncertain": {54, 12}} {
		p := paneOf(t, idCaches, size[0], size[1], s)
		if view := strings.Join(tuitest.Lines(p), "\n"); !strings.Contains(view, want) {
			t.Errorf("%v lacks %q:\n%s", size, want, view)
		}
		s.Caches[0].PricedBy = 2
		p = paneOf(t, idCaches, size[0], size[1], s)
		if view := strings.Join(tuitest.Lines(p), "\n"); strings.Contains(view, "timed once") {
			t.Errorf("two computations are one:\n%s", view)
		}
		s.Caches[0].PricedBy = profiles.PriceLeast
		p = paneOf(t, idCaches, size[0], size[1], s)
		if view := strings.Join(tuitest.Lines(p), "\n"); strings.Contains(view, "uncertain") {
			t.Errorf("enough computations are uncertain:\n%s", view)
		}
		s.Caches[0].PricedBy = 1
	}
}

// Back in the trainer's pattern, earlier hits are not counted as current.
func TestTheHitRateIsOfTheIterationsThatSavingsAreOf(t *testing.T) {
	s := tuitest.Eventful()
	tuitest.Set(s, "pattern", "trainer")
	v := &s.Caches[0]
	v.RecentN, v.RecentRate, v.RecentSaved = 3, 0, -3*524_000
	view := func(w, h int) string {
		return strings.Join(tuitest.Lines(paneOf(t, idCaches, w, h, s)), "\n")
	}
	for _, want := range []string{"  0.0 %", "985 hits 20 misses", "asked once per sample"} {
		if got := view(54, 8); !strings.Contains(got, want) {
			t.Errorf("three misses lack %q:\n%s", want, got)
		}
	}
	v.RecentN, v.RecentSaved = 0, 0
	for _, want := range []string{"not asked", "985 hits 20 misses", "asked once per sample"} {
		if got := view(54, 8); !strings.Contains(got, want) {
			t.Errorf("no lookup lacks %q:\n%s", want, got)
		}
	}
	v.RecentN, v.RecentRate = 10, 0.5
	if got := view(54, 8); strings.Contains(got, "trainer pattern") {
		t.Errorf("a cache that hits is said not to:\n%s", got)
	}
}

func TestEffectsArePickedAndToldInWords(t *testing.T) {
	m := zoomed(t, 120, 40, idEffects, tuitest.Eventful(), "down")
	frame := frameOf(m)
	flat := strings.Join(strings.Fields(strings.NewReplacer("│", " ").Replace(frame)), " ")
	for _, want := range []string{"▸ AMP off→bf16", "AMP off→bf16 at iteration 2410", "takes 5.40 ms instead of 7.00, −22.9 % (95 % interval", "That is faster."} {
		if !strings.Contains(flat, want) {
			t.Errorf("the table lacks %q:\n%s", want, frame)
		}
	}
	m.Update(named("down"))
	frame = frameOf(m)
	if flat = strings.Join(strings.Fields(strings.NewReplacer("│", " ").Replace(frame)), " "); !strings.Contains(flat, "before 7.90 ms, after 7.00 ms, not comparable: sample advanced 9 → 10.") {
		t.Errorf("the confounded effect does not say so:\n%s", frame)
	}
}

func TestPanesExplainThemselves(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Eventful())
	for _, p := range ownPanes {
		paragraphs := m.panes[p.id].Explain()
		if len(paragraphs) < 2 {
			t.Errorf("%s explains itself in %d paragraphs", deck.Panes[p.id].Name, len(paragraphs))
		}
		for _, sentences := range paragraphs {
			text := m.keys.Say(profiles.Advice(sentences))
			if !strings.HasSuffix(text, ".") || strings.Contains(text, "  ") || strings.ContainsAny(text, "{}") {
				t.Errorf("%s: %q", deck.Panes[p.id].Name, text)
			}
		}
	}
}

// The effects of a run that has no samples and no truth are explained without them.
func TestEffectsAreExplainedInTheRunsWords(t *testing.T) {
	s := *tuitest.Running()
	s.Run.Schema = profiles.Schema{Workload: "python", Unit: profiles.Unit{One: "epoch", Many: "epochs"}, Stages: []string{"training"},
		Kinds: []profiles.KindInfo{{Name: "step"}, {Name: "step with evaluation", Aside: true}}}
	s.Effects, s.Changes, s.Ablation, s.Alerts = nil, nil, nil, nil
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, &s)
	text := strings.Join(m.panes[idEffects].Explain(), "\n")
	for _, own := range []string{"sample", "truth", "dB", "plan"} {
		if strings.Contains(text, own) {
			t.Errorf("%q is in\n%s", own, text)
		}
	}
	if !strings.Contains(text, "kind (step, step with evaluation), without 5 iterations of warm-up.") {
		t.Error(text)
	}
}

func TestAlertsShowInTheHeader(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	if got := strings.Split(frameOf(m), "\n")[0]; strings.Contains(got, "alert") {
		t.Fatalf("the header of a run without alerts is %q", got)
	}
	s := tuitest.Running()
	s.Alerts = tuitest.Eventful().Alerts
	m.Update(snapshotMsg{s})
	if got := strings.Split(frameOf(m), "\n")[0]; !strings.Contains(got, "▴ 2 alerts: !  00:01:42") {
		t.Errorf("the header is %q", got)
	}
	if text := lines.SummaryWithin(s, 0); !strings.Contains(text, "  warning      3 of the last 10 samples ended") || !strings.Contains(text, "  notice       The mask cache costs") {
		t.Errorf("the summary is\n%s", text)
	}
	for w := layout.MinWidth; w < 200; w += 7 {
		m, _ := screen(t, w, 30, Options{}, colorprofile.ANSI256, tuitest.Eventful())
		checkFrame(t, m, w, 30)
		if frame := frameOf(m); !strings.Contains(frame, "▴ 2 alerts: !") && !strings.Contains(frame, "▴ 2: !") {
			t.Errorf("at %d columns the header does not show the alerts", w)
		}
	}
}
