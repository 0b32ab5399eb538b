package keys

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// fitting is the settings of a run: some that matter most, and two that want the same key.
var fitting = settings.NewTable("fitting", nil,
	settings.Switch("a", "cache", "keep values").Live().Called("cache", 'm').Press("m", settings.MoveNext, "cache").Foremost(2),
	settings.Text("a", "amp", "precision", "off", "bf16").Live().Called("AMP", 'a').Press("a", settings.MoveToggle, "precision").Foremost(1).Listed(1, "", ""),
	settings.Number("a", "rate", "", "step", 0, 1).Live().Press("l", settings.MoveBefore, "lower").Press("L", settings.MoveNext, "raise"),
	settings.Number("a", "level", "", "level", 0, 1).Live().Press("l", settings.MoveNext, "level up").Press("", settings.MoveBefore, "level down"),
	settings.Switch("a", "quick", "quick").Live().Press("q", settings.MoveNext, "quick"),
	settings.Integer("a", "threads", "", "threads", 0, 8).Live().Press("+", settings.MoveNext, "more").Press("-", settings.MoveBefore, "fewer"),
)

func table(t *testing.T, text string) *Table {
	t.Helper()
	own, err := Parse("keys.toml", []byte(text), fitting)
	if err != nil {
		t.Fatal(err)
	}
	all, err := For(fitting, own)
	if err != nil {
		t.Fatal(err)
	}
	unique(t, all)
	return all
}

// unique checks that no key has two actions on one screen.
func unique(t *testing.T, all *Table) {
	t.Helper()
	seen := map[string]profiles.Action{}
	for s := range all.rows {
		for i := range all.rows[s] {
			r := &all.rows[s][i]
			if r.Help == "" || len(r.Keys) == 0 {
				t.Errorf("%s: keys %q, help %q", r.Action, r.Keys, r.Help)
			}
			for _, key := range r.Keys {
				for at := live; at <= comparison; at <<= 1 {
					if Section(s).at(r)&at == 0 {
						continue
					}
					here := key + string(rune('0'+at))
					if other := seen[here]; other != "" && other != r.Action {
						t.Errorf("%s is the key of %s and of %s", key, other, r.Action)
					}
					seen[here] = r.Action
				}
			}
		}
	}
}

// A setting has the key that it wants unless that is taken; those that matter most come first.
func TestSettingsGetFreeKeys(t *testing.T) {
	all := table(t, "")
	for action, want := range map[profiles.Action]string{
		"switch amp": "a", "switch cache": "m", "lower rate": "l", "raise rate": "L", "raise level": "e", "lower level": "V",
		"switch quick": "U", "raise threads": "+", "choose amp": ".", "view memory": "v", "restart": "R", "sing": "", "": "",
	} {
		if got := all.Of(action); got != want {
			t.Errorf("%q has the key %q, want %q", action, got, want)
		}
	}
	if !all.Is("raise threads", "=") || !all.Is("lower threads", "_") {
		t.Error("= and _ are not + and -")
	}
	if got := all.Handy(); got != "a m" {
		t.Errorf("the foremost keys are %q", got)
	}
	if r := all.Rows(Settings); r[0].Short != "AMP" || r[0].Rank != 0 || r[1].Short != "cache" || r[1].Rank != 1 {
		t.Errorf("the footer has %+v", r)
	}
	again, _ := For(fitting, nil)
	for s := range all.rows {
		if !slices.EqualFunc(all.rows[s], again.rows[s], func(a, b Row) bool { return slices.Equal(a.Keys, b.Keys) }) {
			t.Errorf("%s: other keys the second time", Section(s).Title())
		}
	}
}

// The user's choice is what everything names; who loses a key has another one.
func TestOwnKeys(t *testing.T) {
	all := table(t, "pause = \"z\"\nswitch.amp = 'm' # taken from the cache\nrestart = \"ctrl+r\"\n\n[lower]\nrate = \"f2\"\n")
	for action, want := range map[profiles.Action]string{
		"pause": "z", "zoom": "enter", "switch amp": "m", "switch cache": "c", "restart": "ctrl+r", "lower rate": "f2", "raise rate": "L", "raise level": "l",
	} {
		if got := all.Of(action); got != want {
			t.Errorf("%q has the key %q, want %q", action, got, want)
		}
	}
	if got := all.Say("{pause|a pause} pauses; halve it {lower rate}; {sing|song} sings."); got != "z pauses; halve it (f2); song sings." {
		t.Errorf("says %q", got)
	}
	if got := all.Mark(fitting, "amp"); got != 'm' {
		t.Errorf("changes of AMP are marked %q", got)
	}
	if got := profiles.Advice("{pause|a pause} or {lower rate|less} or {help|help}").Text(all.Words); got != "pause or rate=VALUE or help" {
		t.Errorf("line mode says %q", got)
	}
}

// Two actions can swap their keys, and keys of different screens do not meet.
func TestSwappedKeys(t *testing.T) {
	all := table(t, "pause = \"n\"\nstep = \"space\"\nplay = \"z\"\nruns.rename = \"R\"\n")
	if all.Of("pause") != "n" || all.Of("step") != "space" || all.Of("play") != "z" {
		t.Errorf("pause %s, step %s, play %s", all.Of("pause"), all.Of("step"), all.Of("play"))
	}
	for _, text := range []string{"pause = \"z\"\nzoom = \"space\"\n", "zoom = \"space\"\npause = \"z\"\n"} {
		all := table(t, text) // play has space alone, on a screen that has zoom and no pause: it takes part
		if all.Of("pause") != "z" || all.Of("zoom") != "space" || all.Of("play") != "z" {
			t.Errorf("%q: pause %s, zoom %s, play %s", text, all.Of("pause"), all.Of("zoom"), all.Of("play"))
		}
		unique(t, all)
	}
	if all := table(t, "pause = \"z\"\nzoom = \"space\"\nplay = \"f2\"\n"); all.Of("play") != "f2" {
		t.Errorf("play has %s beside a swap", all.Of("play"))
	}
}

