package tui

import (
	"fmt"
	"strings"
	"time"
)

// Bandwidth says how much of the line to the terminal the screen may take.
type Bandwidth uint8

// The bandwidths.
const (
	// AutoBandwidth shows data ten times a second within a budget, and does as
	// LowBandwidth while the terminal falls behind.
	AutoBandwidth Bandwidth = iota
	// LowBandwidth shows data at most once a second, within 1.7 KB/s.
	LowBandwidth
	// FullBandwidth shows data ten times a second, whatever it takes.
	FullBandwidth
	numBandwidths
)

var bandwidthNames = [numBandwidths]string{"auto", "low", "full"}

// String is the bandwidth's name on the command line.
func (b Bandwidth) String() string { return bandwidthNames[b] }

// ParseBandwidth is the bandwidth of that name.
func ParseBandwidth(name string) (Bandwidth, error) {
	for b, n := range bandwidthNames {
		if n == name {
			return Bandwidth(b), nil
		}
	}
	return 0, fmt.Errorf("%q: must be one of %s", name, strings.Join(bandwidthNames[:], ", "))
}

// budget is what a bandwidth allows.
type budget struct {
	period   time.Duration // the shortest between two frames of data
	limit    float64       // bytes per second of all that is sent; 0 is none
	pictures float64       // of these, bytes per second of pictures
}

var budgets = [numBandwidths]budget{
	AutoBandwidth: {snapshotPeriod, 36_000, pictureBudget},
	LowBandwidth:  {time.Second, 1_700, lowPictureBudget},
	FullBandwidth: {snapshotPeriod, 0, 256_000},
}

// slowMemory is how long AutoBandwidth does as LowBandwidth after the terminal
// fell behind.
const slowMemory = 10 * time.Second

// pacer decides when data may be drawn. What the user does is drawn at once; it
// is paid for by the data after it.
type pacer struct {
	chosen Bandwidth
	slow   time.Time // when the terminal last was found behind for long
	missed int       // frames in a row that a terminal behind did not get

	tokens float64 // bytes that may be sent now; below 0 they are owed
	at     time.Time
	bytes  int64 // sent until at
}

// inForce is the bandwidth that counts now.
func (p *pacer) inForce(now time.Time) Bandwidth {
	if p.chosen == AutoBandwidth && !p.slow.IsZero() && now.Sub(p.slow) < slowMemory {
		return LowBandwidth
	}
	return p.chosen
}

func (p *pacer) budget(now time.Time) budget { return budgets[p.inForce(now)] }

// patientFrames is how many frames in a row a terminal may miss before it counts
// as slow: half a second of data.
const patientFrames = 5

// behind notes that the terminal has not taken what was sent.
func (p *pacer) behind(now time.Time) {
	if p.missed++; p.missed >= patientFrames {
		p.slow = now
	}
}

// allows says whether data may be drawn, sent being all that was sent so far.
// What was sent is taken from a bucket that fills at the limit's rate and holds
// one second of it.
func (p *pacer) allows(now time.Time, sent int64) bool {
	p.missed = 0
	limit := p.budget(now).limit
	spent := sent - p.bytes
	p.bytes = sent
	if limit == 0 {
		p.tokens, p.at = 0, now
		return true
	}
	if p.at.IsZero() {
		p.tokens = limit
	} else {
		p.tokens += limit*now.Sub(p.at).Seconds() - float64(spent)
	}
	p.at = now
	p.tokens = min(max(p.tokens, -4*limit), limit)
	return p.tokens > 0
}

// budgetPictures tells the panes of pictures what they may take now.
func (m *Model) budgetPictures() {
	if in := m.pace.inForce(m.now()); in != m.pictured {
		m.pictured = in
		m.pictures().setBudget(int(budgets[in].pictures))
		m.panes[kspacePane].(*kspace).setCheap(in == LowBandwidth)
		m.stale = true
	}
}

// cycleBandwidth chooses the next bandwidth.
func (m *Model) cycleBandwidth() {
	m.pace = pacer{chosen: (m.pace.chosen + 1) % numBandwidths, at: m.pace.at, bytes: m.pace.bytes}
	m.keep.Bandwidth = m.pace.chosen.String()
	m.budgetPictures()
	b := budgets[m.pace.chosen]
	limit := "no limit"
	if b.limit > 0 {
		limit = fmt.Sprintf("at most %.3g KB/s", b.limit/1000)
	}
	m.say(fmt.Sprintf("bandwidth %s: %.0f frames/s, %s", m.pace.chosen, 1/b.period.Seconds(), limit))
}
