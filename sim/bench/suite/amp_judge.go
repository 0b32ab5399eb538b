package suite

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"prismtop/profiles/adviser"
	"prismtop/profiles/criteria"
	"prismtop/profiles/unit"
)

// AMPCriterion is a rule about mixed precision at one learning rate, judged over all seeds by the worst. The first
// three are those of PRISM's PERFORMANCE_OPTIMIZATION_GUIDE.md; of the others it gives no number.
type AMPCriterion struct {
	Name         string           `json:"name"`
	LearningRate float64          `json:"learning_rate"`
	Line         int              `json:"line"` // of the document
	Wanted       string           `json:"wanted"`
	Measured     string           `json:"measured"`
	Verdict      criteria.Verdict `json:"verdict"`
	Reason       string           `json:"reason"`

	// the worst: by how much it differs from float32, or how often something went wrong; infinite if it is not finite
	far float64
}

// What the guide demands of mixed precision, and where it says "stable", what is taken for it.
const (
	wantedRate    = 0.20 // of float32's
	wantedLoss    = 0.15 // of float32's
	wantedSSIM    = 0.02 // of SSIM's 1
	wantedNorm    = 2.0  // times float32's, or a part of it
	wantedSkipped = 0.10 // of the steps
	// leastRate is the fall of the loss in an iteration below which float32 itself does not converge.
	leastRate = 1e-4
)

// judgeAMP judges every mode at every size, and derives the advice. Settings that were measured are kept with it.
func (r *Report) judgeAMP() {
	if r.AMP == nil {
		return
	}
	for i := range r.AMP.Sizes {
		z := &r.AMP.Sizes[i]
		for k := range z.Modes {
			m := &z.Modes[k]
			m.Criteria = []AMPCriterion{}
			for _, rate := range r.AMP.LearningRates {
				base, control, mode := z.training("off", rate), z.training(Control, rate), z.training(m.Mode, rate)
				if base != nil && control != nil && mode != nil {
					judged := judgeMode(base, mode, r.AMP.Iterations)
					excuse(judged, judgeMode(base, control, r.AMP.Iterations))
					m.Criteria = append(m.Criteria, judged...)
				}
			}
			a := r.adviceOn(z, m)
			m.Advice = a.Sentence()
		}
	}
}

// training returns the training in a mode at a rate, nil for none.
func (z *AMPSize) training(mode string, rate float64) *Training {
	for i := range z.Trainings {
		if t := &z.Trainings[i]; t.Mode == mode && t.LearningRate == rate {
			return t
		}
	}
	return nil
}

// judgeMode compares the trainings in a mode with float32's from the same weights.
func judgeMode(base, mode *Training, iterations int) []AMPCriterion {
	rate := judged{name: "rate of convergence", line: 326, wanted: fmt.Sprintf("within %.0f %% of float32, or faster",
		100*wantedRate), limit: wantedRate, percent: true, better: 1}
	loss := judged{name: "final loss", line: 327, wanted: fmt.Sprintf("within %.0f %% of float32, or lower",
		100*wantedLoss), limit: wantedLoss, percent: true, better: -1}
	ssim := judged{name: "SSIM", line: 289, wanted: fmt.Sprintf("within %g of float32, or higher", wantedSSIM),
		limit: wantedSSIM, better: 1}
	norm := judged{name: "gradient norm", line: 328, wanted: fmt.Sprintf("median within a factor of %g of float32",
		wantedNorm), limit: math.Log(wantedNorm), factor: true}
	bad, skipped := 0, 0
	for i := range mode.Runs {
		b, m := &base.Runs[i%len(base.Runs)], &mode.Runs[i]
		bad += m.NonFinite
		skipped += m.Skipped
		if b.Rate == nil || *b.Rate < leastRate {
			rate.reason = "float32 itself does not converge at this learning rate"
		} else {
			rate.add(ratio(m.Rate, b.Rate))
		}
		loss.add(ratio(m.FinalLoss, b.FinalLoss))
		ssim.add(difference(m.SSIM, b.SSIM))
		if b.Gradients != nil && m.Gradients != nil {
			norm.add(math.Log(m.Gradients.Median / b.Gradients.Median))
		} else {
			norm.add(math.NaN())
		}
	}
	stable := AMPCriterion{Name: "stability", Line: 329, Wanted: fmt.Sprintf("no loss or gradient that is not finite, "+
		"at most %.0f %% of steps skipped", 100*wantedSkipped),
		Measured: fmt.Sprintf("%d not finite, %s skipped", bad, unit.Plural(skipped, "step", "steps")),
		Verdict:  criteria.Pass, Reason: "the document says \"stable\" and no number"}
	if bad > 0 || float64(skipped) > wantedSkipped*float64(iterations*len(mode.Runs)) {
		stable.Verdict = criteria.Fail
	}
	stable.far = float64(bad)*float64(iterations) + float64(skipped)
	all := []AMPCriterion{rate.criterion(), loss.criterion(), ssim.criterion(), norm.criterion(), stable}
	for i := range all {
		all[i].LearningRate = mode.LearningRate
	}
	return all
}

// excuse takes back the failures that float32 shows against itself when it rounds
// otherwise, to the same extent or more.
func excuse(mode, control []AMPCriterion) {
	for i := range mode {
		if mode[i].Verdict == criteria.Fail && control[i].Verdict == criteria.Fail && mode[i].far <= control[i].far {
			mode[i].Verdict, mode[i].Reason = criteria.Impossible, "float32 with other rounding is as unlike itself: "+
				control[i].Measured
		}
	}
}

