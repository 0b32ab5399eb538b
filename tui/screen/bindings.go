package screen

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/words"
)

// This file is the keys of a run, by the table of its settings.

// bindings are the keys of a run: dispatch, footer, help and the manuals come from them.
type bindings struct {
	table    *settings.Table
	can      abilities
	run      []binding
	settings []binding // change settings of the run, at the next iteration boundary
	tuning   []binding // go beyond one setting, or change what settings leaves out
	footer   []binding // settings as the footer has them
	picks    []string  // the settings that the key of the list goes through
}

// bindingsOf are the keys of a run by the table of its settings and by what can be asked of
// it. A key of a setting that the table does not have is not among them.
func bindingsOf(t *settings.Table, can abilities) *bindings {
	b := &bindings{table: t, can: can, run: possible(runKeys, can)}
	if !can.has(canSet) {
		b.tuning = possible(tuningKeys(t, nil), can)
		return b
	}
	b.picks = listedSettings(t)
	b.settings = pressesOf(t, func(p settings.Press) bool { return !p.Tuning })
	b.tuning = slices.Concat(possible(tuningKeys(t, b.picks), can), pressesOf(t, func(p settings.Press) bool { return p.Tuning }))
	if _, ok := t.Lookup(settings.Device); ok {
		b.tuning = append(b.tuning, binding{Binding: bind("D", "device", "D"), run: does((*Model).otherDevice)})
	}
	b.footer = withPairs(t, b.settings)
	return b
}

// possible are the keys of a table for which a run can be asked.
func possible(table []binding, can abilities) []binding {
	return slices.DeleteFunc(slices.Clone(table), func(b binding) bool { return !can.has(b.needs) })
}

// tuningKeys are what goes beyond one setting: the pane of all of them, the list of values,
// ablation, undo, bookmarks.
func tuningKeys(t *settings.Table, picks []string) []binding {
	keys := []binding{
		{Binding: bind(",", "all settings", ","), short: "settings", rank: 3, run: does((*Model).toggleSettings), needs: canRead},
	}
	if len(picks) > 0 {
		keys = append(keys, binding{Binding: bind(".", "choose "+namedFirst(t, picks), "."),
			run: does((*Model).openPicks), action: profiles.Action("choose " + picks[0])})
	}
	if len(t.Compares()) > 0 {
		keys = append(keys, binding{Binding: bind("A", "ablation: start, stop", "A"), short: "ablate", rank: 4,
			run: does((*Model).toggleAblation), action: "ablate", needs: canAblate})
	}
	return append(keys,
		binding{Binding: bind("E", "replicate a change: its time", "E"), run: does((*Model).replicate), action: "replicate", needs: canReplicate},
		binding{Binding: bind("Q", "fork a change: its quality", "Q"), run: does((*Model).forkQuality), action: "fork", needs: canFork},
		binding{Binding: bind("u", "undo the last change", "u"), short: "undo", rank: 9, run: does((*Model).undo), needs: canSet},
		binding{Binding: bind("b", "bookmark, then 1-9", "b"), run: does((*Model).storeNext), needs: canSet},
		binding{Binding: bind("1-9", "apply a bookmark, or back", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
			run: does(func(m *Model) { m.digit(int(m.pressed[0] - '0')) }), needs: canSet})
}

// namedFirst names the first of the settings that the list goes through, as many as a line
// of the help has room for.
func namedFirst(t *settings.Table, picks []string) string {
	var names []string
	for _, key := range picks[:min(len(picks), 3)] {
		names = append(names, words.SettingName(t, key))
	}
	return strings.Join(names, ", ")
}

// isDigit says whether a key names a bookmark.
func isDigit(key string) bool { return len(key) == 1 && key[0] >= '1' && key[0] <= '9' }

// pressesOf are the keys that settings declare, of those that are wanted, in the order of
// their places.
func pressesOf(t *settings.Table, wanted func(settings.Press) bool) []binding {
	var bindings []binding
	for _, p := range words.Presses(t, wanted) {
		bindings = append(bindings, pressOf(p.Of, p.Press))
	}
	return bindings
}

// pressOf is a key that a setting declares.
func pressOf(k *settings.Key, p settings.Press) binding {
	b := binding{Binding: bind(p.Key, p.Help, append([]string{p.Key}, p.Also...)...), run: does(func(m *Model) { m.move(k, p.Does) }), action: actionOf(k, p.Does)}
	if p.InFooter {
		b.short, b.rank, b.state = p.Footer, p.Rank, lamp(k.Name)
		if p.Width > 0 {
			b.state = text(k.Name, p.Width)
		}
	}
	return b
}

// actionOf is what a key of a setting does, as advice names it.
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
		return "" // the other way round
	}
	return profiles.Action(verb + " " + k.Name)
}

// withPairs are the keys of settings that the footer has, with those that share a place
// there behind them: the letters of two keys, and the state that both change.
func withPairs(t *settings.Table, keys []binding) []binding {
	var shown []binding
	for _, b := range keys {
		if b.state != nil {
			shown = append(shown, b)
		}
	}
	for _, pair := range []struct {
		key string
		binding
	}{
		{"learning_rate", binding{short: "lr", rank: 5, state: text("learning_rate", 7), terse: true}},
		{settings.Threads, binding{short: "threads", rank: 6, state: threadCount, terse: true}},
	} {
		if k, ok := t.Lookup(pair.key); ok && len(k.Presses) > 0 {
			pair.Binding = bind(strings.ReplaceAll(words.KeysOf(k), " ", "/"), "")
			shown = append(shown, pair.binding)
		}
	}
	return shown
}

// keyTable is bindings with what they have in common.
type keyTable struct {
	title string
	keys  []binding
}

// tables is every binding there is.
func (b *bindings) tables() []keyTable {
	return slices.DeleteFunc([]keyTable{
		{"Settings, in force from the next iteration on", b.settings},
		{"The run", b.run},
		{"Tuning: all settings, ablation, undo, bookmarks", b.tuning},
		{"The screen", screenKeys},
	}, func(t keyTable) bool { return len(t.keys) == 0 })
}

// keyOf is the key of an action that advice names, empty for none.
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

// KeySection is a part of the manual's keys.
type KeySection struct {
	Title string
	Keys  []ManualKey
}

// ManualKey is what one or more keys do.
type ManualKey struct {
	Keys []string // as a terminal names them, "ctrl+l"
	Does string
}

// KeySections are the screen's keys for the manuals where a run has the settings of a table,
// from the bindings that the screen itself obeys.
func KeySections(of *settings.Table) []KeySection {
	var sections []KeySection
	for _, t := range bindingsOf(of, allAbilities).tables() {
		s := KeySection{Title: t.title}
		for _, b := range t.keys {
			s.Keys = append(s.Keys, ManualKey{b.Keys(), b.Help().Desc})
		}
		sections = append(sections, s)
	}
	return sections
}
