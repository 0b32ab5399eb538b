package compare

import (
	"time"

	"prismtop/profiles"
	"prismtop/profiles/report"
)

// The types of this file are a comparison as JSON, which docs/compare.md describes. What is not known is
// null.

type comparisonJSON struct {
	Schema    int           `json:"schema"`
	Version   string        `json:"version"`
	Design    string        `json:"design"`
	Kind      *string       `json:"kind"`
	Sides     []sideJSON    `json:"sides"`
	Common    []commonJSON  `json:"common"`
	Rows      []rowJSON     `json:"rows"`
	Settings  []settingJSON `json:"settings"`
	Warnings  []warningJSON `json:"warnings"`
	Intervals int           `json:"intervals"`
	Miss      float64       `json:"miss"`
	Over      []overJSON    `json:"over,omitempty"`
	Undecided string        `json:"undecided,omitempty"`
}

type sideJSON struct {
	Name string    `json:"name"`
	Runs []runJSON `json:"runs"`
}

type runJSON struct {
	Path       string      `json:"path"`
	Stretch    string      `json:"stretch,omitempty"`
	Began      string      `json:"began"`
	Growing    bool        `json:"growing"`
	Program    string      `json:"program"`
	Preset     string      `json:"preset"`
	Workload   string      `json:"workload"`
	Object     string      `json:"object"`
	Picture    string      `json:"picture_sha256"`
	Processor  string      `json:"processor"`
	Device     string      `json:"device"`
	Kernels    string      `json:"kernels"`
	Threads    int         `json:"threads"`
	Seed       uint64      `json:"seed"`
	Iterations int64       `json:"iterations"`
	Seconds    float64     `json:"seconds"`
	Blocks     int         `json:"blocks"`
	LeftOut    leftOutJSON `json:"left_out"`
	Foreign    *float64    `json:"foreign_cpu"`
}

type leftOutJSON struct {
	WarmUp    int64 `json:"warm_up_iterations"`
	Disturbed int   `json:"disturbed_blocks"`
	Kinds     int64 `json:"other_kinds_iterations"`
	Settings  int64 `json:"other_settings_iterations"`
}

type commonJSON struct {
	Move   *float64 `json:"move"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Moved  bool     `json:"moved"`
	Judged bool     `json:"judged"`
	Text   string   `json:"text"`
}

type rowJSON struct {
	Group    string           `json:"group"`
	Name     string           `json:"name"`
	Title    string           `json:"title"`
	About    string           `json:"about,omitempty"`
	Unit     string           `json:"unit"`
	Better   *string          `json:"better"`
	Relative bool             `json:"relative"`
	Values   []valueJSON      `json:"values"`
	Against  []differenceJSON `json:"against_base"`
}

type valueJSON struct {
	Value  *float64 `json:"value"`
	Reason string   `json:"value_reason,omitempty"`
	At     *int64   `json:"iteration,omitempty"` // counted from 0, as in the summary and the CSV
	Blocks int      `json:"blocks"`
	Floor  *float64 `json:"floor"`
}

type differenceJSON struct {
	Raw     *float64 `json:"raw"`
	Value   *float64 `json:"value"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	Beside  bool     `json:"beside"`
	Verdict string   `json:"verdict"`
	Sense   string   `json:"sense"`
	Within  *float64 `json:"within"`
	Reason  string   `json:"reason,omitempty"`
}

type settingJSON struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
	Limit  bool     `json:"limit"`
}

type warningJSON struct {
	About string `json:"about"`
	Text  string `json:"text"`
}

type overJSON struct {
	Row  string `json:"row"`
	Side string `json:"side"`
}

// names of the designs and verdicts in JSON.
var (
	designs      = [...]string{Separate: "separate", Replicated: "replicated", Alternating: "alternating"}
	verdictNames = [...]string{NotComparable: profiles.Invalid.Name(), Faster: "faster", Slower: "slower", More: "more",
		Less: "less", Equal: "equal", InNoise: profiles.InNoise.Name()}
	senses = map[int]string{1: "better", 0: "neither", -1: "worse"}
)

// JSON returns the comparison for encoding/json. version is the program's; over are the rows beyond a
// limit and undecided says why that cannot be told, if there is a limit.
func (c *Comparison) JSON(version string, over []OverLimit, undecided string) any {
	out := comparisonJSON{Schema: 1, Version: version, Design: designs[c.Design], Intervals: c.Intervals, Miss: c.Miss,
		Undecided: undecided,
		Common:    []commonJSON{}, Settings: []settingJSON{}, Warnings: []warningJSON{}}
	if c.Kind != "" {
		out.Kind = &c.Kind
	}
	for i := range c.Sides {
		s := sideJSON{Name: c.Sides[i].Name, Runs: []runJSON{}}
		for j := range c.Sides[i].Runs {
			s.Runs = append(s.Runs, c.Sides[i].Runs[j].json())
		}
		out.Sides = append(out.Sides, s)
	}
	for _, m := range c.Common {
		out.Common = append(out.Common, commonJSON{report.Finite(m.Move), report.Finite(m.Low), report.Finite(m.High),
			m.Moved, m.Judged, m.Text})
	}
	for i := range c.Rows {
		out.Rows = append(out.Rows, c.Rows[i].json())
	}
	for _, s := range c.Settings {
		out.Settings = append(out.Settings, settingJSON(s))
	}
	for _, w := range c.Warnings {
		out.Warnings = append(out.Warnings, warningJSON(w))
	}
	for _, o := range over {
		out.Over = append(out.Over, overJSON{o.Row.Name, c.Sides[o.Side].Name})
	}
	return out
}

func (r *Run) json() runJSON {
	return runJSON{
		Path: r.Path, Stretch: r.Stretch, Began: r.Began.UTC().Format(time.RFC3339), Growing: r.Growing,
		Program: r.Program, Preset: r.Preset, Workload: r.Workload, Object: r.Object, Picture: r.Picture,
		Processor: r.Processor, Device: r.Device, Kernels: r.Kernels, Threads: r.Threads,
		Seed: r.Seed, Iterations: r.Iterations, Seconds: r.Seconds, Blocks: r.Blocks, LeftOut: leftOutJSON(r.LeftOut),
		Foreign: report.Finite(r.Foreign),
	}
}

func (r *Row) json() rowJSON {
	out := rowJSON{Group: r.Group.String(), Name: r.Name, Title: r.Title, About: r.About, Unit: r.Unit,
		Relative: !r.Absolute}
	better := map[profiles.Direction]string{profiles.LessIsBetter: "less", profiles.MoreIsBetter: "more"}[r.Better]
	if better != "" {
		out.Better = &better
	}
	for _, v := range r.Values {
		j := valueJSON{report.Finite(v.Value), v.Reason, nil, v.Blocks, report.Finite(v.Floor)}
		if at := v.At - 1; at >= 0 {
			j.At = &at
		}
		if j.Value == nil && j.Reason == "" {
			j.Reason = "it was not measured"
		}
		out.Values = append(out.Values, j)
	}
	for i := range r.Against {
		d := &r.Against[i]
		j := differenceJSON{Raw: report.Finite(d.Raw), Value: report.Finite(d.Value), Low: report.Finite(d.Low),
			High: report.Finite(d.High), Beside: d.Beside,
			Verdict: verdictNames[d.Verdict], Sense: senses[r.Sense(i)], Reason: d.Reason}
		if d.Verdict == Equal {
			j.Within = report.Finite(d.Within)
		}
		out.Against = append(out.Against, j)
	}
	return out
}
