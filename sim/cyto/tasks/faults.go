package tasks

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"prismtop/profiles/visible"
)

// Fault is a mistake in a list of tasks.
type Fault struct {
	File         string
	Line, Column int    // in bytes, from 1; Column is 0 for a whole line
	Name         string // of the column; empty for a whole line
	Message      string // says what would be right
}

func (f Fault) Error() string {
	at := fmt.Sprintf("%s:%d", visible.Text(f.File), f.Line)
	if f.Column > 0 {
		at += fmt.Sprintf(":%d", f.Column)
	}
	if f.Name != "" {
		return visible.Text(fmt.Sprintf("%s: column %s: %s", at, f.Name, f.Message))
	}
	return visible.Text(at + ": " + f.Message)
}

// Faults are all mistakes of a list of tasks, in the order of the file.
type Faults []Fault

// mostFaults bounds the lines of an error.
const mostFaults = 20

func (f Faults) Error() string { return errors.Join(f.Unwrap()...).Error() }

func (f Faults) Unwrap() []error {
	var all []error
	for _, fault := range f[:min(len(f), mostFaults)] {
		all = append(all, fault)
	}
	if more := len(f) - mostFaults; more > 0 {
		all = append(all, fmt.Errorf("%s:%d and below: %d more mistakes", visible.Text(f[mostFaults].File),
			f[mostFaults].Line, more))
	}
	return all
}

// sorted returns the mistakes in the order of the file; nil for none.
func (f Faults) sorted() error {
	if len(f) == 0 {
		return nil
	}
	slices.SortStableFunc(f, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return f
}
