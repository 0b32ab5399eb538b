package screen

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/tui/words"
)

// asking is what is asked of the settings of the run on screen: those in force in its newest snapshot, and requests
// that are not in force yet. It answers questions and changes nothing.
type asking struct {
	snap   *profiles.Snapshot // nil before the first
	table  *settings.Table
	begins settings.Values // with which the run begins
	cores  int             // the number of threads that a setting of 0 means
	advice func(run profiles.RunInfo, v settings.Values) []profiles.Caution
	wishes wishes
}

// nameOf returns a setting's name in this run.
func (a *asking) nameOf(key string) string { return words.SettingName(a.table, key) }

// textOf formats a setting's value for display.
func (a *asking) textOf(key, value string) string {
	return words.SettingText(a.table, key, value, a.cores)
}

// value returns a setting's requested value; pending reports that it is not in force yet.
func (a *asking) value(key string) (value string, pending bool) {
	if w, ok := a.wishes[key]; ok {
		return w.value, true
	}
	if a.snap == nil {
		return "", false
	}
	asked := a.asked(key)
	if asked != words.SettingsOf(a.snap).Get(key) {
		return asked, true
	}
	value = settingValue(a.snap, key)
	return value, false
}

// wanted returns all settings as requested; before the run begins, those it will start with.
func (a *asking) wanted() settings.Values {
	if a.snap == nil {
		return a.begins
	}
	all := words.SettingsOf(a.snap)
	if next := a.snap.Next; next != nil && words.Ended(a.snap.State) {
		all = *next
	} else if next != nil {
		all = next.WithLive(all)
	}
	all = all.Settled()
	for key, w := range a.wishes {
		all, _ = all.Set(key, w.value) // the run has already accepted it
	}
	return all.Settled()
}

// asked returns a setting's requested value, by default its present one, or that of the next run
// if the run is over. The learning rate is the setting, not the one lowered by a schedule.
func (a *asking) asked(key string) string {
	if w, ok := a.wishes[key]; ok {
		return w.value
	}
	switch {
	case a.snap == nil:
		return ""
	}
	if k, ok := a.table.Lookup(key); ok && k.Depends() { // a request for another loss may suspend a threshold
		return a.wanted().Get(key)
	}
	return words.SettingsAsked(a.snap, key).Get(key)
}

// changeText describes a change.
func (a *asking) changeText(key, before, after string) string {
	return fmt.Sprintf("%s: %s → %s", a.nameOf(key), a.textOf(key, before), a.textOf(key, after))
}

// caution returns a warning to append to a change whose value has a limited effect here.
func (a *asking) caution(key, value string) string {
	text := ""
	for _, c := range a.cautions(key, value) {
		text += ", " + c
	}
	if n, err := strconv.Atoi(value); key == settings.Threads && err == nil && n > a.cores {
		text += fmt.Sprintf(", more than the %s here", unit.About(int64(a.cores), "processor", "processors"))
	}
	return text
}

// advised returns what was measured here of a value of a setting under the settings asked for; of no value, what holds
// for all.
func (a *asking) advised(key, value string) string {
	if a.snap == nil || a.advice == nil {
		return ""
	}
	for _, c := range a.advice(a.snap.Run, a.wanted()) {
		if c.Setting == key && c.Value == value {
			return c.Text
		}
	}
	return ""
}

// cautions returns what limits a requested value of a setting in this run.
func (a *asking) cautions(key, value string) []string {
	if a.snap == nil {
		return nil
	}
	return a.snap.Run.CautionsAbout(key, value, a.wanted())
}

// unavailable returns why the run refuses a value of a setting; "" if it is not known to.
func (a *asking) unavailable(key, value string) string {
	return a.snap.Run.Unavailable(key, value, a.wanted())
}

// valueNote describes a value of a setting on this machine.
func (a *asking) valueNote(key, value string) string {
	if reason := a.unavailable(key, value); reason != "" {
		return reason
	}
	if text := a.advised(key, value); text != "" {
		return text
	}
	k, _ := a.table.Lookup(key)
	return strings.Join(append([]string{k.Notes[value]}, a.cautions(key, value)...), ", ")
}

func (a *asking) threads() int {
	value, _ := a.value(settings.Threads)
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		return n
	}
	return a.cores
}

// threadsOf returns the number of threads of a run.
func (a *asking) threadsOf(s *profiles.Snapshot) int {
	if n := words.SettingsOf(s).Int(settings.Threads); n > 0 {
		return n
	}
	return a.cores
}

