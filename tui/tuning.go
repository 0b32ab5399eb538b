package tui

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles/preset"
	"prismtop/tui/layout"
)

// This file is how the screen asks the run for settings: one or several at a
// time, and by steps of a size that fits each.

var errNotBegun = errors.New("the run has not begun yet")

// ask asks the run for settings, all before one iteration, and remembers what
// they were, to be undone. Those that are as wanted already are left out.
func (m *Model) ask(sets ...preset.Assignment) error {
	return m.request(sets, true)
}

// request is ask, of which undo need not know.
func (m *Model) request(sets []preset.Assignment, undoable bool) error {
	if m.snap == nil {
		return errNotBegun
	}
	after := m.wanted()
	sets = asTheRunSays(&after, sets)
	var step undoStep
	for _, a := range sets {
		step = append(step, flip{a.Key, m.asked(a.Key), a.Value})
	}
	var err error
	if len(sets) == 1 {
		err = m.control.Set(sets[0].Key, sets[0].Value)
	} else {
		err = m.control.SetMany(sets)
	}
	if err != nil {
		return err
	}
	now := m.now()
	if w, ok := m.wishes["threshold"]; ok { // which another loss may suspend
		m.wishes["threshold"] = wish{after.Get("threshold"), w.at}
	}
	for _, a := range sets {
		m.wishes[a.Key] = wish{a.Value, now}
		m.mine[a.Key] = true
		if a.Key == "amp" && a.Value != "off" {
			m.precision = a.Value
		}
	}
	m.panes[layout.Settings].(*settingsView).stale = true
	if undoable {
		m.history.push(step)
	}
	return nil
}

// asTheRunSays changes settings and writes the values as the run will report them, so that
// what was asked for is known again. Those that are wrong are left for the run to refuse.
func asTheRunSays(after *preset.Settings, sets []preset.Assignment) []preset.Assignment {
	wrong := map[string]bool{}
	for _, a := range sets {
		wrong[a.Key] = after.Set(a.Key, a.Value) != nil
	}
	after.BindThreshold()
	out := make([]preset.Assignment, len(sets))
	for i, a := range sets {
		if !wrong[a.Key] {
			a.Value = after.Get(a.Key)
		}
		out[i] = a
	}
	return out
}

// wanted is all settings as asked for; without a run the zero value.
func (m *Model) wanted() preset.Settings {
	if m.snap == nil {
		return preset.Settings{}
	}
	all := *settingsOf(m.snap)
	if next := m.snap.Next; next != nil && ended(m.snap.State) {
		all = *next
	} else if next != nil {
		all = next.WithLive(&all)
	}
	all.BindThreshold()
	for key, w := range m.wishes {
		_ = all.Set(key, w.value) // the run has taken it
	}
	all.BindThreshold()
	return all
}

// asked is a setting as asked for, else as the settings have it, of a run that is over
// those of the next; the learning rate is not the one that a schedule left.
func (m *Model) asked(key string) string {
	if w, ok := m.wishes[key]; ok {
		return w.value
	}
	switch {
	case m.snap == nil:
		return ""
	case key == "threshold": // which a wish for another loss suspends
		all := m.wanted()
		return all.Get(key)
	}
	return settingsAsked(m.snap, key).Get(key)
}

