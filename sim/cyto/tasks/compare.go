package tasks

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"prismtop/profiles/stats"
	"prismtop/profiles/visible"
)

// Rule chooses the task that others are compared with.
type Rule string

// The rules.
const (
	// FirstTask is the first task of an experiment in the list.
	FirstTask Rule = "first"
	// FastestTask is the task with the least total time, the rule of CytoDL's script: no
	// speed-up is above 1.
	FastestTask Rule = "fastest"
)

// Comparison are the tasks of a file of results beside their baselines.
type Comparison struct {
	Rule   Rule    `json:"baseline_rule"`
	Groups []Group `json:"experiments"`
	Reason string  `json:"reason,omitempty"` // why there are no groups
}

// Group are the tasks of an experiment.
type Group struct {
	Experiment string     `json:"experiment"`
	Kind       string     `json:"kind"`
	Baseline   int        `json:"baseline"`         // in the list of results, from 0; -1 for none
	Reason     string     `json:"reason,omitempty"` // why there is no baseline
	Tasks      []Compared `json:"tasks"`
}

// Compared is a task beside the baseline.
type Compared struct {
	Task     int       `json:"task"` // in the list of results, from 0
	Branch   string    `json:"branch"`
	Measures []Measure `json:"measures"`         // the first is the total time
	Spread   *Spread   `json:"spread"`           // of the total time over its rounds; null for one round
	Reason   string    `json:"reason,omitempty"` // why there are none
}

// Measure is a number of a task, and its speed-up against the baseline: above 1 is faster.
type Measure struct {
	Name    string   `json:"name"` // its key in the metrics
	Title   string   `json:"title"`
	Unit    string   `json:"unit"`
	Value   float64  `json:"value"`        // median of the successful rounds
	Rounds  int      `json:"rounds"`       // successful ones of both tasks
	SpeedUp *float64 `json:"speed_up"`     // null for the baseline itself
	Low     *float64 `json:"speed_up_low"` // 95 % interval
	High    *float64 `json:"speed_up_high"`
	Reason  string   `json:"interval_reason,omitempty"`

	Forecast string `json:"forecast,omitempty"` // CytoDL's document of the variant, in its words
	Verdict  string `json:"verdict,omitempty"`  // what the interval allows to say of the forecast
}

// measure is a number of the metrics, by its key in JSON. More of a rate is faster.
type measure struct{ name, title, unit string }

func (m measure) rate() bool { return m.unit == "samples/s" }

// loadingKey is the loading of a training's first batch in the metrics.
const loadingKey = "data_loading_first_batch"

var trainingMeasures = []measure{
	{"total_training", "total", "s"},
	{"full_training", "training", "s"},
	{"first_epoch", "first epoch", "s"},
	{loadingKey, "loading", "s"},
	{"model_forward_first_batch", "first forward", "s"},
	{"throughput_samples_per_sec", "throughput", "samples/s"},
}

var inferenceMeasures = []measure{
	{"total_inference", "total", "s"},
	{"full_prediction", "prediction", "s"},
	{"first_batch_loading", "loading", "s"},
	{"first_batch_forward", "first forward", "s"},
	{"throughput_samples_per_sec", "throughput", "samples/s"},
}

// measures returns those of a kind of metrics; nil for none.
func (m *Metrics) measures() []measure {
	switch {
	case m.Training != nil:
		return trainingMeasures
	case m.Inference != nil:
		return inferenceMeasures
	}
	return nil
}

// value returns a measure of the metrics; nil if they do not have it, or only a part of it.
func (m *Metrics) value(name string) (v *float64) {
	m.each(func(key string, t *Timer, rate *float64) {
		switch {
		case key != name:
		case t == nil:
			v = rate
		case !t.Partial:
			v = &t.ElapsedSeconds
		}
	})
	return v
}

// Compare compares the tasks of each experiment and kind with its baseline. A speed-up is the centre
// of the ratios of all rounds that both tasks completed, with the signed-rank interval of
// their logarithms: rounds in random order favour neither.
func Compare(results []Result, rule Rule) *Comparison {
	c := &Comparison{Rule: rule, Groups: []Group{}}
	if len(results) < 2 {
		c.Reason = "fewer than two tasks: nothing to compare"
		return c
	}
	for i := range results {
		r := &results[i]
		kind := r.kind()
		g := slices.IndexFunc(c.Groups, func(g Group) bool { return g.Experiment == r.Experiment && g.Kind == kind })
		if g < 0 {
			g = len(c.Groups)
			c.Groups = append(c.Groups, Group{Experiment: r.Experiment, Kind: kind, Baseline: -1})
		}
		c.Groups[g].Tasks = append(c.Groups[g].Tasks, Compared{Task: i, Branch: r.Branch, Measures: []Measure{}})
	}
	for i := range c.Groups {
		c.Groups[i].compare(results, rule)
	}
	return c
}

// kind returns the kind of a result, by its metrics if the file does not say it.
func (r *Result) kind() string {
	switch {
	case r.Kind != "":
		return r.Kind
	case r.Metrics.Inference != nil:
		return Inference.String()
	}
	return Training.String()
}

// rounds returns the successful rounds; of a file of CytoDL's, its only one.
func (r *Result) rounds() (all []Round) {
	if len(r.Rounds) == 0 && r.Success {
		return []Round{{Round: 1, Success: true, Metrics: r.Metrics}}
	}
	for _, round := range r.Rounds {
		if round.Success {
			all = append(all, round)
		}
	}
	return all
}

