// Package benchmark works through a list of CytoDL's tasks, as a workload
// (spec/ptycho-cyto.md §B1): each task is an experiment with the settings of its variant,
// its columns and its overrides, or the program of a git branch. One run drives them all,
// in rounds of balanced order; a unit of work is one round of one task, and an iteration
// one of its experiment. What is measured is written to a file of results after every
// round.
package benchmark

import (
	"embed"
	"math"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/cyto/tasks"
)

// The groups.
const (
	groupTasks     = "The tasks"
	groupLimits    = "Limits of the run"
	groupComputing = "How it is computed"
)

// Keys of settings.
const (
	kindKey      = "kind"
	listKey      = "tasks"
	outputKey    = "output"
	filesKey     = "predictions"
	weightsKey   = "checkpoints"
	roundsKey    = "rounds"
	baselineKey  = "baseline"
	skipKey      = "skip_failed"
	cancelledKey = "cancelled"
	fallbackKey  = "cpu_fallback"
	repoKey      = "repo"
	commandKey   = "command"
	fetchKey     = "fetch"
	limitKey     = "task_seconds"
)

// mostRounds bounds the rounds against typing errors.
const mostRounds = 1000

// Table declares the settings.
var Table = settings.NewTable("cyto-tasks", nil,
	settings.Text(groupTasks, kindKey, "training or inference tasks", tasks.Training.String(), tasks.Inference.String()).Fixed("it decides which columns the list has"),
	settings.Text(groupTasks, listKey, "list of tasks, a CSV file; empty for the six variants on synthetic cells, small").Words("the six variants", "").Fixed("it is read at the start"),
	settings.Text(groupTasks, outputKey, "file of results, JSON, written after every round").Words("none", "").Fixed("its folder is checked at the start"),
	settings.Text(groupTasks, filesKey, "folder for the predictions of inference tasks, a folder for each task with an OME-TIFF for each image; complete ones are skipped").
		Words("none", "").Fixed("its folder is checked at the start").Idle(func(v settings.Values) string {
		if kindOf(v) == tasks.Inference {
			return ""
		}
		return "a training predicts nothing"
	}),
	settings.Text(groupTasks, weightsKey, "folder for the weights of complete training tasks, an NPZ file for each, of its newest round").
		Words("none", "").Fixed("its folder is checked at the start").Idle(func(v settings.Values) string {
		if kindOf(v) == tasks.Training {
			return ""
		}
		return "an inference trains nothing"
	}),
	settings.Integer(groupTasks, roundsKey, "", "times that every task runs, each time in another order", 1, mostRounds).Fixed("the run is announced with it"),
	settings.Text(groupTasks, baselineKey, "what speed-ups compare with: the first task of an experiment in the list, or the fastest, the rule of CytoDL's script",
		string(tasks.FirstTask), string(tasks.FastestTask)).Live().Limit().Called("baseline", 'F').
		Press("F", settings.MoveNext, "baseline: first task, fastest").
		Listed(1, "the first of an experiment", "no speed-up is above 1"),
	settings.Switch(groupTasks, skipKey, "run the next task after one that failed").Live().Limit().Called("skip failed", 'k').
		Press("k", settings.MoveNext, "continue after failed tasks").Foremost(1),
	settings.List(groupTasks, cancelledKey, "", "tasks that are not run, by number from 1; one that is running ends", 1, 1000).Live().Limit().Called("cancelled", 'x').Words("none", "").
		Press("c", settings.MoveWrite, "cancelled tasks, by number"),
	settings.Switch(groupTasks, fallbackKey, "run tasks for a GPU on the processor where there is none, and say so; otherwise they are not available").Fixed("the devices are opened at the start"),
	settings.Text(groupTasks, repoKey, "git repository whose branches the tasks name, each run in a worktree and a process of its own; without one branches are variants").
		Words("none", "").Fixed("the branches were found at the start"),
	settings.Text(groupTasks, commandKey, "program and arguments that run a task on a git branch, with {output}, {batch_size} and other values (prismtop docs cyto-tasks); cyto-dl itself if empty").
		Words("cyto-dl", "").Fixed("speed-ups are between tasks of one program"),
	settings.Switch(groupTasks, fetchKey, "fetch branches that the repository does not have from its remotes, over the network").Fixed("the branches were found at the start"),
	settings.Number(groupTasks, limitKey, "seconds", "time that a program of a git branch may take; 0 is no limit", 0, 1e9).Words("", "no limit").Fixed("it is given to the program"),

	settings.IterationLimit(groupLimits),
	settings.Integer(groupLimits, settings.MaxUnits("tasks"), "", "end the run after this many rounds of tasks; 0 is all", 0, math.MaxInt32).
		Live().Limit().Called("last task", 'j').Words("", "all").
		Press("j", settings.MoveBefore, "one round of a task fewer").Press("J", settings.MoveNext, "one more"),
	settings.TimeLimit(groupLimits),

	settings.Integer(groupComputing, settings.Threads, "", "worker threads of every task; 0 is one per core", 0, 1024).Fixed("speed-ups are between tasks with the same threads"),
	settings.Text(groupComputing, "kernels", "instruction set of the CPU's kernels; auto takes the fastest; avx512-bf16 and amx are avx512 with products of bf16 by AVX512_BF16 or by AMX",
		"auto", "avx512-bf16", "amx", "avx512", "avx2", "go").Fixed("speed-ups are between tasks with the same kernels"),
	settings.Text(groupComputing, settings.Device, "GPU of the tasks whose trainer is gpu, and the first of those of ddp: auto and cuda are the first of the machine, cpu is none; the six small tasks compute on one that is named",
		"auto", "cpu", "cuda", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7").Fixed("the devices are opened at the start"),
	settings.Integer(groupComputing, settings.Seed, "", "seed of the order of the rounds", 0, settings.MaxInteger).Fixed("the order was drawn at the start"),
)

//go:embed presets/*.toml
var embedded embed.FS

// Presets returns the named sets of settings.
func Presets() preset.Shelf { return preset.Embedded(Table, embedded, "cyto-tasks") }

// kindOf returns the kind of the tasks.
func kindOf(v settings.Values) tasks.Kind {
	if v.Text(kindKey) == tasks.Inference.String() {
		return tasks.Inference
	}
	return tasks.Training
}
