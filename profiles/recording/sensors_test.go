package recording

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
)

// Sensors are in a table, where NULL stands for what is missing; a recording without the table or without its last
// column, as earlier programs made them, is read and joined.
func TestSensorsAreRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.sqlite")
	r := begin(New(Options{Path: path}))
	r.Event(&profiles.Event{At: r.began.Add(3 * time.Second), Body: &profiles.Sensors{Age: time.Second, Sensors: machine.Sensors{
		Processors: machine.Reading(12), GPUs: []machine.GPUSensors{{Name: "A", Power: machine.Reading(73.25), Temperature: machine.Missing("lost"), Throttle: []string{"idle", "power limit"}}},
	}}})
	r.Event(&profiles.Event{At: r.began, Body: &profiles.Memory{Device: profiles.DeviceMemory{Device: "GPU-1", Allocated: 100, Context: 50, Pinned: 7}}})
	r.tick(50)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := connect(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"SELECT watts || ' ' || throttle || ' ' || round(at) FROM sensors WHERE gpu = 0": "73.25 idle, power limit 2.0",
		"SELECT celsius IS NULL FROM sensors WHERE gpu = 0":                              "1",
		"SELECT joules FROM sensors WHERE gpu IS NULL":                                   "12",
		"SELECT bytes FROM memory WHERE part = 'gpu context'":                            "50",
	} {
		var got string
		if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q (%v), want %q", query, got, err, want)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for i, older := range []string{"DROP TABLE sensors", "ALTER TABLE sensors DROP COLUMN sent"} {
		db, err := connect(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), older)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		n := 50 + 10*i
		if indices, _ := read(t, path); len(indices) != n {
			t.Errorf("%s: %d iterations, want %d", older, len(indices), n)
		}
		resume(t, path, int64(n), 10)
		if indices, _ := read(t, path); len(indices) != n+10 {
			t.Errorf("%s: %d iterations after it was joined, want %d", older, len(indices), n+10)
		}
	}
}
