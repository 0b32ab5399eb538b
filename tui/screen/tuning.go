package screen

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/words"
)

// tuning requests settings from the run, singly or together, and says what changes and what
// that ends; it keeps what undo needs.
type tuning struct {
	*seat
	*asking
	log   *ownLog
	tiles *tiling

	mine    map[string]bool   // settings changed in this session
	used    map[string]string // last values of choices, other than their first
	history history
}

var (
	errNotBegun = errors.New("the run has not begun yet")
	errReadOnly = errors.New("the settings of this run cannot be changed from here")
)

// ask requests settings, all before the same iteration, and records the previous values of those
// that change for undo.
func (t *tuning) ask(sets ...settings.Assignment) error {
	return t.request(sets, true)
}

// request is ask, or takes changes back: that is not recorded for undo, and not decided.
func (t *tuning) request(sets []settings.Assignment, undoable bool) error {
	if t.snap == nil {
		return errNotBegun
	}
	after, sets := asTheRunSays(t.wanted(), sets)
	if what := t.endsBy(after); what != "" {
		return errors.New(what + t.keys.Say(isUnderWay))
	}
	var step undoStep
	for _, a := range sets {
		step = append(step, flip{a.Key, t.asked(a.Key), a.Value})
	}
	if err := t.change(sets, undoable); err != nil {
		return err
	}
	now := t.now()
	for _, key := range t.table.Dependent() { // another loss may suspend a threshold
		if w, ok := t.wishes[key]; ok {
			t.wishes[key] = wish{after.Get(key), w.at}
		}
	}
	for _, a := range sets {
		t.wishes[a.Key] = wish{a.Value, now}
		t.mine[a.Key] = true
		if k, _ := after.Lookup(a.Key); len(k.Allowed) > 0 && a.Value != k.Allowed[0] {
			t.used[a.Key] = a.Value
		}
	}
	t.tiles.settingsChanged()
	if undoable {
		t.history.push(step)
	}
	return nil
}

// forget drops what refers to the settings of another run.
func (t *tuning) forget() {
	t.history = history{}
	clear(t.mine)
	clear(t.used)
}

// asTheRunSays returns all settings after a change, and the change with the values as the run
// will report them, so that fulfilled requests are recognised. Invalid values are left for the
// run to reject.
func asTheRunSays(before settings.Values, sets []settings.Assignment) (settings.Values, []settings.Assignment) {
	wrong, after := map[string]bool{}, before
	for _, a := range sets {
		next, err := after.Set(a.Key, a.Value)
		wrong[a.Key], after = err != nil, next
	}
	after = after.Settled()
	out := make([]settings.Assignment, len(sets))
	for i, a := range sets {
		if !wrong[a.Key] {
			a.Value = after.Get(a.Key)
		}
		out[i] = a
	}
	return after, out
}

// set requests a setting and reports the change or the error.
func (t *tuning) set(key, value string) { t.setFirst(key, value) }

// setFirst is set with the first of the values that this machine accepts.
func (t *tuning) setFirst(key string, values ...string) {
	if t.snap == nil {
		t.say(errNotBegun.Error())
		return
	}
	before, _ := t.value(key)
	all, cut := t.wanted(), t.cutShort(key)
	value := ""
	var refused error
	for _, value = range values {
		err := t.ask(settings.Assignment{Key: key, Value: value})
		if err == nil {
			refused = nil
			break
		}
		refused = cmp.Or(refused, err)
	}
	if refused != nil {
		reason := refused.Error()
		if len(values) == 1 { // which the user has just asked for
			reason = strings.TrimPrefix(reason, key+" = "+value+": ")
		}
		t.log.refuse(t.nameOf(key)+" stays "+t.textOf(key, before), reason)
		return
	}
	t.sayChange(t.changeText(key, before, value)+t.caution(key, value)+t.suspensions(all)+t.when(key), cut)
}

