package runreport

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/export/digest"
	"prismtop/profiles/unit"
)

// The sections of a report.

// section is a part of a report: a table, or a sentence where it would be empty.
type section struct {
	ID, Title string
	Intro     string
	Head      []string
	Rows      [][]string
	Align     string // of the columns, as in report.Table
	Folded    bool   // long, and seldom wanted
}

// facts are what a report says about a run.
type facts struct {
	digest  *digest.Digest
	newest  *profiles.Snapshot
	summary *export.Summary
	from    export.Source
}

// sections returns the parts of a report in their order; those on what a run did not have are left out.
func (f *facts) sections() (all []section) {
	for _, s := range []section{
		f.overview(), f.changes(), f.annotations(), f.forks(), f.ablation(), f.alerts(), f.quality(), f.phases(),
		f.caches(), f.memory(), f.layers(), f.differences(), f.machine(), f.starts(), f.notes(), f.settings(),
	} {
		if s.ID != "" {
			all = append(all, s)
		}
	}
	noted := f.earlierAnnotations()
	from := f.from
	from.Cut, from.Why = "", "" // of the newest start
	for i := range f.digest.Starts {
		if d := f.digest.Starts[i].Whole; d != nil {
			s := d.Snapshot()
			for len(noted) > 0 && noted[0].start < s.Start {
				all, noted = append(all, noted[0].section), noted[1:]
			}
			all = append(all, (&facts{d, s, export.Summarize(s, from), from}).earlier(f.digest)...)
			if len(noted) > 0 && noted[0].start == s.Start {
				all, noted = append(all, noted[0].section), noted[1:]
			}
		}
	}
	for _, n := range noted {
		all = append(all, n.section)
	}
	return all
}

// ofStart is a section with the number of the start that it is about, from 0.
type ofStart struct {
	section
	start int
}

// of returns a section as one about an earlier start, numbered from 0.
func (s section) of(start int) section {
	s.ID = fmt.Sprintf("start-%d-%s", start+1, s.ID)
	s.Title = fmt.Sprintf("Start %d: %s", start+1, s.Title)
	return s
}

// earlier returns the parts of a report on an earlier start, which have rows, with the number of the start;
// earlierAnnotations has its notes.
func (f *facts) earlier(newest *digest.Digest) (all []section) {
	for _, s := range []section{f.changes(), f.forks(), f.alerts(), f.quality(), f.phases(), f.caches(),
		f.otherwise(newest)} {
		if len(s.Rows) == 0 {
			continue
		}
		s.Folded = s.ID != "changes"
		if s.ID == "changes" {
			s.Intro = ""
		}
		all = append(all, s.of(f.newest.Start))
	}
	return all
}

// otherwise lists the settings at the end of an earlier start that the newest one began with otherwise.
func (f *facts) otherwise(newest *digest.Digest) section {
	s := section{ID: "settings", Title: "Settings that differ from the newest start",
		Head: []string{"Setting", "At its end", "Newest start"}}
	for _, key := range f.newest.Settings.Differing(newest.Settings) {
		s.Rows = append(s.Rows, []string{key, f.newest.Settings.Get(key), newest.Settings.Get(key)})
	}
	return s
}

// or returns a text, or a dash with the reason why there is none.
func or[T any](v *T, reason string, format func(T) string) string {
	if v == nil {
		return "– (" + reason + ")"
	}
	return format(*v)
}

func same(s string) string { return s }

func milliseconds(v float64) string { return unit.Duration(v * 1e6) }

// number formats a value with four digits.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return strings.Replace(strconv.FormatFloat(v, 'g', 4, 64), "-", "−", 1)
}

