package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes formats a size, 7 wide, in decimal units (1 MB is 10⁶ bytes): "11.2 MB".
func Bytes(n int64) string {
	v := float64(n)
	for _, unit := range []string{"B ", "KB", "MB", "GB"} {
		if math.Abs(v) < 999.5 {
			if unit == "B " {
				return fmt.Sprintf("%4.0f %s", v, unit)
			}
			return Fixed(v, 4) + " " + unit
		}
		v /= 1000
	}
	return Fixed(v, 4) + " TB"
}

// Size formats a size like Bytes, without padding: "512 B", "11.2 MB".
func Size(n int64) string { return strings.TrimSpace(Bytes(n)) }

// SignedSize formats a difference of sizes like Size, with its sign and a true minus: "+1.29 GB". 0 has none.
func SignedSize(n int64) string {
	switch {
	case n > 0:
		return "+" + Size(n)
	case n < 0:
		return "−" + Size(-max(n, -math.MaxInt64))
	}
	return Size(0)
}

// Memory formats an amount of memory, which may be very large: "537 MB", "1.5 GB".
func Memory(bytes float64) string {
	if bytes < 1e9 {
		return fmt.Sprintf("%.0f MB", bytes/1e6)
	}
	return fmt.Sprintf("%.1f GB", bytes/1e9)
}

// Limit formats a size that is a whole number of KiB or MiB, such as those of the processor's caches and limits that
// are given in MiB: "32 KiB", "256 MiB". What was measured is in decimal units.
func Limit(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KiB", bytes>>10)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// ParseBytes reads an amount of memory: a number and a unit, "600MB", "1.5 GiB", or a number
// of bytes alone.
func ParseBytes(text string) (int64, error) {
	wrong := fmt.Errorf("%q: must be an amount of memory as 600MB, 1.5GiB or a number of bytes", text)
	number := strings.TrimRight(text, "KMGTiBb ")
	factors := map[string]float64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KIB": 1 << 10,
		"MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}
	factor, known := factors[strings.ToUpper(strings.TrimSpace(text[len(number):]))]
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !known || !(v >= 0 && v*factor <= 1<<60) {
		return 0, wrong
	}
	return int64(v * factor), nil
}
