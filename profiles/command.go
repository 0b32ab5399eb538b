package profiles

import (
	"errors"
	"slices"

	"prismtop/profiles/settings"
)

// Commands to a run: their kinds, the answers to them, and who controls a run.

// Command is something asked of a run, the dual of an Event: a value, whoever asks and wherever the run is. It is
// carried out between two iterations.
type Command struct {
	Kind CommandKind `json:"do"`
	// N numbers the commands of one screen; the Answer has it, too.
	N int64 `json:"n,omitempty"`
	// By names the screen that asks. A command over a connection carries no name: the seat at the run knows it.
	By string `json:"-"`
	// Try asks only for the error that the command would return: nothing is carried out.
	Try bool `json:"try,omitempty"`

	Settings []settings.Assignment `json:"settings,omitempty"`
	Factors  []settings.Factor     `json:"factors,omitempty"`
	Text     string                `json:"text,omitempty"`
	At       int64                 `json:"at,omitempty"`
}

// CommandKind is what a Command asks for, and its name wherever it is written: on the wire, in recordings and in line
// mode. A name, once used, keeps its meaning.
type CommandKind string

// Commands to a run.
const (
	// SetCommand changes Settings together: live ones before the next iteration, the others, and all of a run that is
	// over, for the next run. If one of them is refused, none changes. A try also reads the picture that they name.
	SetCommand CommandKind = "set"
	// DecideCommand is SetCommand for a press of a key: as the setting decide says, the change is then switched back
	// and forth until its effect on iteration time is decided or its time is over.
	DecideCommand CommandKind = "decide"
	// PauseCommand pauses the loop after the current iteration, ResumeCommand resumes it, and StepCommand runs one
	// iteration of a paused run.
	PauseCommand  CommandKind = "pause"
	ResumeCommand CommandKind = "go"
	StepCommand   CommandKind = "step"
	// RestartCommand starts again from the initial weights of the seed, with the current settings and those that wait
	// for the next run. If that fails, the run continues and the log has the reason.
	RestartCommand CommandKind = "restart"
	// AblateCommand compares every switchable optimisation on and off or, given Factors, runs every combination of
	// them. The settings are restored however it ends.
	AblateCommand CommandKind = "ablate"
	// ReplicateCommand switches one change back and forth until its effect on iteration time is decided: Settings are
	// the changed ones with their previous values, and At is the iteration where the change took effect. It ends as
	// an ablation does. If Settings have every optimisation that saves time off, all of them are switched, whatever
	// is in force.
	ReplicateCommand CommandKind = "replicate"
	// ForkCommand compares the results with and without such a change from the same starting points.
	ForkCommand CommandKind = "fork"
	// StopAblationCommand ends an ablation, a replication or a fork early.
	StopAblationCommand CommandKind = "stop ablation"
	// SaveCommand writes the result to files, and CheckpointCommand the state, for another run to go on from. The log
	// has the paths.
	SaveCommand       CommandKind = "save"
	CheckpointCommand CommandKind = "checkpoint"
	// ClearCommand clears all caches and logs what they held. They fill again as the run goes on.
	ClearCommand CommandKind = "clear"
	// TraceCommand has the program's own profiler write a trace of a few iterations to a file. The log has the path,
	// and what the iterations after it take beside those before.
	TraceCommand CommandKind = "trace"
	// NoteCommand writes Text, one line, at the present iteration.
	NoteCommand CommandKind = "note"
	// StopCommand ends the run after the current iteration.
	StopCommand CommandKind = "stop"
)

// Commands to what shows a run.
const (
	// AttendCommand reports a user's input: watching, which pauses for a fraction of a second now and then to measure
	// its cost, goes on at once, so that the response does not wait.
	AttendCommand CommandKind = "attend"
	// OperateCommand asks for the right to change a run that several screens show. A right that another screen has is
	// asked for first and taken when it is asked for again. HandOverCommand returns it, to the screen that asks for
	// it.
	OperateCommand  CommandKind = "operate"
	HandOverCommand CommandKind = "hand over"
	// ExportCommand writes the run to files for other programs, and LeaveCommand leaves it going: the screen carries
	// them out.
	ExportCommand CommandKind = "export"
	LeaveCommand  CommandKind = "leave"
)

