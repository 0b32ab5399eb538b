package outside

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"prismtop/profiles"
	"prismtop/profiles/loop"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
)

// layout is how far the phases of equal PyTorch programs lie apart, each of 700 steps of 11 ms of a small CNN, made one
// after the other on a virtual machine with two processors: beyond what their blocks tell, by up to 10 % in 18 of 20
// pairs. Where PyTorch's threads and memory come to lie decides it for as long as a process lives.
//
// keptLayout holds where malloc keeps the memory that they free from their start: the medians of eight processes that
// ran by turns were within 3 % of the middle one, with their own error, and had a standard deviation of 1.3 %.
const layout, keptLayout = 0.1, 0.03

// Schema makes the schema of a loop.
func Schema(g *loop.Greeting) profiles.Schema {
	s := profiles.Schema{
		Workload: Name, Unit: profiles.Unit{One: cmp.Or(g.Unit.One, "epoch"), Many: cmp.Or(g.Unit.Many, "epochs")},
		Stages: []string{"training"}, Quality: g.Quality, Layout: layout,
		Tips: []profiles.AlertAdvice{
			{Alert: "not-finite", Try: "The program trains on: end it by {interrupt|an interrupt}, and start it with " +
				"a lower learning rate or clipped gradients."},
			{Alert: "plateau", Try: "End the program by {interrupt|an interrupt} or try other settings: the quality " +
				"chart shows since when it stands."},
		},
	}
	if g.Kept {
		s.Layout = keptLayout
	}
	for _, k := range g.Kinds {
		s.Kinds = append(s.Kinds, profiles.KindInfo{Name: visible.Text(k.Name), Units: true, Aside: k.Aside})
	}
	for _, p := range g.Phases {
		s.Phases = append(s.Phases, profiles.PhaseInfo{Name: visible.Text(p.Name), What: visible.Text(p.What)})
	}
	for _, x := range g.Series {
		s.Series = append(s.Series, profiles.SeriesInfo{
			Name: visible.Text(x.Name), Title: visible.Text(cmp.Or(x.Title, x.Name)), Unit: visible.Text(x.Unit),
			Each: x.Each, Better: map[string]profiles.Direction{"less": profiles.LessIsBetter,
				"more": profiles.MoreIsBetter}[x.Better],
			Group: map[string]string{"losses": profiles.Losses, "metrics": profiles.Metrics}[x.Group],
		})
	}
	for _, c := range g.Caches {
		title := visible.Text(cmp.Or(c.Title, c.Name))
		s.Caches = append(s.Caches, profiles.CacheInfo{Name: visible.Text(c.Name), Title: title, Long: title + " cache",
			Setting: c.Setting, What: visible.Text(c.What)})
	}
	for _, m := range g.Memory[:min(len(g.Memory), profiles.MaxMemory)] {
		s.Memory = append(s.Memory, profiles.MemoryInfo{Name: visible.Text(m.Name), Parameters: m.Model})
	}
	for _, p := range g.Pictures {
		s.Pictures = append(s.Pictures, profiles.PictureInfo{Name: visible.Text(p.Name), Live: p.Live})
	}
	return s
}

// wishes are the keys that suit the knobs of PyTorch.
var wishes = map[string]string{
	"autocast": "a", "optimizer": "o", "matmul": "p", "threads": "+", "compile": "C", "checkpointing": "k", "gc": "G",
	"layout": "l", "attention": "t", "cudnn_benchmark": "b",
	"keep_memory": "m",
}

// letter returns the key that a knob of the program's own asks for: a letter of its name that no knob of PyTorch's has.
func letter(name string, knobs []loop.Knob) string {
	for _, r := range name + strings.ToUpper(name) {
		taken := func(k loop.Knob) bool { return k.Why == "" && wishes[k.Key] == string(r) }
		if unicode.IsLetter(r) && !slices.ContainsFunc(knobs, taken) {
			return string(r)
		}
	}
	return name[:1]
}

