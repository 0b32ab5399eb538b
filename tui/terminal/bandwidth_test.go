package terminal

import (
	"testing"
	"time"
)

func TestBandwidthHoldsItsLimit(t *testing.T) {
	for b, want := range budgets {
		if want.Limit == 0 {
			continue
		}
		p := Pacer{chosen: Bandwidth(b)}
		at := time.Unix(1000, 0)
		var sent int64
		frames := 0
		for range 600 { // a minute of frames of 5 KB, offered ten times a second
			if p.Allows(at, sent) {
				sent += 5000
				frames++
			}
			at = at.Add(100 * time.Millisecond)
		}
		if rate := float64(sent) / 60; rate > want.Limit*1.1 || rate < want.Limit*0.8 {
			t.Errorf("%s sends %.0f bytes per second in %d frames, its limit is %.0f", Bandwidth(b), rate, frames, want.Limit)
		}
	}
	p := Pacer{chosen: FullBandwidth}
	for i := range 100 {
		if !p.Allows(time.Unix(1000, 0), int64(i)*1e6) {
			t.Fatal("full bandwidth refuses a frame")
		}
	}
}

func TestABurstOfKeysIsPaidByDataAndNotForever(t *testing.T) {
	p := Pacer{chosen: LowBandwidth}
	at := time.Unix(1000, 0)
	p.Allows(at, 0)
	sent := int64(1e6) // repaints requested by the user
	for i := range 10 {
		at = at.Add(time.Second)
		if p.Allows(at, sent) {
			if i == 0 {
				t.Error("a megabyte was not paid for at all")
			}
			return
		}
	}
	t.Error("ten seconds after a megabyte no data were drawn yet")
}

func TestATerminalThatIsBehindIsSpared(t *testing.T) {
	p := Pacer{}
	at := time.Unix(1000, 0)
	p.Behind(at)
	if got := p.InForce(at); got != AutoBandwidth {
		t.Errorf("after one late frame %s is in force", got)
	}
	for range patientFrames {
		p.Behind(at)
	}
	if got := p.InForce(at); got != LowBandwidth {
		t.Errorf("behind for half a second, %s is in force", got)
	}
	if got := p.InForce(at.Add(slowMemory)); got != AutoBandwidth {
		t.Errorf("ten seconds later %s is in force", got)
	}
	p = Pacer{chosen: FullBandwidth, slow: at}
	if got := p.InForce(at); got != FullBandwidth {
		t.Errorf("full was asked for and %s is in force", got)
	}
}

func TestBandwidthAndColoursHaveNames(t *testing.T) {
	for b, want := AutoBandwidth, 0; want < int(numBandwidths); b, want = b.Next(), want+1 {
		if got, err := ParseBandwidth(b.String()); int(b) != want || got != b || err != nil {
			t.Errorf("%d, want %d, is %q, read as %d: %v", b, want, b, got, err)
		}
	}
	for c, want := AutoColours, 0; want < int(numColours); c, want = c.Next(), want+1 {
		if got, err := ParseColours(c.String()); int(c) != want || got != c || err != nil {
			t.Errorf("%d, want %d, is %q, read as %d: %v", c, want, c, got, err)
		}
	}
	for _, err := range []error{second(ParseBandwidth("fast")), second(ParseColours("pink"))} {
		if err == nil {
			t.Error("a name that does not exist was taken")
		}
	}
}

func second[T any](_ T, err error) error { return err }
