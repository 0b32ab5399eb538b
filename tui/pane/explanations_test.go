package pane

import (
	"reflect"
	"testing"
)

func TestExplanationsAreParagraphsOfSections(t *testing.T) {
	e := ParseExplanations("For editors.\n\n## one\n\nA {unit} is\ntrained. {more}\n\n{more}\n\n## two\n\nLast.\n")
	if got := e.Of("one", "{unit}", "sample", "{more}", ""); !reflect.DeepEqual(got, []string{"A sample is trained."}) {
		t.Errorf("%q", got)
	}
	if got := e.Of("two"); !reflect.DeepEqual(got, []string{"Last."}) || len(e) != 2 {
		t.Errorf("%q of %d", got, len(e))
	}
}
