package steps

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/pprof/profile"

	"prismtop/profiles"
	"prismtop/profiles/export/exporttest"
)

// written returns the profile of events, read back.
func written(t *testing.T, events []profiles.Event) (*profile.Profile, []byte) {
	t.Helper()
	var out bytes.Buffer
	w := New(&out, "1.2")
	for i := range events {
		w.Take(&events[i])
	}
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	text := bytes.Clone(out.Bytes())
	p, err := profile.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p, text
}

// flat returns the value of each innermost function: how often it ran, and nanoseconds.
func flat(p *profile.Profile) map[string][2]int64 {
	all := map[string][2]int64{}
	for _, s := range p.Sample {
		v := all[s.Location[0].Line[0].Function.Name]
		all[s.Location[0].Line[0].Function.Name] = [2]int64{v[0] + s.Value[0], v[1] + s.Value[1]}
	}
	return all
}

const iterations = exporttest.Starts * exporttest.Iterations

// Every measured nanosecond is in the profile once: steps, what they leave of their phase, what
// phases leave of the iteration, and monitoring.
func TestTheProfileHasAllTheTime(t *testing.T) {
	p, _ := written(t, exporttest.Events())
	got := flat(p)
	const metrics = iterations / 3
	for name, want := range map[string][2]int64{
		"layer 1 convT":    {iterations, iterations * 1_000_000},
		"layer 1 convT dW": {iterations, iterations * 1_250_000},
		"forward":          {iterations, iterations * (exporttest.Forward - 1_000_000)},
		"backward":         {iterations, iterations * (exporttest.Backward - 1_250_000)},
		"metrics":          {metrics, metrics * exporttest.Metrics},
		"iteration":        {iterations, iterations*(exporttest.Total-exporttest.Forward-exporttest.Backward) - metrics*exporttest.Metrics},
		"cache monitoring": {iterations, iterations * exporttest.Retimed},
	} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
	sum := int64(0)
	for _, v := range got {
		sum += v[1]
	}
	if want := iterations * (exporttest.Total + exporttest.Retimed); sum != want {
		t.Errorf("%d ns in all, want %d", sum, want)
	}
	if p.TimeNanos != exporttest.Began.UnixNano() || p.DurationNanos != int64(exporttest.Restart)+exporttest.Iterations*exporttest.Period-exporttest.Gap {
		t.Errorf("from %d for %d ns", p.TimeNanos, p.DurationNanos)
	}
}

// Steps whose mean times, of a part of the iterations, exceed their phase are scaled to it.
func TestStepsNeverExceedTheirPhase(t *testing.T) {
	events := exporttest.Events()[:4]
	var all []profiles.Event
	for _, e := range events {
		all = append(all, e)
		if _, ok := e.Body.(*profiles.Iteration); ok {
			all = append(all, profiles.Event{At: e.At, Body: &profiles.LayerTimes{Layers: []profiles.Layer{{Name: "a", Nanos: 3 * float64(exporttest.Forward)}, {Name: "b", Nanos: float64(exporttest.Forward)}}}})
		}
	}
	p, _ := written(t, all)
	got := flat(p)
	if got["a"][1] != exporttest.Forward*3/4 || got["b"][1] != exporttest.Forward/4 || got["forward"][1] > 1 { // rounded down
		t.Errorf("%v", got)
	}
}

func TestARunWithoutIterationsHasAnEmptyProfile(t *testing.T) {
	for n := range 3 {
		if p, _ := written(t, exporttest.Events()[:n]); len(p.Sample) != 0 {
			t.Errorf("%d events: %v", n, p.Sample)
		}
	}
}

// go tool pprof reads the profile and finds the steps below their phases.
func TestPprofShowsTheSteps(t *testing.T) {
	_, text := written(t, exporttest.Events())
	file := filepath.Join(t.TempDir(), "run.pprof")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "pprof", "-top", "-unit=us", file)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range map[string][2]int64{
		"backward":         {iterations * (exporttest.Backward - 1_250_000), iterations * exporttest.Backward},
		"layer 1 convT dW": {iterations * 1_250_000, iterations * 1_250_000},
	} {
		row := regexp.MustCompile(`(?m)^ *([0-9.]+)us +[0-9.]+% +[0-9.]+% +([0-9.]+)us +[0-9.]+% +` + regexp.QuoteMeta(name) + `$`).FindSubmatch(out)
		if row == nil {
			t.Errorf("no row of %s in\n%s", name, out)
			continue
		}
		for i, ns := range want {
			if us, err := strconv.ParseFloat(string(row[i+1]), 64); err != nil || math.Abs(us-float64(ns)/1e3) > 0.005001 { // two decimals
				t.Errorf("%s: %s µs, want %g", name, row[i+1], float64(ns)/1e3)
			}
		}
	}
}
