package notice

import (
	"strings"
	"testing"
	"unicode"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
)

func TestParseNotices(t *testing.T) {
	for text, want := range map[string]Ways{
		"off": 0, "bell": Bell, "osc9,bell": Bell | OSC9, "osc777, osc9": OSC9 | OSC777, "bell,bell": Bell,
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "beep", "bell,", "off,bell", "Bell"} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), "must be off, or bell, osc9, osc777") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// stalledRun returns a stalled run.
func stalledRun() *profiles.Snapshot {
	s := tuitest.Running()
	s.Alerts = []profiles.Alert{{ID: "memory", What: "Memory grows."}, {ID: "stall", What: "No iteration ended for more than 2s."}}
	return s
}

func TestEveryEventIsNoticedOnce(t *testing.T) {
	n := New(OSC9, nil)
	hostile := tuitest.Failed()
	hostile.Run.Object, hostile.Err = "x\x1b]0;\a\u009b.png", strings.Repeat("wrong\n", 100)
	for i, c := range []struct {
		snap *profiles.Snapshot
		want string
	}{
		{tuitest.Preparing(), ""}, {tuitest.Running(), ""}, {tuitest.Paused(), ""}, {tuitest.Running(), ""},
		{stalledRun(), "stalled: No iteration ended for more than 2s."}, {stalledRun(), ""}, {tuitest.Running(), ""},
		{stalledRun(), "stalled: No iteration ended for more than 2s."},
		{tuitest.Finished(), "europa finished after 00:01:42, PSNR 24.3 dB"}, {tuitest.Finished(), ""},
		{tuitest.Running(), ""}, {tuitest.Failed(), "europa failed after 00:01:42: sample 37: the loss is not finite"}, {tuitest.Failed(), ""},
		{tuitest.Running(), ""}, {hostile, `x\x1b]0,\a\u009b.png failed after 00:01:42: wrong`}, {nil, ""},
	} {
		want := ""
		if c.want != "" {
			want = "\x1b]9;prismtop: " + c.want + "\a"
		}
		if got := n.Notice(c.snap); got != want {
			t.Errorf("snapshot %d: %q, want %q", i, got, want)
		}
	}
	stopped := tuitest.Running()
	stopped.State = profiles.Stopped
	if got := n.Notice(stopped); got != "" {
		t.Errorf("the user stopped the run and is told %q", got)
	}
}

func TestWaysToNotify(t *testing.T) {
	for _, c := range []struct {
		ways    Ways
		environ []string
		want    string
	}{
		{0, nil, ""},
		{Bell, []string{"TMUX=/tmp/a,1,0"}, "\a"},
		{Bell | OSC9 | OSC777, []string{"TMUX="}, "\x1b]9;prismtop: T\a\x1b]777;notify;prismtop;T\a\a"},
		{OSC9, []string{"TMUX=/tmp/a,1,0"}, "\x1bPtmux;\x1b\x1b]9;prismtop: T\a\x1b\\"},
		{OSC777, []string{"STY=1.a"}, "\x1bP\x1b]777;notify;prismtop;T\a\x1b\\"},
	} {
		n := New(c.ways, c.environ)
		text := n.Notice(tuitest.Finished())
		if n.ways != 0 {
			text = n.sequence("T")
		}
		if text != c.want {
			t.Errorf("%v in %v: %q, want %q", c.ways, c.environ, text, c.want)
		}
	}
	n := New(OSC777, nil)
	body := strings.TrimSuffix(strings.TrimPrefix(n.sequence(strings.Repeat("月", 500)+"\n"), "\x1b]777;notify;prismtop;"), "\a")
	if len([]rune(body)) > maxNotice || strings.ContainsFunc(body, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		t.Errorf("a long text is %q", body)
	}
}
