// Package installed opens the machine's CUDA driver by the implementation that this build chose: package libcuda, or
// package gorgonia with the build tag cuda.
package installed