// judged gathers how far trainings are from float32's; the worst decides.
type judged struct {
	name, wanted    string
	line            int
	limit           float64
	percent, factor bool
	better          float64 // 1 if more is better, -1 if less is, 0 if either is as bad; what is better is no risk
	reason          string  // why it cannot be judged
	values          []float64
}

func (j *judged) add(v float64) { j.values = append(j.values, v) }

// harm is by how much a difference from float32 counts: not at all if it is for the better.
func (j *judged) harm(v float64) float64 {
	if j.better*v > 0 {
		return 0
	}
	return math.Abs(v)
}

// criterion judges by the worst value.
func (j *judged) criterion() AMPCriterion {
	k := AMPCriterion{Name: j.name, Line: j.line, Wanted: j.wanted}
	if j.reason != "" || len(j.values) == 0 {
		k.Verdict, k.Reason, k.Measured = criteria.Impossible, j.reason, "–"
		return k
	}
	worst := j.values[0]
	for _, v := range j.values {
		if math.IsNaN(v) {
			worst = v
			break
		}
		if j.harm(v) > j.harm(worst) || j.harm(v) == j.harm(worst) && math.Abs(v) < math.Abs(worst) {
			worst = v
		}
	}
	switch {
	case math.IsNaN(worst):
		k.Measured = "not finite"
	case j.percent:
		k.Measured = fmt.Sprintf("%+.1f %%", 100*worst)
	case j.factor:
		k.Measured = fmt.Sprintf("%.2fx", math.Exp(worst))
	default:
		k.Measured = fmt.Sprintf("%+.4f", worst)
	}
	if k.far = j.harm(worst); math.IsNaN(worst) {
		k.far = math.Inf(1)
	}
	k.Verdict, k.Reason = criteria.Fail,
		fmt.Sprintf("the worst of %s", unit.Plural(len(j.values), "training", "trainings"))
	if j.harm(worst) <= j.limit {
		k.Verdict = criteria.Pass
	}
	return k
}

// ratio returns a/b − 1, NaN if either is missing.
func ratio(a, b *float64) float64 {
	if a == nil || b == nil {
		return math.NaN()
	}
	return *a / *b - 1
}

// difference returns a − b, likewise.
func difference(a, b *float64) float64 {
	if a == nil || b == nil {
		return math.NaN()
	}
	return *a - *b
}

// Advice returns what follows from the measurement of mixed precision, for the machine's store.
func (r *Report) Advice() (all []adviser.Finding) {
	if r.AMP == nil {
		return nil
	}
	for i := range r.AMP.Sizes {
		z := &r.AMP.Sizes[i]
		for k := range z.Modes {
			all = append(all, r.adviceOn(z, &z.Modes[k]))
		}
	}
	return all
}

func (r *Report) adviceOn(z *AMPSize, m *AMPMode) adviser.Finding {
	started, _ := time.Parse(time.RFC3339, r.Started)
	a := adviser.Finding{
		Machine: r.fingerprint(), Version: r.Version, Measured: started, Workload: "prism",
		Shape: []string{strconv.Itoa(z.Size), strconv.Itoa(z.ObjectSize)}, Settings: z.Settings,
		Setting: "amp", Off: "off", Value: m.Mode, OffMS: m.OffMS, ValueMS: m.OnMS, Change: 1/m.Speedup.Value - 1,
		OffBytes: m.OffBytes, ValueBytes: m.OnBytes, Iterations: r.AMP.Iterations, Risks: []string{},
		Memory: memoryAdvice(z, m), Foreign: r.Machine.ForeignCPU,
	}
	if m.Speedup.Low != nil {
		low, high := 1 / *m.Speedup.High - 1, 1 / *m.Speedup.Low - 1
		a.Low, a.High = &low, &high
	}
	a.Trainings, a.Criteria = r.AMP.Seeds*len(r.AMP.LearningRates), len(m.Criteria)
	for _, k := range m.Criteria {
		if k.Verdict == criteria.Impossible {
			a.Unjudged++
		}
		if k.Verdict == criteria.Fail {
			a.Risks = append(a.Risks, fmt.Sprintf("%s %s at a learning rate of %s", k.Name, k.Measured,
				strconv.FormatFloat(k.LearningRate, 'g', -1, 64)))
		}
	}
	a.Judge()
	return a
}

// fingerprint identifies the machine of the report.
func (r *Report) fingerprint() adviser.Machine {
	m := &r.Machine
	return adviser.Machine{CPU: m.CPU, Processors: m.Processors, Device: m.Device, Kernels: m.Kernels,
		Threads: m.Threads}
}

// shortMemory is the share of the available memory above which a run is short of it.
const shortMemory = 0.5

// memoryAdvice is what saves memory where a run in float32 takes most of what there is, by the plans.
func memoryAdvice(z *AMPSize, m *AMPMode) string {
	if z.Available <= 0 || float64(m.OffBytes) < shortMemory*float64(z.Available) {
		return ""
	}
	mb := func(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
	saves := []string{}
	if m.OnBytes < m.OffBytes {
		saves = append(saves, m.Mode+" saves "+mb(m.OffBytes-m.OnBytes))
	}
	if z.Checkpointing < m.OffBytes {
		saves = append(saves, "checkpointing saves "+mb(m.OffBytes-z.Checkpointing))
	}
	slices.Sort(saves)
	text := fmt.Sprintf("memory is short: float32 takes %s of %s", mb(m.OffBytes), mb(z.Available))
	for _, s := range saves {
		text += ", " + s
	}
	if len(saves) == 0 {
		text += ", and neither " + m.Mode + " nor checkpointing saves any; a smaller size does"
	}
	return text
}