// A pane has its keys under their default names.
func TestKeysOfPanes(t *testing.T) {
	all := table(t, "view = \"f5\"\nscale = \"v\"\n")
	for pressed, want := range map[string]string{"f5": "v", "v": "x", "x": "", "i": "i", "up": "up", "a": "a"} {
		if got := all.InPane(pressed); got != want {
			t.Errorf("%s is %q to a pane, want %q", pressed, got, want)
		}
	}
	if all.Hint("v") != "f5" || all.Hint("x") != "v" || all.Hint("↑↓") != "↑↓" {
		t.Errorf("hints %q %q %q", all.Hint("v"), all.Hint("x"), all.Hint("↑↓"))
	}
}

// A file that cannot be obeyed is refused with its line and what would be right.
func TestWrongFiles(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"pauze = \"z\"", "line 1: pauze: no such action; did you mean pause?"},
		{"\n# mine\n[switch]\nampp = \"z\"", "line 4: switch.ampp: no such action; did you mean switch.amp?"},
		{"pause = \"z\"\nrestart = \"z\"", `line 2: restart = "z": pause has that key, line 1`},
		{"pause = \"z\"\n[switch]\namp = \"z\"", `line 3: switch.amp = "z": pause has that key, line 1`},
		{"pause = \"z\"\npause = \"y\"", "line 2: pause: is in line 1 too"},
		{"pause = \"R\"", `line 1: pause = "R": is the only key of restart: give that another one too`},
		{"pause = \"ctrl+c\"", `line 1: pause = "ctrl+c": is reserved: it quits at once`},
		{"pause = \"enter\"", "is reserved: it confirms"},
		{"pause = \"7\"", "is reserved: digits"},
		{"pause = \"ctrl+i\"", "is reserved: it is tab to a terminal"},
		{"pause = \"ctrl+1\"", "no key that a terminal sends"},
		{"pause = \"shift+f1\"", "no key that a terminal sends"},
		{"pause = \"zz\"", "no key that a terminal sends"},
		{"pause = \"\"", "no key that a terminal sends"},
		{"pause = \" \"", `must be written "space"`},
		{"pause = \"shift+a\"", `must be written "A"`},
		{"interrupt = \"z\"", "line 1: interrupt: always has the key ctrl+c"},
		{"close = \"z\"", "always has the key esc"},
		{"pause = 7", `line 1: pause: must be a key in quotes, such as "z"`},
		{"[[pause]]\na = \"z\"", "must have lines such as"},
		{"pause = \"z\"\nrestart = ", "line 2"},
		{"[outside]\nsing.lr = \"l\"", "line 2: outside.sing.lr: must be switch, set, raise, lower or back"},
		{"outside = \"z\"", "line 1: outside"},
		{"pause = \"\xff\"", "UTF-8"},
	} {
		if _, err := Parse("keys.toml", []byte(tt.text), fitting); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "keys.toml: ") {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.want)
		}
	}
	if own, err := Read(t.Context(), filepath.Join(t.TempDir(), "keys.toml"), fitting); own != nil || err != nil {
		t.Errorf("no file: %v, %v", own, err)
	}
}

// Settings of a loop in another process are not known when the file is read; their keys never meet those of other
// rows.
func TestKeysOfLoopsOutside(t *testing.T) {
	own, err := Parse("keys.toml", []byte("pause = \"z\"\n[outside.raise]\nlr = \"k\"\n[outside.lower]\nlr = \"z\"\n"), fitting)
	if err != nil {
		t.Fatal(err)
	}
	loop := settings.NewTable("loop", nil, settings.Number("a", "lr", "", "step", 0, 1).Live().Press("l", settings.MoveBefore, "").Press("L", settings.MoveNext, ""))
	all, err := For(loop, own)
	if all.Of("raise lr") != "k" || all.Of("lower lr") != "l" || all.Of("pause") != "z" || err == nil {
		t.Errorf("raise %s, lower %s, pause %s, %v", all.Of("raise lr"), all.Of("lower lr"), all.Of("pause"), err)
	}
	unique(t, all)
}

// A run of more settings than there are letters leaves some without a key.
func TestMoreSettingsThanKeys(t *testing.T) {
	var entries []settings.Entry
	for i := range 90 {
		entries = append(entries, settings.Switch("a", "setting_"+string(rune('a'+i/26))+string(rune('a'+i%26)), "one").Live().Press("", settings.MoveNext, ""))
	}
	all, err := For(settings.NewTable("many", nil, entries...), nil)
	if err != nil {
		t.Fatal(err)
	}
	unique(t, all)
	if n := len(all.Rows(Tuning)); n < 20 || n >= 90 {
		t.Errorf("%d rows", n)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("pause = \"z\"\n[switch]\namp = \"m\"\n")
	f.Add("a.b.c = \"ctrl+x\"")
	f.Add("[outside.raise]\nlr = \"l\"")
	f.Fuzz(func(t *testing.T, text string) {
		own, err := Parse("keys.toml", []byte(text), fitting)
		if err != nil {
			return
		}
		all, err := For(fitting, own)
		if err != nil {
			t.Fatalf("%q was accepted, and then: %v", text, err)
		}
		unique(t, all)
	})
}
