package terminal

import "time"

// Budgets of pictures, in bytes per second: the default, and one for slow lines, which is enough
// for occasional braille pictures.
const (
	PictureBudget    = 24 << 10
	LowPictureBudget = 1 << 10
)

// lowBudget is the largest budget at which pictures are drawn in the cheapest way.
const lowBudget = 4 << 10

// Bucket is a byte budget for pictures that fills at a constant rate and holds one second of it.
// What must be drawn at once, because a pane was resized or the run is paused or over, may
// overdraw it by up to two seconds.
type Bucket struct {
	rate  float64 // bytes per second; 0 is no limit
	level float64
	at    time.Time
}

// NewBucket returns a full bucket; a rate of 0 is no limit.
func NewBucket(rate int, now time.Time) Bucket {
	return Bucket{rate: float64(rate), level: float64(rate), at: now}
}

// Fill adds the bytes for the time since the last Fill.
func (b *Bucket) Fill(now time.Time) {
	if span := now.Sub(b.at).Seconds(); span > 0 {
		b.level = min(b.level+span*b.rate, b.rate)
	}
	b.at = now
}

// Allows reports whether the bucket holds n bytes.
func (b *Bucket) Allows(n int) bool { return b.rate <= 0 || float64(n) <= b.level }

// Full reports whether the bucket is full, so that waiting gains nothing.
func (b *Bucket) Full() bool { return b.level >= b.rate }

// Spend takes n bytes out of the bucket.
func (b *Bucket) Spend(n int) {
	if b.rate > 0 {
		b.level = max(b.level-float64(n), -2*b.rate)
	}
}

// Low reports whether pictures must be drawn in the cheapest way.
func (b *Bucket) Low() bool { return b.rate > 0 && b.rate <= lowBudget }

// Rate returns the fill rate in bytes per second; 0 is no limit.
func (b *Bucket) Rate() float64 { return b.rate }

// Level returns the bytes in the bucket; a negative level is a debt.
func (b *Bucket) Level() float64 { return b.level }
