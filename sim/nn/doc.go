// Package nn turns a network and its loss into a plan of steps that a backend
// runs.
//
// A Graph is built once from operators, parameters and inputs. Compile derives
// the gradients, inserts mixed precision's casts, adds Adam, orders the steps
// and plans the memory; the result is a Plan, plain data that knows no device. A
// Backend loads the plan and gives an Executable. Parameters, gradients and
// moments are Variables that outlive plans, so that a setting can change while a
// run goes on: another plan continues with the same State.
package nn
