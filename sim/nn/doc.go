// Package nn compiles a network and its loss into a plan of steps that a backend
// runs.
//
// A Graph is built once from operators, parameters and inputs. Compile derives
// the gradients, inserts the casts of mixed precision, adds Adam, orders the
// steps and plans the memory; the result is a Plan, plain data independent of any
// device. A Backend loads the plan and gives an Executable. Parameters, gradients
// and moments are Variables that outlive plans, so that a setting can change
// during a run: another plan continues with the same State.
package nn
