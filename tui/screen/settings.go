package screen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/words"
)

// wishLife is how long a requested value is shown if the run does not report it, unless the run
// is paused.
const wishLife = 2 * time.Second

// wishes are requested settings that are not in force yet, so that pressing a key twice starts
// from the first request.
type wishes map[string]wish

type wish struct {
	value string
	at    time.Time
}

// settle removes the wishes that are fulfilled, and those that a run that is not paused has not
// fulfilled in time.
func (w wishes) settle(s *profiles.Snapshot, now time.Time) {
	for key, v := range w {
		current, _ := settingValue(s, key)
		if words.Waits(s, key) {
			current = s.Next.Get(key)
		}
		if current == v.value || s.State != profiles.Paused && now.Sub(v.at) > wishLife {
			delete(w, key)
		}
	}
}

// settingValue returns a setting's value in a snapshot, as text. The learning rate is the one in
// use, which a schedule may have lowered.
func settingValue(s *profiles.Snapshot, key string) (string, bool) {
	if s == nil {
		return "", false
	}
	if key != "" && key == words.SettingsOf(s).Table().Roles().Rate {
		if now := s.Of(key).Latest; now > 0 && !math.IsInf(now, 0) {
			return words.FormatRate(now), true
		}
	}
	value := words.SettingsOf(s).Get(key)
	return value, value != ""
}

// set requests a setting and reports the change or the error.
func (m *Model) set(key, value string) { m.setFirst(key, value) }

// setFirst is set with the first of the values that this machine accepts.
func (m *Model) setFirst(key string, values ...string) {
	if m.snap == nil {
		m.say("the run has not begun yet")
		return
	}
	before, _ := m.value(key)
	all, cut := m.wanted(), m.cutShort(key)
	value := ""
	var refused error
	for _, value = range values {
		err := m.ask(settings.Assignment{Key: key, Value: value})
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
		m.refuse(m.nameOf(key)+" stays "+m.textOf(key, before), reason)
		return
	}
	m.sayChange(m.changeText(key, before, value)+m.caution(key, value)+m.suspensions(all)+m.when(key), cut)
}

// when returns text to append to a change of settings that waits for a restart.
func (m *Model) when(keys ...string) string {
	if words.Ended(m.snap.State) {
		return m.nextRun()
	}
	wanted, waits := m.wanted(), false
	for _, key := range keys {
		if words.Live(m.table, key) {
			continue
		}
		waits = true
		if wanted.Get(key) != words.SettingsOf(m.snap).Get(key) {
			return m.nextRun()
		}
	}
	if waits {
		return ", as this run has it"
	}
	return ""
}

// nextRun returns text to append to a change that waits for the next run.
func (m *Model) nextRun() string { return m.withRestart(", for the next run", startsIt) }

// flip switches a setting that is on or off.
func (m *Model) flip(key string) {
	value, _ := m.value(key)
	m.set(key, strconv.FormatBool(value != "true"))
}

// cycle switches to the next of the given values that this machine has.
func (m *Model) cycle(key string, values ...string) {
	value, _ := m.value(key)
	if i := slices.Index(values, value); i >= 0 {
		values = slices.Concat(values[i+1:], values[:i])
	}
	m.setFirst(key, values...)
}

// scaleRate multiplies a learning rate.
func (m *Model) scaleRate(rate string, factor float64) {
	value, _ := m.value(rate)
	if m.snap != nil && words.Ended(m.snap.State) {
		value = m.asked(rate) // not the one lowered by a schedule
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v > 0) {
		m.say(noRate)
		return
	}
	m.set(rate, words.FormatRate(v*factor))
}

// moreThreads changes the number of threads, starting from the number of cores if it is 0.
func (m *Model) moreThreads(by int) {
	n := m.threads() + by
	if n < 1 {
		m.complain(oneThread)
		return
	}
	if most := mostThreads * m.options.Cores; by > 0 && n > most {
		more := m.keys.Say(settingsSetsMore)
		m.complain(fmt.Sprintf("threads stays %d: more than %d per processor would wait for each other%s", n-by, mostThreads, more))
		m.status.brief = []string{fmt.Sprintf("threads stays %d, %d per processor%s", n-by, mostThreads, more)}
		return
	}
	m.set(settings.Threads, strconv.Itoa(n))
}

// mostThreads is the maximum number of threads per processor that a key sets.
const mostThreads = 2

// A change has side effects, which the functions below report: it ends the window of the previous
// change, possibly with too few iterations for an effect, and changing the loss suspends the
// threshold.

// sayChange shows what was changed, and which effect was cut short or what comparison it ends.
func (m *Model) sayChange(text string, cut []string) {
	if a := m.snap.Ablation; a != nil && a.Running && !a.Decides() && len(a.Base.WithLive(m.wanted()).Differing(a.Base)) > 0 {
		m.say(text + "; " + a.Name() + " ended")
		return
	}
	if len(cut) == 0 {
		m.say(text)
		return
	}
	texts := make([]string, len(cut))
	for i, c := range cut {
		texts[i] = text + c
	}
	m.sayOne(texts...)
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
func (m *Model) suspensions(before settings.Values) (text string) {
	after := m.wanted()
	for _, key := range m.table.Dependent() {
		_, _, was := before.Suspended(key)
		number := after.Number(key)
		switch given, now, is := after.Suspended(key); {
		case is && !was:
			given, now = words.LossNames(given, now)
			text += fmt.Sprintf("; %s %g was for %s: suspended until %s sets one for %s", m.nameOf(key), number, given,
				cmp.Or(m.keys.Of(profiles.Action("set "+key)), m.keys.Of(profiles.Action("raise "+key)), m.keys.Of("settings")), now)
		case was && !is && before.Number(key) == number:
			text += fmt.Sprintf("; %s %g is in force again", m.nameOf(key), number)
		}
	}
	return text
}
