package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
)

// This file is how settings and their values are told, and which of a snapshot's settings are meant.

// FormatRate is a learning rate as a setting is written.
func FormatRate(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// SettingName is a setting's name on screen; a key without one stands for itself.
func SettingName(t *settings.Table, key string) string {
	if k, _ := t.Lookup(key); k.Short != "" {
		return k.Short
	}
	return strings.ReplaceAll(key, "_", " ")
}

// SettingMark is the letter of a setting's changes in charts.
func SettingMark(t *settings.Table, key string) rune {
	if k, _ := t.Lookup(key); k.Mark != 0 {
		return k.Mark
	}
	return '*'
}

// SettingText is a value as people say it; of threads 0 is one for each of so
// many cores.
func SettingText(t *settings.Table, key, value string, cores int) string {
	k, _ := t.Lookup(key)
	switch {
	case value == "true":
		return "on"
	case value == "false":
		return "off"
	case value == "":
		return k.Empty
	case value == "0" && k.Zero != "":
		return k.Zero
	case value == "0" && key == settings.Threads:
		return strconv.Itoa(cores)
	case key == "learning_rate":
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			return strings.TrimSpace(unit.LearningRate(v))
		}
	}
	return value
}

// SettingsOf are the user's settings: while an ablation switches them to and fro,
// those that it returns to.
func SettingsOf(s *profiles.Snapshot) settings.Values {
	if s.Ablation != nil && s.Ablation.Running {
		return s.Ablation.Base
	}
	return s.Settings
}

// NextSettings are those that the next run begins with, where the run is over and they
// were changed since; nil elsewhere.
func NextSettings(s *profiles.Snapshot) *settings.Values {
	if s == nil || !Ended(s.State) {
		return nil
	}
	return s.Next
}

// SettingsAsked are the settings that have a key's value as it was asked for: those of the
// next run where the run is over or the key is read at the start, else those in force.
func SettingsAsked(s *profiles.Snapshot, key string) settings.Values {
	if Waits(s, key) {
		return *s.Next
	}
	return SettingsOf(s)
}

// Waits says whether what is asked for of a setting is that of the next run.
func Waits(s *profiles.Snapshot, key string) bool {
	return s.Next != nil && (Ended(s.State) || !Live(s.Settings.Table(), key))
}

// Live says whether a setting changes while a run goes on.
func Live(t *settings.Table, key string) bool {
	k, _ := t.Lookup(key)
	return k.Live
}

// Emulated says why a mode of mixed precision costs time on this processor instead
// of saving it; "" where it does not.
func Emulated(s *profiles.Snapshot, amp string) string {
	switch {
	case s.Run.Device != "cpu" || amp == "off" || amp == "":
		return ""
	case amp == "fp16":
		return "slower: emulated on CPUs"
	case s.Run.Kernels != "amx":
		return "slower: emulated without AMX"
	}
	return ""
}

// ThresholdKey is the loss below which units end.
const ThresholdKey = "threshold"

// LossNames are the names of two losses, as short as keeps them apart.
func LossNames(a, b string) (string, string) {
	short := func(name string) string {
		name = strings.TrimPrefix(name, "normalised ")
		name, _, _ = strings.Cut(name, " ")
		return name
	}
	if short(a) != short(b) {
		return short(a), short(b)
	}
	return a, b
}

// WhySuspended says that the threshold is suspended, and for which loss it was given; ""
// where it is in force.
func WhySuspended(s *profiles.Snapshot) string {
	loss, _, suspended := s.Settings.Suspended(ThresholdKey)
	if !suspended || !s.InUnits() {
		return ""
	}
	return fmt.Sprintf("threshold %.2g suspended: for %s", s.Settings.Number(ThresholdKey), loss)
}

// ThresholdOf is the threshold that ends what is trained now, 0 for none. The
// initialisation has a loss of its own, which no other one replaces.
func ThresholdOf(s *profiles.Snapshot) float64 {
	if !s.InUnits() {
		return s.Settings.Number(ThresholdKey)
	}
	return s.Settings.InForce(ThresholdKey)
}

// KeysToChange are the keys that change a setting of a run; empty where it has no such one.
func KeysToChange(s *profiles.Snapshot, key string) string {
	k, _ := s.Settings.Lookup(key)
	return KeysOf(k)
}

// KeysOf are the keys that change a setting.
func KeysOf(k *settings.Key) string {
	var keys []string
	for _, p := range k.Presses {
		keys = append(keys, keyShown(p.Key))
	}
	if len(keys) == 0 && k.Mark != 0 {
		return string(k.Mark)
	}
	return strings.Join(keys, " ")
}

// keyShown is a key as texts have it.
func keyShown(key string) string { return strings.ReplaceAll(key, "-", "−") }

// Press is a keyboard key that a setting declares.
type Press struct {
	settings.Press
	Of *settings.Key
}

// Presses are the keyboard keys that settings declare, of those that are wanted, in
// the order of their places.
func Presses(t *settings.Table, wanted func(settings.Press) bool) []Press {
	var all []Press
	for i := range t.Keys() {
		k := &t.Keys()[i]
		for _, p := range k.Presses {
			if wanted(p) {
				all = append(all, Press{p, k})
			}
		}
	}
	slices.SortFunc(all, func(a, b Press) int { return a.Place - b.Place })
	return all
}

// LastHandy is the highest rank of a setting whose place in the footer is rather kept than
// the names of the others.
const LastHandy = 6

// HandyKeys are the keys of settings that most screens have room for in the footer.
func HandyKeys(t *settings.Table) string {
	var keys []string
	for _, p := range Presses(t, func(p settings.Press) bool { return !p.Tuning && p.Rank <= LastHandy }) {
		keys = append(keys, keyShown(p.Key))
	}
	return strings.Join(keys, " ")
}
