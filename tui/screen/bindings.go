package screen

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// This file derives the key bindings of a run from the table of its settings.

// bindings are a run's key bindings, used for dispatch, footer, help and the manuals.
type bindings struct {
	table    *settings.Table
	can      profiles.Kinds
	run      []binding
	play     []binding // of a replay
	settings []binding // change settings of the run, at the next iteration boundary
	tuning   []binding // beyond single settings, or for settings not in the list above
	footer   []binding // settings shown in the footer
	picks    []string  // settings in the value list
}

// bindingsOf returns the bindings for a table of settings and the commands that its source carries out. Settings
// that are not in the table have no keys.
func bindingsOf(t *settings.Table, can profiles.Kinds) *bindings {
	b := &bindings{table: t, can: can, run: possible(runKeys, can), play: possible(playKeys, can)}
	if !can.Has(profiles.SetCommand) {
		b.tuning = possible(tuningKeys(t, nil), can)
		return b
	}
	b.picks = listedSettings(t)
	b.settings = pressesOf(t, func(p settings.Press) bool { return !p.Tuning })
	b.tuning = slices.Concat(possible(tuningKeys(t, b.picks), can), pressesOf(t, func(p settings.Press) bool { return p.Tuning }))
	if k, ok := t.Lookup(settings.Device); ok && len(k.Presses) == 0 {
		b.tuning = append(b.tuning, binding{Binding: bind("U", "device", "U"), run: does((*Model).otherDevice)})
	}
	b.footer = foremost(b.settings)
	return b
}

// possible returns the bindings of the commands that the source carries out.
func possible(table []binding, can profiles.Kinds) []binding {
	return slices.DeleteFunc(slices.Clone(table), func(b binding) bool { return !can.Has(b.needs...) })
}

