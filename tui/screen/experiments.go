package screen

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/tui/chart"
	"prismtop/tui/keys"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/pane/ablation"
	"prismtop/tui/words"
)

// experiments starts and stops the comparisons of settings that the run makes by itself: ablations, replications and
// forks of changes, and the decision on a press of a key.
type experiments struct {
	*seat
	*asking
	tiles    *tiling
	overlays *overlays
	keep     *remembered

	askedAt  *profiles.Ablation // the table when an ablation was asked for
	ablating bool               // an ablation was requested and has not been reported yet
}

// running reports whether an ablation is under way or requested. A decision, which makes way for one, is none.
func (x *experiments) running() bool {
	return x.ablating || x.snap != nil && x.snap.Ablation != nil && x.snap.Ablation.Running &&
		!x.snap.Ablation.Decides()
}

// settle forgets a request that the newest snapshot has reported, or that its end has overtaken.
func (x *experiments) settle() {
	if a := x.snap.Ablation; x.over() || a != nil && (a.Running || a != x.askedAt) {
		x.ablating = false
	}
}

// examined returns the change to replicate or fork: the selected one if the effects pane is
// focused, else the newest.
func (x *experiments) examined() *profiles.Effect {
	if x.snap == nil || len(x.snap.Effects) == 0 {
		return nil
	}
	if id := x.tiles.deck.Find(effectsPane); id != layout.None && x.tiles.focus == id {
		if p, ok := x.tiles.panes[id].(pane.EffectPicker); ok {
			return p.Picked(x.snap)
		}
	}
	return &x.snap.Effects[len(x.snap.Effects)-1]
}

// refused complains if no comparison can be started now.
func (x *experiments) refused() bool {
	switch {
	case x.snap == nil || x.over():
		x.complain(x.keys.withRestart(comparisonNeedsRun, startsAnother))
	case x.running():
		x.complain(x.keys.Say(comparisonRuns))
	default:
		return false
	}
	return true
}

// examine asks for an examination of a change, if it is still in force; what describes it.
func (x *experiments) examine(kind profiles.CommandKind, what string) {
	e := x.examined()
	switch {
	case e == nil && x.snap != nil && !x.over():
		x.complain(noChangeYet)
		return
	case x.refused():
		return
	}
	var before []settings.Assignment
	for _, c := range e.Changes() {
		if x.asked(c.Key) != c.After {
			x.complain(notInForce(x.nameOf(c.Key), x.textOf(c.Key, c.After)))
			return
		}
		before = append(before, settings.Assignment{Key: c.Key, Value: c.Before})
	}
	if !x.do(profiles.Command{Kind: kind, Settings: before, At: e.Iteration}) {
		return
	}
	x.tiles.openPane(x.tiles.deck.Find(effectsPane))
	x.sayStart(words.Changed(x.table, e, x.cores) + " " + what)
}

// sayStart says what was started, of a paused run before all that it waits, or only that.
func (x *experiments) sayStart(text string) {
	if x.snap.State != profiles.Paused {
		x.say(text)
		return
	}
	waits := x.keys.Say(startsResumed)
	x.sayOne(waits+text, strings.TrimSpace(waits))
}

// replicate switches the examined change back and forth until its effect is decided.
func (x *experiments) replicate() {
	x.examine(profiles.ReplicateCommand, x.keys.Say(replicates))
}

// fork compares the result with and without the examined change from the same starting points.
func (x *experiments) fork() {
	x.examine(profiles.ForkCommand, fmt.Sprintf("is compared %d times from the same point over %d iterations; "+
		"%s stops it", profiles.ForkCount, profiles.ForkArm, x.keys.Of("ablate")))
}

// noChange is the iteration of a replication of no change that was made by hand.
const noChange = -1

// compareEverything switches every optimisation that saves time off and on by turns until it is decided what they
// save together. The settings are then as before.
func (x *experiments) compareEverything() {
	off, _ := x.table.Everything()
	if !x.refused() && x.begin(profiles.Command{Kind: profiles.ReplicateCommand, Settings: off, At: noChange}) {
		x.sayStart(x.keys.Say(comparesEverything))
	}
}

// begin asks for a comparison, and shows its table.
func (x *experiments) begin(c profiles.Command) bool {
	if !x.do(c) {
		return false
	}
	x.ablating, x.askedAt = true, x.snap.Ablation
	x.tiles.openPane(x.tiles.deck.Find(ablationPane))
	return true
}

