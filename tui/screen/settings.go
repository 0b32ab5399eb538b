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
	"prismtop/profiles/unit"
	"prismtop/tui/words"
)

// nameOf returns a setting's name in this run.
func (m *Model) nameOf(key string) string { return words.SettingName(m.keys.table, key) }

// textOf formats a setting's value for display.
func (m *Model) textOf(key, value string) string {
	return words.SettingText(m.keys.table, key, value, m.options.Cores)
}

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

// value returns a setting's requested value; pending reports that it is not in force yet.
func (m *Model) value(key string) (value string, pending bool) {
	if w, ok := m.wishes[key]; ok {
		return w.value, true
	}
	if m.snap == nil {
		return "", false
	}
	asked := m.asked(key)
	if asked != words.SettingsOf(m.snap).Get(key) {
		return asked, true
	}
	value, _ = settingValue(m.snap, key)
	return value, false
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
		if words.Live(m.keys.table, key) {
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

// changeText describes a change.
func (m *Model) changeText(key, before, after string) string {
	return fmt.Sprintf("%s: %s → %s", m.nameOf(key), m.textOf(key, before), m.textOf(key, after))
}

// caution returns a warning to append to a change whose value has a limited effect here.
func (m *Model) caution(key, value string) string {
	text := ""
	for _, c := range m.cautions(key, value) {
		text += ", " + c
	}
	if n, err := strconv.Atoi(value); key == settings.Threads && err == nil && n > m.options.Cores {
		text += fmt.Sprintf(", more than the %s here", unit.About(int64(m.options.Cores), "processor", "processors"))
	}
	return text
}

// advised returns what was measured here of a value of a setting under the settings asked for; of no value, what holds
// for all.
func (m *Model) advised(key, value string) string {
	if m.snap == nil || m.options.Advice == nil {
		return ""
	}
	for _, c := range m.options.Advice(m.snap.Run, m.wanted()) {
		if c.Setting == key && c.Value == value {
			return c.Text
		}
	}
	return ""
}

// cautions returns what limits a requested value of a setting in this run.
func (m *Model) cautions(key, value string) []string {
	if m.snap == nil {
		return nil
	}
	return m.snap.Run.CautionsAbout(key, value, m.wanted())
}

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

func (m *Model) threads() int {
	value, _ := m.value(settings.Threads)
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		return n
	}
	return m.options.Cores
}

// A change has side effects, which the functions below report: it ends the window of the previous
// change, possibly with too few iterations for an effect, and changing the loss suspends the
// threshold.

// cutShort names the effect that a change of settings would leave with too few iterations, in
// versions from longest to shortest, to be appended to the message; nil if there is none. It must
// be called before the change.
func (m *Model) cutShort(keys ...string) []string {
	s := m.snap
	if s == nil || words.Ended(s.State) || len(s.Effects) == 0 {
		return nil
	}
	cuts := false
	for _, key := range keys {
		k, ok := s.Settings.Lookup(key)
		cuts = cuts || ok && k.Live && !k.Limit
	}
	e := &s.Effects[len(s.Effects)-1]
	had, short := e.CutShort()
	if !cuts || !short || s.Index <= e.Iteration { // no iteration ran with it: both take effect together
		return nil
	}
	name := m.nameOf(e.Key)
	if more := len(e.With); more > 0 {
		name = fmt.Sprintf("%s + %d more", name, more)
	}
	owner := name + "'s"
	if strings.HasSuffix(name, "s") {
		owner = name + "'"
	}
	return []string{
		fmt.Sprintf("; %s effect had %d of %d iterations", owner, had, profiles.EffectEnough),
		fmt.Sprintf("; %s had %d of %d iterations", name, had, profiles.EffectEnough),
		fmt.Sprintf("; %s had %d of %d", name, had, profiles.EffectEnough),
	}
}

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

// suspended reports whether the requested number was given for a state of other settings than the
// requested one, such as a threshold for another loss.
func (m *Model) suspended(key string) bool {
	_, _, suspended := m.wanted().Suspended(key)
	return suspended
}

// suspensions returns text to append to a change that suspends or restores a number; before holds
// the requested settings before the change.
func (m *Model) suspensions(before settings.Values) (text string) {
	after := m.wanted()
	for _, key := range m.keys.table.Dependent() {
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
