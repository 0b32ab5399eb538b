package screen

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// This file requests settings from the run, singly or together, typed or in steps suited to each,
// and opens the settings pane.

var (
	errNotBegun = errors.New("the run has not begun yet")
	errReadOnly = errors.New("the settings of this run cannot be changed from here")
)

// ask requests settings, all before the same iteration, and records the previous values of those
// that change for undo.
func (m *Model) ask(sets ...settings.Assignment) error {
	return m.request(sets, true)
}

// request is ask, or takes changes back: that is not recorded for undo, and not decided.
func (m *Model) request(sets []settings.Assignment, undoable bool) error {
	if m.snap == nil {
		return errNotBegun
	}
	after, sets := asTheRunSays(m.wanted(), sets)
	var step undoStep
	for _, a := range sets {
		step = append(step, flip{a.Key, m.asked(a.Key), a.Value})
	}
	if err := m.setRun(sets, undoable); err != nil {
		return err
	}
	now := m.now()
	for _, key := range m.table.Dependent() { // another loss may suspend a threshold
		if w, ok := m.wishes[key]; ok {
			m.wishes[key] = wish{after.Get(key), w.at}
		}
	}
	for _, a := range sets {
		m.wishes[a.Key] = wish{a.Value, now}
		m.mine[a.Key] = true
		if k, _ := after.Lookup(a.Key); len(k.Allowed) > 0 && a.Value != k.Allowed[0] {
			m.lastUsed[a.Key] = a.Value
		}
	}
	m.settingsChanged()
	if undoable {
		m.history.push(step)
	}
	return nil
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

// nudge changes a setting by one step up or down: a switch flips, a choice cycles, a number goes
// to its next value.
func (m *Model) nudge(key string, up bool) {
	k, ok := m.table.Lookup(key)
	switch {
	case !ok || m.snap == nil:
		m.complain(errNotBegun.Error())
	case k.Depends() && m.suspended(key):
		m.editSetting(key)
		m.say(m.nameOf(key) + " is suspended: type one for " + m.wanted().Of(key))
	case k.Depends() && m.asked(key) == "0":
		m.editSetting(key)
		m.say(m.nameOf(key) + " is off: type one")
	case key == settings.Threads:
		m.moreThreads(map[bool]int{true: 1, false: -1}[up])
	case key == m.maxUnits():
		m.moreUnits(up)
	case key == settings.Seed:
		m.nextSeed(up)
	case k.Type == settings.TypeList, k.Type == settings.TypeText && len(k.Allowed) == 0:
		m.complain(m.nameOf(key) + " has no steps: enter writes a value")
	case slices.Contains(m.table.Roles().Weights, key):
		m.shiftWeight(key, map[bool]float64{true: 0.05, false: -0.05}[up])
	case k.Type == settings.TypeSwitch:
		m.flip(key)
	case len(k.Allowed) > 0 && up:
		m.cycle(key, k.Allowed...)
	case len(k.Allowed) > 0:
		m.cycle(key, reversed(k.Allowed)...)
	default:
		m.scale(k, up)
	}
}

func reversed(list []string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[len(list)-1-i] = v
	}
	return out
}

// scale doubles or halves a number within its range.
func (m *Model) scale(k *settings.Key, up bool) {
	value, _ := m.value(k.Name)
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return
	}
	if v == 0 {
		m.complain(fmt.Sprintf("%s is 0: %s and enter give it a number", m.nameOf(k.Name), m.keys.Of("settings")))
		return
	}
	if up {
		v *= 2
	} else {
		v /= 2
	}
	if k.Type == settings.TypeInteger {
		v = math.Trunc(v)
	}
	v = min(max(v, k.Min), k.Max)
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if text == value {
		m.complain(fmt.Sprintf("%s stays %s: must be %s", m.nameOf(k.Name), m.textOf(k.Name, value), k.Wants()))
		return
	}
	m.set(k.Name, text)
}

// nextSeed goes to the next or previous seed.
func (m *Model) nextSeed(up bool) {
	seed, err := strconv.ParseUint(m.asked(settings.Seed), 10, 64)
	switch {
	case err != nil:
		return
	case up:
		seed++
	case seed == 0:
		m.complain(leastSeed)
		return
	default:
		seed--
	}
	m.set(settings.Seed, strconv.FormatUint(seed, 10))
}

