package alert

import (
	"fmt"
	"strings"

	"prismtop/profiles"
)

// tip is a sentence on what may help. Rules advise nothing else, so that all actions they
// can name are known: see Tips.
type tip uint8

const (
	leaveFP16 tip = iota
	halveAndRestart
	lookAtTheMachine
	useBF16
	givenMore
	saveBeforeTheEnd
	endOthers
	seeHeat
	seeOthersAndHeat
	enlargeOrSwitchOff
	switchOff
	hitsFromSecondPass
	cannotHit
	switchOffAndCompare
	recordAgain
	recordElsewhere
	numTips
)

// tips are formats with one argument: a number, or the setting of a cache.
var tips = [numTips]profiles.Advice{
	leaveFP16:           "Switch AMP off {switch amp} or to bf16 {choose amp}, whose range is that of fp32, and restart {restart}.",
	halveAndRestart:     "Halve the learning rate {lower learning_rate} and restart {restart}.",
	lookAtTheMachine:    "See whether the machine swaps, was suspended, or gives its cores to other processes; {interrupt|an interrupt} ends the run.",
	useBF16:             "Switch AMP to bf16 {choose amp}, which has the range of fp32 and needs no scale, or halve the learning rate {lower learning_rate}.",
	givenMore:           "Halve the learning rate {lower learning_rate} where the loss jumps about; else allow more iterations {raise iterations} or raise the threshold {raise threshold}.",
	saveBeforeTheEnd:    "The memory pane's timeline {view memory} shows since when; save {save} before memory runs out, and report it with the settings.",
	endOthers:           "No setting changed just before: end what else computes here (top shows it), or wait; {ablate|an ablation} compares settings all the same.",
	seeHeat:             "No setting changed just before, and other programs took %.0f %% of the processors only: see whether the processor is throttled by heat.",
	seeOthersAndHeat:    "No setting changed just before: see whether other processes use the cores or the processor is throttled by heat.",
	enlargeOrSwitchOff:  "Give it more than %d MiB {set measurement_cache_mb}, or switch it off {switch measurement_cache}.",
	switchOff:           "Switch it off {switch %s}.",
	hitsFromSecondPass:  "The trainer pattern measures each sample once a pass, so it hits from the second pass on at most: switch it off {switch measurement_cache}, or the pattern to remeasure {switch pattern}.",
	cannotHit:           "The trainer pattern measures each sample once, so it cannot hit: switch it off {switch measurement_cache}, or the pattern to remeasure {switch pattern}.",
	switchOffAndCompare: "Switch it off {switch %s} and compare.",
	recordAgain:         "The run goes on, and what was recorded before can be replayed; the next start of prismtop with --record FILE records elsewhere.",
	recordElsewhere:     "The run goes on; --record FILE records to another disk, --no-record not at all.",
}

// advice is a tip with its argument.
type advice struct {
	tip
	about []any
}

// of returns the tip with an argument.
func (t tip) of(about ...any) advice { return advice{t, about} }

// sentence returns the tip in full.
func (a advice) sentence() profiles.Advice {
	return profiles.Advice(fmt.Sprintf(string(tips[a.tip]), a.about...))
}

// Tips returns all sentences that the rules can advise in a run of a schema, with verbs of
// package fmt in place of numbers.
func Tips(s *profiles.Schema) (all []profiles.Advice) {
	for _, t := range tips {
		if !strings.Contains(string(t), "%s") {
			all = append(all, t)
			continue
		}
		for _, c := range s.Caches {
			all = append(all, profiles.Advice(strings.ReplaceAll(string(t), "%s", c.Setting)))
		}
	}
	return all
}
