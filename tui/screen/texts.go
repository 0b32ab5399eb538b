package screen

import (
	"fmt"

	"prismtop/profiles"
	"prismtop/tui/keys"
)

// This file holds the messages of the footer. Those that name keys name actions, for which tui/keys has the keys.

const (
	askedToOperate     profiles.Advice = "asked for control; {control|asking again} takes it at once …"
	suspends           profiles.Advice = "suspends after this iteration; {suspend|another stop} again suspends at once"
	gaveUpControl      profiles.Advice = "you gave up control; {control|asking} takes it back"
	ablationNeedsRun   profiles.Advice = "an ablation needs a run in progress; {restart|a restart} starts another"
	startsAnother      profiles.Advice = "; {restart|a restart} starts another"
	startsNext         profiles.Advice = ": {restart|a restart} starts the next"
	startsIt           profiles.Advice = ": {restart|a restart} starts it"
	comparisonRuns     profiles.Advice = "another comparison is running; {ablate|a stop} stops it"
	isUnderWay         profiles.Advice = " is under way: {ablate|a stop} stops it"
	comparesEverything profiles.Advice = "everything off against on, by turns until decided; {ablate|a stop} stops it"
	replicates         profiles.Advice = "is switched back and forth until decided; {ablate|a stop} stops it"
	stopsAblation      profiles.Advice = "ablation: {ablate|a stop} or esc stops it. "
	startsResumed      profiles.Advice = "starts once {pause|resuming} resumes the run. "
	onlyWatches        profiles.Advice = "this screen only watches; {control|asking} asks for control"
	focusFirst         profiles.Advice = "{next pane|a click} focuses a pane; {view} then changes its view, {scale} its scale, {draw} the drawing of a picture"
	stepNeedsPause     profiles.Advice = "{step|a step} steps a paused run; {pause|a pause} pauses it"
	listsKeys          profiles.Advice = "{help|the help} lists the keys"
	allKeysHint        profiles.Advice = "{help|the help} all keys"
	searchHint         profiles.Advice = "{search|a search} search"
	panesShowsThem     profiles.Advice = "{panes|the list of panes} shows them."
	listsModes         profiles.Advice = "; {choose|the list} lists the modes"
	settingsSetsMore   profiles.Advice = " (key {settings|for all settings} sets more)"
	settingsLists      profiles.Advice = "{settings|the list of settings} lists the settings"
	quitsHere          profiles.Advice = "a larger one shows the run; {quit|quitting} quits"
	quitQuestion       profiles.Advice = "Quit? y or {quit|quitting} quits, other keys stay"
	weightsGo          profiles.Advice = "Its weights go unless {checkpoint|a key} writes them to a checkpoint."
	weightsSinceGo                     = "Its weights since iteration %d go unless {checkpoint|a key} writes them."
	leavesGoing        profiles.Advice = "{detach|leaving} leaves the run going"
	ablationStarts     profiles.Advice = "enter or {ablate|a click} starts, space chooses, esc"
	chooserFoot        profiles.Advice = "space shows, enter zooms, {layout|the next} layout, esc"
)

const (
	nowOperates        = "you have control"
	cannotSuspend      = "a program cannot be suspended here"
	lastPane           = "the last pane cannot be hidden"
	cannotAblate       = "no ablation can be started from here"
	comparisonStops    = "the %s stops; your settings return"
	forkStops          = "the fork stops"
	comparisonNeedsRun = "a comparison needs a run in progress"
	noChangeYet        = "no setting was changed yet; change one first"
	catchesUp          = "not yet: the screen is catching up with the run"
	viewerWatches      = "your role, viewer, may only watch"
	annotatorWatches   = "your role, annotator, may only watch and write notes"
	clearNeedsRun      = "caches are cleared only during a run"
	clearingCaches     = "clearing all caches …"
	savingPicture      = "saving …"
	writingCheckpoint  = "writing a checkpoint …"
	writingNote        = "writing the note …"
	restartingRun      = "restarting from the seed's first weights …"
	noRate             = "the learning rate is not known yet"
	oneThread          = "threads stays 1, the least"
	leastSeed          = "seed stays 0, the least"
	bookmarkNext       = "press 1 to 9 to keep the present settings under that digit until you leave"
	nothingToUndo      = "nothing to undo; this screen has changed no setting"
)

// handedOver names the screen that got control.
func handedOver(to string) string { return "handed control to " + to }

// hasControl names the screen that has control.
func hasControl(who string) string { return who + " has control" }

// wantsControl names the screen that asks for control.
func wantsControl(who string, t *keys.Table) string {
	return who + " wants control; " + t.Say("{control|asking} hands it over")
}

// notInForce refuses to examine a change that another one replaced.
func notInForce(setting, value string) string {
	return fmt.Sprintf("%s is no longer %s; pick a change in force", setting, value)
}

// noMark reports the first or the last mark of a kind in a recording.
func noMark(kind string, direction int) string {
	if direction < 0 {
		return "no earlier " + kind
	}
	return "no later " + kind
}

func noRoom(pane string) string {
	return "no room for " + pane + "; hide other panes, or press enter to zoom it"
}

func noData(pane string) string { return "this run has no data for " + pane }

func allTrained(n int, units string) string {
	return fmt.Sprintf("all %d %s are in the run already", n, units)
}

func bookmarkKept(slot int) string {
	return fmt.Sprintf("bookmark %d set; %d applies these settings, and again goes back", slot, slot)
}

func bookmarkEmpty(slot int, t *keys.Table) string {
	return fmt.Sprintf("bookmark %d is empty; %s %d keeps the present settings there", slot, t.Of("bookmark"), slot)
}

func bookmarkInForce(slot int) string {
	return fmt.Sprintf("bookmark %d is already in force; change a setting, then %d switches between the two",
		slot, slot)
}
