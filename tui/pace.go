package tui

import "time"

// Budgets of pictures, in bytes per second: as far as nobody says otherwise, and for
// a slow line, which has braille, and seldom.
const (
	pictureBudget    = 24 << 10
	lowPictureBudget = 1 << 10
)

// lowBudget is the budget up to which pictures are drawn the cheapest way.
const lowBudget = 4 << 10

// pace is a bucket of bytes that fills at a rate: what pictures may cost. It
// holds what one second brings. What must be drawn at once, because a pane has
// another size or the run stands still, overdraws it by what two bring at most.
type pace struct {
	rate  float64 // bytes per second; 0 is without a bound
	level float64
	at    time.Time
}

func newPace(rate int, now time.Time) pace {
	return pace{rate: float64(rate), level: float64(rate), at: now}
}

func (p *pace) fill(now time.Time) {
	if span := now.Sub(p.at).Seconds(); span > 0 {
		p.level = min(p.level+span*p.rate, p.rate)
	}
	p.at = now
}

// allows says whether so many bytes are in the bucket.
func (p *pace) allows(n int) bool { return p.rate <= 0 || float64(n) <= p.level }

// full says that waiting brings no more bytes.
func (p *pace) full() bool { return p.level >= p.rate }

func (p *pace) spend(n int) {
	if p.rate > 0 {
		p.level = max(p.level-float64(n), -2*p.rate)
	}
}

func (p *pace) low() bool { return p.rate > 0 && p.rate <= lowBudget }
