package words

import (
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
)

func TestEnergiesReadWell(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00 µJ", 2.5e-6: "2.50 µJ", 0.0396: "39.6 mJ", 0.9994: "999 mJ", 1: "1.00 J", 41_900: "41.9 kJ", 5e6: "5.00 MJ"} {
		if got := Joules(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}

func TestTheMemoryOfAChangeReadsWell(t *testing.T) {
	for _, c := range []struct {
		e    profiles.Effect
		want string
	}{
		{profiles.Effect{}, ""}, {profiles.Effect{HasMemory: true}, "same memory"}, {profiles.Effect{HasMemory: true, MemoryChange: 1229 << 20}, "+1.29 GB"},
		{profiles.Effect{HasMemory: true, MemoryChange: -12 << 10}, "−12.3 KB"},
	} {
		if got := MemoryChange(&c.e); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}

// The memory stands beside the times as long as there is room for both.
func TestTheMemoryStandsBesideTheTimes(t *testing.T) {
	s := &profiles.Snapshot{}
	e := &profiles.Effect{Enough: true, BeforeNS: 7e6, AfterNS: 5.4e6, NAfter: 40, HasMemory: true, MemoryChange: -4_410_000}
	for w, want := range map[int]string{
		80: "7.00 → 5.40 ms · −4.41 MB · quality not measured · n 40", 50: "7.00 → 5.40 ms · −4.41 MB · quality not measured", 37: "7.00 → 5.40 ms · −4.41 MB", 20: "7.00 → 5.40 ms",
	} {
		if got, _ := Detail(s, e, w); got != want {
			t.Errorf("in %d cells: %q, want %q", w, got, want)
		}
	}
	e.MemoryChange = 0
	if got, _ := Detail(s, e, 37); got != "7.00 → 5.40 ms · quality not measured" {
		t.Errorf("without a change: %q", got)
	}
}

// The list of sensors counts a GPU's memory as the ledger of the memory pane does: by the same names, the driver's part
// included in what is used.
func TestSensorsCountMemoryAsTheLedgerDoes(t *testing.T) {
	g := machine.GPUSensors{UUID: "GPU-a", MemoryUsed: machine.Reading(1324 << 20), MemoryReserved: machine.Reading(565 << 20), MemoryTotal: machine.Reading(81559 << 20)}
	s := &profiles.Snapshot{}
	s.Memory.Device, s.Sensors.GPUs = profiles.DeviceMemory{Device: "GPU-a", Allocated: 1 << 30}, []machine.GPUSensors{g}
	l, ok := s.Ledger()
	if !ok {
		t.Fatal("no ledger")
	}
	want := map[string]string{"memory": unit.Size(int64(l.Used.Value)) + " of " + unit.Size(int64(l.Total.Value)) + " used"}
	for _, e := range l.Entries {
		if e.Name == "driver" {
			want["driver"] = unit.Size(int64(e.Bytes.Value)) + " of the memory used"
		}
	}
	found := 0
	for _, sensor := range Sensors(&g) {
		if text, ok := want[sensor.Name]; ok {
			if found++; sensor.Text != text {
				t.Errorf("%s: %q, want %q", sensor.Name, sensor.Text, text)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of memory and driver are listed", found)
	}
}

// Every sensor has a text, a reason, or both.
func TestEverySensorIsNamedOnce(t *testing.T) {
	var g machine.GPUSensors
	names := map[string]bool{}
	for _, s := range Sensors(&g) {
		if names[s.Name] || s.Text == "" && s.Reason == "" {
			t.Errorf("%+v", s)
		}
		names[s.Name] = true
	}
	for i, f := range g.Gauges() {
		*f = machine.Reading(float64(i))
	}
	for _, s := range Sensors(&g) {
		if s.Text == "" || s.Reason != "" {
			t.Errorf("with a value: %+v", s)
		}
	}
	if text := CardMemory(&machine.GPUSensors{MemoryUsed: machine.Missing("lost")}, 0, 80); text != "n/a: lost" {
		t.Errorf("%q", text)
	}
	card := machine.GPUSensors{MemoryUsed: machine.Reading(1 << 30), MemoryTotal: machine.Reading(80 << 30)}
	for w, want := range map[int]string{80: "1.07 of 85.9 GB used, 0 by this run", 31: "1.07 of 85.9 GB, 0 by this run", 25: "1.07 of 85.9 GB, own 0", 5: "1.07 of 85.9 GB"} {
		if got := CardMemory(&card, 0, w); got != want {
			t.Errorf("in %d cells: %q, want %q", w, got, want)
		}
	}
}
