package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
)

func TestTheHeaderTellsOthersWhileTheyCompute(t *testing.T) {
	s := tuitest.Busy()
	for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
		m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
		if head, _, _ := strings.Cut(frameOf(m), "\n"); !strings.Contains(head, "others 62 %") && !strings.Contains(head, "other programs 62 %") {
			t.Errorf("%v: %q", size, head)
		}
	}
	at := func(share float64) int {
		now := *s
		now.Load.Foreign = share
		m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, &now)
		head, _, _ := strings.Cut(frameOf(m), "\n")
		return strings.Index(head, "sample")
	}
	if a, b, c := at(0.07), at(0.62), at(1); a != b || b != c {
		t.Errorf("the header moves with what others take: %d, %d, %d", a, b, c)
	}
	for _, quiet := range []*profiles.Snapshot{tuitest.Running(), tuitest.Finished()} {
		quiet.Load = profiles.LoadView{Foreign: 0.62, Known: true, Considerable: quiet.State == profiles.Finished}
		m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, quiet)
		if frame := frameOf(m); strings.Contains(frame, "others 62 %") {
			t.Errorf("%v: the header tells of others", quiet.State)
		}
	}
}

func TestEffectsTellWhatOthersDid(t *testing.T) {
	flat := func(s *profiles.Snapshot, keys ...string) string {
		frame := frameOf(zoomed(t, 120, 40, idEffects, s, keys...))
		return strings.Join(strings.Fields(strings.NewReplacer("│", " ").Replace(frame)), " ")
	}
	for keys, wants := range map[string][]string{
		"": {"mask cache on→off – – not comparable: press E 9 200", "AMP off→bf16 7.00 5.40 not comparable: press E 400 412",
			"not comparable: only 9 comparable iterations before it; 20 are needed on each side. Press E: it is switched back and forth in balanced blocks"},
		"down": {"before 7.00 ms, after 5.40 ms, not comparable: others took 1 % before, 62 % after. Training went on meanwhile: PSNR 0.00 dB.",
			"Press E: it is switched back and forth in balanced blocks, which other programs slow alike, until it is decided."},
		"down down": {", without 84 that other programs disturbed. That is faster."},
	} {
		got := flat(tuitest.Busy(), strings.Fields(keys)...)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%q: the pane lacks %q:\n%s", keys, want, got)
			}
		}
		if strings.Contains(got, "−22.9") || strings.Contains(got, "[−24") {
			t.Errorf("%q: the pane has a number of what is not comparable:\n%s", keys, got)
		}
	}
	during := tuitest.Busy()
	during.Ablation = &profiles.Ablation{Running: true, Replication: true, Of: during.Effects[len(during.Effects)-1].Iteration, Base: during.Settings, Groups: 24}
	if got := flat(during, "down"); strings.Contains(got, "ress A") || strings.Contains(got, "ress E") || strings.Contains(got, "Change it back") ||
		!strings.Contains(got, "5.40 not comparable: others took") {
		t.Errorf("during a replication, which A would end, the pane has:\n%s", got)
	}
	s := tuitest.Busy()
	s.Load = profiles.LoadView{Reason: "not read on plan9"}
	if got, want := flat(s), "What other programs took is not known: not read on plan9."; !strings.Contains(got, want) {
		t.Errorf("the pane lacks %q:\n%s", want, got)
	}
}
