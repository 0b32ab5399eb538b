package screen

import (
	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
)

// reading reads a picture for the next run in the background before it is requested, so
// that what is wrong with it is said at once.
type reading struct {
	*tuning
	path    string  // the picture being read; empty for none
	pending tea.Cmd // begins it after the current message
}

// check begins to read a picture.
func (r *reading) check(key, value string) {
	if !r.keys.can(profiles.SetCommand) {
		r.complain(errReadOnly.Error())
		return
	}
	r.path = value
	r.say("reading " + value + " …")
	set := settings.Assignment{Key: key, Value: value}
	source, try := r.source,
		profiles.Command{Kind: profiles.SetCommand, Settings: []settings.Assignment{set}, Try: true}
	r.pending = func() tea.Msg { return checkedMsg{set, source.Do(try)} }
}

// forget drops the picture being read.
func (r *reading) forget() { r.path = "" }

// checked requests a picture that has been read, or shows why it is invalid.
func (r *reading) checked(msg checkedMsg) {
	if r.path != msg.set.Value {
		return // cancelled by esc, or superseded
	}
	r.path = ""
	err := msg.err
	if err == nil {
		err = r.assign(msg.set.Key, msg.set.Value)
	}
	if err != nil {
		r.complain(err.Error())
	}
	if e, _ := r.tiles.editor(); e != nil {
		e.Checked(msg.set.Key, err)
	}
}
