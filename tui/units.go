package tui

import (
	"strconv"
	"strings"
	"time"

	"prismtop/profiles/unit"
)

// These are the formats of profiles/unit under the names that the screen has for them.

func milliseconds(ns float64) string          { return unit.Milliseconds(ns) }
func fixed(v float64, width int) string       { return unit.Fixed(v, width) }
func axisLabel(v float64) string              { return unit.AxisLabel(v) }
func count(n int64) string                    { return unit.Count(n) }
func percent(share float64) string            { return unit.Percent(share) }
func percentFine(share float64) string        { return unit.PercentFine(share) }
func hitRate(share float64) string            { return unit.HitRate(share) }
func signedPercent(v float64) string          { return unit.SignedPercent(v) }
func signed(v float64, decimals int) string   { return unit.Signed(v, decimals) }
func byteSize(n int64) string                 { return unit.Bytes(n) }
func loss(v float64) string                   { return unit.Loss(v) }
func rate(v float64) string                   { return unit.Rate(v) }
func psnr(v float64) string                   { return unit.PSNR(v) }
func clock(d time.Duration) string            { return unit.Clock(d) }
func estimate(d time.Duration) string         { return unit.Estimate(d) }
func seconds(ns float64) string               { return unit.Seconds(ns) }
func learningRate(v float64) string           { return unit.LearningRate(v) }
func ssim(v float64) string                   { return unit.SSIM(v) }
func plural(n int64, one, many string) string { return unit.About(n, one, many) }

func itoa(n int) string { return strconv.Itoa(n) }

// trim is a number without the spaces of its fixed width.
func trim(s string) string { return strings.TrimSpace(s) }
