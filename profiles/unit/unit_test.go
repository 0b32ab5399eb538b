package unit

import (
	"math"
	"testing"
	"time"
)

func TestNumbersReadWell(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Milliseconds(1.21e6), " 1.21"}, {Milliseconds(0.0021e6), "0.002"}, {Milliseconds(120.4e6), "120.4"}, {Milliseconds(math.NaN()), "    –"},
		{Percent(0.444), " 44 %"}, {PercentFine(0.98), " 98.0 %"}, {PercentFine(math.NaN()), "    – %"},
		{HitRate(1), "100.0 %"}, {HitRate(4629. / 4630), " 99.9 %"}, {HitRate(0.5), " 50.0 %"}, {HitRate(1e-4), " <0.1 %"}, {HitRate(0), "  0.0 %"},
		{Rate(0), "    – it/s"}, {Rate(9.81), " 9.81 it/s"},
		{SignedPercent(-0.31), "−31.0 %"}, {SignedPercent(0.054), " +5.4 %"}, {Signed(-29.4, 0), "−29"},
		{Bytes(0), "   0 B "}, {Bytes(999), " 999 B "}, {Bytes(1000), "1.00 KB"}, {Bytes(999_499), " 999 KB"},
		{Bytes(999_500), "1.00 MB"}, {Bytes(11_189_724), "11.2 MB"}, {Bytes(3e12), "3.00 TB"},
		{Seconds(1.94e9), "1.94 s "}, {Seconds(310e6), " 310 ms"}, {Seconds(-6.52e6), "−6.52 ms"}, {Seconds(42), "  42 ns"}, {Seconds(4000e9), "1.11 h "},
		{PSNR(24.31), " 24.3 dB"}, {PSNR(math.Inf(1)), "    ∞ dB"}, {PSNR(math.NaN()), "    – dB"}, {SSIM(-0.1), "−0.100"},
		{Clock(102 * time.Second), "00:01:42"}, {Clock(-time.Second), "00:00:00"}, {Clock(101 * time.Hour), "4d 05h"},
		{Estimate(-time.Second), "~0 s"}, {Estimate(42 * time.Second), "~40 s"}, {Estimate(58 * time.Second), "~1 min"},
		{Estimate(37*time.Minute + 37*time.Second), "~38 min"}, {Estimate(157 * time.Minute), "~2.6 h"},
		{Estimate(20*time.Hour + 40*time.Minute), "~21 h"}, {Estimate(101 * time.Hour), "~4 d"}, {Estimate(math.MaxInt64), "~999 d"},
		{Count(9999), "9999"}, {Count(16480), "16.5k"}, {Count(2_500_000), "2.50M"},
		{AxisLabel(0), "0"}, {AxisLabel(12), "12"}, {AxisLabel(66.6667), "66.7"}, {AxisLabel(0.01), "0.01"},
		{AxisLabel(0.0002), "2e-4"}, {AxisLabel(1e6), "1e6"}, {AxisLabel(math.NaN()), "–"}, {AxisLabel(math.Inf(1)), "–"},
		{LearningRate(1e-3), "1.0e-03"}, {Loss(1.234e-3), "1.234e-03"},
		{Difference(0.124, "dB"), "+0.12"}, {Difference(-0.004, "dB"), "0.00"}, {Difference(math.Inf(1), "dB"), "–"},
		{Difference(-0.004321, ""), "−0.00432"}, {Difference(0.00099949, ""), "+9.99e-04"}, {Difference(0.00099951, ""), "+0.00100"},
		{Difference(0.9996, ""), "+1.00"}, {Difference(-12.34, "%"), "−12.3"}, {Difference(123456, ""), "+1.23e+05"}, {Difference(0, ""), "0"},
		{Difference(math.NaN(), ""), "–"},
		{Signed(math.NaN(), 1), "–"}, {Fixed(0.004, 5), "0.004"}, {Fixed(123456, 5), "1e+05"},
		{Plural(1, "record", "records"), "1 record"}, {Plural(20_000, "record", "records"), "20000 records"},
		{About(1, "record", "records"), "1 record"}, {About(20_000, "record", "records"), "20.0k records"},
		{Share(0.0012), "0.1 %"}, {Share(0.0598), "6.0 %"}, {Share(0.0996), "10 %"}, {Share(0.334), "33 %"}, {Share(1.128), "113 %"},
		{Size(0), "0 B"}, {Size(1023), "1.02 KB"}, {Size(128 << 30), "137 GB"}, {Size(1 << 52), "4504 TB"}, {Size(1020 << 20), "1.07 GB"},
		{SignedSize(0), "0 B"}, {SignedSize(1229 << 20), "+1.29 GB"}, {SignedSize(-4_410_000), "−4.41 MB"}, {SignedSize(math.MinInt64), "−9e+06 TB"},
		{Memory(512 << 20), "537 MB"}, {Memory(1536 << 20), "1.6 GB"}, {Memory(3e20), "300000000000.0 GB"},
		{Limit(32 << 10), "32 KiB"}, {Limit(1 << 20), "1 MiB"}, {Limit(256 << 20), "256 MiB"},
		{Duration(940), "940 ns"}, {Duration(1500), "1.5 µs"}, {Duration(12.34e6), "12.3 ms"}, {Duration(1.94e9), "1.94 s"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestSharesWithinIntervals(t *testing.T) {
	for _, tt := range []struct {
		share, low, high float64
		want             string
	}{
		{0.0082, 0.0031, 0.0138, "0.8 % [0.3, 1.4]"},
		{-0.002, -0.009, 0.006, "−0.2 % [−0.9, 0.6]"},
		{-0.0001, -0.0004, 0.0003, "0.0 % [0.0, 0.0]"},
		{0.12, 0.098, 0.141, "12 % [10, 14]"},
	} {
		if got := ShareWithin(tt.share, tt.low, tt.high); got != tt.want {
			t.Errorf("%g: %q, want %q", tt.share, got, tt.want)
		}
	}
}

func TestAmountsOfMemoryAreRead(t *testing.T) {
	for text, want := range map[string]int64{"600MB": 600e6, "1.5 GiB": 3 << 29, "2gb": -1, "2GB": 2e9, "4096": 4096, "7 B": 7, "1kiB": -1, "64KiB": 1 << 16,
		"": -1, "MB": -1, "-1MB": -1, "NaN": -1, "1e30": -1, "1XB": -1, "1MBMB": -1} {
		got, err := ParseBytes(text)
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestAnIntervalHasOneUnit(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{2e6, 3.96e9, "0.002 to 3.960 s"}, {-1.29e6, 381e3, "−1.29 to 0.38 ms"}, {-4e6, 387e6, "−4 to 387 ms"},
		{0, 0, "0 to 0 ns"}, {12, 700, "12 to 700 ns"}, {1.94e9, 2.1e9, "1.94 to 2.10 s"}, {-3.6e12, 7.2e12, "−1.00 to 2.00 h"},
	} {
		low, high, unit := SecondsWithin(c.low, c.high)
		if got := low + " to " + high + " " + unit; got != c.want {
			t.Errorf("%g to %g ns: %s, want %s", c.low, c.high, got, c.want)
		}
	}
}
