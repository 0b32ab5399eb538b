package recording

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// A damaged table is named, with the file and what can be done.
func TestADamagedTableOfProgressSaysWhatCanBeDone(t *testing.T) {
	for name, statement := range map[string]string{
		"empty":     "DELETE FROM progress",
		"senseless": "UPDATE progress SET written = 'x', iterations = 'many'",
	} {
		path := recordedRun(t, 3000)
		db, err := connect(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.ExecContext(t.Context(), statement)
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		_, err = statusOf(t.Context(), path)
		if err == nil || strings.Contains(err.Error(), "sql:") || !strings.HasPrefix(err.Error(), path+": is damaged: its table progress") || !strings.Contains(err.Error(), "replay, compare and export") {
			t.Errorf("%s: %v", name, err)
		}
		if indices, _ := read(t, path); len(indices) != 3000 {
			t.Errorf("%s: %d iterations", name, len(indices))
		}
	}
}

// deflated returns a text, so often, as a block has it.
func deflated(t *testing.T, head []byte, text string, times int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = w.Write(head)
	}
	for range times {
		if err == nil {
			_, err = w.Write([]byte(text))
		}
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A small file cannot take much memory.
func TestABlockThatInflatesTooFarIsRefused(t *testing.T) {
	zeros := strings.Repeat("\x00", 1<<20)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"no iterations":       {deflated(t, []byte{0}, zeros, 64), "inflates to more than"},
		"many iterations":     {deflated(t, []byte{0xff, 0xff, 0x7f}, zeros, 1), "must be at most 32768"},
		"the most iterations": {deflated(t, []byte{0x80, 0x80, 0x02}, zeros, 64), "inflates to more than"},
		"many steps":          {deflated(t, []byte{0, 0x80, 0x80, 0x10}, zeros, 8), "events and ticks: must be at most"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := unpackBlock(c.data)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 256 {
			t.Errorf("%s: %d MiB were allocated", name, taken)
		}
	}
}

// The widest iterations that there can be are within the bound.
func TestTheWidestBlockIsRead(t *testing.T) {
	all := make([]profiles.Iteration, 4096)
	for i := range all {
		it := &all[i]
		for p := range it.Phases {
			it.Phases[p] = int64(i%2) << 62
		}
		it.Total, it.Start, it.Index = int64(i%2)<<61, -int64(i%2)<<62, int64(i%2)<<60
	}
	var p packer
	data, err := p.pack(&block{iterations: all})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := unpackBlock(data); err != nil || len(b.iterations) != len(all) {
		t.Error(err)
	}
}

// A schema with more entries than records have room for, or that contradicts itself, is refused.
func TestASchemaThatRecordsHaveNoRoomForIsRefused(t *testing.T) {
	for want, change := range map[string]func(s *profiles.Schema){
		"17 phases: must be at most 16":             func(s *profiles.Schema) { s.Phases = make([]profiles.PhaseInfo, 17) },
		"25 series: must be at most 24":             func(s *profiles.Schema) { s.Series = make([]profiles.SeriesInfo, 25) },
		"9 caches: must be at most 8":               func(s *profiles.Schema) { s.Caches = make([]profiles.CacheInfo, 9) },
		"9 categories of memory: must be at most 8": func(s *profiles.Schema) { s.Memory = make([]profiles.MemoryInfo, 9) },
		"6 pictures: must be at most 5":             func(s *profiles.Schema) { s.Pictures = make([]profiles.PictureInfo, 6) },
		"257 kinds of iterations: must be at most":  func(s *profiles.Schema) { s.Kinds = make([]profiles.KindInfo, 257) },
		`kind "odd" belongs to stage 7 of `:         func(s *profiles.Schema) { s.Kinds = []profiles.KindInfo{{Name: "odd", Stage: 7}} },
		`kind "strange" belongs to stage -1 of `:    func(s *profiles.Schema) { s.Kinds = []profiles.KindInfo{{Name: "strange", Stage: -1}} },
	} {
		info := prismtest.Info(4)
		change(&info.Schema)
		body, err := pack(&profiles.Begin{Info: info, Settings: (&prism.Settings{}).Values().Settled()}, settings.Values{})
		if err != nil {
			t.Fatal(err)
		}
		u := unpacker{table: func(string) *settings.Table { return prism.Table }}
		if _, err := u.unpack("begin", body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	body, err := json.Marshal(map[string]any{"Layers": []any{map[string]any{"Name": "l", "Phase": 17}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(unpacker).unpack("layers", body); err == nil || !strings.Contains(err.Error(), "phase 17: must be below 16") {
		t.Error(err)
	}
}

// A start of which no iteration was recorded is there by its block: nothing is missing.
func TestAStartWithoutIterationsIsNotMissing(t *testing.T) {
	blocks := []Stretch{{Ticks: 3, last: 160}, {Tick: 3, Ticks: 1, start: 1, first: -1, last: -1}}
	for _, s := range withLost(blocks, 0, &Stretch{start: 1}) {
		if s.lost {
			t.Errorf("%+v is said to be missing", s)
		}
	}
	all := withLost(blocks, 0, &Stretch{start: 1, last: 5})
	if last := all[len(all)-1]; !last.lost || last.Iterations != 5 {
		t.Errorf("of five iterations more, what is missing is %+v", last)
	}
}