// moreUnits changes the number of units after which the run ends; 0 means all units of all
// passes.
func (m *Model) moreUnits(up bool) {
	key, most, all := m.maxUnits(), 0, m.snap.Run.AllUnits()
	if v, err := strconv.Atoi(m.asked(key)); err == nil {
		most = v
	}
	switch {
	case up && (most == 0 || most >= all):
		m.complain(allTrained(all, m.snap.Run.Schema.Unit.Many))
		return
	case up && most+1 == all:
		most = 0
	case up:
		most++
	case most == 0 || most > all:
		most = all - 1
	default:
		most--
	}
	if most < 1 && !up {
		m.complain(m.nameOf(key) + " stays 1: a run trains one at least")
		return
	}
	m.set(key, strconv.Itoa(most))
}

// shiftWeight changes one weight by the given amount.
func (m *Model) shiftWeight(key string, by float64) {
	v, _ := strconv.ParseFloat(m.asked(key), 64)
	v = min(max(math.Round((v+by)*20)/20, 0), 1)
	all, cut := m.wanted(), m.cutShort(key)
	if err := m.ask(m.share(key, v)...); err != nil {
		m.complain(fmt.Sprintf("%s stays: %v", m.nameOf(key), err))
		return
	}
	m.sayChange(m.weightsText()+m.suspensions(all)+m.when(), cut)
}

func (m *Model) weightsText() string {
	r := m.table.Roles()
	values := make([]string, len(r.Weights))
	for i, w := range r.Weights {
		values[i] = m.asked(w)
	}
	text := cmp.Or(r.WeightsName, "weights") + ": " + strings.Join(values, ", ")
	if r.WeightsOf != "" && m.asked(r.WeightsOf) != r.WeightsIn {
		text += fmt.Sprintf(", of the %s %s", r.WeightsIn, m.nameOf(r.WeightsOf)) + m.keys.Say(profiles.Advice(", which {switch "+r.WeightsOf+"|the list of values} chooses"))
	}
	return text
}

// assign requests a typed value. One of several weights takes its share from the others.
func (m *Model) assign(key, value string) error {
	all := m.wanted()
	if _, err := all.Set(key, value); err != nil {
		return err
	}
	sets := []settings.Assignment{{Key: key, Value: value}}
	weights := m.table.Roles().Weights
	for _, w := range weights {
		if w == key {
			sets = m.share(key, parseNumber(value))
		}
	}
	before, cut := m.asked(key), m.cutShort(key)
	if err := m.ask(sets...); err != nil {
		return err
	}
	if len(sets) > 1 {
		m.sayChange(m.weightsText()+m.suspensions(all)+m.when(), cut)
	} else {
		m.sayChange(m.changeText(key, before, value)+m.caution(key, value)+m.suspensions(all)+m.when(key), cut)
	}
	return nil
}

// check reads a picture for the next run in the background before it is requested.
func (m *Model) check(set settings.Assignment) {
	if !m.can(profiles.SetCommand) {
		m.complain(errReadOnly.Error())
		return
	}
	m.reading = set.Value
	m.say("reading " + set.Value + " …")
	source, try := m.source, profiles.Command{Kind: profiles.SetCommand, Settings: []settings.Assignment{set}, Try: true}
	m.pending = func() tea.Msg { return checkedMsg{set, source.Do(try)} }
}

// checked requests a picture that has been read, or shows why it is invalid.
func (m *Model) checked(msg checkedMsg) {
	if m.reading != msg.set.Value {
		return // cancelled by esc, or superseded
	}
	m.reading = ""
	err := msg.err
	if err == nil {
		err = m.assign(msg.set.Key, msg.set.Value)
	}
	if err != nil {
		m.complain(err.Error())
	}
	if e, _ := m.editor(); e != nil {
		e.Checked(msg.set.Key, err)
	}
}

// toggleSettings opens the settings pane, or closes it.
func (m *Model) toggleSettings() {
	id := m.deck.Find(settingsPane)
	if m.focus == id {
		m.closePane()
		return
	}
	m.openPane(id)
}

// otherDevice requests the processor, or the GPU used last.
func (m *Model) otherDevice() {
	if m.snap == nil {
		m.say(errNotBegun.Error())
		return
	}
	now := m.asked(settings.Device)
	chosen := strings.HasPrefix(now, "cuda")
	onGPU := chosen || now != "cpu" && m.snap.Run.Device != "cpu"
	if !onGPU {
		m.set(settings.Device, cmp.Or(m.lastGPU, "cuda"))
		return
	}
	m.lastGPU = ""
	if chosen {
		m.lastGPU = now
	}
	m.set(settings.Device, "cpu")
}

func parseNumber(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v
}
