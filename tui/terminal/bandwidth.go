package terminal

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

// Next is the bandwidth after b, and the first after the last.
func (b Bandwidth) Next() Bandwidth { return (b + 1) % numBandwidths }

// Budget is what b allows.
func (b Bandwidth) Budget() Budget { return budgets[b] }

// Budget is what a bandwidth allows.
type Budget struct {
	Period   time.Duration // the shortest between two frames of data
	Limit    float64       // bytes per second of all that is sent; 0 is none
	Pictures float64       // of these, bytes per second of pictures
}

// FramePeriod is the shortest time between two frames of data.
const FramePeriod = 100 * time.Millisecond

var budgets = [numBandwidths]Budget{
	AutoBandwidth: {FramePeriod, 36_000, PictureBudget},
	LowBandwidth:  {time.Second, 1_700, LowPictureBudget},
	FullBandwidth: {FramePeriod, 0, 256_000},
}

// slowMemory is how long AutoBandwidth does as LowBandwidth after the terminal
// fell behind.
const slowMemory = 10 * time.Second

// Pacer decides when data may be drawn. What the user does is drawn at once; it
// is paid for by the data after it.
type Pacer struct {
	chosen Bandwidth
	slow   time.Time // when the terminal last was found behind for long
	missed int       // frames in a row that a terminal behind did not get

	tokens float64 // bytes that may be sent now; below 0 they are owed
	at     time.Time
	bytes  int64 // sent until at
}

// NewPacer is a pacer within the budget of a bandwidth.
func NewPacer(chosen Bandwidth) Pacer { return Pacer{chosen: chosen} }

// Chosen is the bandwidth that was asked for.
func (p *Pacer) Chosen() Bandwidth { return p.chosen }

// Choose begins anew with another bandwidth.
func (p *Pacer) Choose(b Bandwidth) { *p = Pacer{chosen: b, at: p.at, bytes: p.bytes} }

// InForce is the bandwidth that counts now.
func (p *Pacer) InForce(now time.Time) Bandwidth {
	if p.chosen == AutoBandwidth && !p.slow.IsZero() && now.Sub(p.slow) < slowMemory {
		return LowBandwidth
	}
	return p.chosen
}

// Budget is what the bandwidth in force allows.
func (p *Pacer) Budget(now time.Time) Budget { return budgets[p.InForce(now)] }

// patientFrames is how many frames in a row a terminal may miss before it counts
// as slow: half a second of data.
const patientFrames = 5

// Behind notes that the terminal has not taken what was sent.
func (p *Pacer) Behind(now time.Time) {
	if p.missed++; p.missed >= patientFrames {
		p.slow = now
	}
}

// Allows says whether data may be drawn, sent being all that was sent so far.
// What was sent is taken from a bucket that fills at the limit's rate and holds
// one second of it.
func (p *Pacer) Allows(now time.Time, sent int64) bool {
	p.missed = 0
	limit := p.Budget(now).Limit
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
