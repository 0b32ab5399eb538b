package alert

import (
	"fmt"

	"prismtop/profiles"
)

// tip is a sentence on what may help. Rules advise nothing else but a workload's own tips, so
// that all actions they can name are known: see Tips.
type tip uint8

const (
	otherSettings tip = iota
	lookAtTheMachine
	allowMore
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
	needsLess
	soonerDone
	checkDevice
	saveOrEnd
)

// tips are formats, with a number or the setting of a cache as arguments.
var tips = [...]profiles.Advice{
	otherSettings:       "Restart {restart} with other settings.",
	lookAtTheMachine:    "See whether the machine swaps, was suspended, or gives its cores to other processes; {interrupt|an interrupt} ends the run.",
	allowMore:           "Allow more iterations, or a higher threshold.",
	saveBeforeTheEnd:    "The memory pane's timeline {view memory} shows since when; save {save} before memory runs out, and report it with the settings.",
	endOthers:           "No setting changed just before: end what else computes here (top shows it), or wait; {ablate|an ablation} compares settings all the same.",
	seeHeat:             "No setting changed just before, and other programs took %.0f %% of the processors only: see whether the processor is throttled by heat.",
	seeOthersAndHeat:    "No setting changed just before: see whether other processes use the cores or the processor is throttled by heat.",
	enlargeOrSwitchOff:  "Give it more than %d MiB {set %s}, or switch it off {switch %s}.",
	switchOff:           "Switch it off {switch %s}.",
	hitsFromSecondPass:  "Each %s looks up entries of its own once a pass, so it hits from the second pass on at most: switch it off {switch %s}%s.",
	cannotHit:           "Each %s looks up entries of its own once, so it cannot hit: switch it off {switch %s}%s.",
	switchOffAndCompare: "Switch it off {switch %s} and compare.",
	recordAgain:         "The run goes on, and what was recorded before can be replayed; the next start of prismtop with --record FILE records elsewhere.",
	recordElsewhere:     "The run goes on; --record FILE records to another disk, --no-record not at all.",
	needsLess:           "Save {save} before memory runs out; with a smaller size, smaller caches or recomputed activations, a restart {restart} needs less.",
	soonerDone:          "A start with --max-time, or with fewer iterations, ends sooner; {interrupt|an interrupt} ends this one.",
	checkDevice:         "prismtop doctor --gpu, by a new process, checks the GPU; this process cannot use it again.",
	saveOrEnd:           "Save the result {save} and end the run by {interrupt|an interrupt}, or try other settings: the quality chart shows since when it stands.",
}

// of returns the tip with its arguments.
func (t tip) of(about ...any) profiles.Advice {
	return profiles.Advice(fmt.Sprintf(string(tips[t]), about...))
}

// tipFor returns the workload's own tip for a rule under the present settings, or a general
// one if it has none.
func (f *Facts) tipFor(rule string, general tip) profiles.Advice {
	if own := f.Schema.TipFor(rule, f.Settings); own != "" {
		return own
	}
	return general.of()
}

// once returns the tip for a cache that cannot hit in the first pass.
func once(s *profiles.Schema, c *profiles.CacheInfo, use *profiles.CacheUse, passes int) profiles.Advice {
	instead := ""
	if use.Instead != "" {
		instead = ", or " + string(use.Instead)
	}
	if passes > 1 {
		return hitsFromSecondPass.of(s.Unit.One, c.Setting, instead)
	}
	return cannotHit.of(s.Unit.One, c.Setting, instead)
}

// Tips returns all sentences that the rules can advise in a run of a schema, with 0 in place
// of numbers.
func Tips(s *profiles.Schema) (all []profiles.Advice) {
	for _, t := range s.Tips {
		all = append(all, t.Try)
	}
	for _, t := range []tip{otherSettings, lookAtTheMachine, allowMore, saveBeforeTheEnd, endOthers, seeOthersAndHeat,
		recordAgain, recordElsewhere, needsLess, soonerDone, checkDevice, saveOrEnd} {
		all = append(all, t.of())
	}
	all = append(all, seeHeat.of(0.0))
	for i := range s.Caches {
		c := &s.Caches[i]
		if c.Limit != "" {
			all = append(all, enlargeOrSwitchOff.of(0, c.Limit, c.Setting))
		}
		all = append(all, switchOff.of(c.Setting), switchOffAndCompare.of(c.Setting))
		for j := range c.Uses {
			if u := &c.Uses[j]; u.Once {
				all = append(all, once(s, c, u, 1), once(s, c, u, 2))
			}
		}
	}
	return all
}