// when returns text to append to a change of settings that waits for a restart.
func (t *tuning) when(keys ...string) string {
	if t.over() {
		return t.nextRun()
	}
	wanted, waits := t.wanted(), false
	for _, key := range keys {
		if words.Live(t.table, key) {
			continue
		}
		waits = true
		if wanted.Get(key) != words.SettingsOf(t.snap).Get(key) {
			return t.nextRun()
		}
	}
	if waits {
		return ", as this run has it"
	}
	return ""
}

// nextRun returns text to append to a change that waits for the next run.
func (t *tuning) nextRun() string { return t.keys.withRestart(", for the next run", startsIt) }

// assign requests a typed value. One of several weights takes its share from the others.
func (t *tuning) assign(key, value string) error {
	all := t.wanted()
	if _, err := all.Set(key, value); err != nil {
		return err
	}
	sets := []settings.Assignment{{Key: key, Value: value}}
	weights := t.table.Roles().Weights
	for _, w := range weights {
		if w == key {
			sets = t.share(key, parseNumber(value))
		}
	}
	before, cut := t.asked(key), t.cutShort(key)
	if err := t.ask(sets...); err != nil {
		return err
	}
	if len(sets) > 1 {
		t.sayChange(t.weightsText()+t.suspensions(all)+t.when(), cut)
	} else {
		t.sayChange(t.changeText(key, before, value)+t.caution(key, value)+t.suspensions(all)+t.when(key), cut)
	}
	return nil
}

func (t *tuning) weightsText() string {
	r := t.table.Roles()
	values := make([]string, len(r.Weights))
	for i, w := range r.Weights {
		values[i] = t.asked(w)
	}
	text := cmp.Or(r.WeightsName, "weights") + ": " + strings.Join(values, ", ")
	if r.WeightsOf != "" && t.asked(r.WeightsOf) != r.WeightsIn {
		text += fmt.Sprintf(", of the %s %s", r.WeightsIn, t.nameOf(r.WeightsOf)) +
			t.keys.Say(profiles.Advice(", which {switch "+r.WeightsOf+"|the list of values} chooses"))
	}
	return text
}

// A change has side effects, which the functions below report: it ends the window of the previous
// change, possibly with too few iterations for an effect, and changing the loss suspends the
// threshold.

// sayChange shows what was changed, and which effect was cut short or what comparison it ends.
func (t *tuning) sayChange(text string, cut []string) {
	if a := t.snap.Ablation; a != nil && a.Running && a.Tuning != nil &&
		len(a.Base.WithLive(t.wanted()).Differing(a.Base)) > 0 {
		t.say(text + "; " + a.Name() + " ended")
		return
	}
	if len(cut) == 0 {
		t.say(text)
		return
	}
	texts := make([]string, len(cut))
	for i, c := range cut {
		texts[i] = text + c
	}
	t.sayOne(texts...)
}

// keysIn returns the keys of assignments.
func keysIn(sets []settings.Assignment) []string {
	keys := make([]string, len(sets))
	for i, a := range sets {
		keys[i] = a.Key
	}
	return keys
}

// suspensions returns text to append to a change that suspends or restores a number; before holds
// the requested settings before the change.
func (t *tuning) suspensions(before settings.Values) (text string) {
	after := t.wanted()
	for _, key := range t.table.Dependent() {
		_, _, was := before.Suspended(key)
		number := after.Number(key)
		switch given, now, is := after.Suspended(key); {
		case is && !was:
			given, now = words.LossNames(given, now)
			text += fmt.Sprintf("; %s %g was for %s: suspended until %s sets one for %s", t.nameOf(key), number, given,
				cmp.Or(t.keys.Of(profiles.Action("set "+key)), t.keys.Of(profiles.Action("raise "+key)),
					t.keys.Of("settings")), now)
		case was && !is && before.Number(key) == number:
			text += fmt.Sprintf("; %s %g is in force again", t.nameOf(key), number)
		}
	}
	return text
}

func parseNumber(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v
}
