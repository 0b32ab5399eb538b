package tui

import (
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
)

func TestBandwidthHoldsItsLimit(t *testing.T) {
	for b, want := range budgets {
		if want.limit == 0 {
			continue
		}
		p := pacer{chosen: Bandwidth(b)}
		at := time.Unix(1000, 0)
		var sent int64
		frames := 0
		for range 600 { // a minute of frames of 5 KB, offered ten times a second
			if p.allows(at, sent) {
				sent += 5000
				frames++
			}
			at = at.Add(100 * time.Millisecond)
		}
		if rate := float64(sent) / 60; rate > want.limit*1.1 || rate < want.limit*0.8 {
			t.Errorf("%s sends %.0f bytes per second in %d frames, its limit is %.0f", Bandwidth(b), rate, frames, want.limit)
		}
	}
	p := pacer{chosen: FullBandwidth}
	for i := range 100 {
		if !p.allows(time.Unix(1000, 0), int64(i)*1e6) {
			t.Fatal("full bandwidth refuses a frame")
		}
	}
}

func TestABurstOfKeysIsPaidByDataAndNotForever(t *testing.T) {
	p := pacer{chosen: LowBandwidth}
	at := time.Unix(1000, 0)
	p.allows(at, 0)
	sent := int64(1e6) // repaints that the user asked for
	for i := range 10 {
		at = at.Add(time.Second)
		if p.allows(at, sent) {
			if i == 0 {
				t.Error("a megabyte was not paid for at all")
			}
			return
		}
	}
	t.Error("ten seconds after a megabyte no data were drawn yet")
}

func TestATerminalThatIsBehindIsSpared(t *testing.T) {
	p := pacer{}
	at := time.Unix(1000, 0)
	p.behind(at)
	if got := p.inForce(at); got != AutoBandwidth {
		t.Errorf("after one late frame %s is in force", got)
	}
	for range patientFrames {
		p.behind(at)
	}
	if got := p.inForce(at); got != LowBandwidth {
		t.Errorf("behind for half a second, %s is in force", got)
	}
	if got := p.inForce(at.Add(slowMemory)); got != AutoBandwidth {
		t.Errorf("ten seconds later %s is in force", got)
	}
	p = pacer{chosen: FullBandwidth, slow: at}
	if got := p.inForce(at); got != FullBandwidth {
		t.Errorf("full was asked for and %s is in force", got)
	}
}

func TestBandwidthAndColoursHaveKeysAndNames(t *testing.T) {
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, running())
	for _, want := range []Bandwidth{LowBandwidth, FullBandwidth, AutoBandwidth} {
		if press(m, "B"); m.pace.chosen != want {
			t.Errorf("B chose %s, want %s", m.pace.chosen, want)
		}
		if got, err := ParseBandwidth(want.String()); got != want || err != nil {
			t.Error(got, err)
		}
	}
	for _, want := range []Colours{DarkColours, LightColours, NoColours, AutoColours} {
		if press(m, "C"); m.colours != want {
			t.Errorf("C chose %s, want %s", m.colours, want)
		}
		if got, err := ParseColours(want.String()); got != want || err != nil {
			t.Error(got, err)
		}
	}
	for _, err := range []error{second(ParseBandwidth("fast")), second(ParseColours("pink"))} {
		if err == nil {
			t.Error("a name that does not exist was taken")
		}
	}
}

func second[T any](_ T, err error) error { return err }
