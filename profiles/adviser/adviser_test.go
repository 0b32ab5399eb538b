package adviser_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles/adviser"
	"prismtop/profiles/settings"
)

var table = settings.NewTable("prism", nil,
	settings.Integer("g", "size", "", "", 1, 4096), settings.Integer("g", "object_size", "", "", 1, 4096),
	settings.Text("g", "amp", "", "off", "bf16", "fp16"), settings.Text("g", "loss", "", "l1", "l2")).As(settings.Roles{Shape: []string{"size", "object_size"}})

func values(t *testing.T, sets ...string) settings.Values {
	t.Helper()
	v := table.Zero()
	for i := 0; i < len(sets); i += 2 {
		var err error
		if v, err = v.Set(sets[i], sets[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

var here = adviser.Machine{CPU: "a processor", Processors: 2, Device: "cpu", Kernels: "avx512", Threads: 2}

// some returns advice of a value at 512/128, by the interval of its change.
func some(value string, low, high float64, risks ...string) adviser.Finding {
	a := adviser.Finding{Machine: here, Version: "1.0", Measured: time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), Workload: "prism", Shape: []string{"512", "128"},
		Settings: map[string]string{"loss": "l1"}, Setting: "amp", Off: "off", Value: value, OffMS: 6, ValueMS: 6 * (1 + (low+high)/2),
		Change: (low + high) / 2, Low: &low, High: &high, OffBytes: 100, ValueBytes: 112, Iterations: 100, Risks: risks}
	a.Judge()
	return a
}

func TestVerdicts(t *testing.T) {
	for _, test := range []struct {
		low, high float64
		risk      []string
		want      adviser.Verdict
	}{
		{-0.3, -0.2, nil, adviser.Use}, {-0.3, -0.2, []string{"final loss +40 %"}, adviser.DoNotUse}, {0.1, 0.3, nil, adviser.DoNotUse},
		{-0.02, 0.02, nil, adviser.NoGain}, {-0.1, 0.1, nil, adviser.Undecided}, {-0.1, 0.1, []string{"SSIM"}, adviser.DoNotUse},
	} {
		if a := some("bf16", test.low, test.high, test.risk...); a.Verdict != test.want {
			t.Errorf("%+v: %s", test, a.Verdict)
		}
	}
	a := some("bf16", 0, 0)
	a.Low, a.High = nil, nil
	if a.Judge(); a.Verdict != adviser.Undecided || strings.Contains(a.Sentence(), "[") {
		t.Errorf("without an interval: %s", a.Sentence())
	}
	a.Risks = []string{"stability 3 not finite"}
	if a.Judge(); a.Verdict != adviser.DoNotUse {
		t.Errorf("a risk without an interval: %s", a.Sentence())
	}
	a.Risks, a.Criteria, a.Unjudged = nil, 15, 5
	if text := a.Sentence(); !strings.Contains(text, "5 of 15 criteria could not be judged, because float32 itself fails there") {
		t.Error(text)
	}
}

func TestAdviceIsOneSentence(t *testing.T) {
	slower, risky := some("bf16", 0.38, 0.44), some("fp16", -0.3, -0.2, "final loss +40 % at a learning rate of 0.01")
	share := 0.4
	risky.Foreign = &share
	risky.Memory = "memory is short: float32 takes 12 MB of 16 MB"
	for got, want := range map[string]string{
		slower.Sentence(): "amp = bf16 at 512/128: do not use it: iterations 41 % longer [+38, +44], memory +12 %; no risk found in trainings of 100 iterations.",
		risky.Sentence(): "amp = fp16 at 512/128: do not use it: iterations 25 % shorter [-30, -20], memory +12 %; risk: final loss +40 % at a learning rate of 0.01; " +
			"memory is short: float32 takes 12 MB of 16 MB; other programs took 40 % of the processors meanwhile.",
		slower.Brief(): "measured here 2026-11-22: iterations 41 % longer [+38, +44]",
		risky.Brief():  "measured here 2026-11-22: iterations 25 % shorter [-30, -20], risky",
	} {
		if got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// Advice is quoted for the machine, the size and the settings that it is of, and for nothing else.
func TestAdviceIsOfOneMachineAndSize(t *testing.T) {
	all := []adviser.Finding{some("bf16", 0.38, 0.44), some("fp16", 0.5, 0.6)}
	v := values(t, "size", "512", "object_size", "128", "amp", "off", "loss", "l1")
	if said := adviser.Quote(all, here, "amp", v); len(said) != 2 || said[0].Value != "bf16" || !strings.HasPrefix(said[0].Text, "measured here") {
		t.Errorf("%+v", said)
	}
	other, threads := here, here
	other.CPU, threads.Threads = "another", 1
	for name, try := range map[string]func() (adviser.Machine, settings.Values){
		"another machine": func() (adviser.Machine, settings.Values) { return other, v },
		"another number of threads": func() (adviser.Machine, settings.Values) {
			return threads, v
		},
		"another size": func() (adviser.Machine, settings.Values) {
			return here, values(t, "size", "256", "object_size", "128", "loss", "l1")
		},
		"another window": func() (adviser.Machine, settings.Values) {
			return here, values(t, "size", "512", "object_size", "64", "loss", "l1")
		},
		"another setting": func() (adviser.Machine, settings.Values) {
			return here, values(t, "size", "512", "object_size", "128", "loss", "l2")
		},
	} {
		m, w := try()
		said := adviser.Quote(all, m, "amp", w)
		if want := "not measured here at " + w.Get("size") + "/" + w.Get("object_size"); len(said) != 1 || said[0].Value != "" || !strings.HasPrefix(said[0].Text, want) {
			t.Errorf("%s: %+v", name, said)
		}
	}
}

func TestNewAdviceReplacesOld(t *testing.T) {
	s := adviser.Store{Dir: filepath.Join(t.TempDir(), "new", "prismtop")}
	if kept, err := s.Load(t.Context(), here); err != nil || kept != nil {
		t.Errorf("before the first: %v, %v", kept, err)
	}
	first, second := some("bf16", 0.38, 0.44), some("bf16", 0.1, 0.2)
	second.Measured = first.Measured.Add(time.Hour)
	other := some("bf16", 0.5, 0.6)
	other.Shape = []string{"256", "128"}
	for _, all := range [][]adviser.Finding{{first, some("fp16", 0.5, 0.6)}, {second}, {other}, nil} {
		if err := s.Add(t.Context(), all); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := s.Load(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range kept {
		got = append(got, a.Brief())
	}
	if want := []string{second.Brief(), other.Brief(), kept[2].Brief()}; len(kept) != 3 || !slices.Equal(got, want) || kept[2].Value != "fp16" && kept[1].Value != "fp16" {
		t.Errorf("%q", got)
	}
}

// A measurement with fewer trainings does not replace a better founded one of the same version.
func TestTheBetterFoundedAdviceIsKept(t *testing.T) {
	thorough, quick := some("bf16", 0.1, 0.2, "final loss +40 %"), some("bf16", -0.2, -0.1)
	thorough.Trainings, quick.Trainings, quick.Measured = 9, 1, thorough.Measured.Add(time.Hour)
	kept := adviser.Merge([]adviser.Finding{thorough}, []adviser.Finding{quick})
	if len(kept) != 1 || len(kept[0].Risks) != 1 {
		t.Errorf("%+v", kept)
	}
	quick.Version = "another"
	if kept = adviser.Merge([]adviser.Finding{thorough}, []adviser.Finding{quick}); len(kept) != 1 || kept[0].Trainings != 1 {
		t.Errorf("of another version: %+v", kept)
	}
}

// What cannot be used is named, replaced by the next advice, and never quoted.
func TestBrokenAdviceIsNamedAndReplaced(t *testing.T) {
	dir := t.TempDir()
	s := adviser.Store{Dir: dir}
	if err := s.Add(t.Context(), []adviser.Finding{some("bf16", 0.1, 0.2)}); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "advice-*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text := string(whole)
	for broken, want := range map[string]string{
		strings.Replace(text, `"schema": 2`, `"schema": 1`, 1): "of another version of the program",
		text[:len(text)/2]: "is damaged", "": "is damaged", "[]": "is damaged",
		strings.Replace(text, `"schema": 2`, `"schema": 9`, 1):                        "of another version of the program",
		strings.Replace(text, `"cpu": "a processor"`, `"cpu": "another"`, 1):          "of another machine, another with 2 processors",
		strings.Replace(text, `"off_ms": 6`, `"off_ms": 0`, 1):                        "has no machine, date or times",
		strings.Replace(text, `"measured": "2026-11-22T12:00:00Z"`, `"verdict":1`, 1): "is damaged",
	} {
		if broken == text {
			t.Fatalf("nothing was broken: %s", want)
		}
		if err := os.WriteFile(files[0], []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		kept, err := s.Load(t.Context(), here)
		if kept != nil || err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), files[0]) {
			t.Errorf("%s: %v, %v", want, kept, err)
		}
	}
	if err := s.Add(t.Context(), []adviser.Finding{some("fp16", 0.1, 0.2)}); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.Load(t.Context(), here); err != nil || len(kept) != 1 || kept[0].Value != "fp16" {
		t.Errorf("%v, %v", kept, err)
	}
}
