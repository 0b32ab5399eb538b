package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"prismtop/profiles/export/schematest"
)

var here = Machine{CPU: "a processor", Processors: 2, System: "linux/amd64", Memory: 8 << 30}

// entry returns a measurement by a program, the nth of all.
func entry(program string, n int, iteration float64) Entry {
	return Entry{
		Schema: Schema, Time: time.Date(2026, 11, 1, 0, n, 0, 0, time.UTC).Format(time.RFC3339), Work: "performance",
		Preset: "standard", Settings: map[string]string{"size": "512"}, Build: Build{Version: "1.0", Program: program},
		Machine: here, Figures: []Figure{{Name: Iteration, Unit: "ms", Value: iteration, N: 100},
			{Name: Memory, Unit: "bytes", Value: 1e8, N: 1}},
	}
}

func TestEntriesAreReadAsTheyWereAppended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "benchmarks.jsonl")
	low := 3.5
	want := []Entry{entry("a", 0, 4), entry("a", 1, 4.1), entry("b", 2, 5)}
	want[0].Figures[0].Low, want[1].Foreign, want[2].Note = &low, &low, "a note\nof two lines"
	if err := Append(path, want[:2]...); err != nil {
		t.Fatal(err)
	}
	if err := Append(path, want[2]); err != nil {
		t.Fatal(err)
	}
	got, damaged, err := Read(t.Context(), path)
	if err != nil || len(damaged) != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, %+v", err, damaged, got)
	}
	if got, damaged, err := Read(t.Context(), path+".missing"); err != nil || got != nil || damaged != nil {
		t.Errorf("a history that is not there: %v, %v, %v", got, damaged, err)
	}
	if err := Append(t.TempDir(), want[0]); err == nil {
		t.Error("appended to a folder")
	}
}

