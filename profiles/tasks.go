package profiles

import "fmt"

// Tasks is the state of a run that works through a list of tasks, each in a number of
// rounds: a unit of work is one round of one task.
type Tasks struct {
	List []Task
	// Order has the task of every unit, by index in List.
	Order  []int
	Rounds int
	// Loss names the series whose curves are compared between tasks; empty for none.
	Loss string
	// Cancel is the key of the setting that lists the tasks, by number from 1, that are cancelled; empty
	// for none.
	Cancel string
	// SpeedUps says what the speed-ups compare: "total time against main".
	SpeedUps string
}

// TaskState is the state of a task.
type TaskState uint8

// The states of a task.
const (
	TaskWaiting TaskState = iota
	TaskRunning
	TaskDone
	TaskFailed
	TaskCancelled
	TaskUnavailable // this machine lacks what it needs
)

var taskStates = [...]string{"waiting", "running", "done", "failed", "cancelled", "unavailable"}

// String returns the state's name for display.
func (s TaskState) String() string { return taskStates[min(int(s), len(taskStates)-1)] }

// Task is a task of a list. Numbers that were not measured are NaN.
type Task struct {
	Name   string // "main"
	About  string // what it computes: "segmentation, batch 8, 5 epochs"
	Device string // "cpu", "2 replicas", "git branch"
	State  TaskState
	Why    string // of a task that failed, was cancelled or is not available
	Done   int    // rounds that were completed

	// Iterations is the number of iterations of a round; 0 if it is not known.
	Iterations int
	Seconds    float64 // median of a round's time
	Loss       float64 // at the end of the newest round
	PerSecond  float64 // median throughput, in samples a second
	// SpeedUp is that over the baseline, with a 95 % interval, which is NaN before there is one.
	SpeedUp, Low, High float64
	Baseline           bool
}

// Check returns why a state, as a file has it, cannot be used.
func (t *Tasks) Check() error {
	for _, i := range t.Order {
		if i < 0 || i >= len(t.List) {
			return fmt.Errorf("a unit is of task %d of %d", i, len(t.List))
		}
	}
	return nil
}

// TaskOf returns the task of a unit, −1 if there is none.
func (t *Tasks) TaskOf(unit int) int {
	if t == nil || unit < 0 || unit >= len(t.Order) {
		return -1
	}
	return t.Order[unit]
}
