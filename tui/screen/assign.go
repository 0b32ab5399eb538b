package screen

import (
	"strconv"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles/settings"
)

// This file assigns typed values and opens the settings pane.

// assign requests a typed value. A weight of the composite loss takes its share from the other
// two.
func (m *Model) assign(key, value string) error {
	all := m.wanted()
	if _, err := all.Set(key, value); err != nil {
		return err
	}
	sets := []settings.Assignment{{Key: key, Value: value}}
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
	if m.powers.Setter == nil {
		m.complain(errReadOnly.Error())
		return
	}
	m.reading = set.Value
	m.say("reading " + set.Value + " …")
	setter := m.powers.Setter
	m.pending = func() tea.Msg { return checkedMsg{set, setter.Check([]settings.Assignment{set})} }
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

// editSetting opens the settings pane to type a setting's value.
func (m *Model) editSetting(key string) {
	if m.snap == nil {
		m.complain(errNotBegun.Error())
		return
	}
	e, id := m.editor()
	if e == nil {
		m.complain("this screen has no pane to write " + m.nameOf(key) + " in")
		return
	}
	m.openPane(id)
	e.Edit(key)
}

// otherDevice requests the other device.
func (m *Model) otherDevice() {
	device := "cuda"
	if m.asked("device") == "cuda" {
		device = "cpu"
	}
	m.set("device", device)
}

func parseNumber(text string) float64 {
	v, _ := strconv.ParseFloat(text, 64)
	return v
}
