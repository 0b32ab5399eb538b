package sweep

import (
	"prismtop/profiles/report"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// The table as JSON, which docs/sweep.md describes. What is not known is null.

// Document is the table as JSON.
type Document struct {
	Schema     int            `json:"schema"`
	Version    string         `json:"version"` // of the program that froze the plan
	Folder     string         `json:"folder"`
	Reference  string         `json:"reference"`
	Replicates int            `json:"replicates"`
	Runs       map[string]int `json:"runs"` // by state
	Metric     *metricJSON    `json:"quality_metric"`
	Item       string         `json:"item,omitempty"` // of batches, as image: time_change is of one
	Judged     int            `json:"judged_differences"`
	Arms       []armJSON      `json:"arms"`
	Factorial  *factorialJSON `json:"factorial"`
	NoFactors  string         `json:"factorial_reason,omitempty"`
	Search     *Result        `json:"search,omitempty"`
}

type metricJSON struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Better string `json:"better"` // more or less
}

type armJSON struct {
	Name       string            `json:"name"`
	Set        map[string]string `json:"set"`
	Runs       map[string]int    `json:"runs"`
	Iterations int64             `json:"iterations"`
	Rate       *float64          `json:"iterations_per_second"` // of those that run
	MS         *estimateJSON     `json:"iteration_ms"`
	Each       *estimateJSON     `json:"item_ms,omitempty"` // where iterations are batches
	Seconds    *estimateJSON     `json:"seconds"`
	Quality    *estimateJSON     `json:"quality"`
	CPU        *estimateJSON     `json:"cpu_seconds"`
	Faster     *differenceJSON   `json:"time_change"`    // a ratio less 1
	Better     *differenceJSON   `json:"quality_change"` // in the quality's unit
	Front      bool              `json:"front"`
	Errors     []string          `json:"errors,omitempty"`
	Changes    []string          `json:"changes,omitempty"` // by screens, while its runs went on
}

type estimateJSON struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	N     int      `json:"n"`
}

type differenceJSON struct {
	estimateJSON
	Verdict string `json:"verdict"` // below, above, equal or undecided, for all differences together
	ByTurns bool   `json:"by_turns,omitempty"`
}

type factorialJSON struct {
	Replicates int          `json:"replicates"`
	Factors    []factorJSON `json:"factors"`
	Terms      []termJSON   `json:"terms"`
}

type factorJSON struct {
	Key string `json:"key"`
	Off string `json:"off"`
	On  string `json:"on"`
}

type termJSON struct {
	Of      []string        `json:"of"`
	Time    *differenceJSON `json:"time"`
	Quality *differenceJSON `json:"quality"`
}

// JSON returns the table for JSON.
func (t *Table) JSON(version string) Document {
	d := Document{Schema: Schema, Version: version, Folder: t.Folder, Reference: t.Reference, Replicates: t.Replicates,
		Runs: countsJSON(t.Counts),
		Item: t.Item, Judged: t.Judged, Arms: []armJSON{}, NoFactors: t.NoFactors, Search: t.Search}
	if t.Metric.Name != "" {
		d.Metric = &metricJSON{t.Metric.Name, t.Metric.Unit,
			map[bool]string{true: "less", false: "more"}[t.Metric.Less]}
	}
	for i := range t.Arms {
		r := &t.Arms[i]
		d.Arms = append(d.Arms, armJSON{Each: t.items(r).json(), Name: r.Name, Set: setJSON(r.Set),
			Runs: countsJSON(r.Counts), Iterations: r.Iterations, Rate: report.Finite(r.Rate), MS: r.MS.json(),
			Seconds: r.Seconds.json(), Quality: r.Quality.json(), CPU: r.CPU.json(), Faster: r.Faster.json(),
			Better: r.Better.json(), Front: r.Front, Errors: r.Errors, Changes: r.Changes})
	}
	if f := t.Factorial; f != nil {
		d.Factorial = &factorialJSON{Replicates: f.Runs}
		for _, one := range f.Factors {
			d.Factorial.Factors = append(d.Factorial.Factors, factorJSON(one))
		}
		for i := range f.Terms {
			term := termJSON{Time: f.Terms[i].Time.json(), Quality: f.Terms[i].Quality.json()}
			for _, of := range f.Terms[i].Of {
				term.Of = append(term.Of, f.Factors[of].Key)
			}
			d.Factorial.Terms = append(d.Factorial.Terms, term)
		}
	}
	return d
}

func countsJSON(of map[State]int) map[string]int {
	all := map[string]int{}
	for _, s := range []State{Waiting, Running, Interrupted, Done, Failed} {
		all[string(s)] = of[s]
	}
	return all
}

func setJSON(set []settings.Assignment) map[string]string {
	all := map[string]string{}
	for _, s := range set {
		all[s.Key] = s.Value
	}
	return all
}

func (e Estimate) json() *estimateJSON {
	if report.Finite(e.Value) == nil {
		return nil
	}
	return &estimateJSON{e.Value, report.Finite(e.Low), report.Finite(e.High), e.N}
}

func (d Difference) json() *differenceJSON {
	e := d.Estimate.json()
	if e == nil {
		return nil
	}
	verdict := "undecided"
	if d.Sure() {
		verdict = map[stats.Finding]string{stats.Below: "below", stats.Above: "above", stats.Within: "equal",
			stats.Undecided: verdict}[d.Finding]
	}
	return &differenceJSON{*e, verdict, d.ByTurns}
}