// toggle offers the ablations of the run, or stops the one under way.
func (x *experiments) toggle() {
	if !x.keys.can(profiles.AblateCommand) {
		x.complain(cannotAblate)
		return
	}
	if x.running() {
		x.ablating = false
		x.do(profiles.Command{Kind: profiles.StopAblationCommand})
		what := "ablation"
		if a := x.snap.Ablation; a != nil && a.Running {
			what = a.Name()
		}
		x.say(fmt.Sprintf(comparisonStops, what))
		return
	}
	if x.snap == nil || x.over() {
		x.complain(x.keys.Say(ablationNeedsRun))
		return
	}
	if x.forking() != nil {
		x.do(profiles.Command{Kind: profiles.StopAblationCommand})
		x.say(forkStops)
		return
	}
	if !ablation.Offered(x.table) {
		x.ablate(nil, ablation.Length(x.snap))
		return
	}
	x.overlays.lay(&comparing{ablation.NewChoice(x.table, x.keep.Factorial[x.table.Workload]), x})
}

// ablate starts an ablation, of every combination of factors if there are some, and shows its table.
func (x *experiments) ablate(factors []settings.Factor, length string) {
	if x.begin(profiles.Command{Kind: profiles.AblateCommand, Factors: factors}) {
		x.sayStart(strings.TrimSpace(x.keys.Say(stopsAblation) + length))
	}
}

// deciding describes the decision under way on a press of a key, "" for none: "a: deciding, 3 of 8".
func (x *experiments) deciding() string {
	if x.snap == nil || x.snap.Ablation == nil || !x.snap.Ablation.Running || !x.snap.Ablation.Decides() {
		return ""
	}
	return x.decisionKey() + x.snap.Ablation.Progress()
}

// decisionKey names the key of the setting that is decided, "" for several: "a: ".
func (x *experiments) decisionKey() string {
	if k, ok := x.table.Lookup(x.snap.Ablation.Rows[0].Key); ok && len(k.Presses) > 0 {
		if key := x.keys.Of(keys.ActionOf(k, k.Presses[0].Does)); key != "" {
			return key + ": "
		}
	}
	return ""
}

// sayDecision shows the result of a decision that has just ended by itself.
func (x *experiments) sayDecision(before *profiles.Ablation) {
	a := x.snap.Ablation
	if before == nil || a == nil || !before.Running || !before.Decides() || a.Running || a.Of != before.Of ||
		!a.Concluded() {
		return
	}
	x.sayOne(words.Decision(x.table, a, x.cores, x.decisionKey())...)
}

// sayFork shows what a fork that has just ended found.
func (x *experiments) sayFork(before *profiles.Fork) {
	if before == nil || !before.Running {
		return
	}
	for i := range x.snap.Effects {
		if f := x.snap.Effects[i].Fork; f != nil && f.Of == before.Of && !f.Running {
			x.say(x.nameOf(f.Key) + ": " + words.Forked(x.snap, f))
		}
	}
}

// comparing is the open list of ablations, of a run that has several settings to compare: of single settings, which is
// selected, and of every combination of some.
type comparing struct {
	*ablation.Choice
	experiments *experiments
}

func (c *comparing) press(s string) (tea.Cmd, outcome) {
	x := c.experiments
	switch {
	case x.keys.closes(s):
		return nil, closed
	case s == "enter" || x.keys.Is("ablate", s):
		return nil, c.start()
	}
	said, known := c.Press(s)
	switch {
	case !known:
		return nil, unheard
	case said != "":
		x.say(said)
	}
	return nil, held
}

// start starts the selected ablation.
func (c *comparing) start() outcome {
	x := c.experiments
	if !c.Factorial() {
		x.ablate(nil, ablation.Length(x.snap))
		return closed
	}
	factors, err := c.Factors()
	if err != nil {
		x.complain(err.Error())
		return held
	}
	x.keep.chooseFactorial(x.table.Workload, c.Names())
	x.ablate(factors, ablation.FactorialLength(x.snap, len(factors)))
	return closed
}

func (c *comparing) box(in room) *chart.Canvas {
	x := c.experiments
	return in.dialog("Ablation", x.keys.Say(ablationStarts), ablation.ChoiceWidth, min(c.Rows(), in.h-2),
		func(on *chart.Canvas) {
			c.Draw(on, x.snap)
		})
}
