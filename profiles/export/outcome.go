package export

import (
	"cmp"
	"strings"

	"prismtop/profiles/unit"
)

// An effect in words, for reports.

// What returns the changed settings with their values in a line: "amp off → bf16, fft_cache false → true".
func (c *Change) What() string {
	parts := make([]string, len(c.Settings))
	for i, s := range c.Settings {
		parts[i] = s.Key + " " + cmp.Or(s.Before, "none") + " → " + cmp.Or(s.After, "none")
	}
	return strings.Join(parts, ", ")
}

// verdictWords are the verdicts in words.
var verdictWords = map[string]string{
	"faster": "faster", "slower": "slower", "equal": "equal within 1 %", "undecided": "undecided",
}

// Verdict returns the verdict in words, or why there is none.
func (c *Change) Verdict() string {
	if r := c.Replicated; r != nil && r.Interval != nil {
		return "replicated: " + r.Verdict
	}
	if c.Without != "" {
		return c.Without
	}
	if c.Effect == nil {
		return c.EffectReason
	}
	return verdictWords[c.Effect.Verdict]
}

// Shift returns the relative change of the time of an iteration with its 95 % interval, "−31 % [−33, −29]";
// a dash if it is not known.
func (c *Change) Shift() string {
	if r := c.Replicated; r != nil && r.Interval != nil && r.Effect != nil {
		return unit.ShareWithin(*r.Effect, r.Interval[0], r.Interval[1])
	}
	if c.Effect == nil {
		return "–"
	}
	if e := c.Effect; e.Shift != nil && e.Low != nil && e.High != nil {
		return unit.ShareWithin(*e.Shift, *e.Low, *e.High)
	}
	return "–"
}

// Medians returns the times of an iteration before and after that Shift is between, "5.9 ms → 4.1 ms": medians or,
// where the change was switched back and forth, those around the middle of the groups; a dash if they are not known
// or not comparable.
func (c *Change) Medians() string {
	if r := c.Replicated; r != nil && r.Interval != nil && r.OffMS != nil && r.OnMS != nil {
		return unit.Duration(*r.OffMS*1e6) + " → " + unit.Duration(*r.OnMS*1e6)
	}
	if c.Effect == nil || c.Effect.Shift == nil {
		return "–"
	}
	return unit.Duration(c.Effect.BeforeMS*1e6) + " → " + unit.Duration(c.Effect.AfterMS*1e6)
}

// Quality returns the change of the quality meanwhile in its unit, "+0.21 dB"; a dash if it is not known.
func (c *Change) Quality(of string) string {
	if c.Drift == nil {
		return "–"
	}
	return strings.TrimSpace(unit.Difference(*c.Drift, of) + " " + of)
}
