// Package gorgonia is the CUDA driver through the package gorgonia.org/cu, which calls libcuda by cgo. It is for those
// who want that package underneath; libcuda, the default, needs nothing to build and finds the driver at run time. With
// the build tag cuda, package installed opens this implementation.
//
// What cu v0.9.6 has is called through it: devices, the primary context, memory of the device, modules, streams and
// events. What it lacks is called through package libcuda, on the same library and with the same handles: kernels whose
// parameter is a struct, graphs and their events, page-locked memory, setting an attribute of a function, and the UUID
// of a partition.
//
// The tag needs cgo, a C compiler, Linux, and an installed CUDA toolkit of version 11.6 to 12.x, whose cuda.h and stub
// libcuda.so must be found. Outside of /usr/local/cuda and /opt/cuda:
//
//	CGO_CFLAGS=-I$CUDA/include CGO_LDFLAGS=-L$CUDA/lib64/stubs go build -tags cuda
//
// CUDA 13 changed the signatures of five functions that cu calls. The header in the folder include declares them as
// they were, and comes first in the path for a toolkit of that version:
//
//	CGO_CFLAGS="-I$PWD/gpu/driver/gorgonia/include -I$CUDA/include" \
//	CGO_LDFLAGS=-L$CUDA/lib64/stubs go build -tags cuda
//
// The installed driver may be of any version from the toolkit's on: it keeps old functions.
//
// Two things differ at run time. The program does not start on a machine without libcuda.so.1. And cu initialises the
// driver in its init function, which ends the process with status 1 where there is no device: before main, and even for
// commands that use no GPU.
package gorgonia
