package profiles

import (
	"cmp"
	"strings"
)

// Action is something a user can do to a run: a verb, optionally followed by the setting
// or the pane it applies to, as "restart", "lower learning_rate" or "view memory". A
// screen maps actions to keys.
type Action string

// Advice is a sentence on what may help. It names actions in braces, after the words for
// them:
//
//	Halve the learning rate {lower learning_rate} and restart {restart}.
//
// or with words to use if the action has no key:
//
//	{ablate|An ablation} compares settings.
type Advice string

// Text returns the sentence with the key of each action: in parentheses, or in place of the
// words for it. key returns "" for an action without a key; a nil key means no keys.
func (a Advice) Text(key func(Action) string) string {
	var text strings.Builder
	a.parts(func(words string, action Action, instead string) {
		k := ""
		if key != nil && action != "" {
			k = key(action)
		}
		switch {
		case action == "" || instead != "":
			text.WriteString(words + cmp.Or(k, instead))
		case k == "":
			text.WriteString(strings.TrimSuffix(words, " "))
		default:
			text.WriteString(words + "(" + k + ")")
		}
	})
	return text.String()
}

// Actions lists the actions named in the sentence.
func (a Advice) Actions() (all []Action) {
	a.parts(func(_ string, action Action, _ string) {
		if action != "" {
			all = append(all, action)
		}
	})
	return all
}

// parts calls take with each action, the words before it and the words for it; for the
// words after the last action, with no action.
func (a Advice) parts(take func(words string, action Action, instead string)) {
	rest := string(a)
	for {
		words, behind, opened := strings.Cut(rest, "{")
		named, after, closed := strings.Cut(behind, "}")
		if !opened || !closed {
			take(rest, "", "")
			return
		}
		action, instead, _ := strings.Cut(named, "|")
		take(words, Action(action), instead)
		rest = after
	}
}
