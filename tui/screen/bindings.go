package screen

import (
	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/keys"
)

// This file holds the keys of the run on screen: those of tui/keys for what this screen and the run are able to do, and
// what is said of a key whose command is not among that.

// bindings are the keys of the run on screen, used for dispatch, footer, help and sentences.
type bindings struct {
	*keys.Table
	able  profiles.Kinds
	all   *keys.Table // without regard to what the source carries out
	picks []string    // settings in the value list
}

// ownSections are the sections of this screen, in the order in which a key is looked up and the help lists them.
var ownSections = []keys.Section{keys.Settings, keys.Run, keys.Replay, keys.Tuning, keys.Screen}

// bindingsOf returns the keys for a table of settings and the commands that its source carries out, as the user chose
// them. Settings that are not in the table have no keys. A choice that cannot be obeyed for these settings leaves the
// default.
func bindingsOf(t *settings.Table, can profiles.Kinds, own *keys.Own) *bindings {
	all, _ := keys.For(t, own)
	b := &bindings{able: can, all: all, Table: all.Only(func(_ keys.Section, r *keys.Row) bool {
		return can.Has(needs(r)...)
	})}
	if can.Has(profiles.SetCommand) {
		b.picks = keys.Listed(t)
	}
	return b
}

// needs returns the commands that an action asks for.
func needs(r *keys.Row) profiles.Kinds {
	switch {
	case r.Action == "settings":
		return profiles.Kinds{readCommand}
	case r.Command == "":
		return nil
	}
	return profiles.Kinds{r.Command}
}

// readCommand reads all settings: the screen carries it out if it has a pane for them.
const readCommand profiles.CommandKind = "read settings"

// everyKind are the commands of keys that act on a run, wherever it is.
func everyKind() profiles.Kinds {
	return append(profiles.Every(), profiles.ExportCommand, profiles.LeaveCommand, profiles.OperateCommand,
		profiles.HandOverCommand, readCommand)
}

// can reports whether the screen may ask for all given commands.
func (b *bindings) can(all ...profiles.CommandKind) bool { return b.able.Has(all...) }

// withRestart appends how to text if the run can be restarted.
func (b *bindings) withRestart(text string, how profiles.Advice) string {
	if b.can(profiles.RestartCommand) {
		return text + b.Say(how)
	}
	return text
}

// runIsOver is the answer to keys that need a running run.
func (b *bindings) runIsOver() string { return b.withRestart("the run is over", startsNext) }

// wouldChange returns the answer to a key that would change a run which this screen cannot, from its longest
// version to its shortest, nil for any other. operates reports whether this screen may change the run, and behind
// whether its snapshots are still catching up.
func (b *bindings) wouldChange(pressed string, operates, behind bool) []string {
	answer := func(does string) []string {
		return []string{pressed + " (" + does + ") would change the run, but this is a recording",
			"this is a recording: nothing in it changes"}
	}
	because := func(why string) func(string) []string {
		return func(does string) []string { return []string{pressed + " (" + does + "): " + why, why} }
	}
	without := []profiles.CommandKind{profiles.LeaveCommand, profiles.OperateCommand, profiles.NoteCommand}
	switch {
	case operates && behind:
		answer = because(catchesUp)
	case !operates && !b.can(profiles.OperateCommand):
		why := viewerWatches
		if b.can(profiles.NoteCommand) {
			why = annotatorWatches
		}
		answer, without = because(why), []profiles.CommandKind{profiles.LeaveCommand}
	case !operates:
		answer = because(b.Say(onlyWatches))
	case !b.can(profiles.PlayCommand):
		return nil
	}
	can := everyKind().Without(without...)
	for _, section := range []keys.Section{keys.Settings, keys.Run, keys.Tuning} {
		for _, r := range b.all.Rows(section) {
			if r.Has(pressed) && can.Has(needs(&r)...) {
				return answer(r.Help)
			}
		}
	}
	return nil
}

// closes reports whether a pressed key closes a list.
func (b *bindings) closes(pressed string) bool {
	return pressed == "esc" || pressed == b.Of("quit") || pressed == b.Of("help")
}

// isDigit reports whether a key names a bookmark.
func isDigit(key string) bool { return len(key) == 1 && key[0] >= '1' && key[0] <= '9' }