// suspended reports whether the requested number was given for a state of other settings than the
// requested one, such as a threshold for another loss.
func (a *asking) suspended(key string) bool {
	_, _, suspended := a.wanted().Suspended(key)
	return suspended
}

// share sets one weight and divides the rest between the others in proportion to their present
// values. They change together because they sum to 1.
func (a *asking) share(key string, v float64) []settings.Assignment {
	rest, weights := 0.0, a.table.Roles().Weights
	for _, w := range weights {
		if w != key {
			u, _ := strconv.ParseFloat(a.asked(w), 64)
			rest += u
		}
	}
	var sets []settings.Assignment
	for _, w := range weights {
		u, _ := strconv.ParseFloat(a.asked(w), 64)
		switch {
		case w == key:
			u = v
		case rest > 0:
			u = (1 - v) * u / rest
		default:
			u = (1 - v) / float64(len(weights)-1)
		}
		sets = append(sets, settings.Assignment{Key: w, Value: words.FormatRate(math.Round(u*1e4) / 1e4)})
	}
	return sets
}

// changedNext returns the settings changed since the run ended, with their values for the next.
func (a *asking) changedNext() []string {
	next := words.NextSettings(a.snap)
	if next == nil {
		return nil
	}
	var changed []string
	for _, k := range a.table.Keys() {
		if after := next.Get(k.Name); after != a.snap.Settings.Get(k.Name) {
			changed = append(changed, a.nameOf(k.Name)+" "+a.textOf(k.Name, after))
		}
	}
	return changed
}

// waiting returns the settings that wait for the next run, formatted for display.
func (a *asking) waiting() []string {
	if a.snap == nil {
		return nil
	}
	wanted := a.wanted()
	var list []string
	for _, key := range wanted.Differing(words.SettingsOf(a.snap)) {
		if words.Ended(a.snap.State) || !words.Live(a.table, key) {
			list = append(list, a.nameOf(key)+" "+a.textOf(key, wanted.Get(key)))
		}
	}
	return list
}

// cutShort names the effect that a change of settings would leave with too few iterations, in
// versions from longest to shortest, to be appended to the message; nil if there is none. It must
// be called before the change.
func (a *asking) cutShort(keys ...string) []string {
	s := a.snap
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
	name := a.nameOf(e.Key)
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

// endsBy names the comparison under way that a change to other settings would end; "" for none. A decision on a press
// of a key and the search of the auto-tuner make way.
func (a *asking) endsBy(after settings.Values) string {
	s := a.snap
	if s == nil || words.Ended(s.State) {
		return ""
	}
	differs := func(base settings.Values) bool { return len(base.WithLive(after).Differing(base)) > 0 }
	if c := s.Ablation; c != nil && c.Running {
		if c.Decides() || c.Tuning != nil || !differs(c.Base) {
			return ""
		}
		return c.Name()
	}
	if f := a.forking(); f != nil && differs(words.SettingsOf(s)) {
		return "fork of " + f.Key
	}
	return ""
}

// forking returns the fork under way; nil if there is none.
func (a *asking) forking() *profiles.Fork {
	for i := range a.snap.Effects {
		if f := a.snap.Effects[i].Fork; f != nil && f.Running {
			return f
		}
	}
	return nil
}

// over reports whether the run on screen has ended.
func (a *asking) over() bool { return a.snap != nil && words.Ended(a.snap.State) }

// maxUnits returns the setting that limits a run's units of work, such as samples.
func (a *asking) maxUnits() string { return settings.MaxUnits(a.snap.Run.Schema.Unit.Many) }

// cautionLines returns a line for each value of a setting that has its price on this machine.
func (a *asking) cautionLines() (lines []string) {
	for _, c := range a.snap.Run.Cautions {
		under := c.Under == (profiles.When{}) || c.Unavailable && c.Under.Holds(a.wanted())
		if c.Value != "" && under && a.snap.Settings.Has(c.Setting) {
			lines = append(lines, a.nameOf(c.Setting)+" "+c.Value+" is "+c.Text+".")
		}
	}
	if a.advice != nil {
		for _, c := range a.advice(a.snap.Run, a.wanted()) {
			lines = append(lines, strings.TrimSpace(a.nameOf(c.Setting)+" "+c.Value)+" "+c.Text+".")
		}
	}
	return lines
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
		current := settingValue(s, key)
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
func settingValue(s *profiles.Snapshot, key string) string {
	if s == nil {
		return ""
	}
	if key != "" && key == words.SettingsOf(s).Table().Roles().Rate {
		if now := s.Of(key).Latest; now > 0 && !math.IsInf(now, 0) {
			return words.FormatRate(now)
		}
	}
	return words.SettingsOf(s).Get(key)
}