// compare chooses the baseline, and compares all tasks with it.
func (g *Group) compare(results []Result, rule Rule) {
	fastest := math.Inf(1)
	for i := range g.Tasks {
		t := &g.Tasks[i]
		r := &results[t.Task]
		rounds := r.rounds()
		if len(rounds) == 0 {
			t.Reason = "the task failed"
			continue
		}
		for _, m := range rounds[0].Metrics.measures() {
			if v := medianOf(rounds, m); v != nil {
				t.Measures = append(t.Measures, Measure{Name: m.name, Title: m.title, Unit: m.unit, Value: *v,
					Rounds: len(rounds)})
			}
		}
		if len(t.Measures) == 0 {
			t.Reason = "the task measured nothing"
			continue
		}
		t.Spread = spreadOf(rounds)
		if first := t.Measures[0]; rule == FastestTask && first.Value < fastest {
			fastest, g.Baseline = first.Value, t.Task
		}
	}
	if rule == FirstTask && g.Tasks[0].Reason == "" {
		g.Baseline = g.Tasks[0].Task
	}
	if g.Baseline < 0 {
		g.Reason = "every task failed"
		if rule == FirstTask {
			g.Reason = fmt.Sprintf("the baseline %s: %s", g.Tasks[0].Branch, g.Tasks[0].Reason)
		}
		return
	}
	base, from := results[g.Baseline].rounds(), results[g.Baseline].Branch
	for i := range g.Tasks {
		t := &g.Tasks[i]
		if t.Task == g.Baseline || t.Reason != "" {
			continue
		}
		own := results[t.Task].rounds()
		all := own[0].Metrics.measures()
		for j := range t.Measures {
			m := &t.Measures[j]
			m.against(base, own, all[slices.IndexFunc(all, func(a measure) bool { return a.name == m.Name })])
			m.forecast(from, t.Branch)
		}
	}
}

// medianOf returns the median over rounds; nil if none has the measure.
func medianOf(rounds []Round, m measure) *float64 {
	var values []float64
	for i := range rounds {
		if v := rounds[i].Metrics.value(m.name); v != nil && *v > 0 {
			values = append(values, *v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	v := stats.Quantile(values, 0.5)
	return &v
}

// against sets the speed-up from the rounds that both tasks have.
func (m *Measure) against(base, own []Round, how measure) {
	var ratios []float64 // logarithms
	for _, o := range own {
		i := slices.IndexFunc(base, func(b Round) bool { return b.Round == o.Round })
		if i < 0 {
			continue
		}
		a, b := base[i].Metrics.value(how.name), o.Metrics.value(how.name)
		if a == nil || b == nil || !(*a > 0) || !(*b > 0) {
			continue
		}
		ratio := math.Log(*a / *b)
		if how.rate() {
			ratio = -ratio
		}
		ratios = append(ratios, ratio)
	}
	if m.Rounds = len(ratios); m.Rounds == 0 {
		m.Reason = "no round has it of both tasks"
		return
	}
	c := stats.SignedRank(ratios)
	value := math.Exp(c.Value)
	m.SpeedUp = &value
	if math.IsInf(c.Low, 0) || math.IsInf(c.High, 0) {
		m.Reason = fmt.Sprintf("%d of at least %d rounds: no interval", m.Rounds, stats.SignedRankLeast)
		return
	}
	low, high := math.Exp(c.Low), math.Exp(c.High)
	m.Low, m.High = &low, &high
}

// Write writes the comparison as text.
func (c *Comparison) Write(w io.Writer) error {
	var b strings.Builder
	if c.Reason != "" {
		fmt.Fprintln(&b, c.Reason)
	}
	for i := range c.Groups {
		g := &c.Groups[i]
		if i > 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintf(&b, "%s, %s: %s\n", visible.Text(g.Experiment), g.Kind, g.about(c.Rule))
		for j := range g.Tasks {
			g.write(&b, &g.Tasks[j])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// about says what the tasks are compared with.
func (g *Group) about(rule Rule) string {
	for _, t := range g.Tasks {
		if t.Task != g.Baseline {
			continue
		}
		if rule == FastestTask {
			return fmt.Sprintf("speed-up against %s, the fastest", visible.Text(t.Branch))
		}
		return "speed-up against " + visible.Text(t.Branch)
	}
	return "no speed-up: " + visible.Text(g.Reason)
}

// write writes a line for each measure of a task.
func (g *Group) write(b *strings.Builder, t *Compared) {
	if t.Reason != "" {
		fmt.Fprintf(b, "  %-30s %s\n", visible.Text(t.Branch), t.Reason)
		return
	}
	for i, m := range t.Measures {
		name := ""
		if i == 0 {
			name = visible.Text(t.Branch)
		}
		line := fmt.Sprintf("  %-30s %-13s %12.4f %-9s", name, m.Title, m.Value, m.Unit)
		switch {
		case m.SpeedUp == nil && t.Task == g.Baseline && i == 0:
			line += "  baseline"
		case m.SpeedUp == nil:
		case m.Low != nil:
			line += fmt.Sprintf("  %.2fx [%.2f, %.2f]", *m.SpeedUp, *m.Low, *m.High)
		case i == 0:
			line += fmt.Sprintf("  %.2fx (%s)", *m.SpeedUp, m.Reason)
		default:
			line += fmt.Sprintf("  %.2fx", *m.SpeedUp)
		}
		if m.Forecast != "" {
			line += "  forecast " + m.Forecast + ": " + m.Verdict
		}
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
	if s := t.Spread; s != nil {
		fmt.Fprintf(b, "  %-30s %-13s %12.1f %-9s  of the median, over %d rounds; the document's ±5 %%: %s\n", "",
			"spread", 100*s.Largest, "%", s.Rounds, s.Verdict)
	}
}
