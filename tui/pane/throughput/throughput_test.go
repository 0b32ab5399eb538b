package throughput

import (
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/sim/ptycho/inference"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// snapshot is a run of batches of 8, 16 and 32, of which 16 is the fastest.
func snapshot(t *testing.T) *profiles.Snapshot {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{inference.Presets()}, Sets: []string{"batch_size=16", "memory_limit_mb=50"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &profiles.Snapshot{Run: profiles.RunInfo{Schema: inference.Schema()}, Settings: v, State: profiles.Running}
	for i, size := range []int{8, 16, 32} {
		rate := []float64{80, 100, 90}[i]
		s.Batches = append(s.Batches, profiles.BatchView{Size: size, Stretches: 9, PerSecond: rate, Low: rate - 5, High: rate + 5,
			Latency: float64(size) / rate * 1e9, Bytes: int64(20+size) << 20})
	}
	return s
}

func drawn(s *profiles.Snapshot, spec pane.Spec, keys string) []string {
	p := spec.New(nil)
	p.SetSize(70, 8)
	p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
	p.Update(s)
	for _, k := range keys {
		p.Press(string(k))
	}
	lines := tuitest.Lines(p)
	for i := range lines {
		lines[i] = ansi.Strip(lines[i])
	}
	return lines
}

func TestEverySizeHasARow(t *testing.T) {
	s := snapshot(t)
	for _, tt := range []struct {
		spec pane.Spec
		keys string
		want []string // title and rows
	}{
		{Pane, "", []string{"Throughput, images/s", "   8     80.00 [75.00, 85.00]", "▸ 16     100.0 [95.00, 105.0]", "  32     90.00 [85.00, 95.00]"}},
		{Pane, "v", []string{"Latency of a batch, ms", "   8     100.0 [94.12, 106.7]", "▸ 16     160.0 [152.4, 168.4]", "  32     355.6 [336.8, 376.5]"}},
		{Memory, "", []string{"Memory by batch size", "   8   29.4 MB", "▸ 16   37.7 MB", "  32   54.5 MB"}},
		{Memory, "v", []string{"Efficiency, images/s/MB", "   8      2.72 [2.55, 2.90]", "▸ 16      2.65 [2.52, 2.78]", "  32      1.65 [1.56, 1.74]"}},
	} {
		lines := drawn(s, tt.spec, tt.keys)
		for i, want := range tt.want {
			if squeezed := strings.Join(strings.Fields(lines[i]), " "); !strings.Contains(squeezed, strings.Join(strings.Fields(want), " ")) {
				t.Errorf("%s %q: line %d is %q, want %q", tt.spec.Name, tt.keys, i, squeezed, want)
			}
		}
	}
	if lines := drawn(s, Memory, ""); !strings.Contains(lines[0], "limit 52.4 MB") || !strings.Contains(lines[1], "│    │") && strings.Count(lines[1], "│") != 3 {
		t.Errorf("the limit is not drawn: %q", lines[:2])
	}
}

// The pane says what the tuner compares, and then why it stopped.
func TestTheTunerIsFollowed(t *testing.T) {
	s := snapshot(t)
	s.Ablation = &profiles.Ablation{Running: true, Tuning: &profiles.Tuning{From: 8, Best: 16, Candidate: 32},
		Rows: []profiles.AblationRow{{Off: "16", On: "32", Groups: 3, Effect: 0.11, Low: math.Inf(-1), High: math.Inf(1)}}}
	lines := drawn(s, Pane, "")
	if last := lines[len(lines)-1]; !strings.Contains(last, "tuner: 32 against 16, 3 pairs: time +11.0 %") || !strings.Contains(lines[3], "?") || !strings.Contains(lines[2], "▸") {
		t.Errorf("while it runs the pane is\n%s", strings.Join(lines, "\n"))
	}
	s = snapshot(t)
	s.Ablation = &profiles.Ablation{Ended: "flat from 16 to 24: takes 16", Tuning: &profiles.Tuning{Best: 16, Chosen: 16}}
	lines = drawn(s, Pane, "")
	if last := lines[len(lines)-1]; !strings.Contains(last, "tuner: flat from 16 to 24: takes 16") || !strings.Contains(lines[2], "✓") {
		t.Errorf("afterwards the pane is\n%s", strings.Join(lines, "\n"))
	}
}

// Where rows are few, those around the size in force are shown.
func TestRowsStayAroundTheSizeInForce(t *testing.T) {
	s := snapshot(t)
	s.Batches = nil
	for n := 1; n <= 64; n *= 2 {
		s.Batches = append(s.Batches, profiles.BatchView{Size: n, Stretches: 1, PerSecond: 10, Low: 0, High: math.Inf(1), Latency: 1e8, Bytes: 1 << 20})
	}
	rows := visibleRows(s, 3)
	if len(rows) != 3 || rows[0].Size != 8 || rows[2].Size != 32 {
		t.Errorf("rows %+v", rows)
	}
}
