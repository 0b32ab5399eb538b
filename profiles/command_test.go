package profiles

import (
	"errors"
	"fmt"
	"testing"
)

// A command that was sent and is not answered is not said to be refused: it may be carried out later.
func TestWhatBecameOfACommand(t *testing.T) {
	for want, why := range map[string]error{
		"no note: it is too long": errors.New("it is too long"),
		"note: not answered yet: the run is busy or its process stopped, and may still do it": fmt.Errorf("%w", ErrUnanswered),
	} {
		if got := NoteCommand.Failed(why); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
