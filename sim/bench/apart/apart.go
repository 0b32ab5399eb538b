// Package apart starts programs that are measured: each is the leader of a process group of
// its own, which ctrl+c at the terminal does not reach.
package apart
