package screen

import "fmt"

// This file holds the messages of the footer.

const (
	askedToOperate     = "asked for control; I takes it at once …"
	nowOperates        = "you have control"
	cannotSuspend      = "a program cannot be suspended here"
	suspends           = "suspends after this iteration; ctrl+z again suspends at once"
	gaveUpControl      = "you gave up control; I takes it back"
	lastPane           = "the last pane cannot be hidden"
	cannotAblate       = "no ablation can be started from here"
	ablationStops      = "the ablation stops; your settings return"
	ablationNeedsRun   = "an ablation needs a run in progress; R starts another"
	comparisonNeedsRun = "a comparison needs a run in progress"
	noChangeYet        = "no setting was changed yet; change one first"
	comparisonRuns     = "another comparison is running; A stops it"
	comparesEverything = "everything off against on, by turns until decided; A stops it"
	replicates         = "is switched back and forth until decided; A stops it"
	onlyWatches        = "this screen only watches; I asks for control"
	catchesUp          = "not yet: the screen is catching up with the run"
	viewerWatches      = "your role, viewer, may only watch"
	annotatorWatches   = "your role, annotator, may only watch and write notes"
	focusFirst         = "tab focuses a pane; v then changes its view, x its scale, i the drawing of a picture"
	stepNeedsPause     = "n steps a paused run; space pauses it"
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
func wantsControl(who string) string { return who + " wants control; I hands it over" }

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

func bookmarkEmpty(slot int) string {
	return fmt.Sprintf("bookmark %d is empty; b %d keeps the present settings there", slot, slot)
}

func bookmarkInForce(slot int) string {
	return fmt.Sprintf("bookmark %d is already in force; change a setting, then %d switches between the two", slot, slot)
}
