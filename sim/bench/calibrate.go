package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/effect"
	"prismtop/profiles/machine"
	"prismtop/profiles/report"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/sim"
	"prismtop/sim/ablation"
	"prismtop/sim/workload"
)

// CalibrateOptions configure a calibration.
type CalibrateOptions struct {
	Maker    workload.Maker
	Settings settings.Values
	Sizes    []float64 // injected effects: 0.02 makes an iteration 2 % longer
	Changes  int       // per size
	Every    int       // iterations between changes
	Phase    string    // the phase to which the injected time is added; empty for none
	Replicas int       // replications per size
	Presses  int       // decisions on presses per size, on and off by turns
	// Ablations per size, of one setting each.
	Ablations int
	Progress  func(done, all int)
}

// Calibration reports how often verdicts on effects of known size were right.
type Calibration struct {
	Sizes        []SizeCalibration `json:"sizes"`
	ForeignCPU   float64           `json:"foreign_cpu"`    // share of the processors used by other programs
	IterationMS  float64           `json:"iteration_ms"`   // mean
	Incomparable int               `json:"not_comparable"` // excluded changes: disturbed by other programs, or with too few iterations before
	Changes      int               `json:"changes"`
}

// SizeCalibration holds the results for effects of one size.
type SizeCalibration struct {
	Size       float64 `json:"size"` // 0.02 is 2 %
	ByKey      Tally   `json:"by_key"`
	Replicated Tally   `json:"replicated"`
	Pressed    Tally   `json:"pressed"`
	Ablation   Tally   `json:"ablation"`
	Seconds    float64 `json:"replicated_seconds"` // time to the verdict, mean over the replications
	Longest    float64 `json:"replicated_seconds_longest"`
	Decided    float64 `json:"pressed_seconds"` // until the end of a decision, mean over the presses
	Slowest    float64 `json:"pressed_seconds_longest"`
}

// Tally counts verdicts.
type Tally struct {
	N       int     `json:"n"`
	Found   float64 `json:"found"`   // share called faster or slower; false positives for size 0
	Equal   float64 `json:"equal"`   // share called equal
	Covered float64 `json:"covered"` // share of intervals that contain the true value
	// Ratio is the mean of the estimates that were called faster or slower over the true effects; 1 if they are right
	// on average, absent without one or without an effect.
	Ratio  float64 `json:"found_ratio,omitempty"`
	ratios int
}

// add counts a verdict on an estimate of a true effect.
func (t *Tally) add(found, equal, covered bool, estimate, truth float64) {
	t.N++
	if found && truth != 0 {
		t.ratios++
		t.Ratio += (estimate/truth - t.Ratio) / float64(t.ratios)
	}
	count := func(share *float64, is bool) {
		hit := 0.0
		if is {
			hit = 1
		}
		*share += (hit - *share) / float64(t.N)
	}
	count(&t.Found, found)
	count(&t.Equal, equal)
	count(&t.Covered, covered)
}

// spinner is a workload whose iterations can be extended by a share of their time by spinning,
// which no setting accounts for.
type spinner struct {
	workload.Maker
	share *float64
	phase string
}

func (s spinner) New(ctx context.Context, v settings.Values, in workload.Inputs) (workload.Task, error) {
	task, err := s.Maker.New(ctx, v, in)
	if err != nil {
		return nil, err
	}
	t := spinning{Task: task, share: s.share, phase: -1}
	for i, p := range task.Info().Schema.Phases {
		if p.Name == s.phase {
			t.phase = i
		}
	}
	return t, nil
}

type spinning struct {
	workload.Task
	share *float64
	phase int
}

// base is the share of an iteration that is spun without an injected effect too. While one thread
// spins, the others park, and waking them for the next iteration takes time: had the iterations
// without the effect no spin, an effect would be larger than what was injected.
const base = 0.1

