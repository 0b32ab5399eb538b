package screen

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/words"
)

// knobs moves settings by keys, each kind in its way: switches and choices, doubled and halved numbers, seeds, threads,
// shares of a whole and the device; or opens the list of a setting's values, or the field in which one is typed.
type knobs struct {
	*tuning
	overlays *overlays
	lastGPU  string // last value of the setting device that was a GPU, empty for none
}

// move applies a key's move to a setting.
func (k *knobs) move(s *settings.Key, how settings.Move) {
	switch {
	case k.snap == nil || k.snap.Settings.Table() == nil:
		k.complain(errNotBegun.Error())
	case how == settings.MoveWrite:
		k.write(s.Name)
	case s.Name == settings.Device:
		k.otherDevice()
	case how == settings.MoveToggle && len(s.Allowed) > 1:
		k.toggle(s)
	case s.Name == k.table.Roles().Rate:
		k.scaleRate(s.Name, map[settings.Move]float64{settings.MoveNext: 2, settings.MoveBefore: 0.5}[how])
	default:
		k.nudge(s.Name, how != settings.MoveBefore)
	}
}

// write opens the field in which a value of a setting is typed.
func (k *knobs) write(key string) {
	s, ok := k.table.Lookup(key)
	switch {
	case k.snap == nil || !ok:
		k.complain(errNotBegun.Error())
	case !k.keys.can(profiles.SetCommand):
		k.complain(errReadOnly.Error())
	default:
		k.overlays.lay(newTyping(k.tuning, s))
	}
}

// list opens the list of the values of the first of the given settings.
func (k *knobs) list(keys []string) {
	if k.snap == nil {
		k.complain(errNotBegun.Error())
		return
	}
	k.overlays.lay(newValueList(k.tuning, keys))
}

// nudge changes a setting by one step up or down: a switch flips, a choice cycles, a number goes
// to its next value.
func (k *knobs) nudge(key string, up bool) {
	s, ok := k.table.Lookup(key)
	switch {
	case !ok || k.snap == nil:
		k.complain(errNotBegun.Error())
	case s.Depends() && k.suspended(key):
		k.write(key)
		k.say(k.nameOf(key) + " is suspended: type one for " + k.wanted().Of(key))
	case s.Depends() && k.asked(key) == "0":
		k.write(key)
		k.say(k.nameOf(key) + " is off: type one")
	case key == settings.Threads:
		k.moreThreads(map[bool]int{true: 1, false: -1}[up])
	case key == k.maxUnits():
		k.moreUnits(up)
	case key == settings.Seed:
		k.nextSeed(up)
	case s.Type == settings.TypeList, s.Type == settings.TypeText && len(s.Allowed) == 0:
		k.complain(k.nameOf(key) + " has no steps: enter writes a value")
	case slices.Contains(k.table.Roles().Weights, key):
		k.shiftWeight(key, map[bool]float64{true: 0.05, false: -0.05}[up])
	case s.Type == settings.TypeSwitch:
		k.flip(key)
	case len(s.Allowed) > 0 && up:
		k.cycle(key, s.Allowed...)
	case len(s.Allowed) > 0:
		back := slices.Clone(s.Allowed)
		slices.Reverse(back)
		k.cycle(key, back...)
	default:
		k.scale(s, up)
	}
}

// scale doubles or halves a number within its range.
func (k *knobs) scale(s *settings.Key, up bool) {
	value, _ := k.value(s.Name)
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return
	}
	if v == 0 {
		k.complain(fmt.Sprintf("%s is 0: %s and enter give it a number", k.nameOf(s.Name), k.keys.Of("settings")))
		return
	}
	if up {
		v *= 2
	} else {
		v /= 2
	}
	if s.Type == settings.TypeInteger {
		v = math.Trunc(v)
	}
	v = min(max(v, s.Min), s.Max)
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if text == value {
		k.complain(fmt.Sprintf("%s stays %s: must be %s", k.nameOf(s.Name), k.textOf(s.Name, value), s.Wants()))
		return
	}
	k.set(s.Name, text)
}

