//go:build !nogpu

package kernels

import _ "embed"

// archive is a txtar of the files sm_*/*.ptx, sorted by name, as one frame of Zstandard: they share most of their text.
//
//go:embed kernels.zst
var archive []byte
