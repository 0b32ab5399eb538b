package machine

import "testing"

func TestParseMemInfo(t *testing.T) {
	m := parseMemInfo("MemTotal:        8000 kB\nMemFree: 1 kB\nMemAvailable:    6000 kB\nHugePages_Total: 0\n")
	if m.Total != 8000<<10 || m.Available != 6000<<10 || m.Reason != "" {
		t.Errorf("parseMemInfo = %+v", m)
	}
	for _, text := range []string{"", "MemTotal: 5 kB\n", "MemTotal: x kB\nMemAvailable: -1 kB\n", "MemTotal"} {
		if m := parseMemInfo(text); m.Reason == "" {
			t.Errorf("parseMemInfo(%q) = %+v, want a reason", text, m)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]int64{
		"max\n": 0, "": 0, "-1": 0, "4096\n": 4096, "9223372036854771712\n": 0,
	} {
		if got := parseLimit(text, 1<<40); got != want {
			t.Errorf("parseLimit(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestReadMemoryOfThisMachine(t *testing.T) {
	m := ReadMemory()
	if m.Reason == "" && (m.Total <= 0 || m.Available <= 0 || m.Available > m.Total) {
		t.Errorf("ReadMemory() = %+v", m)
	}
}
