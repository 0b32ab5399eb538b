package keys

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// This file gives the settings of a workload their keys, around those of the fixed rows and of the user.

// For returns the keys of a run with the given settings, as the user chose them; own is nil for the
// defaults. The error names the first choice that cannot be obeyed; the table is then that without it.
func For(of *settings.Table, own *Own) (*Table, error) {
	t := &Table{of: of}
	for s, rows := range fixed {
		for _, r := range rows {
			if ofPanes[r.Action] {
				t.panes = append(t.panes, r)
			}
			if r, ok := suited(r, of); ok {
				r.Keys = slices.Clone(r.Keys)
				t.rows[s] = append(t.rows[s], r)
			}
		}
	}
	t.add(of)
	err := own.apply(t)
	t.assign()
	return t, err
}

// suited returns a fixed row for a workload's settings; false if it has no meaning with them.
func suited(r Row, of *settings.Table) (Row, bool) {
	switch r.Action {
	case choose:
		listed := Listed(of)
		r.Help = "choose " + namedFirst(of, listed)
		return r, len(listed) > 0
	case "ablate":
		return r, len(of.Compares()) > 0
	case "compare everything":
		off, _ := of.Everything()
		return r, len(off) > 1
	case device:
		k, ok := of.Lookup(settings.Device)
		return r, ok && len(k.Presses) == 0
	}
	return r, true
}

// Listed returns the settings whose values are chosen from a list, in its order.
func Listed(of *settings.Table) (names []string) {
	var all []settings.Key
	for _, k := range of.Keys() {
		if k.Listed > 0 {
			all = append(all, k)
		}
	}
	slices.SortStableFunc(all, func(a, b settings.Key) int { return a.Listed - b.Listed })
	for _, k := range all {
		names = append(names, k.Name)
	}
	return names
}

// namedFirst names the first settings of a list, at most as many as fit in a line of the help.
func namedFirst(of *settings.Table, listed []string) string {
	var names []string
	for _, name := range listed[:min(len(listed), 3)] {
		k, _ := of.Lookup(name)
		names = append(names, k.Title())
	}
	return strings.Join(names, ", ")
}

// footerSettings is the number of settings in the footer.
const footerSettings = 2

// add appends the rows of settings, without keys: those that matter most in a section of their own, in the order of
// their places.
func (t *Table) add(of *settings.Table) {
	all := of.Keys()
	order := make([]*settings.Key, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	slices.SortStableFunc(order, func(a, b *settings.Key) int {
		return cmp.Compare(uint(a.Foremost)-1, uint(b.Foremost)-1)
	})
	shown := 0
	for _, k := range order {
		for i, p := range k.Presses {
			r := Row{Action: ActionOf(k, p.Does), Command: profiles.SetCommand, Help: cmp.Or(p.Help, k.Help),
				Setting: k, Move: p.Does}
			if k.Foremost == 0 {
				t.rows[Tuning] = append(t.rows[Tuning], r)
				continue
			}
			if i == 0 && shown < footerSettings {
				r.Short, r.Rank = k.Title(), shown
				if k.Type == settings.TypeSwitch {
					r.Long = r.Help
				}
				shown++
			}
			t.rows[Settings] = append(t.rows[Settings], r)
		}
	}
}

// assign gives the rows of settings that have no key yet the one that they want, then the others one that is free, in
// the order of the rows; a row for which none is left goes. The keys + and - are also those beside them on the
// keyboard, as far as these are free.
func (t *Table) assign() {
	for _, find := range []func(*Row) []string{func(r *Row) []string { return t.firstFree(wish(r)) }, t.freeKey} {
		for _, s := range []Section{Settings, Tuning} {
			for i := range t.rows[s] {
				if r := &t.rows[s][i]; r.Setting != nil && len(r.Keys) == 0 {
					r.Keys = find(r)
				}
			}
		}
	}
	for _, s := range []Section{Settings, Tuning} {
		t.rows[s] = slices.DeleteFunc(t.rows[s], func(r Row) bool { return len(r.Keys) == 0 })
	}
	for _, s := range []Section{Settings, Tuning} {
		for i := range t.rows[s] {
			r := &t.rows[s][i]
			if beside := map[string]string{"+": "=", "-": "_"}[r.Keys[0]]; beside != "" && t.taken(beside) == nil {
				r.Keys = append(r.Keys, beside)
			}
		}
	}
}

// wish returns the key that suits a row of a setting, "" for none.
func wish(r *Row) string {
	for _, p := range r.Setting.Presses {
		if p.Does == r.Move {
			return p.Key
		}
	}
	return ""
}

// freeKey returns the first free key for a row of a setting whose wish is taken: its other case, the letters of the
// setting's name, any letter, a sign, alt with a letter; nil if none is left.
func (t *Table) freeKey(r *Row) []string {
	letters := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' {
			return c
		}
		return -1
	}, strings.ToLower(r.Setting.Name)) + "abcdefghijklmnopqrstuvwxyz"
	wanted := []string{otherCase(wish(r))}
	for _, c := range letters {
		wanted = append(wanted, string(c), strings.ToUpper(string(c)))
	}
	for _, c := range "&^~;:/|=" {
		wanted = append(wanted, string(c))
	}
	for c := 'a'; c <= 'z'; c++ {
		wanted = append(wanted, "alt+"+string(c))
	}
	return t.firstFree(wanted...)
}

// firstFree returns the first of the keys that is free, nil for none.
func (t *Table) firstFree(wanted ...string) []string {
	for _, key := range wanted {
		if valid(key) == nil && t.taken(key) == nil {
			return []string{key}
		}
	}
	return nil
}

// otherCase returns a letter in its other case.
func otherCase(key string) string {
	if up := strings.ToUpper(key); up != key {
		return up
	}
	return strings.ToLower(key)
}

// taken returns the row that has a key on the live screen, nil for none.
func (t *Table) taken(key string) *Row {
	for s := range t.rows {
		for i := range t.rows[s] {
			if r := &t.rows[s][i]; Section(s).at(r)&live != 0 && r.Has(key) {
				return r
			}
		}
	}
	return nil
}

// printable reports whether a key is a character of its own.
func printable(key string) bool {
	c := []rune(key)
	return len(c) == 1 && unicode.IsGraphic(c[0]) && !unicode.IsSpace(c[0])
}
