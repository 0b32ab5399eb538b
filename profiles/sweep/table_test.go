package sweep

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// frozen freezes a plan whose program is a small file.
func frozen(t *testing.T, text string) *Folder {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "prismtop")
	if err := os.WriteFile(program, []byte("a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Parse("sw.toml", []byte(text))
	if err == nil {
		err = p.Check(shelves)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Folder = filepath.Join(dir, "sw")
	f, begun, err := Freeze(t.Context(), p, []byte(text), Makes{Version: "test", Program: program, Directory: dir, Presets: shelves, Owner: "test",
		Inputs: func(settings.Values) []string { return nil }, Stateless: func(settings.Values) bool { return false }, Command: func([]string) error { return nil }})
	if err != nil || begun {
		t.Fatal(begun, err)
	}
	return f
}

// states are those of runs that are done, with times and qualities by cell.
func states(f *Folder, of func(c Cell) (ms, quality float64)) []Status {
	var all []Status
	for _, c := range f.Cells() {
		ms, quality := of(c)
		all = append(all, Status{State: Done, MS: &ms, Quality: &quality, QualityIs: "PSNR", QualityUnit: "dB", Seconds: ms, Iterations: 100, CPUSeconds: 2 * ms})
	}
	return all
}

const square = "folder = \"sw\"\nreplicates = 3\nreference = \"latent=8,fused=false\"\n[grid]\nlatent = [8, 16]\nfused = [false, true]\n"

// Times are products of the settings' effects with noise of a replicate, so that effects and interactions are known.
func TestEffectsAreFound(t *testing.T) {
	f := frozen(t, square)
	table := Make(f, states(f, func(c Cell) (float64, float64) {
		ms, quality := 10*(1+0.001*float64(c.Replicate)), 20+0.01*float64(c.Replicate)
		for _, s := range f.Arms[c.Arm].Set {
			switch {
			case s.Key == "fused" && s.Value == "true":
				ms *= 0.8 * (1 + 0.0005*float64(c.Arm*c.Replicate))
			case s.Key == "latent" && s.Value == "16":
				ms, quality = ms*2, quality+1+0.001*float64(c.Replicate)
			}
		}
		return ms, quality
	}), nil)
	if table.Factorial == nil {
		t.Fatal(table.NoFactors)
	}
	for _, want := range []struct {
		term    string
		time    float64
		finding stats.Finding
		quality float64
	}{
		{"fused", -0.2, stats.Below, 0}, {"latent", 1, stats.Above, 1}, {"latent × fused", 0, stats.Within, 0},
	} {
		found := false
		for _, term := range table.Factorial.Terms {
			if term.Name != want.term {
				continue
			}
			found = true
			if math.Abs(term.Time.Value-want.time) > 0.01 || term.Time.Finding != want.finding || math.Abs(term.Quality.Value-want.quality) > 0.01 {
				t.Errorf("%s: time %+v, quality %+v; want %v and %v", want.term, term.Time, term.Quality.Estimate, want.time, want.quality)
			}
			if got := term.Quality.quality(table.Metric); (got == "equal") != (want.quality == 0) {
				t.Errorf("%s: qualities that differ by %v are called %q", want.term, want.quality, got)
			}
		}
		if !found {
			t.Errorf("no term %s", want.term)
		}
	}
	var front []string
	for _, r := range table.Arms {
		if r.Front {
			front = append(front, r.Name)
		}
	}
	if got := strings.Join(front, " "); got != "latent=8,fused=true latent=16,fused=true" {
		t.Errorf("the front is %s", got)
	}
	if r := table.Arms[1]; r.Faster.Finding != stats.Below || math.Abs(r.Faster.Value+0.2) > 0.01 || !(r.Faster.Low < -0.2+0.01 && r.Faster.High > -0.2-0.01) {
		t.Errorf("%s: %+v", r.Name, r.Faster)
	}
}

func TestRunsByTurnsAreTheDifference(t *testing.T) {
	f := frozen(t, "folder = \"sw\"\npairing = \"turns\"\n[[arm]]\nname = \"a\"\n[[arm]]\nname = \"b\"\nset = {fused = true}\n")
	if len(f.Tasks) != 1 || !f.Tasks[0].Turns || len(f.Tasks[0].Cells) != 2 {
		t.Fatalf("%+v", f.Tasks)
	}
	same := states(f, func(Cell) (float64, float64) { return 10, 20 })
	d := Make(f, same, []Effect{{Arm: "b", Against: "a", Value: -0.3, Low: -0.32, High: -0.28, Rounds: 20}}).Arms[1].Faster
	if math.Abs(d.Value+0.3) > 1e-9 || math.Abs(d.Low+0.32) > 1e-9 || d.Finding != stats.Below || !d.ByTurns {
		t.Errorf("%+v", d)
	}
}

// Iterations of batches compare by their items: a batch of twice the size that takes three quarters longer is faster.
func TestBatchesCompareByTheirItems(t *testing.T) {
	f := frozen(t, "folder = \"sw\"\nreplicates = 2\n[grid]\nlatent = [8, 16]\n")
	all := states(f, func(c Cell) (float64, float64) { return 8 * (1 + 0.75*float64(c.Arm)), 20 })
	for i, c := range f.Cells() {
		all[i].Item, all[i].Items = "image", 8<<c.Arm
	}
	table := Make(f, all, nil)
	if r := table.Arms[1]; math.Abs(r.MS.Value-14) > 1e-9 || math.Abs(r.Each.Value-14.0/16) > 1e-9 || math.Abs(r.Faster.Value+0.125) > 1e-9 {
		t.Errorf("%+v", r)
	}
	var b strings.Builder
	if err := table.WriteText(&b); err != nil || !strings.Contains(b.String(), "ms/image") {
		t.Errorf("%s, %v", &b, err)
	}
	all[0].Item = ""
	if r := Make(f, all, nil).Arms[1]; math.Abs(r.Faster.Value-0.75) > 1e-9 {
		t.Errorf("one run is no batch: %+v", r)
	}
}

// Replicates of whole runs by turns are pairs, as far as both ran on one machine: what a pair shares drops out.
func TestWholeRunsByTurnsArePairs(t *testing.T) {
	f := frozen(t, "folder = \"sw\"\nreplicates = 4\npairing = \"turns\"\n[[arm]]\nname = \"a\"\npython = \"-m a\"\n[[arm]]\nname = \"b\"\npython = \"-m b\"\n")
	same := states(f, func(c Cell) (float64, float64) {
		return 10 * float64(c.Replicate) * (1 - 0.3*float64(c.Arm)) * (1 + 0.001*float64(c.Arm*c.Replicate)), 20
	})
	d := Make(f, same, nil).Arms[1].Faster
	if !d.ByTurns || d.N != 4 || math.Abs(d.Value+0.3) > 0.01 || d.High-d.Low > 0.01 || d.Finding != stats.Below {
		t.Errorf("%+v", d)
	}
	same[len(same)-1].Host = "another"
	if d := Make(f, same, nil).Arms[1].Faster; d.N != 3 {
		t.Errorf("a pair of two machines counts: %+v", d)
	}
}

// A small difference has its digits, too.
func TestSmallDifferencesAreNotZero(t *testing.T) {
	for v, want := range map[float64]string{-1.234e-9: "−1.23e-09", 2e-5: "+0.000020", -0.0322: "−0.0322"} {
		if got := signed(v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}

// A file of the user that begins like a table is none.
func TestOnlyATableIsReplaced(t *testing.T) {
	for _, text := range []string{"# Sweep\n\nNotes on my sweeps.\n", "arm,replicates,done,remark\n", "<!DOCTYPE html>\n<title>Sweep</title>\n<p>mine", "3 arms: 2 of 3 runs done"} {
		path := filepath.Join(t.TempDir(), "mine")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if IsTable(path) {
			t.Errorf("%q would be replaced", text)
		}
	}
}

// What is known of no run is empty, and every form is written all the same.
func TestEveryFormIsWritten(t *testing.T) {
	f := frozen(t, square)
	waiting := make([]Status, len(f.Cells()))
	for i := range waiting {
		waiting[i].State = Waiting
	}
	waiting[0] = Status{State: Failed, Error: "out of <memory> | 2"}
	for _, table := range []*Table{Make(f, waiting, nil), Make(f, states(f, func(c Cell) (float64, float64) { return float64(1 + c.Arm), float64(c.Arm) }), nil)} {
		for form, write := range map[string]func(b *strings.Builder) error{
			"text":     func(b *strings.Builder) error { return table.WriteText(b) },
			"markdown": func(b *strings.Builder) error { return table.WriteMarkdown(b) },
			"csv":      func(b *strings.Builder) error { return table.WriteCSV(b) },
			"html":     func(b *strings.Builder) error { return table.WriteHTML(b) },
		} {
			var b strings.Builder
			if err := write(&b); err != nil {
				t.Errorf("%s: %v", form, err)
			}
			if text := b.String(); strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || !strings.Contains(text, "latent=16") {
				t.Errorf("%s:\n%s", form, text)
			}
			if path := filepath.Join(t.TempDir(), "table"); os.WriteFile(path, []byte(b.String()), 0o600) != nil || !IsTable(path) {
				t.Errorf("%s: the table is taken for the user's own file:\n%s", form, b.String())
			}
		}
	}
	var b strings.Builder
	if err := Make(f, waiting, nil).WriteHTML(&b); err != nil || strings.Contains(b.String(), "<memory>") {
		t.Errorf("not escaped, %v", err)
	}
}