// Commands to a replay.
const (
	// PlayCommand plays a recording, or pauses one that plays.
	PlayCommand CommandKind = "play"
	// SpeedCommand doubles the speed At times, or halves it for a negative number.
	SpeedCommand CommandKind = "speed"
	// SkipCommand pauses and goes At snapshots on, or back.
	SkipCommand CommandKind = "skip"
	// SeekCommand goes to a moment, At nanoseconds as in Position. At the last one it follows a run that goes on.
	SeekCommand CommandKind = "seek"
)

// refusals say that a command is refused, where "no" and its name do not.
var refusals = map[CommandKind]string{
	SetCommand: "not changed", DecideCommand: "not changed", PauseCommand: "not paused", ResumeCommand: "not resumed",
	RestartCommand: "not restarted", AblateCommand: "no ablation", ReplicateCommand: "not replicated",
	ForkCommand:         "not forked",
	StopAblationCommand: "the ablation goes on", SaveCommand: "not saved", ClearCommand: "not cleared",
	StopCommand:    "not stopped",
	OperateCommand: "not asked to operate the run", ExportCommand: "not exported", LeaveCommand: "not left",
}

// Refused says that a command of the kind is refused: "not paused", "no checkpoint". The reason follows it after a
// colon.
func (k CommandKind) Refused() string {
	if text, ok := refusals[k]; ok {
		return text
	}
	return "no " + string(k)
}

// ErrUnanswered reports a command that was sent to a run in another process, which has not answered in time: it may
// still carry the command out.
var ErrUnanswered = errors.New("not answered yet: the run is busy or its process stopped, and may still do it")

// Failed says that a command was refused, or was not answered, with the reason.
func (k CommandKind) Failed(why error) string {
	if errors.Is(why, ErrUnanswered) {
		return string(k) + ": " + why.Error()
	}
	return k.Refused() + ": " + why.Error()
}

// Kinds are the kinds of commands that a run is able to carry out, or that a screen may ask for.
type Kinds []CommandKind

// Every are the kinds of commands that some run is able to carry out.
func Every() Kinds {
	return Kinds{
		SetCommand, DecideCommand, PauseCommand, ResumeCommand, StepCommand, RestartCommand, AblateCommand,
		ReplicateCommand,
		ForkCommand, StopAblationCommand, SaveCommand, CheckpointCommand, ClearCommand, TraceCommand, NoteCommand,
		StopCommand,
	}
}

// Has reports whether all given kinds are among them.
func (k Kinds) Has(all ...CommandKind) bool {
	for _, kind := range all {
		if !slices.Contains(k, kind) {
			return false
		}
	}
	return true
}

// Without returns the kinds but for some.
func (k Kinds) Without(some ...CommandKind) Kinds {
	return slices.DeleteFunc(slices.Clone(k), func(kind CommandKind) bool { return slices.Contains(some, kind) })
}

// Answer is what became of a Command: it was accepted, it was refused for a reason, or it is in force.
type Answer struct {
	Kind CommandKind `json:"do"`
	N    int64       `json:"n,omitempty"`
	By   string      `json:"by,omitempty"` // the screen that asked; empty if that is not known
	// Accepted is true while it waits for the next iteration boundary: another answer follows.
	Accepted bool   `json:"accepted,omitempty"`
	Refused  string `json:"refused,omitempty"` // why it was not carried out; empty if it was
	// Iteration is the Index of the next iteration, from which it is in force.
	Iteration int64 `json:"iteration,omitempty"`
}

// AnswerTo returns the first answer to a command, for which Do returned an error or none.
func AnswerTo(c *Command, err error) Answer {
	a := Answer{Kind: c.Kind, N: c.N, By: c.By, Accepted: err == nil}
	if err != nil {
		a.Refused = err.Error()
	}
	return a
}

// Long reports whether the first answer to the command may take long: it reads what its settings name.
func (c *Command) Long() bool {
	return c.Try && (c.Kind == SetCommand || c.Kind == DecideCommand)
}

// Control says which screen may change a run that several show.
type Control struct {
	Operates bool   `json:"operates"`       // this one may
	Operator string `json:"operator"`       // the one that may; empty if none does
	Asks     string `json:"asks,omitempty"` // the one that asks the operator for the right; empty if none does
}

// Able returns the kinds of commands that the run of a snapshot is able to carry out: all before it has described
// itself. A screen that shows the past of a run on its way to the present changes nothing of it.
func (s *Snapshot) Able() Kinds {
	switch {
	case s == nil || s.Run.Schema.Workload == "":
		return Every()
	case s.CatchingUp && s.Run.Able.Has(NoteCommand):
		return Kinds{NoteCommand}
	case s.CatchingUp:
		return nil
	}
	return s.Run.Able
}