// overview says what the run was and how it ended.
func (f *facts) overview() section {
	sum := f.summary
	s := section{ID: "overview", Title: "Overview", Head: []string{"Fact", "Value"}}
	add := func(name, value string) { s.Rows = append(s.Rows, []string{name, value}) }
	add("Object", or(sum.Object, sum.ObjectReason, same))
	add("Preset", or(sum.Preset, sum.PresetReason, same))
	state := sum.State
	if why := cmp.Or(sum.Error, sum.EndedBy); why != "" {
		state += ": " + why
	}
	if f.from.Cut != "" && !strings.Contains(f.from.Why, state) {
		state += ": " + f.from.Why
	}
	add("State", state)
	if f.digest.Begun() {
		add("Began", f.digest.Began.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	ran := unit.Clock(time.Duration(sum.WallSeconds * float64(time.Second)))
	if sum.ResumedAfter > 0 {
		ran += " since it went on from the checkpoint" + sum.InAll()
	}
	add("Running time", ran)
	iterations := strconv.FormatInt(sum.Iterations, 10)
	if sum.ResumedAfter > 0 {
		iterations += fmt.Sprintf(", %d of them before the checkpoint from which it went on", sum.ResumedAfter)
	}
	add("Iterations", iterations)
	many := cmp.Or(f.newest.Run.Schema.Unit.Many, "units")
	done := strconv.Itoa(sum.Samples.Done)
	if sum.Samples.Total > 0 {
		done += fmt.Sprintf(" of %d", sum.Samples.Total)
	}
	if n := len(sum.Samples.Failed); n > 0 {
		done += fmt.Sprintf(", %d above the threshold", n)
	}
	add(strings.ToUpper(many[:1])+many[1:], done)
	if v := sum.IterationMS; v != nil {
		add("Iteration", fmt.Sprintf("median %s, 10th to 90th percentile %s to %s, of %s of the stage %s",
			milliseconds(v.Median), milliseconds(v.P10), milliseconds(v.P90),
			unit.Plural(v.N, "iteration", "iterations"), sum.Stage))
	} else {
		add("Iteration", "– ("+sum.IterationMSReason+")")
	}
	if disturbed := f.newest.Load.Disturbed(); disturbed != "" {
		add("Other programs", disturbed)
	}
	add("Seed", or(sum.Seed, sum.SeedReason, func(v uint64) string { return strconv.FormatUint(v, 10) }))
	add("Model", or(sum.Model, sum.ModelReason, func(m export.Model) string {
		return unit.Plural(m.Parameters, "parameter", "parameters")
	}))
	for _, c := range []struct {
		name string
		n    int64
	}{{"Skipped optimizer steps", sum.SkippedSteps}, {"Iterations with a loss that is not finite", sum.NonFinite},
		{"Events missing in this report", f.digest.Lost}} {
		if c.n > 0 {
			add(c.name, strconv.FormatInt(c.n, 10))
		}
	}
	add("Program", "prismtop "+sum.Version)
	return s
}

// changes lists the changes of settings and what they did.
func (f *facts) changes() section {
	s := section{ID: "changes", Title: "Changes and what they did",
		Head: []string{"", "Iteration", "At", "Change", "Time of an iteration", "95 % interval", "Verdict",
			"Quality meanwhile"}}
	if len(f.summary.Changes) == 0 {
		s.Intro = "No setting was changed during the run."
		return s
	}
	s.Intro = "Numbered as in the charts. The interval is that of the change of the median time of an iteration; one " +
		"that contains 0 leaves open whether there is an effect. The quality goes on changing while a run " +
		"trains: its difference is not the effect of the change alone. At counts pauses, the running time does not."
	quality := f.newest.Run.Schema.QualityInfo()
	for i := range f.summary.Changes {
		c := &f.summary.Changes[i]
		of := c.Quality(quality.Unit)
		if of != "–" {
			of = quality.Title + " " + of
		}
		s.Rows = append(s.Rows, []string{strconv.Itoa(i + 1), strconv.FormatInt(c.Iteration, 10),
			unit.Clock(time.Duration(c.AtSeconds * float64(time.Second))), c.What(), c.Medians(), c.Shift(),
			c.Verdict(), of})
	}
	return s
}

// annotations lists the notes that people wrote since the newest start.
func (f *facts) annotations() section { return annotationsOf(f.newest.Start, f.summary.Annotations) }

// annotationsOf lists those of a start.
func annotationsOf(start int, all []export.Annotation) section {
	s := section{ID: "annotations", Title: "Notes on the run", Head: []string{"Iteration", "At", "Author", "Note"}}
	for _, a := range all {
		if a.Start == start {
			s.Rows = append(s.Rows, []string{strconv.FormatInt(a.Iteration, 10),
				unit.Clock(time.Duration(a.AtSeconds * float64(time.Second))),
				cmp.Or(a.Author, "–"), a.Text})
		}
	}
	if len(s.Rows) == 0 {
		return section{}
	}
	return s
}

// earlierAnnotations lists the notes of the starts before, oldest first.
func (f *facts) earlierAnnotations() (all []ofStart) {
	for _, a := range f.summary.Annotations {
		if n := len(all); a.Start != f.newest.Start && (n == 0 || all[n-1].start != a.Start) {
			all = append(all, ofStart{annotationsOf(a.Start, f.summary.Annotations).of(a.Start), a.Start})
		}
	}
	return all
}

// forks lists what changes did to the result on equal terms.
func (f *facts) forks() section {
	s := section{ID: "forks", Title: "Changes on equal terms",
		Head: []string{"Change", "Series", "Before", "After", "Difference", "95 % interval", "Pairs"}, Align: "llr",
		Intro: "From the same points, the run went on under the settings before and after a change. Before and " +
			"after are means over the pairs; the difference is not theirs but Hodges and Lehmann's estimate over the " +
			"pairs' differences, which one outlier moves less."}
	for i := range f.summary.Changes {
		c := &f.summary.Changes[i]
		if c.Fork == nil {
			continue
		}
		for _, info := range f.newest.Run.Schema.Series {
			r := c.Fork.Series[info.Name]
			if r == nil {
				continue
			}
			interval := "–"
			if r.Equal {
				interval = "the same bits"
			} else if r.Interval != nil {
				interval = "[" + number(r.Interval[0]) + ", " + number(r.Interval[1]) + "]"
			}
			value := func(v *float64) string { return or(v, "not known", number) }
			s.Rows = append(s.Rows, []string{fmt.Sprintf("%d: %s", i+1, c.What()), info.Title, value(r.Before),
				value(r.After), value(r.Difference), interval, strconv.Itoa(c.Fork.Pairs)})
		}
	}
	if len(s.Rows) == 0 {
		return section{}
	}
	return s
}

// ablation is the newest ablation with a table.
func (f *facts) ablation() section {
	a := f.newest.Compared
	if a == nil || len(a.Rows) == 0 {
		return section{}
	}
	title := "Ablation"
	if a.Start < f.newest.Start {
		title += " before the restart"
	}
	s := section{ID: "ablation", Title: title,
		Head: []string{"Setting", "Off", "On", "Effect on the time of an iteration [95 % interval]", "Verdict"}}
	for i := range a.Rows {
		r := &a.Rows[i]
		effect := strings.TrimSpace(unit.SignedPercent(r.Effect))
		if !math.IsInf(r.Low, 0) && !math.IsInf(r.High, 0) && !math.IsNaN(r.Low) {
			effect = unit.ShareWithin(r.Effect, r.Low, r.High)
		}
		s.Rows = append(s.Rows, []string{r.Key, r.Off, r.On, effect, r.Conclusion()})
	}
	return s
}

// alerts lists the alerts of the run.
func (f *facts) alerts() section {
	s := section{ID: "alerts", Title: "Alerts", Head: []string{"Since", "Iteration", "Severity", "Alert", "Advice",
		"At the end"}}
	if len(f.digest.Alerts) == 0 {
		s.Intro = "No alert was raised."
		return s
	}
	for i := range f.digest.Alerts {
		a, state := &f.digest.Alerts[i], "cleared"
		if a.Standing {
			state = "standing"
		}
		s.Rows = append(s.Rows, []string{unit.Clock(a.Since), strconv.FormatInt(a.Iteration, 10), a.Severity.String(),
			a.What, a.Try.Text(nil), state})
	}
	return s
}

// quality lists the newest values of the series.
func (f *facts) quality() section {
	s := section{ID: "quality", Title: "Quality and losses", Head: []string{"Series", "At the end", "Unit"}}
	for i := range f.newest.Run.Schema.Series {
		info := &f.newest.Run.Schema.Series[i]
		if info.Internal {
			continue
		}
		value, reason := f.summary.Quality.Of(info.Name)
		text := "– (" + reason + ")"
		if v, ok := value.(*float64); ok && v != nil {
			text = number(*v)
		}
		title := info.Title
		if info.Group == profiles.Losses {
			title = "loss, " + title
		}
		s.Rows = append(s.Rows, []string{title, text, info.Unit})
	}
	if len(s.Rows) == 0 {
		return section{}
	}
	return s
}

// phases lists the times of the phases.
func (f *facts) phases() section {
	s := section{ID: "phases", Title: "Phases", Head: []string{"Phase", "What it does", "Median", "10th percentile",
		"90th percentile", "Share"}, Align: "llr"}
	for i, p := range f.summary.PhasesMS {
		what := f.newest.Run.Schema.Phases[i].What
		if p.Phase == nil {
			s.Rows = append(s.Rows, []string{p.Name, what, "– (" + p.Reason + ")", "–", "–", "–"})
			continue
		}
		s.Rows = append(s.Rows, []string{p.Name, what, milliseconds(p.Phase.Median), milliseconds(p.Phase.P10),
			milliseconds(p.Phase.P90), strings.TrimSpace(unit.PercentFine(p.Phase.Share))})
	}
	if len(s.Rows) == 0 {
		return section{}
	}
	if f.summary.Stage != "" {
		s.Intro = "Of the stage " + f.summary.Stage + ", without warm-up."
	}
	return s
}

// caches lists the counters of the caches.
func (f *facts) caches() section {
	s := section{ID: "caches", Title: "Caches", Head: []string{"Cache", "At the end", "Hits", "Misses", "Hit rate",
		"Entries", "Size", "Saved in all", "95 % interval"}, Align: "llr"}
	for i, c := range f.summary.Caches {
		state := "off"
		if c.Enabled {
			state = "on"
		}
		interval := "–"
		if c.SavedLowReason != "" {
			interval += " (" + c.SavedLowReason + ")"
		}
		if c.SavedLow != nil && c.SavedHigh != nil {
			low, high, of := unit.SecondsWithin(*c.SavedLow*1e6, *c.SavedHigh*1e6)
			interval = "[" + low + ", " + high + "] " + of
		}
		rate := or(c.HitRate, c.HitRateReason, func(v float64) string { return strings.TrimSpace(unit.HitRate(v)) })
		s.Rows = append(s.Rows, []string{f.newest.Run.Schema.Caches[i].Title, state, strconv.FormatInt(c.Hits, 10),
			strconv.FormatInt(c.Misses, 10), rate, strconv.FormatInt(c.Entries, 10), unit.Size(c.Bytes),
			or(c.SavedMS, c.SavedMSReason,
				func(ms float64) string { return strings.TrimSpace(unit.Seconds(ms * 1e6)) }), interval})
	}
	if len(s.Rows) == 0 {
		return section{}
	}
	s.Intro = "Counted since the run began. A negative saving is a cost."
	return s
}

// memory lists the memory of the run and of the process.
func (f *facts) memory() section {
	s := section{ID: "memory", Title: "Memory", Head: []string{"Memory", "Size"}, Align: "lr"}
	for _, v := range f.summary.Memory {
		text := "– (" + v.Reason + ")"
		if n, ok := v.Number.(*int64); ok && n != nil {
			text = unit.Size(*n)
		}
		name := v.Name
		if name == "rss_peak" {
			name = "process, at most"
		}
		s.Rows = append(s.Rows, []string{name, text})
	}
	return s
}

// layers lists the kernels of an iteration by their time, if they were profiled.
func (f *facts) layers() section {
	if len(f.newest.Layers) == 0 {
		return section{}
	}
	s := section{ID: "layers", Title: "Layers", Folded: true,
		Intro: "Mean times over the last half second in which they were profiled, longest first. The shares are of " +
			"this machine's peak rates.",
		Head:  []string{"Layer", "Phase", "Time", "Operations", "Bytes", "Of the peak rate", "Of the bandwidth"},
		Align: "llr"}
	layers := slices.Clone(f.newest.Layers)
	slices.SortStableFunc(layers, func(a, b profiles.Layer) int { return cmp.Compare(b.Nanos, a.Nanos) })
	for i := range layers {
		l := &layers[i]
		phase, compute, memory := "–", "–", "–"
		if int(l.Phase) < len(f.newest.Run.Schema.Phases) {
			phase = f.newest.Run.Schema.Phases[l.Phase].Name
		}
		if l.Judged {
			compute, memory = strings.TrimSpace(unit.Percent(l.Compute)), strings.TrimSpace(unit.Percent(l.Memory))
		}
		s.Rows = append(s.Rows, []string{l.Name, phase, strings.TrimSpace(unit.Seconds(l.Nanos)), unit.Count(l.FLOPs),
			unit.Size(l.Bytes), compute, memory})
	}
	return s
}

// isDifferent reports whether a setting differs from the preset: by its origin, or because it was changed.
func (f *facts) isDifferent(key string) bool {
	origin, known := f.from.Origins[key]
	return known && !strings.HasPrefix(origin, "preset ") || f.newest.Settings.Get(key) != f.digest.First.Get(key)
}

// setting is a row on a setting.
func (f *facts) setting(key string) []string {
	value := func(text string) string { return cmp.Or(text, "none") }
	start, now := f.digest.Settings.Get(key), f.newest.Settings.Get(key)
	k, _ := f.newest.Settings.Lookup(key)
	end := "the same"
	if start != now {
		end = value(now)
	}
	origin := cmp.Or(f.from.Origins[key], "not known")
	if start != f.digest.First.Get(key) {
		origin = "changed before the last start"
	}
	return []string{key, value(start), end, k.Unit, origin}
}

// settingHead are the columns of settings.
var settingHead = []string{"Setting", "At the start", "At the end", "Unit", "Origin"}

// differences lists the settings that differ from the preset.
func (f *facts) differences() section {
	s := section{ID: "differences", Title: "Settings that differ from the preset", Head: settingHead}
	for _, k := range f.digest.Settings.Keys() {
		if f.isDifferent(k.Name) {
			s.Rows = append(s.Rows, f.setting(k.Name))
		}
	}
	if len(s.Rows) == 0 {
		s.Intro = "None."
	}
	return s
}

// settings lists the others.
func (f *facts) settings() section {
	s := section{ID: "settings", Title: "All other settings", Head: settingHead, Folded: true}
	for _, k := range f.digest.Settings.Keys() {
		if !f.isDifferent(k.Name) {
			s.Rows = append(s.Rows, f.setting(k.Name))
		}
	}
	if len(s.Rows) == 0 {
		return section{}
	}
	return s
}

// machine describes the machine.
func (f *facts) machine() section {
	m := &f.summary.Machine
	return section{ID: "machine", Title: "Machine", Head: []string{"Part", "Value"}, Rows: [][]string{
		{"Processor", or(m.CPU, m.CPUReason, same)},
		{"Device", or(m.Device, m.DeviceReason, same)},
		{"Kernels", or(m.Kernels, m.KernelsReason, same)},
		{"Threads", or(m.Threads, m.ThreadsReason, strconv.Itoa)},
		{"GPU", or(m.GPU, m.GPUReason, same)},
	}}
}

// starts lists the starts before the newest.
func (f *facts) starts() section {
	if len(f.digest.Starts) == 0 {
		return section{}
	}
	s := section{ID: "starts", Title: "Earlier starts", Intro: "The run was started again, or went on from a " +
		"checkpoint. The charts, and the sections that name no start, are about the newest one; the newest earlier " +
		"ones have sections of their own.",
		Head: []string{"Began", "State", "Iterations", "Median iteration", "Quality at the end"}, Align: "llr"}
	quality := f.newest.Run.Schema.QualityInfo()
	for i := range f.digest.Starts {
		v := &f.digest.Starts[i]
		median := "–"
		if !math.IsNaN(v.MedianNS) {
			median = unit.Duration(v.MedianNS)
		}
		result := number(v.Quality)
		if result != "–" {
			result = strings.TrimSpace(quality.Title + " " + result + " " + quality.Unit)
		}
		state := v.State.String()
		if v.State < profiles.Finished { // another start began meanwhile
			state = "not finished"
		}
		s.Rows = append(s.Rows, []string{v.Began.UTC().Format("2006-01-02 15:04:05 UTC"), state,
			strconv.FormatInt(v.Iterations, 10), median, result})
	}
	return s
}

// notes lists the remarks of the preset on the run.
func (f *facts) notes() section {
	if len(f.summary.Notes) == 0 {
		return section{}
	}
	s := section{ID: "notes", Title: "Notes", Head: []string{"Note"}}
	for _, n := range f.summary.Notes {
		s.Rows = append(s.Rows, []string{n})
	}
	return s
}
