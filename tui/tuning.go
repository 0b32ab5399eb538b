package tui

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles/preset"
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
	var step undoStep
	sets = asTheRunSays(sets)
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
	for _, a := range sets {
		m.wishes[a.Key] = wish{a.Value, now}
	}
	m.panes[settingsPane].(*settingsView).stale = true
	if undoable {
		m.history.push(step)
	}
	return nil
}

// asTheRunSays writes values as the run will report them, so that what was asked
// for is known again. Those that are wrong are left for the run to refuse.
func asTheRunSays(sets []preset.Assignment) []preset.Assignment {
	out := make([]preset.Assignment, len(sets))
	for i, a := range sets {
		var trial preset.Settings
		if trial.Set(a.Key, a.Value) == nil {
			a.Value = trial.Get(a.Key)
		}
		out[i] = a
	}
	return out
}

// asked is a setting as asked for, else as the settings have it, of a run that is over
// those of the next; the learning rate is not the one that a schedule left.
func (m *Model) asked(key string) string {
	if w, ok := m.wishes[key]; ok {
		return w.value
	}
	if m.snap == nil {
		return ""
	}
	if next := nextSettings(m.snap); next != nil {
		return next.Get(key)
	}
	return settingsOf(m.snap).Get(key)
}

// nudge changes a setting by one step up or down: a switch flips, a choice goes
// round, a number goes to its next value.
func (m *Model) nudge(key string, up bool) {
	k, ok := preset.LookupKey(key)
	switch {
	case !ok || m.snap == nil:
		m.complain(errNotBegun.Error())
	case key == "threads":
		m.moreThreads(map[bool]int{true: 1, false: -1}[up])
	case key == "max_samples":
		m.moreSamples(up)
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

// moreSamples moves the sample after which the run ends; 0 is the last of all passes.
func (m *Model) moreSamples(up bool) {
	most, all := 0, m.snap.Run.AllSamples()
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
	if err := m.ask(m.share(key, v)...); err != nil {
		m.complain(fmt.Sprintf("%s stays: %v", settingName(key), err))
		return
	}
	m.say(m.weightsText() + m.when())
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