// Table makes the table of a loop's settings, and the preset with the values in force.
func Table(g *loop.Greeting) (preset.Shelf, error) {
	var entries []settings.Entry
	foremost := 0
	for i := range g.Knobs {
		k := &g.Knobs[i]
		e := entry(k)
		if k.Why != "" {
			entries = append(entries, e.Fixed(k.Why))
			continue
		}
		e = e.Live().Touches(k.Touches...).Called(visible.Text(strings.ReplaceAll(k.Key, "_", " ")), mark(k.Key))
		foremost++
		move := settings.MoveNext
		if len(k.Compared) == 2 && len(k.Values) > 1 && k.Type != loop.Bool {
			move = settings.MoveToggle
			e = e.Listed(i + 1)
		}
		e = e.Press(cmp.Or(wishes[k.Key], letter(k.Key, g.Knobs)), move,
			visible.Text(strings.ReplaceAll(k.Key, "_", " "))).Foremost(foremost)
		switch k.Price {
		case loop.Cheap:
			e = e.Revertible()
		case loop.Dear:
			e = e.Costs(settings.Dear)
		case loop.ByEpoch:
			e = e.Costs(settings.Epoch)
		}
		if off, on, ok := compared(k); ok {
			e = e.Compared(i+1, off, on).Everything()
			if foremost <= settings.MostFactors {
				e = e.Factor(k.Key, on)
			}
		}
		entries = append(entries, e)
	}
	entries = append(entries,
		settings.Switch("The loop", settings.LayerProfile, "time the modules of the model in about one step a second").
			Live().Touches().Limit().Called("layer profile", 'y').Press("y", settings.MoveNext, "layer profile"),
		settings.Deciding("The loop"), settings.IterationLimit("Limits of the run"),
		settings.TimeLimit("Limits of the run"))
	declared := settings.NewTable(Name, nil, entries...)
	v := initial(g, declared)
	t, err := declared.Described(v)
	if err != nil {
		return preset.Shelf{}, fmt.Errorf("the knobs of the loop: %w", err)
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "description = %q\n", "the values with which "+visible.Text(g.Script)+" began")
	if err := v.Write(b, nil); err != nil {
		return preset.Shelf{}, err
	}
	return preset.Shelf{Table: t, Default: Name, Text: b.String()}, nil
}

// entry declares the setting of a knob.
func entry(k *loop.Knob) settings.Entry {
	group, help := "PyTorch", visible.Text(k.Help)
	if k.Declared {
		group = "The program"
	}
	switch {
	case k.Type == loop.Bool:
		return settings.Switch(group, k.Key, help)
	case k.Type == loop.Number && k.Integer:
		return settings.Integer(group, k.Key, "", help, k.Low, k.High)
	case k.Type == loop.Number:
		return settings.Number(group, k.Key, "", help, k.Low, k.High)
	}
	return settings.Text(group, k.Key, help, k.Values...)
}

// compared returns the two values that an ablation compares; ok is false for none that the loop takes.
func compared(k *loop.Knob) (off, on string, ok bool) {
	if len(k.Compared) != 2 || k.Price != loop.Cheap || k.Refused[k.Compared[0]]+k.Refused[k.Compared[1]] != "" {
		return "", "", false
	}
	return tableValue(k, k.Compared[0]), tableValue(k, k.Compared[1]), true
}

// mark is the letter of a knob in charts.
func mark(key string) rune { return rune(cmp.Or(wishes[key], key)[0]) }

// tableValue is a value of a knob as its setting has it.
func tableValue(k *loop.Knob, value string) string {
	if k.Type == loop.Bool {
		return strconv.FormatBool(value == "on")
	}
	return value
}

// loopValue is the value of a knob among settings, as the loop has it.
func loopValue(k *loop.Knob, v settings.Values) string {
	if k.Type == loop.Bool {
		return map[bool]string{true: "on", false: "off"}[v.On(k.Key)]
	}
	return v.Get(k.Key)
}

// initial returns the values with which the loop began.
func initial(g *loop.Greeting, t *settings.Table) settings.Values {
	v := t.Zero()
	for i := range g.Knobs {
		k := &g.Knobs[i]
		if next, err := v.Set(k.Key, tableValue(k, k.Value)); err == nil {
			v = next
		}
	}
	if next, err := v.Set(settings.Decide, settings.DecideAuto); err == nil {
		v = next
	}
	return v
}