// Iterate runs an iteration and extends it by the base and then by the present share.
func (s spinning) Iterate(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	start := time.Now()
	out, err := s.Task.Iterate(ctx, rec)
	took := time.Since(start) - time.Duration(rec.Retimed)
	spun := time.Duration(((1+base)*(1+*s.share) - 1) * float64(took))
	for end := time.Now().Add(spun); time.Now().Before(end); {
	}
	if s.phase >= 0 {
		rec.Phases[s.phase] += int64(spun)
	}
	return out, err
}

// calibrator is a calibration under way.
type calibrator struct {
	ctx     context.Context
	o       *CalibrateOptions
	run     *sim.Run
	share   float64 // spun at present
	effects effect.Tracker
	from    machine.Load // the last reading
	next    time.Time    // time of the next reading
	foreign float64      // share of other programs at the last reading
	began   machine.Load
	index   int64
	changes uint32
	total   time.Duration
}

// Calibrate injects effects of known size into a real run. It measures how often each method
// detects them, how often it reports an effect that is not there, and how accurate its estimates
// are. The methods are comparing the iterations before and after one change, and switching the
// change back and forth: within the time of a decision on a press, until it is decided, and as an ablation does.
func Calibrate(ctx context.Context, o CalibrateOptions) (*Calibration, error) {
	c := &calibrator{ctx: ctx, o: &o}
	m := &measurement{ctx: ctx, report: &Report{}}
	run, err := m.middle(spinner{o.Maker, &c.share, o.Phase}, o.Settings)
	if err != nil {
		return nil, err
	}
	defer run.Close()
	c.run = run
	schema := run.Info().Schema
	if o.Phase != "" && !slices.ContainsFunc(schema.Phases, func(p profiles.PhaseInfo) bool {
		return p.Name == o.Phase
	}) {
		return nil, fmt.Errorf("flag --phase: %q: no phase of the workload %s", o.Phase, schema.Workload)
	}
	c.effects = effect.New(&schema)
	c.began = machine.ReadLoad()
	c.from = c.began
	out := &Calibration{Sizes: make([]SizeCalibration, len(o.Sizes))}
	for i, size := range o.Sizes {
		out.Sizes[i].Size = size
	}
	if err := c.iterate(10 * effect.Window); err != nil { // the run's own drift
		return nil, err
	}
	all := len(o.Sizes) * (o.Changes + o.Replicas + o.Presses + o.Ablations)
	done := 0
	told := func() {
		if done++; o.Progress != nil {
			o.Progress(done, all)
		}
	}
	for n := range o.Changes {
		for i := range o.Sizes {
			if err := c.byKey(n, &out.Sizes[i], out); err != nil {
				return nil, err
			}
			told()
		}
	}
	for n := range max(o.Replicas, o.Presses, o.Ablations) {
		for i := range o.Sizes {
			s := &out.Sizes[i]
			if n < o.Replicas {
				if err := c.replicate(s); err != nil {
					return nil, err
				}
				told()
			}
			if n < o.Presses {
				if err := c.press(n, s); err != nil {
					return nil, err
				}
				told()
			}
			if n < o.Ablations {
				v := o.Settings
				if err := c.play(ablation.Compare(v, []ablation.Pairing{spun(v)}, c.kinds()), 0, s.Size,
					&s.Ablation); err != nil {
					return nil, err
				}
				told()
			}
		}
	}
	out.ForeignCPU = machine.ReadLoad().Since(c.began).Foreign()
	out.IterationMS = c.total.Seconds() * 1e3 / float64(c.index)
	return out, nil
}

// errEnded is returned if the run ends during the calibration.
var errEnded = errors.New("bench calibrate: the run ended: it must not have an end")

// iterate runs n iterations and passes them to the tracker.
func (c *calibrator) iterate(n int) error {
	for range n {
		rec, done, err := c.run.Next(c.ctx)
		switch {
		case err != nil:
			return fmt.Errorf("bench calibrate: %w", err)
		case done:
			return errEnded
		}
		c.take(rec)
	}
	c.settle(true)
	return nil
}

