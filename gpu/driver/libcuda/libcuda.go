// Package libcuda is the installed CUDA driver, libcuda.so.1, opened at run time: a machine without it runs the same
// binary, and nothing here uses cgo. On systems other than Linux, and with the build tag nogpu, Open only returns the
// reason why there is no driver.
//
// Functions that every driver since CUDA 11.0 exports are required; a driver that lacks one of the others is opened,
// and the methods that need it return driver.ErrMissing.
package libcuda
