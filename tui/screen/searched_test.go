package screen

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
	"prismtop/tui/widget"
)

// Every word of the header and of the footer is found in the help, except names that the run brings along.
func TestTheHelpHasTheWordsOfHeaderAndFooter(t *testing.T) {
	names := []string{"europa", "avx512", "bf16"}
	word, long := regexp.MustCompile(`[a-z][a-z0-9]*(?:/s)?`), regexp.MustCompile(`-name|-with`)
	lines := map[string][]string{} // of frames, by their words
	take := func(m *Model) {
		frame := strings.Split(frameOf(m), "\n")
		for _, line := range []string{frame[0], frame[len(frame)-2], frame[len(frame)-1]} {
			if line == frame[len(frame)-2] && m.playback.position() == nil || long.MatchString(line) {
				continue
			}
			for _, w := range word.FindAllString(strings.ToLower(line), -1) {
				if len(w) > 1 && !slices.Contains(names, w) {
					lines[w] = append(lines[w], line)
				}
			}
		}
	}
	states := headerStates()
	with := func(name string, change func(*profiles.Snapshot)) {
		s := tuitest.Running()
		change(s)
		states[name] = s
	}
	watching := states["running"].Own.Watching
	with("not measured", func(s *profiles.Snapshot) { s.Own.Watching = profiles.WatchingCost{} })
	with("measuring", func(s *profiles.Snapshot) { s.Own.Watching = profiles.WatchingCost{Measured: true} })
	with("thinned", func(s *profiles.Snapshot) { s.Own.Watching = watching; s.Own.Watching.Thinned = true })
	with("dropped", func(s *profiles.Snapshot) { s.Own.Dropped = 7 })
	with("recorded", func(s *profiles.Snapshot) { s.Recording.Path = "run.sqlite" })
	with("behind", func(s *profiles.Snapshot) { s.CatchingUp = true })
	with("stopped", func(s *profiles.Snapshot) { s.State = profiles.Stopped })
	with("deciding", func(s *profiles.Snapshot) {
		s.Ablation = &profiles.Ablation{Running: true, Replication: true, Groups: 9, Done: 3}
	})
	with("tuning", func(s *profiles.Snapshot) {
		s.Ablation = &profiles.Ablation{Running: true, Tuning: &profiles.Tuning{}, Groups: 9, Done: 3}
	})
	states["preparing"] = tuitest.Preparing()
	var m *Model
	for _, w := range []int{60, 80, 100, 120, 160, 240} {
		for _, s := range states {
			m, _ = screen(t, w, 40, Options{}, colorprofile.ANSI256, s)
			take(m)
			press(m, "tab")
			take(m)
			press(m, "z")
			take(m)
		}
		m, _ = screen(t, w, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
		m.display.skipped, m.display.skippedAt = 7, m.display.now()
		m.Update(snapshotMsg{tuitest.Running()})
		take(m)
		take(shared(w, 40, &operator{Recorder: tuitest.NewRecorder()}))
		for _, change := range []func(*profiles.Position){
			func(*profiles.Position) {},
			func(at *profiles.Position) { at.Seeking, at.Speed = true, 1 },
			func(at *profiles.Position) { at.Growing, at.Playing = true, false },
			func(at *profiles.Position) { at.Growing, at.Following = true, true },
		} {
			m, p := replaying(t, w, 40, tuitest.Running())
			change(&p.at)
			m.Update(snapshotMsg{tuitest.Running()})
			take(m)
		}
	}
	for _, want := range []string{"watching", "ui", "thinned", "dropped", "skipped", "fps", "left", "following", "others",
		"catching", "rec", "decide", "abl", "tuning", "unzoom"} {
		if lines[want] == nil {
			t.Errorf("no frame has %q", want)
		}
	}
	run, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	again, _ := replaying(t, 120, 40, tuitest.Running())
	for w, where := range lines {
		found := func(m *Model) bool {
			m.help.search()
			m.help.find = widget.NewInput(w)
			found := m.help.foundLines(100)
			return found[len(found)-1].Text != "Nothing has these words."
		}
		if !found(run) && !found(again) {
			t.Errorf("the help has nothing on %q, which is in %q", w, where[0])
		}
	}
}
