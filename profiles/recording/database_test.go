package recording

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// A database for queries has what was passed to it, with NULL for what is missing.
func TestADatabaseCanBeQueried(t *testing.T) {
	var file bytes.Buffer
	began := time.Now()
	d := NewDatabase(&file, Known{Began: began, Facts: func() map[string]any { return map[string]any{"program": "prismtop 1.2"} }, Whole: true,
		Origins: func(int) settings.Origins { return settings.Origins{"amp": "flag --amp"} }})
	take := func(after time.Duration, b profiles.Body) { d.Take(&profiles.Event{At: began.Add(after), Body: b}) }
	info := prismtest.Info(4)
	take(time.Second/4, &profiles.Begin{Info: info, Settings: (&prism.Settings{AMP: "off", Object: "moon"}).Values().Settled()})
	take(3*time.Second, &profiles.Sensors{Age: time.Second, Sensors: machine.Sensors{
		Processors: machine.Reading(12), GPUs: []machine.GPUSensors{{Name: "A", Power: machine.Reading(73.25), Temperature: machine.Missing("lost"), Throttle: []string{"idle", "power limit"}}},
	}})
	take(3*time.Second, &profiles.Memory{Device: profiles.DeviceMemory{Device: "GPU-1", Allocated: 100, Context: 50, Pinned: 7}})
	take(3*time.Second, &profiles.Memory{Device: profiles.DeviceMemory{Device: "GPU-1", Allocated: 120, Context: 50, Pinned: 7}})
	take(3*time.Second, &profiles.UnitResult{Unit: 1, Iterations: 12}) // before the checkpoint that it goes on from
	it := prismtest.Progressive()
	for ; it.Index < 3000; it.Index++ {
		it.Start, it.Total = it.Index*1e6, 1e6+it.Index%1000
		d.Take(&profiles.Event{Body: &it})
	}
	take(7*time.Second, &profiles.UnitResult{Unit: 2, Iterations: 34})
	s := profiles.Snapshot{Run: info, State: profiles.Running, Index: 3000}
	for i, confounded := range []string{"", "sample advanced 9 → 10"} {
		s.Effects = append(s.Effects, profiles.Effect{Change: profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: int64(100 * (i + 1))}, Enough: true, Confounded: confounded,
			Shift: -0.25, Low: -0.3, High: -0.2, Drift: 0.02, BeforeNS: 4e6, AfterNS: 3e6, NBefore: 200, NAfter: 200})
	}
	s.Effects = append(s.Effects, profiles.Effect{Change: profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: 300}, NAfter: 3, Needed: 20, Closed: true,
		Replica: &profiles.AblationRow{Effect: -0.11, Low: -0.2, High: -0.06, OffNS: 5e6, OnNS: 4e6, Groups: 20, Final: true}})
	s.Log = []profiles.LogLine{{At: time.Second, Text: "stands"}}
	s.Alerts = []profiles.Alert{{ID: "plateau", Iteration: 9, What: "for 10,000"}}
	d.See(&s)
	s.Alerts = []profiles.Alert{{ID: "plateau", Iteration: 9, What: "for 20,000"}}
	d.See(&s)
	if err := d.Close(7); err != nil {
		t.Fatal(err)
	}
	if !IsDatabase(file.Bytes()) {
		t.Error("it does not say what it is")
	}
	path := filepath.Join(t.TempDir(), "run.tables.sqlite")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, nil); err == nil {
		t.Error("it opens as a recording")
	}
	db, err := connect(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const effect = `SELECT keys || ', ' || verdict || ', ' || coalesce(shift, 'none') || ' [' || coalesce(low, 'none') || ', ' || coalesce(high, 'none')
		|| '], ' || before_ms || ' to ' || after_ms FROM effects WHERE iteration = `
	for query, want := range map[string]string{
		"SELECT watts || ' ' || throttle || ' ' || round(at) FROM sensors WHERE gpu = 0": "73.25 idle, power limit 2.0",
		"SELECT celsius IS NULL FROM sensors WHERE gpu = 0":                              "1",
		"SELECT joules FROM sensors WHERE gpu IS NULL":                                   "12",
		"SELECT bytes FROM memory WHERE part = 'gpu context'":                            "50",
		"SELECT group_concat(bytes) FROM memory WHERE part LIKE 'gpu %'":                 "100,50,120",
		"SELECT count(*) FROM memory WHERE part = 'caches'":                              "0",
		effect + "100": "amp: off → bf16, faster, -0.25 [-0.3, -0.2], 4.0 to 3.0",
		effect + "300": "amp: off → bf16, faster, -0.11 [-0.2, -0.06], 5.0 to 4.0",
		"SELECT reason FROM effects WHERE iteration = 300":             "",
		"SELECT replicated FROM effects WHERE iteration = 300":         "saves 11 %",
		"SELECT group_concat(iteration || ' ' || what) FROM alerts":    "9 for 20,000",
		"SELECT replicated IS NULL FROM effects WHERE iteration = 100": "1",
		"SELECT start || ' ' || at || ' ' || text FROM log":            "0 1.25 stands",
		effect + "200": "amp: off → bf16, not comparable, none [none, none], 4.0 to 3.0",
		"SELECT value || ' ' || origin FROM settings WHERE key = 'amp'":                     "off flag --amp",
		"SELECT better FROM metrics WHERE name = 'psnr_db'":                                 "more",
		"SELECT unit FROM metrics WHERE name = 'forward_ms'":                                "ms",
		"SELECT group_concat(unit || ' ' || iterations) FROM units":                         "2 34",
		"SELECT sum(last - first + 1) FROM blocks":                                          "3000",
		"SELECT max(max_ms) FROM blocks":                                                    "1.001",
		"SELECT summary ->> '$.series.loss_new[1]' FROM blocks LIMIT 1":                     "0.25",
		"SELECT value FROM recording WHERE key = 'program'":                                 "prismtop 1.2",
		"SELECT iterations || ' ' || state || ' ' || dropped || ' ' || ended FROM progress": "3000 running 7 1",
	} {
		var got sql.NullString
		if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got.String != want {
			t.Errorf("%s: %q (%v), want %q", query, got.String, err, want)
		}
	}
}
