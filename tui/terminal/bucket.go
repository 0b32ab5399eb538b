package terminal

import "time"

// Budgets of pictures, in bytes per second: as far as nobody says otherwise, and for
// a slow line, which has braille, and seldom.
const (
	PictureBudget    = 24 << 10
	LowPictureBudget = 1 << 10
)

// lowBudget is the budget up to which pictures are drawn the cheapest way.
const lowBudget = 4 << 10

// Bucket is a bucket of bytes that fills at a rate: what pictures may cost. It
// holds what one second brings. What must be drawn at once, because a pane has
// another size or the run stands still, overdraws it by what two bring at most.
type Bucket struct {
	rate  float64 // bytes per second; 0 is without a bound
	level float64
	at    time.Time
}

// NewBucket is a full bucket; a rate of 0 is without a bound.
func NewBucket(rate int, now time.Time) Bucket {
	return Bucket{rate: float64(rate), level: float64(rate), at: now}
}

// Fill adds what the time since the last Fill brings.
func (b *Bucket) Fill(now time.Time) {
	if span := now.Sub(b.at).Seconds(); span > 0 {
		b.level = min(b.level+span*b.rate, b.rate)
	}
	b.at = now
}

// Allows says whether so many bytes are in the bucket.
func (b *Bucket) Allows(n int) bool { return b.rate <= 0 || float64(n) <= b.level }

// Full says that waiting brings no more bytes.
func (b *Bucket) Full() bool { return b.level >= b.rate }

// Spend takes so many bytes out.
func (b *Bucket) Spend(n int) {
	if b.rate > 0 {
		b.level = max(b.level-float64(n), -2*b.rate)
	}
}

// Low says whether pictures are to be drawn the cheapest way.
func (b *Bucket) Low() bool { return b.rate > 0 && b.rate <= lowBudget }

// Rate is what comes in, in bytes per second; 0 is without a bound.
func (b *Bucket) Rate() float64 { return b.rate }

// Level is how many bytes are in the bucket; below 0 they are owed.
func (b *Bucket) Level() float64 { return b.level }
