//go:build !nogpu

package ptx

import _ "embed"

// archive has the files sm_*/*.ptx, sorted by name.
//
//go:embed kernels.zip
var archive []byte
