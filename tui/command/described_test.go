//go:build unix

package command

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/ablation"
	"prismtop/tui/ptytest"
)

// kiln is a loop that the program has no code of: a schema and a table of settings in a file, and a script of events.
type kiln struct {
	t        *testing.T
	schema   profiles.Schema
	now      time.Time
	began    time.Time
	stream   *stream.Stream
	seen     *aggregate.Aggregator
	tape     *recording.Recorder
	settings settings.Values
	it       profiles.Iteration
}

// kilnOf begins a recording of the loop.
func kilnOf(t *testing.T, path, draught string) *kiln {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "kiln.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Schema, Settings json.RawMessage }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	k := &kiln{t: t, now: time.Now()}
	if err := json.Unmarshal(file.Schema, &k.schema); err != nil {
		t.Fatal(err)
	}
	table, err := settings.ReadTable(file.Settings)
	if err != nil {
		t.Fatal(err)
	}
	k.began, k.settings = k.now, table.Initial()
	k.settings = k.with("draught", draught)
	k.stream = stream.WithClock(8192, func() time.Time { return k.now })
	k.tape = recording.New(recording.Options{Path: path, Fingerprint: recording.Fingerprint{Version: "test", Preset: "kiln", Threads: 1}})
	k.seen = aggregate.New(k.stream.Follow(), aggregate.Options{Tape: k.tape, Load: func() machine.Load { return machine.Load{} }})
	k.stream.Begin(profiles.RunInfo{Schema: k.schema, Object: "stoneware", Device: "kiln", Kernels: "bricks", Units: 40}, k.settings)
	k.stream.State(profiles.Running, "")
	return k
}

// iterate records an iteration under the settings in force.
func (k *kiln) iterate() {
	it := &k.it
	i := it.Index
	it.Kind, it.Flags, it.Unit, it.InUnit = 1, 0, int32(i/500), int32(i%500)
	switch {
	case i < 10:
		it.Kind, it.Unit, it.InUnit = 0, -1, int32(i)
	case i%50 == 0:
		it.Kind = 2 // and looks at the pots
	}
	it.Start, it.Total = int64(k.now.Sub(k.began)), 0
	for p := range k.schema.Phases {
		ns := int64(200_000 + 20_000*p + 500*int((i*7+int64(p)*3)%11))
		if c := p / 2; !k.settings.On(k.schema.Caches[c].Setting) {
			ns += ns / 2
		}
		if it.Kind == 2 && p == 11 {
			ns += 5_000_000
		}
		it.Phases[p] = ns
		it.Total += ns
	}
	for c := range k.schema.Caches {
		n := &it.Caches[c]
		n.Enabled = k.settings.On(k.schema.Caches[c].Setting)
		if n.Enabled {
			n.Hits++
			n.Entries, n.Bytes = 3, 3000
			n.Spent += 1000
		}
	}
	for s := range k.schema.Series {
		it.Series[s] = 1/(1+float64(i)/100) + float64(s)/10
	}
	k.stream.Iteration(it)
	k.now = k.now.Add(time.Duration(it.Total))
	if it.Kind == 2 {
		m := profiles.Measurement{Iteration: i, Unit: it.Unit, Values: profiles.NoValues()}
		for s, info := range k.schema.Series {
			if !info.Each {
				m.Values[s] = 20 + float64(s) + math.Log1p(float64(i))
			}
		}
		k.stream.Measure(m)
	}
	if it.Index++; i%500 == 499 {
		k.stream.UnitDone(profiles.UnitResult{Unit: it.Unit, Iterations: 500, Converged: true, Values: it.Series, Elapsed: time.Second})
	}
	if i%40 == 39 {
		k.seen.Tick(k.now)
	}
	if i%4000 == 3999 {
		k.tape.Flush(k.t.Context())
	}
}

// set changes the settings from the next iteration on.
func (k *kiln) set(v settings.Values, ablation bool) {
	for _, key := range v.Differing(k.settings) {
		k.it.Changes++
		key, _ := v.Lookup(key)
		k.stream.Change(profiles.Change{
			Key: key.Name, Before: k.settings.Get(key.Name), After: v.Get(key.Name), Iteration: k.it.Index, At: k.now.Sub(k.began), Ablation: ablation,
			Controls: k.schema.Controls(key.Touches), Limit: key.Limit,
		}, v)
	}
	k.settings = v
}

// ablate compares every setting that its table compares.
func (k *kiln) ablate() {
	base := k.settings
	s := ablation.New(base, ablation.Options{Kinds: k.schema.Kinds, Quality: k.schema.QualityInfo(), Seed: 5, Rounds: 6, Time: 50 * time.Millisecond})
	for !s.Done() {
		k.set(s.Wanted(), true)
		k.iterate()
		it := k.it
		it.Index--
		if s.Add(&it) {
			s.Look(math.NaN(), profiles.Memory{})
		}
		if it.Index%40 == 39 {
			k.stream.Ablation(s.View())
		}
		if it.Index > 60_000 {
			k.t.Fatal("the ablation does not end")
		}
	}
	k.set(base, true)
	k.stream.Ablation(s.View())
}

