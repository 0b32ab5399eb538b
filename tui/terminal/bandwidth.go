package terminal

import (
	"fmt"
	"strings"
	"time"
)

// Bandwidth is the share of the line to the terminal that the screen may use.
type Bandwidth uint8

// The bandwidths.
const (
	// AutoBandwidth shows data ten times a second within a budget, and behaves like LowBandwidth
	// while the terminal falls behind.
	AutoBandwidth Bandwidth = iota
	// LowBandwidth shows data at most once a second, with at most 1.7 KB/s.
	LowBandwidth
	// FullBandwidth shows data ten times a second, without a limit.
	FullBandwidth
	numBandwidths
)

var bandwidthNames = [numBandwidths]string{"auto", "low", "full"}

// String returns the bandwidth's name on the command line.
func (b Bandwidth) String() string { return bandwidthNames[b] }

// ParseBandwidth returns the bandwidth with that name.
func ParseBandwidth(name string) (Bandwidth, error) {
	for b, n := range bandwidthNames {
		if n == name {
			return Bandwidth(b), nil
		}
	}
	return 0, fmt.Errorf("%q: must be one of %s", name, strings.Join(bandwidthNames[:], ", "))
}

// Next returns the bandwidth after b, wrapping around after the last.
func (b Bandwidth) Next() Bandwidth { return (b + 1) % numBandwidths }

// Budget returns the budget of b.
func (b Bandwidth) Budget() Budget { return budgets[b] }

// Budget limits the output of a bandwidth.
type Budget struct {
	Period   time.Duration // minimum time between two frames of data
	Limit    float64       // limit of all output in bytes per second; 0 is no limit
	Pictures float64       // share of Limit for pictures, in bytes per second
}

// FramePeriod is the minimum time between two frames of data.
const FramePeriod = 100 * time.Millisecond

var budgets = [numBandwidths]Budget{
	AutoBandwidth: {FramePeriod, 36_000, PictureBudget},
	LowBandwidth:  {time.Second, 1_700, LowPictureBudget},
	FullBandwidth: {FramePeriod, 0, 256_000},
}

// slowMemory is how long AutoBandwidth behaves like LowBandwidth after the terminal fell behind.
const slowMemory = 10 * time.Second

// Pacer decides when data may be drawn. Responses to the user are drawn at once and charged to
// the data that follows.
type Pacer struct {
	chosen Bandwidth
	slow   time.Time // when the terminal was last behind for several frames
	missed int       // consecutive frames not sent to a terminal that was behind

	tokens float64 // bytes that may be sent now; a debt if negative
	at     time.Time
	bytes  int64 // sent up to at
}

// NewPacer returns a pacer for the budget of a bandwidth.
func NewPacer(chosen Bandwidth) Pacer { return Pacer{chosen: chosen} }

// Chosen returns the requested bandwidth.
func (p *Pacer) Chosen() Bandwidth { return p.chosen }

// Choose restarts the pacer with another bandwidth.
func (p *Pacer) Choose(b Bandwidth) { *p = Pacer{chosen: b, at: p.at, bytes: p.bytes} }

// InForce returns the bandwidth in force.
func (p *Pacer) InForce(now time.Time) Bandwidth {
	if p.chosen == AutoBandwidth && !p.slow.IsZero() && now.Sub(p.slow) < slowMemory {
		return LowBandwidth
	}
	return p.chosen
}

// Budget returns the budget of the bandwidth in force.
func (p *Pacer) Budget(now time.Time) Budget { return budgets[p.InForce(now)] }

// patientFrames is the number of consecutive frames that a terminal may miss before it counts as
// slow: half a second of data.
const patientFrames = 5

// Behind records that the terminal has not taken the output so far.
func (p *Pacer) Behind(now time.Time) {
	if p.missed++; p.missed >= patientFrames {
		p.slow = now
	}
}

// Allows reports whether data may be drawn; sent is the total number of bytes sent so far. These
// bytes are taken from a bucket that fills at the limit's rate and holds one second of it.
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
