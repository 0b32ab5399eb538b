package features

import (
	"bufio"
	"io"
	"os"
	"strings"
)

// model reads the processor's name from /proc/cpuinfo.
func model() (name, reason string) {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "", err.Error()
	}
	defer f.Close()
	return parseModel(f)
}

// parseModel finds "model name" (x86) or, on arm64 where there is none, the
// board's "Model" or "Hardware" line.
func parseModel(r io.Reader) (name, reason string) {
	scanner := bufio.NewScanner(io.LimitReader(r, 1<<20))
	for scanner.Scan() {
		key, value, ok := strings.Cut(scanner.Text(), ":")
		if !ok {
			continue
		}
		switch value = strings.TrimSpace(value); strings.TrimSpace(key) {
		case "model name":
			return value, ""
		case "Model", "Hardware":
			name = value
		}
	}
	if name == "" {
		return "", "/proc/cpuinfo names no model"
	}
	return name, ""
}
