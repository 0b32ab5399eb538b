// Package tasks is CytoDL's benchmark of tasks without what computes them: it reads the list
// of tasks from CSV, names the variants of the engine that take the place of git branches,
// orders the rounds, times nested sections, writes the results as JSON and compares them
// (spec/ptycho-cyto.md §B1).
//
// Who runs a task gets its settings from Task.Settings, fills the metrics of each round, by a
// Clock or from its own records, and joins the rounds to a Result.
package tasks
