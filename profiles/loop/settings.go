package loop

import "encoding/json"

// Settings are what a reader asks of a loop: all of it, as what is not named has its default.
type Settings struct {
	Set     map[string]string `json:"set,omitempty"`      // values of knobs
	Warm    *int              `json:"warm,omitempty"`     // steps that are flagged as settling after the change
	LeaseMS int               `json:"lease_ms,omitempty"` // how old the heartbeat may get until After is put in force
	After   map[string]string `json:"after,omitempty"`

	Schedule *Schedule `json:"schedule,omitempty"` // blocks that the loop runs by itself, and then After

	// Of several ranks: the step from which on this is in force, and the name of the file by which the ranks agree.
	From      int64  `json:"from,omitempty"`
	Agreement string `json:"agreement,omitempty"`

	Watch       string `json:"watch,omitempty"` // WatchAll or WatchLosses
	Pause       bool   `json:"pause,omitempty"`
	PauseAfter  int    `json:"pause_after,omitempty"` // steps
	Layers      bool   `json:"layers,omitempty"`
	Activations bool   `json:"activations,omitempty"`

	Trace string `json:"trace,omitempty"` // path of a new file for a trace of torch.profiler, once a generation
	State string `json:"state,omitempty"` // KeepState, ReturnToState or DropState, once a generation
	Steps int    `json:"steps,omitempty"` // that must be left in the epoch for KeepState

	Detach bool `json:"detach,omitempty"` // take everything back, for good
}

// Schedule is a number of blocks of steps, each under one of a few arms.
type Schedule struct {
	Arms   []map[string]string `json:"arms"`
	Order  []int               `json:"order"`  // of arms
	Length int                 `json:"length"` // plain steps of a block, after those that settle
}

// Bounds of a schedule.
const (
	MaxArms   = 16
	MaxBlocks = 4096
)

// What a loop watches.
const (
	WatchAll    = "all"
	WatchLosses = "losses" // only steps, their totals and losses: what hooks cost is measured beside them
)

// What a loop does with its state: its model, optimizers, random numbers and place in the data.
const (
	KeepState     = "keep"
	ReturnToState = "return"
	DropState     = "drop"
)

// Refusals returns what a loop refused of settings and why, by key: an Answer's text.
func (r *Record) Refusals() map[string]string {
	var why map[string]string
	if r.Text == "" || json.Unmarshal([]byte(r.Text), &why) != nil {
		return nil
	}
	return why
}