// tuningKeys returns the bindings beyond single settings: the settings pane, the value list,
// ablation, undo, bookmarks.
func tuningKeys(t *settings.Table, picks []string) []binding {
	keys := []binding{
		{Binding: bind(",", "all settings", ","), run: does((*Model).toggleSettings), needs: profiles.Kinds{readCommand}},
	}
	if len(picks) > 0 {
		keys = append(keys, binding{Binding: bind(".", "choose "+namedFirst(t, picks), "."),
			run: does((*Model).openPicks), action: profiles.Action("choose " + picks[0])})
	}
	if len(t.Compares()) > 0 {
		keys = append(keys, binding{Binding: bind("A", "ablation: start, stop", "A"), short: "ablate", rank: 3, during: true,
			run: does((*Model).toggleAblation), action: "ablate", needs: profiles.Kinds{profiles.AblateCommand}})
	}
	if off, _ := t.Everything(); len(off) > 1 {
		keys = append(keys, binding{Binding: bind("*", "everything off against on", "*"), run: does((*Model).compareEverything), needs: profiles.Kinds{profiles.ReplicateCommand}})
	}
	return append(keys,
		binding{Binding: bind("E", "replicate a change: its time", "E"), run: does((*Model).replicate), action: "replicate", needs: profiles.Kinds{profiles.ReplicateCommand}},
		binding{Binding: bind("Q", "fork a change: its quality", "Q"), run: does((*Model).forkQuality), action: "fork", needs: profiles.Kinds{profiles.ForkCommand}},
		binding{Binding: bind("u", "undo the last change", "u"), run: does((*Model).undo), needs: profiles.Kinds{profiles.SetCommand}},
		binding{Binding: bind("b", "bookmark, then 1-9", "b"), run: does((*Model).storeNext), needs: profiles.Kinds{profiles.SetCommand}},
		binding{Binding: bind("1-9", "apply a bookmark, or back", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
			run: does(func(m *Model) { m.digit(int(m.pressed[0] - '0')) }), needs: profiles.Kinds{profiles.SetCommand}})
}

// namedFirst names the first settings of the value list, at most as many as fit in a line of the
// help.
func namedFirst(t *settings.Table, picks []string) string {
	var names []string
	for _, key := range picks[:min(len(picks), 3)] {
		names = append(names, words.SettingName(t, key))
	}
	return strings.Join(names, ", ")
}

// isDigit reports whether a key names a bookmark.
func isDigit(key string) bool { return len(key) == 1 && key[0] >= '1' && key[0] <= '9' }

// pressesOf returns the bindings of the wanted keys that settings declare, ordered by Place.
func pressesOf(t *settings.Table, wanted func(settings.Press) bool) []binding {
	var bindings []binding
	for _, p := range words.Presses(t, wanted) {
		bindings = append(bindings, pressOf(p.Of, p.Press))
	}
	return bindings
}

// pressOf returns the binding of a key that a setting declares.
func pressOf(k *settings.Key, p settings.Press) binding {
	b := binding{Binding: bind(p.Key, p.Help, append([]string{p.Key}, p.Also...)...), run: does(func(m *Model) { m.move(k, p.Does) }), action: actionOf(k, p.Does)}
	if p.InFooter {
		b.short, b.rank, b.state = p.Footer, p.Rank, lamp(k.Name)
		if p.Width > 0 {
			b.state = text(k.Name, p.Width)
		} else {
			b.long = p.Help
		}
	}
	return b
}

// actionOf returns the name of a key's action, as used in advice.
func actionOf(k *settings.Key, how settings.Move) profiles.Action {
	verb := "switch"
	switch number := k.Type == settings.TypeInteger || k.Type == settings.TypeNumber; {
	case how == settings.MoveWrite:
		verb = "set"
	case number && how == settings.MoveNext:
		verb = "raise"
	case number && how == settings.MoveBefore:
		verb = "lower"
	case how == settings.MoveBefore:
		return "" // the opposite of another key's action
	}
	return profiles.Action(verb + " " + k.Name)
}

// footerSettings is the number of settings in the footer.
const footerSettings = 2

// foremost returns the bindings of settings in the footer: those of the lowest ranks, in their own order.
func foremost(keys []binding) []binding {
	shown := slices.DeleteFunc(slices.Clone(keys), func(b binding) bool { return b.state == nil })
	byRank := slices.Clone(shown)
	slices.SortStableFunc(byRank, func(a, b binding) int { return a.rank - b.rank })
	first := byRank[:min(footerSettings, len(byRank))]
	return slices.DeleteFunc(shown, func(b binding) bool {
		return !slices.ContainsFunc(first, func(f binding) bool { return f.Help() == b.Help() })
	})
}

// keyTable is a titled group of bindings.
type keyTable struct {
	title string
	keys  []binding
}

// tables returns all bindings.
func (b *bindings) tables() []keyTable {
	return slices.DeleteFunc([]keyTable{
		{"Settings, in force from the next iteration on", b.settings},
		{"The run", b.run},
		{"The replay", b.play},
		{"Tuning: all settings, ablation, undo, bookmarks", b.tuning},
		{"The screen", screenKeys},
	}, func(t keyTable) bool { return len(t.keys) == 0 })
}

// keyOf returns the key of an action named in advice, "" for none.
func (b *bindings) keyOf(action profiles.Action) string {
	for _, table := range b.tables() {
		for _, b := range table.keys {
			if b.action != "" && b.action == action {
				return b.Keys()[0]
			}
		}
	}
	return ""
}

// KeySections returns the keys for the manuals, for runs with the given settings, from the
// bindings used by the screen itself.
func KeySections(of *settings.Table) []widget.KeySection {
	var sections []widget.KeySection
	tables := bindingsOf(of, everyKind()).tables()
	tables = slices.Insert(tables, len(tables)-1, keyTable{"A replay, whose other keys are those of the screen", playKeys})
	for _, t := range tables {
		s := widget.KeySection{Title: t.title}
		for _, b := range t.keys {
			s.Keys = append(s.Keys, widget.ManualKey{Keys: b.Keys(), Does: b.Help().Desc})
		}
		sections = append(sections, s)
	}
	return sections
}