// A writer that is killed leaves the start of its line, wherever it was cut: the others are read, and so is
// what the next writer appends.
func TestADamagedLastLineIsReportedAndOvercome(t *testing.T) {
	folder := t.TempDir()
	whole := filepath.Join(folder, "whole")
	if err := Append(whole, entry("a", 0, 4), entry("a", 1, 4.1)); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.IndexByte(data, '\n') + 1
	for cut := second + 1; cut < len(data)-1; cut += 7 {
		path := filepath.Join(folder, fmt.Sprint(cut))
		if err := os.WriteFile(path, data[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		got, damaged, err := Read(t.Context(), path)
		if err != nil || len(got) != 1 || len(damaged) != 1 || damaged[0].Line != 2 ||
			!strings.Contains(damaged[0].Reason, "interrupted") {
			t.Fatalf("cut at %d: %v, %d entries, %v", cut, err, len(got), damaged)
		}
		if err := Append(path, entry("b", 2, 5)); err != nil {
			t.Fatal(err)
		}
		if got, damaged, err = Read(t.Context(), path); err != nil || len(got) != 2 || got[1].Build.Program != "b" ||
			len(damaged) != 1 {
			t.Fatalf("cut at %d, then appended: %v, %d entries, %v", cut, err, len(got), damaged)
		}
	}
}

func TestLinesThatAreNoEntriesAreNamed(t *testing.T) {
	_, damaged := parse([]byte("{}\nnonsense\n\n[1]\n" + `{"schema":1,"time":"yesterday"}` + "\n"))
	want := []string{"schema 0", "no entry", "no entry", `"yesterday"`}
	for i, d := range damaged {
		if i >= len(want) || !strings.Contains(d.Reason, want[i]) || d.Line != []int{1, 2, 4, 5}[i] {
			t.Errorf("%+v", d)
		}
	}
	if len(damaged) != len(want) {
		t.Errorf("%d damaged lines, want %d", len(damaged), len(want))
	}
}

func TestWritersAtTheSameTimeDoNotMix(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	const writers, each = 8, 20
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				if err := Append(path, entry(fmt.Sprint(w), n, 4)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got, damaged, err := Read(t.Context(), path)
	if err != nil || len(got) != writers*each || len(damaged) != 0 {
		t.Errorf("%v, %d entries, %v", err, len(got), damaged)
	}
}

func TestVerdicts(t *testing.T) {
	steady := []Entry{entry("a", 0, 4), entry("a", 1, 4.04), entry("a", 2, 3.96), entry("a", 3, 4.01)}
	other := entry("a", 0, 4)
	other.Machine.CPU = "another processor"
	elsewhere := entry("a", 0, 4)
	elsewhere.Settings["size"] = "256"
	larger := entry("b", 9, 4)
	larger.Figures[1].Value = 1.2e8
	wild := []Entry{entry("a", 0, 3), entry("a", 1, 5), entry("a", 2, 4)}
	for _, c := range []struct {
		name    string
		entries []Entry
		fresh   Entry
		want    Verdict
		reason  string
	}{
		{"the same speed", steady, entry("b", 9, 4.02), Pass, "nothing"},
		{"a third slower", steady, entry("b", 9, 5.3), Worse, "training iteration: worse by +32"},
		{"faster", steady, entry("b", 9, 3), Pass, "nothing"},
		{"as far as the limit", steady, entry("b", 9, 4.2), Undecided, "the interval contains"},
		{"a machine that moves too much", wild, entry("b", 9, 4), Undecided, "the interval contains"},
		{"one measurement", steady[:1], entry("b", 9, 8), Undecided, "it takes 3 entries of one build, and the most here is 1"},
		{"more memory", steady, larger, Worse, "memory: worse by +20"},
		{"no history", nil, entry("b", 9, 4), Undecided, "empty"},
		{"another machine", []Entry{other}, entry("b", 9, 4), Elsewhere, "another processor"},
		{"another machine too", append([]Entry{other}, steady...), entry("b", 9, 4.02), Pass, "nothing"},
		{"other settings", []Entry{elsewhere}, entry("b", 9, 4), Undecided, "no entry of the history is of this work"},
		{"the same build", steady, entry("a", 9, 4.02), Pass, "nothing"},
	} {
		got := Judge(c.entries, c.fresh, 0.05)
		if got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %s, %s", c.name, got.Verdict, got.Reason)
		}
		for _, write := range []func(*bytes.Buffer) error{func(b *bytes.Buffer) error { return got.WriteText(b) },
			func(b *bytes.Buffer) error { return got.WriteMarkdown(b) }} {
			var b bytes.Buffer
			if err := write(&b); err != nil || strings.Contains(b.String(), "NaN") ||
				strings.Contains(b.String(), "%!") || !strings.Contains(strings.ToLower(b.String()), string(c.want)) {
				t.Errorf("%s: %v: %s", c.name, err, b.String())
			}
		}
	}
}

// The reference is the newest other build; entries of the new one count as further measurements of it, and
// those of all builds tell how far the speed moves.
func TestTheReferenceIsTheNewestOtherBuild(t *testing.T) {
	entries := []Entry{entry("a", 0, 2), entry("a", 1, 2), entry("new", 2, 5), entry("b", 3, 4), entry("b", 4, 4.1),
		entry("new", 5, 5)}
	c := Judge(entries, entry("new", 6, 5.1), 0.05)
	if c.Reference.Build.Program != "b" || c.Entries != 2 || c.NewCount != 3 || c.Degrees != 3 || c.SameBuild {
		t.Errorf("%+v", c)
	}
	if alone := Judge(entries[:2], entry("a", 6, 2), 0.05); !alone.SameBuild || alone.Entries != 2 ||
		alone.NewCount != 1 {
		t.Errorf("%+v", alone)
	}
}

// stored returns measurements as a stored reference.
func stored(t *testing.T, file []Entry, replace bool, measured ...Entry) []Entry {
	t.Helper()
	for i := range measured {
		measured[i].Kernels, measured[i].Threads = "avx512", 2
	}
	all, err := Store(file, measured, "ada@lab", replace)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A stored reference goes before newer builds in the history, which only say how far the speed moves, and is of every
// machine with its processor, kernels and threads, and of no other.
func TestAStoredReferenceGoesFirst(t *testing.T) {
	file := stored(t, nil, false, entry("a", 0, 4), entry("a", 1, 4.04), entry("a", 2, 3.96))
	past := []Entry{entry("a", 0, 4), entry("a", 5, 9), entry("b", 6, 5), entry("b", 7, 5.05)}
	fresh := entry("new", 9, 4.02)
	fresh.Kernels, fresh.Threads, fresh.Machine.Memory, fresh.Machine.Processors = "avx512", 2, 64<<30, 16
	if c := JudgeStored(file, past, fresh, 0.2); c.Verdict != Pass || c.Reference.Build.Program != "a" ||
		c.Entries != 3 || c.Reference.By != "ada@lab" || c.Degrees != 2 {
		t.Errorf("%s, %s: %+v", c.Verdict, c.Reason, c)
	}
	fresh.Machine = here // the history is of this machine, and repeats one of the stored measurements
	c := JudgeStored(file, past, fresh, 0.05)
	if c.Reference.Build.Program != "a" || c.Degrees != 3 || c.NewCount != 1 {
		t.Errorf("%+v", c)
	}
	var b bytes.Buffer
	if err := c.WriteText(&b); err != nil || !strings.Contains(b.String(),
		"measured at 2026-11-01T00:02:00Z by ada@lab") || !strings.Contains(b.String(), "kernels avx512, 2 threads") {
		t.Errorf("%v: %s", err, b.String())
	}
	same := entry("a", 9, 4.02)
	same.Kernels, same.Threads = "avx512", 2
	if c := JudgeStored(file, past, same, 0.05); !c.SameBuild || c.NewCount != 2 {
		t.Errorf("%+v", c)
	}
	for _, change := range []func(*Entry){func(e *Entry) { e.Kernels = "avx2" }, func(e *Entry) { e.Threads = 1 },
		func(e *Entry) { e.Machine.CPU = "another processor" }} {
		other := fresh
		change(&other)
		if c := JudgeStored(file, past, other, 0.05); c.Verdict != Elsewhere || c.Reference != nil {
			t.Errorf("%s with %s on %d threads: %s", other.Machine.CPU, other.Kernels, other.Threads, c.Verdict)
		}
	}
}

// Storing adds to the reference of the same build, replaces another build's only if asked to, and keeps what is of
// other work and other processors.
func TestStoringReplacesNothingUnasked(t *testing.T) {
	elsewhere, larger := entry("a", 0, 4), entry("a", 1, 9)
	elsewhere.Machine.CPU, larger.Settings = "another processor", map[string]string{"size": "1024"}
	file := stored(t, stored(t, stored(t, nil, false, elsewhere), false, larger), false, entry("a", 2, 4))
	if file = stored(t, file, false, entry("a", 3, 4)); len(file) != 4 {
		t.Errorf("%d entries", len(file))
	}
	fresh := entry("b", 4, 3)
	fresh.Kernels, fresh.Threads = "avx512", 2
	if _, err := Store(file, []Entry{fresh}, "ada@lab", false); err == nil || !strings.Contains(err.Error(),
		"of build 1.0 (program a), measured at 2026-11-01T00:02:00Z by ada@lab: --force replaces it") {
		t.Error(err)
	}
	if file = stored(t, file, true, fresh); len(file) != 3 || file[2].Build.Program != "b" || file[2].By != "ada@lab" ||
		file[0].Machine.CPU == here.CPU {
		t.Errorf("%+v", file)
	}
	if _, err := Store([]Entry{entry("a", 0, 4)}, []Entry{fresh}, "ada@lab", true); err == nil ||
		!strings.Contains(err.Error(), "a history, and no stored reference") {
		t.Error(err)
	}
	if name := fresh.ReferenceName(); name != "a-processor-avx512-2.jsonl" {
		t.Error(name)
	}
	path := filepath.Join(t.TempDir(), "reference")
	if err := Write(path, file); err != nil {
		t.Fatal(err)
	}
	if got, damaged, err := Read(t.Context(), path); err != nil || len(damaged) != 0 || !reflect.DeepEqual(got, file) ||
		!Stored(got) {
		t.Errorf("%v, %v, %+v", err, damaged, got)
	}
}

// The interval of the ratio holds the truth in 95 of 100 checks of builds that are alike, and a limit of 0
// then calls one of 40 worse.
func TestIntervalsHoldAsOftenAsTheySay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const checks = 2000
	held := 0
	for range checks {
		var entries []Entry
		for n := range 6 {
			entries = append(entries, entry([]string{"a", "b"}[n/3], n, 4*(1+0.05*random.NormFloat64())))
		}
		r := Judge(entries, entry("new", 9, 4*(1+0.05*random.NormFloat64())), 0).Rows[0]
		if *r.Low <= 1 && 1 <= *r.High {
			held++
		}
	}
	if share := float64(held) / checks; share < 0.93 || share > 0.97 { // 0.95 ± 4 standard errors
		t.Errorf("%.3f of the intervals hold the truth", share)
	}
}

func TestTheTableIsPRISMs(t *testing.T) {
	e := entry("a", 0, 3.93)
	e.Build, e.Note = Build{Version: "0.2.0", Commit: "0123456789", Modified: true}, "after the \x1b[2Jrefactoring"
	var b bytes.Buffer
	if err := TableOf([]Entry{e}, true).WriteText(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[2], "PRISM 0.2.0") ||
		strings.Join(strings.Fields(lines[0]), " ") != "Version Forward (ms) Memory (MB) Training (ms) Notes" {
		t.Fatal(b.String())
	}
	for _, want := range []string{"0.2.0 (0123456, modified)", " – ", "100.00", "3.93", "performance standard",
		"machine " + here.ID(), "refactoring"} {
		if !strings.Contains(lines[3], want) {
			t.Errorf("%q is missing in %s", want, lines[3])
		}
	}
	if strings.ContainsRune(lines[3], '\x1b') {
		t.Errorf("a control character is in %q", lines[3])
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema":1,"time":"2026-11-01T00:00:00Z","figures":[{"name":"memory","value":1}]}` + "\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, _ := parse(data)
		for _, e := range entries {
			Judge(entries, e, 0.05)
		}
	})
}

func TestSchemas(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "check", Title: "prismtop bench check --json", Value: Check{}})
}
