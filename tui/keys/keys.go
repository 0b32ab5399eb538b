// Package keys owns the keys of the user interface: which key an action has, its name in the footer, the
// order in which footer entries are dropped, its sentence in the help, and the user's own choices in keys.toml.
// Everything else names actions, and asks a Table for their keys.
package keys

import (
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// Row is an action with its keys.
type Row struct {
	Action profiles.Action
	// Command is the command that it asks the run for; empty if it needs none. A row whose command the run does not
	// carry out is not there.
	Command profiles.CommandKind
	Keys    []string // as a terminal names them; texts name the first
	Shown   string   // in place of the first in lists, such as "1-9"; empty for none
	Help    string   // what it does, in the help and the manuals

	// Short is its name in the footer, and Long the one where there is room; without any it is not there.
	Short, Long string
	// Rank is its priority in the footer: the lowest ranks are there, and a narrow one drops the highest first.
	Rank int
	// During and Afterwards restrict it in the footer to a run in progress, and to one that is over.
	During, Afterwards bool

	// Words are the command of line mode that does the same; empty for none.
	Words string
	// Fixed keys cannot be changed.
	Fixed bool
	// Replayed is set if an action on a run has a meaning in a replay too.
	Replayed bool

	// Setting is the setting that a press changes, and Move how; nil for other actions.
	Setting *settings.Key
	Move    settings.Move
}

// Name returns the keys as lists show them.
func (r *Row) Name() string {
	switch {
	case r.Shown != "":
		return r.Shown
	case len(r.Keys) == 0:
		return ""
	}
	return shown(r.Keys[0])
}

// shown returns a key as texts show it.
func shown(key string) string { return strings.Replace(key, "shift+", "⇧", 1) }

// Has reports whether a pressed key is one of the row's.
func (r *Row) Has(pressed string) bool { return slices.Contains(r.Keys, pressed) }

// Section is a titled group of rows, in the order of the help.
type Section uint8

// The sections. Those of the live screen are the first five.
const (
	Settings Section = iota
	Run
	Replay
	Tuning
	Screen
	RunsOne
	RunsMarked
	RunsRows
	Sessions
	Sweep
	Comparison
	Page
	sections
)

// place is a screen, on which a key has one meaning; places can be combined.
type place uint8

const (
	live place = 1 << iota
	replay
	runs
	sessionList
	sweep
	comparison
)

// places are the screens that have a section's rows.
var places = [sections]place{live, live, replay, live, live | replay, runs, runs, runs, sessionList, sweep, comparison,
	runs | sessionList | sweep | comparison}

// at returns the screens that have a row of a section.
func (s Section) at(r *Row) place {
	if r.Replayed {
		return places[s] | replay
	}
	return places[s]
}

// Title returns the section's heading on its screen.
func (s Section) Title() string {
	return [sections]string{
		"Settings, in force from the next iteration on",
		"The run",
		"The replay",
		"Tuning: all settings, ablation, undo, bookmarks",
		"The screen",
		"The selected run",
		"Marked runs, or the selected one",
		"The rows",
		"The selected session",
		"The arms of a sweep",
		"The comparison",
		"The page",
	}[s]
}

// Table is the keys in force on all screens, those of a run for the settings of its workload. It is not
// changed once it is made.
type Table struct {
	of    *settings.Table
	rows  [sections][]Row
	panes []Row // those of panes as they are without the user's choices
}

// Rows returns the rows of a section, which the caller must not modify.
func (t *Table) Rows(s Section) []Row { return t.rows[s] }

// Only returns the table of the rows for which has returns true.
func (t *Table) Only(has func(Section, *Row) bool) *Table {
	some := &Table{of: t.of, panes: t.panes}
	for s, rows := range t.rows {
		for i := range rows {
			if has(Section(s), &rows[i]) {
				some.rows[s] = append(some.rows[s], rows[i])
			}
		}
	}
	return some
}

// find returns the row of an action, nil for none.
func (t *Table) find(a profiles.Action) *Row {
	if t == nil || a == "" {
		return nil
	}
	for s := range t.rows {
		for i := range t.rows[s] {
			if t.rows[s][i].Action == a {
				return &t.rows[s][i]
			}
		}
	}
	verb, about, _ := strings.Cut(string(a), " ")
	if k, _ := t.of.Lookup(about); verb == choose && k.Listed > 0 || verb == "view" && about != "" {
		return t.find(profiles.Action(verb))
	}
	return nil
}

// Of returns the key of an action as texts name it, "" if it has none here.
func (t *Table) Of(a profiles.Action) string {
	r := t.find(a)
	if r == nil || len(r.Keys) == 0 {
		return ""
	}
	return shown(r.Keys[0])
}

// Is reports whether a pressed key is one of an action's.
func (t *Table) Is(a profiles.Action, pressed string) bool {
	r := t.find(a)
	return r != nil && r.Has(pressed)
}

// Say returns a sentence with the keys of the actions that it names.
func (t *Table) Say(sentence profiles.Advice) string { return sentence.Text(t.Of) }

// Words returns the command of line mode for an action, "" if there is none.
func (t *Table) Words(a profiles.Action) string {
	r := t.find(a)
	switch {
	case r == nil:
		return ""
	case r.Setting != nil:
		return r.Setting.Name + "=VALUE"
	}
	return r.Words
}

// InPane returns the name under which a focused pane knows a pressed key: that of its default. A key that has
// another meaning now is "" there.
func (t *Table) InPane(pressed string) string {
	for i := range t.panes {
		if t.Is(t.panes[i].Action, pressed) {
			return t.panes[i].Keys[0]
		}
	}
	for i := range t.panes {
		if t.panes[i].Has(pressed) {
			return ""
		}
	}
	return pressed
}

// Hint returns the key that has the meaning of a default key of a pane.
func (t *Table) Hint(key string) string {
	for i := range t.panes {
		if t.panes[i].Has(key) {
			return t.Of(t.panes[i].Action)
		}
	}
	return key
}

// Changes returns the keys that change a setting, as texts show them.
func (t *Table) Changes(setting string) string {
	var all []string
	for _, s := range []Section{Settings, Tuning} {
		for i := range t.rows[s] {
			if r := &t.rows[s][i]; r.Setting != nil && r.Setting.Name == setting {
				all = append(all, minus(r.Keys[0]))
			}
		}
	}
	return strings.Join(all, " ")
}

// minus shows the key - as a sign that is as wide as +.
func minus(key string) string { return strings.ReplaceAll(key, "-", "−") }

// handy is the number of settings whose keys are named as examples.
const handy = 6

// Handy returns the keys of the foremost settings.
func (t *Table) Handy() string {
	var all []string
	for i := range t.rows[Settings] {
		if r := &t.rows[Settings][i]; r.Setting.Foremost > 0 && len(all) < handy {
			all = append(all, minus(r.Keys[0]))
		}
	}
	return strings.Join(all, " ")
}

// Mark returns the letter of a setting's changes in charts: its own or, where that is the key that changes it, the key
// in force. A nil table has no keys.
func (t *Table) Mark(of *settings.Table, setting string) rune {
	k, known := of.Lookup(setting)
	if !known || k.Mark == 0 {
		return '*'
	}
	for _, p := range k.Presses {
		if p.Key != string(k.Mark) {
			continue
		}
		if now := []rune(t.Of(ActionOf(k, p.Does))); len(now) == 1 {
			return now[0]
		}
	}
	return k.Mark
}

// ActionOf returns the name of an action that changes a setting.
func ActionOf(k *settings.Key, how settings.Move) profiles.Action {
	verb := "switch"
	switch number := k.Type == settings.TypeInteger || k.Type == settings.TypeNumber; {
	case how == settings.MoveWrite:
		verb = "set"
	case number && how == settings.MoveNext:
		verb = "raise"
	case number && how == settings.MoveBefore:
		verb = "lower"
	case how == settings.MoveBefore:
		verb = "back"
	}
	return profiles.Action(verb + " " + k.Name)
}