func (k *kiln) end() *profiles.Snapshot {
	k.stream.State(profiles.Finished, "max_firings = 40")
	last := k.seen.Tick(k.now)
	if err := k.tape.Close(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	return last
}

func (k *kiln) with(key, value string) settings.Values {
	v, err := k.settings.With(settings.Assignment{Key: key, Value: value})
	if err != nil {
		k.t.Fatal(err)
	}
	return v
}

// fired records a run of the loop in which a store was switched off, and all were compared; draught is the value of that setting.
func fired(t *testing.T, path, draught string) *profiles.Snapshot {
	k := kilnOf(t, path, draught)
	for range 1500 {
		k.iterate()
	}
	k.set(k.with("keep_dips", "false"), false)
	for range 1000 {
		k.iterate()
	}
	k.set(k.with("keep_dips", "true"), false)
	for range 1000 {
		k.iterate()
	}
	k.ablate()
	for range 200 {
		k.iterate()
	}
	return k.end()
}

// foreign are words of PRISM and of its settings, which nothing about another loop may have.
var foreign = regexp.MustCompile(`(?i)\b(telescope|aperture|k-space|sub-aperture|measurement cache|mask cache|FFT|reconstruction|learning.rate|PSNR|SSIM|composite|loss_old|loss_new|init_iterations|samples?|AMP|object_size|europa|backward)\b`)

func native(t *testing.T, what, text string) {
	t.Helper()
	if at := foreign.FindStringIndex(text); at != nil {
		t.Errorf("%s has %q, of PRISM: …%s…", what, text[at[0]:at[1]], text[max(0, at[0]-200):min(len(text), at[1]+100)])
	}
}

// A loop that no code of this program knows, of more phases, caches and series than any of its own, is seen everywhere as they are.
func TestALoopOfDataIsSeenEverywhere(t *testing.T) {
	skipStarts(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "kiln.sqlite")
	last := fired(t, path, "open")
	if n := len(last.Effects); n < 2 {
		t.Errorf("%d effects", n)
	}
	// Without them drying and bisque take half as long again, 0.29 of 3.72 ms.
	effect := last.Effects[slices.IndexFunc(last.Effects, func(e profiles.Effect) bool { return e.Key == "keep_dips" && e.After == "false" })]
	if want := 0.078; effect.Verdict() != profiles.Slower || math.Abs(effect.Shift-want) > 0.02 {
		t.Errorf("keep_dips off: %s %+.3f, want %+.3f", effect.Verdict().Name(), effect.Shift, want)
	}
	rows := last.Ablation.Rows
	if len(rows) != 6 {
		t.Errorf("%d rows of the ablation", len(rows))
	}
	for _, r := range rows {
		if !(r.Effect < -0.03 && r.Effect > -0.12) {
			t.Errorf("%s: %+.3f (%s)", r.Key, r.Effect, r.Note)
		}
	}
	program := func(words ...string) string {
		t.Helper()
		cmd := exec.Command("prismtop", words...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("prismtop %q: %v\n%s", words, err, out)
		}
		native(t, "prismtop "+strings.Join(words, " "), strings.Replace(string(out), `"samples": {`, "", 1)) // the units of work in every workload's JSON
		return string(out)
	}
	summary := program("replay", "kiln.sqlite")
	for _, want := range []string{"stoneware", "dips on→off", "clay", "tongs", "sheen", "firing"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %s:\n%s", want, summary)
		}
	}
	var object struct {
		Settings map[string]any
		Phases   map[string]any `json:"phases_ms"`
		Caches   map[string]any
		Quality  map[string]any
	}
	if err := json.Unmarshal([]byte(program("replay", "kiln.sqlite", "--json")), &object); err != nil {
		t.Error(err)
	}
	if len(object.Phases) != 12 || len(object.Caches) != 6 || object.Settings["draught"] != "open" || object.Settings["cone"] != 6.0 || object.Settings["bricks"] != 300.0 {
		t.Errorf("JSON has %d phases, %d caches, settings %v", len(object.Phases), len(object.Caches), object.Settings)
	}
	program("export", "kiln.sqlite", "csv=run.csv", "chrome=run.json", "tensorboard=tb", "pprof=run.pprof", "md=run.md", "html=run.html", "svg=run.svg", "png=run.png")
	for file, want := range map[string]string{"run.csv": "lime", "run.json": "soak", "run.md": "keep_dips", "run.html": "tongs"} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s (%v)", file, want, err)
		}
		native(t, file, string(text))
	}
	fired(t, filepath.Join(folder, "other.sqlite"), "shut")
	compared := program("compare", "kiln.sqlite", "other.sqlite")
	for _, want := range []string{"draught", "open", "shut", "bisque"} {
		if !strings.Contains(compared, want) {
			t.Errorf("the comparison lacks %s:\n%s", want, compared)
		}
	}
}

// The screen shows such a loop at every size, from its recording alone.
func TestALoopOfDataIsOnTheScreen(t *testing.T) {
	skipStarts(t)
	folder := t.TempDir()
	fired(t, filepath.Join(folder, "kiln.sqlite"), "open")
	for _, size := range []struct{ width, height int }{{80, 24}, {120, 40}, {200, 60}} {
		x := ptytest.Open(t, size.width, size.height)
		cmd := exec.Command("prismtop", "replay", "kiln.sqlite")
		cmd.Dir = folder
		x.Start(cmd)
		x.See("Phases")
		x.Press("end")
		x.See("wedge", "bisque")
		x.Idle()
		native(t, "the screen", x.Text())
		t.Log("\n" + x.Text())
		x.Press("?")
		x.Idle()
		native(t, "help", x.Text())
		x.Press("esc", "q")
		_ = cmd.Wait()
		x.Close()
	}
}