// nextSeed goes to the next or previous seed.
func (k *knobs) nextSeed(up bool) {
	seed, err := strconv.ParseUint(k.asked(settings.Seed), 10, 64)
	switch {
	case err != nil:
		return
	case up:
		seed++
	case seed == 0:
		k.complain(leastSeed)
		return
	default:
		seed--
	}
	k.set(settings.Seed, strconv.FormatUint(seed, 10))
}

// moreUnits changes the number of units after which the run ends; 0 means all units of all
// passes.
func (k *knobs) moreUnits(up bool) {
	key, most, all := k.maxUnits(), 0, k.snap.Run.AllUnits()
	if v, err := strconv.Atoi(k.asked(key)); err == nil {
		most = v
	}
	switch {
	case up && (most == 0 || most >= all):
		k.complain(allTrained(all, k.snap.Run.Schema.Unit.Many))
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
		k.complain(k.nameOf(key) + " stays 1: a run trains one at least")
		return
	}
	k.set(key, strconv.Itoa(most))
}

// shiftWeight changes one weight by the given amount.
func (k *knobs) shiftWeight(key string, by float64) {
	v, _ := strconv.ParseFloat(k.asked(key), 64)
	v = min(max(math.Round((v+by)*20)/20, 0), 1)
	all, cut := k.wanted(), k.cutShort(key)
	if err := k.ask(k.share(key, v)...); err != nil {
		k.complain(fmt.Sprintf("%s stays: %v", k.nameOf(key), err))
		return
	}
	k.sayChange(k.weightsText()+k.suspensions(all)+k.when(), cut)
}

// toggle switches a setting off, to the first of its values, or back to the last other value
// used.
func (k *knobs) toggle(s *settings.Key) {
	off, on := s.Allowed[0], s.Usual()
	if value, _ := k.value(s.Name); value != off {
		k.used[s.Name] = value
		k.set(s.Name, off)
		return
	}
	k.set(s.Name, cmp.Or(k.used[s.Name], on))
	if !k.status.bad && s.Listed > 0 && k.when(s.Name) == "" {
		k.status.brief = append([]string{k.status.text}, k.status.brief...)
		k.status.text += k.keys.Say(listsModes)
	}
}

// flip switches a setting that is on or off.
func (k *knobs) flip(key string) {
	value, _ := k.value(key)
	k.set(key, strconv.FormatBool(value != "true"))
}

// cycle switches to the next of the given values that this machine has.
func (k *knobs) cycle(key string, values ...string) {
	value, _ := k.value(key)
	if i := slices.Index(values, value); i >= 0 {
		values = slices.Concat(values[i+1:], values[:i])
	}
	k.setFirst(key, values...)
}

// scaleRate multiplies a learning rate.
func (k *knobs) scaleRate(rate string, factor float64) {
	value, _ := k.value(rate)
	if k.over() {
		value = k.asked(rate) // not the one lowered by a schedule
	}
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !(v > 0) {
		k.say(noRate)
		return
	}
	k.set(rate, words.FormatRate(v*factor))
}

// moreThreads changes the number of threads, starting from the number of cores if it is 0.
func (k *knobs) moreThreads(by int) {
	n := k.threads() + by
	if n < 1 {
		k.complain(oneThread)
		return
	}
	if most := mostThreads * k.cores; by > 0 && n > most {
		more := k.keys.Say(settingsSetsMore)
		k.complain(fmt.Sprintf("threads stays %d: more than %d per processor would wait for each other%s", n-by,
			mostThreads, more))
		k.status.brief = []string{fmt.Sprintf("threads stays %d, %d per processor%s", n-by, mostThreads, more)}
		return
	}
	k.set(settings.Threads, strconv.Itoa(n))
}

// mostThreads is the maximum number of threads per processor that a key sets.
const mostThreads = 2

// otherDevice requests the processor, or the GPU used last.
func (k *knobs) otherDevice() {
	if k.snap == nil {
		k.say(errNotBegun.Error())
		return
	}
	now := k.asked(settings.Device)
	chosen := strings.HasPrefix(now, "cuda")
	onGPU := chosen || now != "cpu" && k.snap.Run.Device != "cpu"
	if !onGPU {
		k.set(settings.Device, cmp.Or(k.lastGPU, "cuda"))
		return
	}
	k.lastGPU = ""
	if chosen {
		k.lastGPU = now
	}
	k.set(settings.Device, "cpu")
}