// take passes an iteration to the tracker.
func (c *calibrator) take(rec *profiles.Iteration) {
	it := *rec
	it.Index, it.Changes = c.index, c.changes
	c.effects.Iteration(&it)
	c.index++
	c.total += time.Duration(rec.Total)
	c.settle(false)
}

// settle reads the load of the machine twice a second and settles the iterations until then.
func (c *calibrator) settle(now bool) {
	if !now && time.Now().Before(c.next) {
		return
	}
	load := machine.ReadLoad()
	share := load.Since(c.from).Foreign()
	if load.Since(c.from).Passed < 0.2 { // too short for the resolution of the system's counters
		load, share = c.from, c.foreign
	}
	c.foreign = share
	c.effects.Settle(math.MaxInt64, func(int64, int64) float64 { return share })
	c.from, c.next = load, time.Now().Add(batch)
}

// byKey changes the share to a size or back to 0, and tallies the verdict.
func (c *calibrator) byKey(n int, s *SizeCalibration, out *Calibration) error {
	truth, before := s.Size, "off"
	c.share = 0
	if n%2 == 1 {
		c.share, truth, before = s.Size, 1/(1+s.Size)-1, "on"
	}
	if err := c.iterate(c.o.Every); err != nil {
		return err
	}
	after := map[string]string{"off": "on", "on": "off"}[before]
	c.effects.Change(profiles.Change{Key: "spin", Before: before, After: after, Iteration: c.index})
	c.changes++
	c.share = s.Size - c.share
	if err := c.iterate(c.o.Every); err != nil {
		return err
	}
	effects, _ := c.effects.View()
	e := &effects[len(effects)-1]
	c.effects.Cut(profiles.Change{Iteration: c.index}) // the next size starts afresh
	c.changes++
	out.Changes++
	if v := e.Verdict(); v != profiles.Unknown && v != profiles.Invalid {
		s.ByKey.add(v == profiles.Faster || v == profiles.Slower, v == profiles.Equal, holds(truth, e.Low, e.High),
			e.Shift, truth)
	} else {
		out.Incomparable++
	}
	return nil
}

// spun is the switching of the share, which changes none of the settings v.
func spun(v settings.Values) ablation.Pairing {
	return ablation.Pairing{Key: "spin", Off: "off", On: "on", Before: v, After: v}
}

// kinds are the options of a schedule that knows which iterations of the run are comparable.
func (c *calibrator) kinds() ablation.Options {
	return ablation.Options{Kinds: c.run.Info().Schema.Kinds}
}

// replicate switches a share back and forth until a look decides it.
func (c *calibrator) replicate(s *SizeCalibration) error {
	v := c.o.Settings
	began := time.Now()
	if err := c.play(ablation.Replicate(v, spun(v), 0, c.kinds()), 0, s.Size, &s.Replicated); err != nil {
		return err
	}
	averaged(&s.Seconds, &s.Longest, time.Since(began), s.Replicated.N)
	return nil
}

// press changes the share to a size, or from it to 0 by turns, as a press of a key would, and decides that.
func (c *calibrator) press(n int, s *SizeCalibration) error {
	v, o := c.o.Settings, c.kinds()
	o.Within = profiles.DecisionTime
	before, after := 0.0, s.Size
	if n%2 == 1 {
		before, after = after, before
	}
	c.share = before
	for range effect.Window { // the press falls into a run that has gone on for a while
		if _, err := c.uncompared(); err != nil {
			return err
		}
	}
	began := time.Now()
	if err := c.play(ablation.Replicate(v, spun(v), 0, o), before, after, &s.Pressed); err != nil {
		return err
	}
	averaged(&s.Decided, &s.Slowest, time.Since(began), s.Pressed.N)
	return nil
}

