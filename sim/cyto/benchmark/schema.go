package benchmark

import (
	"fmt"
	"runtime/debug"

	"prismtop/profiles"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/cyto/tasks"
)

// KindPreparation is the kind of the first iteration of a unit, which prepares the task.
const KindPreparation profiles.Kind = 0

// Kind is that of the iterations of a task, by its index.
func Kind(task int) profiles.Kind { return KindPreparation + 1 + profiles.Kind(task) }

// Schema describes the records of a list of trainings.
func Schema() profiles.Schema { return schemaOf(tasks.Training, nil, false) }

// external is the phase of programs on git branches, after those of an experiment.
func external(kind tasks.Kind) profiles.Phase {
	if kind == tasks.Inference {
		return im2im.NumPredictionPhases
	}
	return im2im.NumTrainingPhases
}

// schemaOf describes the records of a list: those of its experiments, with a kind of
// iteration for each task, and a phase for programs on git branches if there are some.
func schemaOf(kind tasks.Kind, list []tasks.Task, branches bool) profiles.Schema {
	mode := im2im.Train
	if kind == tasks.Inference {
		mode = im2im.Predict
	}
	schema := im2im.SchemaOf(mode, sameExperiment(list))
	schema.Workload = Table.Workload
	schema.Unit = profiles.Unit{One: "task", Many: "tasks"}
	schema.Tips, schema.Tasks = nil, true
	schema.Kinds = []profiles.KindInfo{KindPreparation: {Name: "preparation", Units: true}}
	for i := range list {
		schema.Kinds = append(schema.Kinds, profiles.KindInfo{Name: fmt.Sprintf("task %d, %s", i+1, list[i].Name()),
			Units: true})
	}
	if branches {
		schema.Phases = append(schema.Phases, profiles.PhaseInfo{Name: "external", Colour: 8,
			What: "the program of a task on a git branch, in a process of its own"})
	}
	for i := range schema.Pictures {
		schema.Pictures[i].Live = true
	}
	for i := range schema.Series { // none has a value while a task is prepared
		if s := &schema.Series[i]; s.Each {
			s.Absent = "the task is being prepared"
		}
	}
	return schema
}

// sameExperiment returns the experiment of all tasks, segmentation if they differ.
func sameExperiment(list []tasks.Task) string {
	for _, t := range list {
		if t.Experiment != tasks.LabelFree {
			return im2im.Segmentation
		}
	}
	if len(list) == 0 {
		return im2im.Segmentation
	}
	return im2im.LabelFree
}

// program is the commit that this program was built from.
func program() *tasks.GitInfo {
	g := &tasks.GitInfo{Branch: "none: a variant of this program", CommitHash: tasks.Unknown, CommitDate: tasks.Unknown}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return g
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			g.CommitHash = s.Value
		case "vcs.time":
			g.CommitDate = s.Value
		}
	}
	return g
}
