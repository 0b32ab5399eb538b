package suite

import (
	"cmp"
	_ "embed" // the figures
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// The figures that PRISM's documents claim, which claims.toml lists, beside what a report measured.

// Figure is one figure of a document.
type Figure struct {
	ID       string `json:"id"`
	Document string `json:"document"`
	Line     int    `json:"line,omitempty"`  // 0 if unknown
	Again    []int  `json:"again,omitempty"` // lines that repeat it
	Text     string `json:"text"`            // the claim as the document writes it
	Of       string `json:"of"`              // what it refers to

	// Low and High are the claim in its unit; equal for one number. High is null for "at least", and with Word for a
	// claim that no number can meet or miss, such as "moderate".
	Low  float64  `json:"low"`
	High *float64 `json:"high"`
	Unit string   `json:"unit"`
	Word bool     `json:"word,omitempty"`

	// Measure is the quantity of a report that stands beside the claim; empty if none can, for the
	// reason in Absent.
	Measure string `json:"measure,omitempty"`
	Absent  string `json:"absent,omitempty"`
	// Note is what a reader must know to compare the two.
	Note string `json:"note,omitempty"`
}

// lines lists the lines of the document that have the figure; empty if they are not known.
func (f *Figure) lines() string {
	if f.Line == 0 {
		return ""
	}
	text := strconv.Itoa(f.Line)
	for _, line := range f.Again {
		text += ", " + strconv.Itoa(line)
	}
	return text
}

// Claim is a figure beside what was measured.
type Claim struct {
	Figure
	Measured *report.Interval `json:"measured"`
	// Where says what was measured, or why nothing was.
	Where string `json:"where"`
	// Verdict says what the measurement allows to say: "as claimed", "as claimed within 10 %", "more than claimed",
	// "less than claimed", "undecided: it lies from 0.71x to 5.25x"; empty without a measurement.
	Verdict string `json:"verdict"`
}

// quantity is a number of a report that a figure can be compared with. claims.toml describes its fields.
type quantity struct {
	Of              string
	Value, Or, Over string
	On              string
	Inverse, Change bool
	Per, Times      float64
}

//go:embed claims.toml
var claimsFile []byte

// registry returns what claims.toml lists.
var registry = sync.OnceValues(func() (figures []Figure, quantities map[string]quantity) {
	var file struct {
		Notes      map[string]string
		Quantities map[string]quantity
		Documents  []struct {
			Name    string
			Figures []struct {
				Figure
				Is *float64
			}
		}
	}
	if err := toml.Unmarshal(claimsFile, &file); err != nil {
		panic(fmt.Sprintf("claims.toml: %v", err)) // it is part of the program
	}
	var sentences []string
	for name, text := range file.Notes {
		sentences = append(sentences, "{"+name+"}", text)
	}
	whole := strings.NewReplacer(sentences...)
	for _, d := range file.Documents {
		for _, of := range d.Figures {
			f := of.Figure
			f.Document, f.Note, f.Absent = d.Name, whole.Replace(f.Note), whole.Replace(f.Absent)
			if of.Is != nil {
				f.Low, f.High = *of.Is, of.Is
			}
			figures = append(figures, f)
		}
	}
	return figures, file.Quantities
})

// facts returns a report's numbers as a tree of names, in which the entries of lists have names too.
func (r *Report) facts() (tree map[string]any) {
	all := map[string]any{"model": r.Model, "measurement": r.Measurement, "amp_worst": r.worst()}
	put := func(v any, path ...string) {
		at := all
		for _, name := range path[:len(path)-1] {
			if at[name] == nil {
				at[name] = map[string]any{}
			}
			at = at[name].(map[string]any)
		}
		if last := path[len(path)-1]; at[last] == nil { // the first of a name counts
			at[last] = v
		}
	}
	peak, device := int64(0), "cpu"
	if r.Machine.GPU != nil {
		device = "cuda"
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		if c.Preset == "standard" && c.Set == Documented {
			put(c, "standard_on", device)
		}
		put(struct {
			*Comparison
			Baseline  *Result `json:"baseline"`
			Optimized *Result `json:"optimized"`
		}{c, typical(c.Results[0]), typical(c.Results[1])}, "compare", c.Preset, string(c.Set))
		for _, v := range slices.Concat(c.Results[:]...) {
			if v.PeakRSS != nil {
				peak = max(peak, *v.PeakRSS)
			}
		}
	}
	if peak > 0 {
		all["rss_peak_bytes"] = peak
	}
	for _, e := range r.Effects {
		put(e, "effects", e.Setting, e.On)
	}
	if r.AMP != nil {
		for _, z := range r.AMP.Sizes {
			for _, m := range z.Modes {
				put(m, "amp", strconv.Itoa(z.Size), m.Mode)
			}
		}
	}
	if r.Inference != nil {
		for _, f := range r.Inference.Folds {
			put(f, "inference", f.Statistics)
		}
		if r.Inference.Metrics != nil {
			put(r.Inference.Metrics, "inference", "metrics")
		}
	}
	if text, err := json.Marshal(all); err == nil { // writing the report gives the error again
		_ = json.Unmarshal(text, &tree) // which was marshalled
	}
	return tree
}

// is reports whether a machine's device has a name of claims.toml: "cpu", "from 8.0" for compute capabilities, a
// generation, or a model of GPU.
func (m *Machine) is(name string) bool {
	if m.GPU == nil {
		return name == "cpu"
	}
	var major, minor int
	_, _ = fmt.Sscanf(m.GPUAbout, "compute capability %d.%d", &major, &minor) // 0.0 is of no generation
	switch name {
	case "Turing", "before 8.0":
		return major == 7 && minor == 5
	case "Ampere":
		return major == 8 && minor < 9
	case "Ada":
		return major == 8 && minor == 9
	case "from 8.0":
		return major >= 8
	}
	_, after, named := strings.Cut(*m.GPU, name) // a Ti is another model
	return named && (after == "" || strings.ContainsAny(after[:1], " -")) && !strings.HasPrefix(after, " Ti")
}

// worst are the differences of bf16's trainings at the largest size from float32's, as shares: the largest over the
// seeds. The interval reaches from the least to the most.
func (r *Report) worst() map[string]report.Interval {
	if r.AMP == nil || len(r.AMP.Sizes) == 0 {
		return nil
	}
	z := slices.MaxFunc(r.AMP.Sizes, func(a, b AMPSize) int { return cmp.Compare(a.Size, b.Size) })
	base, mode := z.training("off", r.AMP.LearningRate), z.training("bf16", r.AMP.LearningRate)
	if base == nil || mode == nil {
		return nil
	}
	found := map[string]report.Interval{}
	for name, of := range map[string]func(b, m *TrainRun) float64{
		"ssim": func(b, m *TrainRun) float64 { return difference(m.SSIM, b.SSIM) },
		"rate": func(b, m *TrainRun) float64 { return ratio(m.Rate, b.Rate) },
		"loss": func(b, m *TrainRun) float64 { return ratio(m.FinalLoss, b.FinalLoss) },
	} {
		var all []float64
		for i := range mode.Runs {
			all = append(all, of(&base.Runs[i], &mode.Runs[i]))
		}
		low, high := slices.Min(all), slices.Max(all)
		worst := high
		if math.Abs(low) > math.Abs(high) {
			worst = low
		}
		switch {
		case report.Finite(worst) == nil:
		case len(all) < 2: // one seed has no spread
			found[name] = report.Exact(worst)
		default:
			found[name] = report.Between(worst, low, high)
		}
	}
	return found
}

// forms are the fields of the objects that are a value with its ends: an interval, a distribution, times of runs.
var forms = [...][3]string{{"value", "low", "high"}, {"median", "p10", "p90"}, {"median", "min", "max"}}

// at reads the number at a path; ok is false where nothing was measured.
func at(tree map[string]any, path string) (i report.Interval, ok bool) {
	var found any = tree
	for name := range strings.SplitSeq(path, ".") {
		of, _ := found.(map[string]any)
		found = of[name]
	}
	switch v := found.(type) {
	case float64:
		return report.Exact(v), true
	case map[string]any:
		for _, form := range forms {
			value, known := v[form[0]].(float64)
			if _, ends := v[form[1]]; !known || !ends {
				continue
			}
			low, sure := v[form[1]].(float64)
			high, _ := v[form[2]].(float64)
			if !sure {
				return report.Exact(value), true
			}
			return report.Between(value, low, high), true
		}
	}
	return i, false
}

// read reads a quantity in a report's numbers; ok is false where it was not measured.
func (q *quantity) read(tree map[string]any) (report.Interval, bool) {
	v, ok := at(tree, q.Value)
	if !ok && q.Or != "" {
		v, ok = at(tree, q.Or)
	}
	over := report.Exact(1)
	if ok && q.Over != "" {
		over, ok = at(tree, q.Over)
	}
	return v.Through(func(v float64) float64 {
		v /= over.Value * cmp.Or(q.Per, 1)
		if q.Inverse {
			v = 1 / v
		}
		if q.Change {
			v--
		}
		return v * cmp.Or(q.Times, 1)
	}), ok
}

// claimsOf puts every figure beside what a report measured.
func claimsOf(r *Report) []Claim {
	claims := []Claim{}
	figures, quantities := registry()
	tree := r.facts()
	for _, f := range figures {
		c := Claim{Figure: f, Where: f.Absent}
		if f.Measure != "" {
			q := quantities[f.Measure]
			if v, ok := q.read(tree); ok && (q.On == "" || r.Machine.is(q.On)) {
				c.Measured, c.Where = &v, q.Of
				if !f.Word {
					c.Verdict = f.verdict(v)
				}
			} else {
				c.Where = cmp.Or(f.Absent, "not measured")
				if q.On != "" && r.Machine.is(q.On) { // the machine is there
					c.Where = "not measured"
				}
			}
		}
		claims = append(claims, c)
	}
	return claims
}

// A claim of one number is met by an exact value that differs by no more than tolerance, the documents' rounding, and
// by an interval within equalWithin of it.
const (
	tolerance   = 0.01
	equalWithin = 0.1
)

// verdict compares a measurement with the claim.
func (f *Figure) verdict(v report.Interval) string {
	claim := stats.Claim{From: f.Low, To: math.Inf(1)}
	if f.High != nil {
		claim.To = *f.High
	}
	low, high, within := v.Value, v.Value, ""
	if v.Low != nil {
		low, high = *v.Low, *v.High
	}
	if claim.From == claim.To {
		if claim.Margin = tolerance * math.Abs(f.Low); low != high {
			claim.Margin, within = equalWithin*math.Abs(f.Low), " within "+unit.Share(equalWithin)
		}
	}
	switch claim.Judge(low, high) {
	case stats.Within:
		return "as claimed" + within
	case stats.Above:
		return "more than claimed" + f.times(v.Value, claim.To)
	case stats.Below:
		return "less than claimed" + f.times(v.Value, claim.From)
	}
	return "undecided: it lies from " + report.Number(low) + " to " + report.Number(high)
}

// times says how many times a claim a value is, where the claim is a number to quote.
func (f *Figure) times(v, claim float64) string {
	if !strings.ContainsAny(f.Text, "0123456789") { // a word, such as "negligible"
		return ""
	}
	ratio := v / claim
	if !(ratio > 0) || math.IsInf(ratio, 0) {
		return ""
	}
	return " (" + report.Number(ratio) + "x)"
}