// averaged adds the n-th time to a mean and a maximum, in seconds.
func averaged(mean, longest *float64, took time.Duration, n int) {
	*mean += (took.Seconds() - *mean) / float64(n)
	*longest = max(*longest, took.Seconds())
}

// uncompared runs an iteration that is not compared by key.
func (c *calibrator) uncompared() (*profiles.Iteration, error) {
	rec, done, err := c.run.Next(c.ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("bench calibrate: %w", err)
	case done:
		return nil, errEnded
	}
	c.index++
	c.total += time.Duration(rec.Total)
	return rec, nil
}

// play runs a schedule of one row, between two shares, to its end and tallies its verdict.
func (c *calibrator) play(schedule *ablation.Schedule, off, on float64, tally *Tally) error {
	for !schedule.Done() {
		c.share = off
		if schedule.On() {
			c.share = on
		}
		rec, err := c.uncompared()
		if err != nil {
			return err
		}
		if schedule.Add(rec) {
			schedule.Look(math.NaN(), profiles.Memory{})
		}
	}
	c.share = 0
	row, truth := schedule.View().Rows[0], (1+on)/(1+off)-1
	j := row.Judge()
	tally.add(j == profiles.Saves || j == profiles.Costs, j == profiles.SameTime, holds(truth, row.Low, row.High),
		row.Effect, truth)
	return nil
}

// WriteCalibration writes a calibration as a table of text.
func WriteCalibration(w io.Writer, c *Calibration) error {
	var d report.Document
	changes := ""
	if c.Changes > 0 {
		changes = fmt.Sprintf("%s, %d of them not comparable; ", unit.Plural(c.Changes, "change", "changes"),
			c.Incomparable)
	}
	d.Paragraph("%sother programs took %.0f %% of the processors; %.2f ms an iteration", changes, 100*c.ForeignCPU,
		c.IterationMS)
	t := d.Table()
	t.Align = "r"
	groups, head := []string{""}, []string{"effect"}
	for _, group := range []string{"by key", "pressed", "replicated", "ablation"} {
		groups, head = append(groups, group, "", "", ""), append(head, "found", "equal", "covered", "n")
		if group == "pressed" || group == "replicated" {
			groups, head = append(groups, ""), append(head, "seconds")
		}
	}
	t.Add(groups...)
	t.Add(head...)
	for _, s := range c.Sizes {
		t.Add(slices.Concat([]string{fmt.Sprintf("%g %%", 100*s.Size)}, tallied(s.ByKey), tallied(s.Pressed),
			[]string{seconds(s.Decided, s.Pressed.N)},
			tallied(s.Replicated), []string{seconds(s.Seconds, s.Replicated.N)}, tallied(s.Ablation))...)
	}
	for _, s := range c.Sizes {
		for _, m := range []struct {
			name string
			t    *Tally
		}{{"by key", &s.ByKey}, {"pressed", &s.Pressed}, {"replicated", &s.Replicated}, {"ablation", &s.Ablation}} {
			if m.t.ratios > 0 {
				d.Paragraph("%s, effects of %g %% that were found: estimates of %.2f times the true one on average",
					m.name, 100*s.Size, m.t.Ratio)
			}
		}
	}
	d.Paragraph("found: called faster or slower, which is false for 0 %%; covered: the interval holds the " +
		"injected effect")
	return d.WriteText(w, 0)
}

// seconds formats the mean time of n verdicts.
func seconds(mean float64, n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", mean)
}

func tallied(t Tally) []string {
	if t.N == 0 {
		return []string{"–", "–", "–", "0"}
	}
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	return []string{share(t.Found), share(t.Equal), share(t.Covered), fmt.Sprint(t.N)}
}

// holds reports whether an interval holds the truth.
func holds(truth, low, high float64) bool {
	return !stats.Claim{From: truth, To: truth}.Judge(low, high).Excluded()
}