// nudge changes a setting by one step up or down: a switch flips, a choice goes
// round, a number goes to its next value.
func (m *Model) nudge(key string, up bool) {
	k, ok := preset.LookupKey(key)
	switch {
	case !ok || m.snap == nil:
		m.complain(errNotBegun.Error())
	case key == "threshold" && m.suspended():
		m.editSetting(key)
		all := m.wanted()
		m.say("threshold is suspended: type one for " + all.LossName())
	case key == "threshold" && m.asked(key) == "0":
		m.editSetting(key)
		m.say("threshold is off: type one")
	case key == "threads":
		m.moreThreads(map[bool]int{true: 1, false: -1}[up])
	case key == "max_samples":
		m.moreSamples(up)
	case key == "seed":
		m.nextSeed(up)
	case k.Type == preset.List, k.Type == preset.Text && len(k.Allowed) == 0:
		m.complain(settingName(key) + " has no steps: enter writes a value")
	case strings.HasPrefix(key, "composite_"):
		m.shiftWeight(key, map[bool]float64{true: 0.05, false: -0.05}[up])
	case k.Type == preset.Switch:
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

// scale doubles or halves a number within its bounds.
func (m *Model) scale(k preset.Key, up bool) {
	value, _ := m.value(k.Name)
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return
	}
	if v == 0 {
		m.complain(fmt.Sprintf("%s is 0: , and enter give it a number", settingName(k.Name)))
		return
	}
	if up {
		v *= 2
	} else {
		v /= 2
	}
	if k.Type == preset.Integer {
		v = math.Trunc(v)
	}
	v = min(max(v, k.Min), k.Max)
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if text == value {
		m.complain(fmt.Sprintf("%s stays %s: must be %s", settingName(k.Name), settingText(k.Name, value, m.options.Cores), k.Wants()))
		return
	}
	m.set(k.Name, text)
}

// nextSeed goes to the seed after or before.
func (m *Model) nextSeed(up bool) {
	seed, err := strconv.ParseUint(m.asked("seed"), 10, 64)
	switch {
	case err != nil:
		return
	case up:
		seed++
	case seed == 0:
		m.complain("seed stays 0: there is none below it")
		return
	default:
		seed--
	}
	m.set("seed", strconv.FormatUint(seed, 10))
}

// moreSamples moves the sample after which the run ends; 0 is the last of all passes.
func (m *Model) moreSamples(up bool) {
	most, all := 0, m.snap.Run.AllUnits()
	if v, err := strconv.Atoi(m.asked("max_samples")); err == nil {
		most = v
	}
	switch {
	case up && (most == 0 || most >= all):
		m.complain(fmt.Sprintf("all %d samples are to be trained", all))
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
		m.complain("last sample stays 1: a run trains one at least")
		return
	}
	m.set("max_samples", strconv.Itoa(most))
}

// weights are the settings of the composite loss, which sum to 1.
var weights = []string{"composite_l1", "composite_l2", "composite_ssim"}

// shiftWeight moves one weight by so much.
func (m *Model) shiftWeight(key string, by float64) {
	v, _ := strconv.ParseFloat(m.asked(key), 64)
	v = min(max(math.Round((v+by)*20)/20, 0), 1)
	all, cut := m.wanted(), m.cutShort(key)
	if err := m.ask(m.share(key, v)...); err != nil {
		m.complain(fmt.Sprintf("%s stays: %v", settingName(key), err))
		return
	}
	m.sayChange(m.weightsText()+m.thresholdText(&all)+m.when(), cut)
}

// share gives one weight a value and what is left to the other two, as their
// present values divide it: the three change together, because they sum to 1.
func (m *Model) share(key string, v float64) []preset.Assignment {
	rest := 0.0
	for _, w := range weights {
		if w != key {
			u, _ := strconv.ParseFloat(m.asked(w), 64)
			rest += u
		}
	}
	var sets []preset.Assignment
	for _, w := range weights {
		u, _ := strconv.ParseFloat(m.asked(w), 64)
		switch {
		case w == key:
			u = v
		case rest > 0:
			u = (1 - v) * u / rest
		default:
			u = (1 - v) / 2
		}
		sets = append(sets, preset.Assignment{Key: w, Value: formatRate(math.Round(u*1e4) / 1e4)})
	}
	return sets
}

func (m *Model) weightsText() string {
	text := "weights of L1, L2, SSIM: " + m.asked(weights[0]) + ", " + m.asked(weights[1]) + ", " + m.asked(weights[2])
	if m.asked("loss") != "composite" {
		text += ", of the composite loss, which k chooses"
	}
	return text
}
