package keys

import "prismtop/profiles"

// This file is the table of the actions that do not depend on a workload, with their keys. A new command of
// a run is a row here.

// Names of actions that code refers to in more than one place.
const (
	choose = "choose"
	device = "switch device"
)

// digits are the keys of bookmarks and of tenths of a recording.
var digits = []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}

// moves are the keys that select.
var moves = []string{"up", "down", "pgup", "pgdown", "home", "end"}

// fixed are the rows by section. Those of settings are made from a workload's table.
var fixed = [sections][]Row{
	Run: {
		{Action: "pause", Command: profiles.PauseCommand, Keys: []string{"space"}, Help: "pause or go on", Short: "pause", Rank: 1, During: true, Words: "pause"},
		{Action: "step", Command: profiles.StepCommand, Keys: []string{"n"}, Help: "one iteration", Words: "step"},
		{Action: "save", Command: profiles.SaveCommand, Keys: []string{"s"}, Help: "save the result", Short: "save", Rank: 1, Afterwards: true, Words: "save"},
		{Action: "checkpoint", Command: profiles.CheckpointCommand, Keys: []string{"d"}, Help: "write a checkpoint", Words: "checkpoint"},
		{Action: "clear caches", Command: profiles.ClearCommand, Keys: []string{"$"}, Help: "clear all caches", Words: "clear"},
		{Action: "export", Command: profiles.ExportCommand, Keys: []string{"r"}, Help: "export to a file", Words: "export", Replayed: true},
		{Action: "trace", Command: profiles.TraceCommand, Keys: []string{"^"}, Help: "a profiler's trace of 5 steps", Words: "trace"},
		{Action: "note", Command: profiles.NoteCommand, Keys: []string{"#"}, Help: "note at this iteration", Words: "note TEXT", Replayed: true},
		{Action: "detach", Command: profiles.LeaveCommand, Keys: []string{"D"}, Help: "leave the run going", Replayed: true},
		{Action: "control", Command: profiles.OperateCommand, Keys: []string{"I"}, Help: "operate, hand over", Replayed: true},
		{Action: "restart", Command: profiles.RestartCommand, Keys: []string{"R"}, Help: "restart, asks first", Short: "restart", Afterwards: true, Words: "restart"},
	},
	Replay: {
		{Action: "play", Command: profiles.PlayCommand, Keys: []string{"space"}, Help: "play or pause", Short: "play", Long: "play, pause", Rank: 1},
		{Action: "backward", Command: profiles.PlayCommand, Keys: []string{"<", "left"}, Help: "10 seconds back"},
		{Action: "forward", Command: profiles.PlayCommand, Keys: []string{">", "right"}, Help: "10 seconds on", Short: "on", Rank: 2},
		{Action: "slower", Command: profiles.PlayCommand, Keys: []string{"["}, Help: "half the speed"},
		{Action: "faster", Command: profiles.PlayCommand, Keys: []string{"]"}, Help: "twice the speed", Short: "faster", Rank: 2},
		{Action: "next snapshot", Command: profiles.PlayCommand, Keys: []string{"n"}, Help: "one snapshot on"},
		{Action: "previous snapshot", Command: profiles.PlayCommand, Keys: []string{"N"}, Help: "one snapshot back"},
		{Action: "next change", Command: profiles.PlayCommand, Keys: []string{"}"}, Help: "next change of a setting", Short: "change", Rank: 3},
		{Action: "previous change", Command: profiles.PlayCommand, Keys: []string{"{"}, Help: "previous change"},
		{Action: "next alert", Command: profiles.PlayCommand, Keys: []string{")"}, Help: "next alert"},
		{Action: "previous alert", Command: profiles.PlayCommand, Keys: []string{"("}, Help: "previous alert"},
		{Action: "next note", Command: profiles.PlayCommand, Keys: []string{"'"}, Help: "next note"},
		{Action: "previous note", Command: profiles.PlayCommand, Keys: []string{"\""}, Help: "previous note"},
		{Action: "tenth", Command: profiles.PlayCommand, Keys: digits, Shown: "1-9", Help: "to a tenth of it", Fixed: true},
		{Action: "beginning", Command: profiles.PlayCommand, Keys: []string{"home", "0"}, Help: "to the beginning", Fixed: true},
		{Action: "end", Command: profiles.PlayCommand, Keys: []string{"end"}, Help: "to the end; follows a run in progress", Fixed: true},
	},
	Tuning: {
		{Action: "settings", Keys: []string{","}, Help: "all settings", Words: "settings", Replayed: true},
		{Action: choose, Command: profiles.SetCommand, Keys: []string{"."}},
		{Action: "ablate", Command: profiles.AblateCommand, Keys: []string{"A"}, Help: "ablation: start, stop", Short: "ablate", Rank: 3, During: true},
		{Action: "compare everything", Command: profiles.ReplicateCommand, Keys: []string{"*"}, Help: "everything off against on"},
		{Action: "replicate", Command: profiles.ReplicateCommand, Keys: []string{"E"}, Help: "replicate a change: its time"},
		{Action: "fork", Command: profiles.ForkCommand, Keys: []string{"Q"}, Help: "fork a change: its quality"},
		{Action: "undo", Command: profiles.SetCommand, Keys: []string{"u"}, Help: "undo the last change"},
		{Action: "bookmark", Command: profiles.SetCommand, Keys: []string{"b"}, Help: "bookmark, then 1-9"},
		{Action: "apply bookmark", Command: profiles.SetCommand, Keys: digits, Shown: "1-9", Help: "apply a bookmark, or back", Fixed: true},
		{Action: device, Command: profiles.SetCommand, Keys: []string{"U"}, Help: "device"},
	},
	Screen: {
		{Action: "help", Keys: []string{"?", "h"}, Help: "explain: pane, then keys", Short: "help", Long: "every key"},
		{Action: "search", Keys: []string{"/"}, Help: "search keys and explanations"},
		{Action: "alerts", Keys: []string{"!"}, Help: "alerts, with what to do"},
		{Action: "next pane", Keys: []string{"tab"}, Help: "next pane", Short: "pane", Rank: 9},
		{Action: "previous pane", Keys: []string{"shift+tab"}, Help: "previous pane"},
		{Action: "zoom", Keys: []string{"z", "enter"}, Help: "zoom the pane"},
		{Action: "view", Keys: []string{"v"}, Help: "the pane's view"},
		{Action: "scale", Keys: []string{"x"}, Help: "the pane's scale"},
		{Action: "draw", Keys: []string{"i"}, Help: "how a picture is drawn"},
		{Action: "layout", Keys: []string{"w"}, Help: "next layout", Short: "layout", Rank: 11},
		{Action: "panes", Keys: []string{"P"}, Help: "show and hide panes", Short: "panes", Rank: 10},
		{Action: "mouse", Keys: []string{"M"}, Help: "mouse on or off"},
		{Action: "suspend", Keys: []string{"ctrl+z"}, Help: "suspend", Fixed: true},
		{Action: "colours", Keys: []string{"C"}, Help: "colours"},
		{Action: "bandwidth", Keys: []string{"B"}, Help: "bandwidth"},
		{Action: "close", Keys: []string{"esc"}, Help: "close what is open", Fixed: true},
		{Action: "redraw", Keys: []string{"ctrl+l"}, Help: "redraw the screen", Fixed: true},
		{Action: "quit", Keys: []string{"q"}, Help: "quit; in a run twice", Short: "quit", Words: "quit"},
		{Action: "interrupt", Keys: []string{"ctrl+c"}, Help: "quit at once", Words: "quit", Fixed: true},
	},
	RunsOne: {
		{Action: "runs open", Keys: []string{"enter"}, Help: "open the replay, and come back when it is left", Short: "open", Fixed: true},
		{Action: "runs rename", Keys: []string{"r"}, Help: "rename", Short: "rename", Rank: 3},
		{Action: "runs note", Keys: []string{"n"}, Help: "edit the note", Short: "note", Rank: 4},
		{Action: "runs export", Keys: []string{"x"}, Help: "export: format, then path", Short: "export", Rank: 3},
		{Action: "runs stop", Keys: []string{"X"}, Help: "stop the export"},
	},
	RunsMarked: {
		{Action: "runs mark", Keys: []string{"space"}, Help: "mark or unmark", Short: "mark", Rank: 1},
		{Action: "runs compare", Keys: []string{"c"}, Help: "compare two or more marked", Short: "compare", Rank: 1},
		{Action: "runs delete", Keys: []string{"d", "delete"}, Help: "delete, after a question", Short: "delete", Rank: 2},
	},
	RunsRows: {
		{Action: "runs filter", Keys: []string{"/"}, Help: "filter as typed: name, preset, picture, state, day, note", Short: "filter", Rank: 1},
		{Action: "runs sort", Keys: []string{"s"}, Help: "sort by the next column", Short: "sort", Rank: 2},
		{Action: "runs reverse", Keys: []string{"S"}, Help: "reverse the order"},
		{Action: "select", Keys: moves, Shown: "↑ ↓", Help: "select; pgup, pgdown, home, end too", Fixed: true},
	},
	Sessions: {
		{Action: "sessions show", Keys: []string{"enter"}, Help: "show it, and come back when it is left going",
			Short: "show", Fixed: true},
		{Action: "select", Keys: moves, Shown: "↑ ↓", Help: "select; pgup, pgdown, home, end too", Fixed: true},
	},
	Sweep: {
		{Action: "sweep open", Keys: []string{"enter"}, Help: "open the run, live if it runs here", Short: "open", Fixed: true},
		{Action: "sweep run", Keys: []string{"tab", "shift+tab"}, Shown: "tab", Help: "the next run of the arm", Short: "run", Rank: 1, Fixed: true},
		{Action: "sweep filter", Keys: []string{"/"}, Help: "filter as typed: name, state", Short: "filter", Rank: 1},
		{Action: "sweep sort", Keys: []string{"s"}, Help: "sort by the next column", Short: "sort", Rank: 2},
		{Action: "sweep reverse", Keys: []string{"S"}, Help: "reverse the order"},
		{Action: "select", Keys: moves, Shown: "↑ ↓", Help: "select; pgup, pgdown, home, end too", Fixed: true},
	},
	Comparison: {
		{Action: "comparison rows", Keys: []string{"v"}, Help: "all rows, those with a verdict, those that differ", Short: "rows", Rank: 1},
		{Action: "comparison curves", Keys: []string{"tab"}, Help: "next curve; on a small screen the rows, then the curves", Short: "curves", Rank: 1},
		{Action: "comparison axis", Keys: []string{"x"}, Help: "curves over iterations or over time", Short: "axis", Rank: 3},
		{Action: "comparison side", Keys: []string{"right", "left"}, Shown: "← →", Help: "the next side against the base, or the one before", Fixed: true},
		{Action: "comparison write", Keys: []string{"m"}, Help: "write the comparison as Markdown", Short: "Markdown", Rank: 2},
		{Action: "select", Keys: moves, Shown: "↑ ↓", Help: "select; pgup, pgdown, home, end too", Fixed: true},
	},
	Page: {
		{Action: "help", Keys: []string{"?", "h"}, Help: "these keys", Short: "help"},
		{Action: "mouse", Keys: []string{"M"}, Help: "mouse on or off"},
		{Action: "colours", Keys: []string{"C"}, Help: "colours"},
		{Action: "close", Keys: []string{"esc"}, Help: "close what is open", Fixed: true},
		{Action: "redraw", Keys: []string{"ctrl+l"}, Help: "redraw the screen", Fixed: true},
		{Action: "suspend", Keys: []string{"ctrl+z"}, Help: "suspend", Fixed: true},
		{Action: "quit", Keys: []string{"q"}, Help: "back, or quit", Short: "quit"},
		{Action: "interrupt", Keys: []string{"ctrl+c"}, Help: "quit at once", Fixed: true},
	},
}

// ofPanes are the actions of whichever pane has the focus.
var ofPanes = map[profiles.Action]bool{"view": true, "scale": true, "draw": true}
