package words

import (
	"fmt"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
)

// This file describes settings and their values, and selects the relevant settings of a snapshot.

// FormatRate formats a learning rate as the text of a setting.
func FormatRate(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// SettingName returns a setting's name on screen: its short name, or its key in words.
func SettingName(t *settings.Table, key string) string {
	if k, ok := t.Lookup(key); ok {
		return k.Title()
	}
	return strings.ReplaceAll(key, "_", " ")
}

// SettingText formats a setting's value for display; cores is the number of threads that a
// setting of 0 means.
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
	case key == t.Roles().Rate:
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			return strings.TrimSpace(unit.LearningRate(v))
		}
	}
	return value
}

// SettingsOf returns the user's settings; during an ablation, those that it will restore.
func SettingsOf(s *profiles.Snapshot) settings.Values {
	if s.Ablation != nil && s.Ablation.Running {
		return s.Ablation.Base
	}
	return s.Settings
}

// NextSettings returns the settings of the next run if the run is over and they have changed
// since, else nil.
func NextSettings(s *profiles.Snapshot) *settings.Values {
	if s == nil || !Ended(s.State) {
		return nil
	}
	return s.Next
}

// SettingsAsked returns the settings with the last requested value of a key: those of the next
// run if the run is over or the key needs a restart, else those in force.
func SettingsAsked(s *profiles.Snapshot, key string) settings.Values {
	if Waits(s, key) {
		return *s.Next
	}
	return SettingsOf(s)
}

// Waits reports whether the requested value of a setting waits for the next run.
func Waits(s *profiles.Snapshot, key string) bool {
	return s.Next != nil && (Ended(s.State) || !Live(s.Settings.Table(), key))
}

// Live reports whether a setting can change during a run.
func Live(t *settings.Table, key string) bool {
	k, _ := t.Lookup(key)
	return k.Live
}

// LossNames shortens the names of two losses as far as they remain distinct.
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

// WhySuspended reports that the threshold is suspended, and the loss it was given for; "" if it
// is in force.
func WhySuspended(s *profiles.Snapshot) string {
	loss, _, suspended := s.Settings.Suspended(s.Run.Schema.Threshold)
	if !suspended || !s.InUnits() {
		return ""
	}
	return fmt.Sprintf("threshold %.2g suspended: for %s", s.Settings.Number(s.Run.Schema.Threshold), loss)
}

// ThresholdOf returns the threshold of the current unit or stage, 0 for none. The initialisation
// has its own loss, so its threshold is never suspended.
func ThresholdOf(s *profiles.Snapshot) float64 {
	key := s.Run.Schema.Threshold
	if key == "" {
		return 0
	}
	if !s.InUnits() {
		return s.Settings.Number(key)
	}
	return s.Settings.InForce(key)
}
